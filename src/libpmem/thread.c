/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread.c - makes, hands over and finds the per-thread structs, see thread.h.
 *
 * Structs form a list that only grows; a free one is taken by compare-and-swap on its tid.  The end
 * of a thread is told by the destructor of a pthread key, which sets the key again for as many
 * rounds as the C library runs, so that other destructors' events still find the struct.  Events
 * even later borrow a struct each.
 */
#include "libpmem/thread.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>

#include "libpmem/assert.h"
#include "libpmem/loss.h"
#include "libpmem/modules.h"
#include "libpmem/settings.h"
#include "libpmem/store.h"
#include "libpmem/sys.h"
#include "libpmem/text.h"
#include "libpmem/tree.h"

enum {
	STRUCT_SIZE = (sizeof(struct thread) + 4095) & ~4095,
	REFUSALS = 1000,
	LEVEL_MAX = 4,	       /* handlers that interrupt the recorder inside handlers that did */
	DESTRUCTOR_ROUNDS = 4, /* PTHREAD_DESTRUCTOR_ITERATIONS of every C library in use */
	STACK_MAX = 8 << 20,   /* as large as stacks usually are: beyond, it is another one */
	STRUCTS_UNASKED = 64,  /* so many may belong to threads that are gone */
};

static struct thread no_thread = {.ready = THREAD_BUSY};
__thread struct thread *thread_current
	__attribute__((visibility("hidden"), tls_model("initial-exec"))) = &no_thread;
static __thread bool ending __attribute__((tls_model("initial-exec")));

/* Events of this thread that go unrecorded before memory is asked for again. */
static __thread uint32_t refusals __attribute__((tls_model("initial-exec")));

static _Atomic(struct thread *) all;
static pthread_key_t key;
static bool key_made; /* immutable after thread_init() */

struct thread *thread_first(void)
{
	/* Acquire: pairs with the release in publish(). */
	return atomic_load_explicit(&all, memory_order_acquire);
}

static void publish(struct thread *thread)
{
	struct thread *head = atomic_load_explicit(&all, memory_order_relaxed);

	do
		thread->next = head;
	while (!atomic_compare_exchange_weak_explicit(&all, &head, thread, memory_order_release,
						      memory_order_relaxed));
}

/* INT_MAX: nobody may conclude from the number that the thread is gone. */
static pid_t my_tid(void)
{
	pid_t tid = sys_sandboxed() || !process_is_recorded() ? 0 : sys_gettid();

	return tid > 0 ? tid : INT_MAX;
}

/* Tells the profile who has the struct now. */
static void record_owner(struct thread *thread)
{
	struct format_thread *record = thread->record;

	atomic_store_explicit(&record->tid,
			      (uint32_t)atomic_load_explicit(&thread->tid, memory_order_relaxed),
			      memory_order_relaxed);
	atomic_store_explicit(&record->start_ns, store_time(), memory_order_relaxed);
	atomic_store_explicit(&record->pointer, arch_thread_pointer(), memory_order_relaxed);
	atomic_fetch_add_explicit(&record->owners, 1, memory_order_relaxed);
	atomic_store_explicit(&record->running, 1, memory_order_relaxed);
	memset(record->name, 0, sizeof(record->name));
}

/* A new struct; a nested one enters its window at each event. */
static struct thread *make(uint32_t level)
{
	struct thread *thread = refusals ? NULL : sys_map(STRUCT_SIZE);
	uint32_t max_id = settings.max_nodes + settings.max_nodes / 10;
	struct format_thread *record;
	uint32_t index;

	if (refusals)
		refusals--;
	if (!thread)
		return NULL;
	record = store_take(FORMAT_THREADS, sizeof(*record), &store_head()->thread_count, &index);
	if (!record ||
	    !counters_init(&thread->counters, index,
			   max_id < TREE_STACK_MAX ? max_id : TREE_STACK_MAX) ||
	    !unwind_init(&thread->unwind) || !stack_cache_init(&thread->stacks)) {
		counters_drop(&thread->counters);
		unwind_drop(&thread->unwind);
		sys_unmap(thread, STRUCT_SIZE);
		refusals = REFUSALS;
		return NULL;
	}
	thread->level = level;
	thread->record = record;
	record->level = level;
	thread->mark = thread->idle = thread->ready = THREAD_NEW;
	atomic_store_explicit(&thread->tid, my_tid(), memory_order_relaxed);
	record_owner(thread);
	if (!level)
		peak_enter(&thread->peak);
	publish(thread);
	return thread;
}

/* For an owner that is gone. */
static void clean(struct thread *thread)
{
	peak_leave(&thread->peak);
	unwind_flush(&thread->unwind);
	stack_cache_flush(&thread->stacks);
	governor_reset(&thread->governor);
	thread->last_alloc = 0;
	thread->exit_rounds = 0;
	thread->borrowed = 0;
	atomic_store_explicit(&thread->record->running, 0, memory_order_relaxed);
	thread->ready = thread->idle;
}

static void hand_over(struct thread *thread)
{
	ASSERT(thread->level == 0);
	clean(thread);
	/* Release: the owner-only fields; pairs with take_from(). */
	atomic_store_explicit(&thread->tid, 0, memory_order_release);
}

/* True if the struct was owner's (0: nobody's) and is the calling thread's now. */
static bool take_from(struct thread *thread, pid_t owner)
{
	/* Acquire: pairs with the release in hand_over(). */
	return thread->level == 0 &&
	       atomic_load_explicit(&thread->tid, memory_order_relaxed) == owner &&
	       atomic_compare_exchange_strong_explicit(&thread->tid, &owner, my_tid(),
						       memory_order_acquire, memory_order_relaxed);
}

/* A struct that a thread before us left, or NULL. */
static struct thread *inherit(void)
{
	struct thread *thread = thread_first();

	while (thread && !take_from(thread, 0))
		thread = thread->next;
	return thread;
}

/* The kernel knows no such thread (tgkill(2)), and so nobody writes to the struct.  That of one that ended inside an event is let
 * be: it may be in any state. */
static bool is_gone(const struct thread *thread, pid_t owner)
{
	return owner > 0 && owner != INT_MAX &&
	       sys_call(SYS_tgkill, sys_getpid(), owner, 0, 0) == -ESRCH &&
	       __atomic_load_n(&thread->ready, __ATOMIC_RELAXED) != THREAD_BUSY;
}

/* A struct of a thread that ended without a word, by a raw exit system call or with its first event in the last round of
 * destructors; or NULL.  Looked for when there are twice as many structs as the last time that all were in use. */
static struct thread *reclaim(void)
{
	static _Atomic uint32_t worth_it = STRUCTS_UNASKED;
	uint32_t count = atomic_load_explicit(&store_head()->thread_count, memory_order_relaxed);
	struct thread *thread;
	pid_t owner;

	/* A child that shares our memory has other threads. */
	if (sys_sandboxed() || count < atomic_load_explicit(&worth_it, memory_order_relaxed) ||
	    !process_is_recorded())
		return NULL;
	for (thread = thread_first(); thread; thread = thread->next) {
		owner = atomic_load_explicit(&thread->tid, memory_order_relaxed);
		if (thread->level == 0 && is_gone(thread, owner) && take_from(thread, owner)) {
			clean(thread);
			return thread;
		}
	}
	atomic_store_explicit(&worth_it, 2 * count, memory_order_relaxed);
	return NULL;
}

/* Takes over what another thread left. */
static struct thread *reuse(void)
{
	struct thread *thread = inherit();

	if (!thread)
		thread = reclaim();
	if (!thread)
		return NULL;
	record_owner(thread);
	peak_enter(&thread->peak);
	return thread;
}

static void at_thread_exit(void *arg)
{
	struct thread *thread = arg;

	if (thread != thread_current || !process_records())
		return;
	if (++thread->exit_rounds < DESTRUCTOR_ROUNDS && pthread_setspecific(key, thread) == 0)
		return;
	/* By now it has the name that it was given. */
	if (!sys_sandboxed())
		sys_call(SYS_prctl, PR_GET_NAME, (long)thread->record->name, 0, 0);
	ending = true;
	thread_current = &no_thread;
	hand_over(thread);
}

void thread_init(void)
{
	key_made = pthread_key_create(&key, at_thread_exit) == 0;
}

void thread_before_tls(void)
{
	if (thread_current)
		return;
	thread_current = &no_thread;
	ending = true;
}

void thread_leave_slow(struct thread *thread)
{
	if (!thread->level) {
		hand_over(thread);
		return;
	}
	peak_leave(&thread->peak);
	thread->ready = thread->idle;
}

static struct thread *first_event(void)
{
	struct thread *thread = reuse();

	if (!thread)
		thread = make(0);
	if (!thread)
		return NULL;
	thread->ready = THREAD_BUSY;
	if (ending) {
		thread->borrowed = 1;
		return thread;
	}
	if (thread_current != &no_thread) {
		/* A signal handler was faster. */
		hand_over(thread);
		return thread_enter();
	}
	thread_current = thread;
	if (key_made)
		pthread_setspecific(key, thread);
	return thread;
}

static bool on_alternate_stack(void)
{
	stack_t stack;

	return sys_call(SYS_sigaltstack, 0, (long)&stack, 0, 0) < 0 || (stack.ss_flags & SS_ONSTACK);
}

/* A handler that interrupted an event of *thread's has left by siglongjmp(): else it would be deeper in the stack than that
 * event, unless it were on a stack of its own.  Not known for level 0, whose events leave no trace. */
static bool is_abandoned(const struct thread *thread, uintptr_t frame)
{
	return thread->level && frame - thread->entered < STACK_MAX && !sys_sandboxed() &&
	       !on_alternate_stack();
}

/* The event that it was busy with will not end. */
static void take_back(struct thread *thread)
{
	unwind_flush(&thread->unwind);
	stack_cache_flush(&thread->stacks);
	thread->last_alloc = 0;
	loss_add(FORMAT_LOSS_EVENTS, 1);
	thread->ready = thread->idle;
}

/* The struct for an event that interrupted one of *thread's; frame is where it happens. */
static struct thread *nested_event(struct thread *thread, uintptr_t frame)
{
	while (thread->ready == THREAD_BUSY) {
		if (is_abandoned(thread, frame)) {
			take_back(thread);
			break;
		}
		if (!thread->nested && thread->level < LEVEL_MAX)
			thread->nested = make(thread->level + 1);
		thread = thread->nested;
		if (!thread)
			return NULL;
	}
	thread->entered = frame;
	thread->ready = THREAD_BUSY;
	thread->borrowed = 1;
	peak_enter(&thread->peak);
	return thread;
}

struct thread *thread_enter_slow(void)
{
	struct thread *thread = thread_current;

	if (!process_records()) {
		/* In a child that was forked by a handler inside an event: the event must end first, in the
		 * state that it began in. */
		if (thread->ready == THREAD_BUSY && thread != &no_thread) {
			loss_add(FORMAT_LOSS_EVENTS, 1);
			return NULL;
		}
		if (!process_begin())
			return NULL;
		thread = thread_current;
	}
	if (thread == &no_thread)
		thread = first_event();
	else if (thread->ready == THREAD_BUSY)
		thread = nested_event(thread, (uintptr_t)__builtin_frame_address(0));
	else
		thread->ready = THREAD_BUSY;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (!thread)
		loss_add(FORMAT_LOSS_EVENTS, 1);
	return thread;
}

uint64_t thread_live_bytes(uint32_t stack_id)
{
	struct counter_totals totals = {0};

	thread_read_counters(stack_id, stack_id + 1, counters_read_frees, &totals);
	thread_read_counters(stack_id, stack_id + 1, counters_read_allocs, &totals);
	return totals.alloc_bytes > totals.free_bytes ? totals.alloc_bytes - totals.free_bytes : 0;
}

bool thread_is_interrupted(void)
{
	return thread_current != &no_thread && thread_current->ready == THREAD_BUSY;
}

void thread_fork_child(void)
{
	thread_current = &no_thread;
	ending = false;
	atomic_store_explicit(&all, NULL, memory_order_relaxed);
}

/* The names of running threads, from /proc/self/task/TID/comm (proc(5)). */
void thread_record_names(void)
{
	static const char start[] = "/proc/self/task/", end[] = "/comm";
	char path[64], name[sizeof(((struct format_thread *)0)->name) + 1];
	struct thread *thread;
	ssize_t size;
	int fd;

	for (thread = thread_first(); thread && !sys_sandboxed(); thread = thread->next) {
		pid_t tid = atomic_load_explicit(&thread->tid, memory_order_relaxed);
		struct text text = {.bytes = path, .room = sizeof(path) - 1};

		if (tid <= 0 || tid == INT_MAX)
			continue;
		text_string(&text, start);
		text_uint(&text, (uint64_t)tid, 0);
		text_string(&text, end);
		path[text.size] = '\0';
		fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
		size = fd >= 0 ? sys_read(fd, name, sizeof(name) - 1) : 0;
		if (fd >= 0)
			sys_close(fd);
		if (size > 1 && (size_t)size < sizeof(name)) {
			name[size - 1] = '\0'; /* in place of the newline */
			memcpy(thread->record->name, name, (size_t)size);
		}
	}
}
