/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process.c - start, fork, sandbox and end of recording, see process.h.
 *
 * The first event may come before any constructor, ours and libc's included; then it starts the
 * recorder.  What needs libc (end handlers) waits for the constructor.
 */
#define _GNU_SOURCE
#include "libpmem/process.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "libpmem/clock.h"
#include "libpmem/errand.h"
#include "libpmem/facts.h"
#include "libpmem/handlers.h"
#include "libpmem/hook.h"
#include "libpmem/last_words.h"
#include "libpmem/live_table.h"
#include "libpmem/lock.h"
#include "libpmem/log.h"
#include "libpmem/loss.h"
#include "libpmem/mappings.h"
#include "libpmem/modules.h"
#include "libpmem/names.h"
#include "libpmem/own_malloc.h"
#include "libpmem/peak.h"
#include "libpmem/place.h"
#include "libpmem/real.h"
#include "libpmem/reallocs.h"
#include "libpmem/record.h"
#include "libpmem/sample_pages.h"
#include "libpmem/settings.h"
#include "libpmem/side_table.h"
#include "libpmem/snapshot.h"
#include "libpmem/store.h"
#include "libpmem/sys.h"
#include "libpmem/thread.h"
#include "libpmem/timeline.h"
#include "libpmem/tree.h"
#include "libpmem/unwind.h"
#include "libpmem/verify.h"
#include "libpmem/waterfall.h"

enum state { STATE_NEW, STATE_RECORDING, STATE_OFF };

enum { MARK_FIRST = 1, MARK_STEP = 2 };

enum { ENVIRONMENT_MAX = 1 << 20, VARIABLES_MAX = 1 << 14 };

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18 /* Linux 4.14 */
#endif

extern char **environ;

/* In .bss, so that its address is a constant on the hot path. */
union process_page process_page __attribute__((visibility("hidden"), aligned(4096)));

static struct lock process_lock = {.rank = LOCK_PROCESS};
static _Atomic enum state state;
static _Atomic pid_t pid; /* of the process that recorded last in this memory */

/* --- what to record -------------------------------------------------------------------------- */

/* Shell pattern with * and ? only. */
static bool matches(const char *pattern, const char *text)
{
	const char *star = NULL, *retry = NULL;

	while (*text) {
		if (*pattern == '*') {
			star = ++pattern;
			retry = text;
		} else if (*pattern == '?' || *pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star;
			text = ++retry;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static bool is_chosen(void)
{
	const char *name = strrchr(modules_program_path(), '/');

	return !settings.only[0] || !name || matches(settings.only, name + 1);
}

/* Before libc's own constructor environ is not set; the kernel's copy is. */
static void read_kernel_environment(void)
{
	char *text = sys_map(ENVIRONMENT_MAX);
	char **variables = sys_map(VARIABLES_MAX * sizeof(*variables));
	int fd = sys_openat(AT_FDCWD, "/proc/self/environ", O_RDONLY | O_CLOEXEC, 0);
	size_t size = 0, at, count = 0;
	ssize_t got;

	while (text && fd >= 0 && size < ENVIRONMENT_MAX - 1 &&
	       (got = sys_read(fd, text + size, ENVIRONMENT_MAX - 1 - size)) > 0)
		size += (size_t)got;
	for (at = 0; variables && at < size && count < VARIABLES_MAX - 1;
	     at += strlen(text + at) + 1)
		variables[count++] = text + at;
	settings_read(variables);
	if (fd >= 0)
		sys_close(fd);
	if (text)
		sys_unmap(text, ENVIRONMENT_MAX);
	if (variables)
		sys_unmap(variables, VARIABLES_MAX * sizeof(*variables));
}

/* PMEM_CHILDREN=0: programs that this one executes must not load us.  In place: the program's
 * environment keeps its strings and their order. */
static void leave_preload(void)
{
	static const char variable[] = "LD_PRELOAD=", library[] = "libpmem.so";
	char **entry, *from, *to;
	size_t size;

	for (entry = environ; entry && *entry; entry++) {
		if (strncmp(*entry, variable, sizeof(variable) - 1) != 0)
			continue;
		from = to = *entry + sizeof(variable) - 1;
		while (*from) {
			size = strcspn(from, ": ");
			if (size < sizeof(library) - 1 ||
			    memcmp(from + size - (sizeof(library) - 1), library,
				   sizeof(library) - 1) != 0) {
				memmove(to, from, size);
				to += size;
				if (from[size])
					*to++ = from[size];
			}
			from += size + (from[size] != 0);
		}
		*to = 0;
	}
}

/* --- start ----------------------------------------------------------------------------------- */

/* Where an old kernel cannot wipe the page, this tells of fork(), at least.  And if a handler forks
 * inside an event, that event goes on in the child too: it must not write into the parent's
 * profile. */
static void before_fork(void)
{
	if (thread_is_interrupted())
		store_before_fork();
}

static void after_fork(void)
{
	if (thread_is_interrupted())
		store_after_fork();
}

static void on_fork_child(void)
{
	if (thread_is_interrupted())
		store_detach();
	atomic_store_explicit(&process_page.mark, 0, memory_order_relaxed);
}

/* Our maps count as data, but for the sparse ones (live_map.c): where RLIMIT_DATA is small the
 * program would run out of memory that it has without us. */
static bool has_small_data_limit(void)
{
	const uint64_t enough = 64 << 20;
	uint64_t limit = UINT64_MAX;

	sys_soft_limit(SYS_LIMIT_DATA, &limit);
	if (limit >= enough)
		return false;
	log_warn_data_limit();
	return true;
}

/* The file, with the facts about this process. */
static void begin_profile(void)
{
	const char *own_malloc = own_malloc_path(), *own_new = own_malloc_new_path();

	store_begin();
	facts_fill(store_head());
	errand_describe(&store_head()->errand);
	hook_describe(store_head());
	if (own_malloc[0])
		store_head()->own_malloc = store_text(own_malloc, strlen(own_malloc));
	if (own_new[0])
		store_head()->own_new = store_text(own_new, strlen(own_new));
	atomic_store_explicit(&store_head()->state, FORMAT_STATE_RECORDING, memory_order_relaxed);
}

/* All fields of the header are complete: it is a profile now. */
static void publish_profile(void)
{
	atomic_thread_fence(memory_order_release);
	memcpy(store_head()->magic, FORMAT_MAGIC, sizeof(store_head()->magic));
	/* Where the file cannot be mapped. */
	store_flush(UINT32_MAX);
}

static bool start_modules(void)
{
	clock_init();
	if (environ)
		settings_read(environ);
	else
		read_kernel_environment();
	if (getauxval(AT_SECURE) || has_small_data_limit())
		return false;
	place_init();
	modules_find_program();
	own_malloc_init();
	if (!is_chosen())
		return false;
	begin_profile();
	if (!tree_init(settings.max_nodes) || !modules_init() || !live_table_init(real.layout)) {
		log_warn_memory();
		return false;
	}
	mappings_init();
	waterfall_init();
	sample_pages_init((uintptr_t)real_boot_arena, (uintptr_t)real_boot_arena + REAL_BOOT_SIZE);
	stack_check_choose();
	sys_call(SYS_madvise, (long)&process_page, sizeof(process_page), MADV_WIPEONFORK, 0);
	peak_init();
	thread_init();
	timeline_init();
	log_init();
	snapshot_init();
	last_words_init();
	publish_profile();
	return true;
}

static bool start(void)
{
	bool ok;

	if (!real_resolve())
		return false;
	ok = start_modules();
	if (!ok)
		store_abandon();
	atomic_store_explicit(&pid, sys_getpid(), memory_order_relaxed);
	atomic_store_explicit(&state, ok ? STATE_RECORDING : STATE_OFF, memory_order_relaxed);
	if (ok)
		/* Release: all state; read by process_records() in threads that this one makes. */
		atomic_store_explicit(&process_page.mark, MARK_FIRST, memory_order_release);
	return ok;
}

/* The parent's state is forgotten, not changed: its memory is a copy, but the next step's is
 * not. */
static bool start_child(void)
{
	bool ok;

	place_fork_child();
	store_fork_child();
	facts_fork_child();
	begin_profile();
	ok = tree_fork_child() && modules_fork_child();
	peak_fork_child();
	ok = live_table_fork_child() && ok;
	side_table_fork_child();
	sample_pages_fork_child();
	mappings_fork_child();
	reallocs_fork_child();
	thread_fork_child();
	timeline_fork_child();
	log_fork_child();
	names_fork_child();
	snapshot_fork_child();
	last_words_fork_child();
	waterfall_init();
	publish_profile();
	atomic_store_explicit(&pid, sys_getpid(), memory_order_relaxed);
	if (!ok)
		store_abandon();
	if (settings.profile && !store_path()[0])
		store_count_lost_child();
	if (ok)
		atomic_store_explicit(&process_page.mark, MARK_FIRST, memory_order_release);
	else
		atomic_store_explicit(&state, STATE_OFF, memory_order_relaxed);
	return ok;
}

void process_stop(void)
{
	atomic_store_explicit(&state, STATE_OFF, memory_order_relaxed);
	atomic_store_explicit(&process_page.mark, 0, memory_order_relaxed);
	atomic_store_explicit(&store_head()->state, FORMAT_STATE_STOPPED, memory_order_relaxed);
}

bool process_begin(void)
{
	pid_t known = atomic_load_explicit(&pid, memory_order_relaxed), me;
	bool ok = false;

	if (atomic_load_explicit(&state, memory_order_relaxed) == STATE_OFF)
		return false;
	/* A child of a sandboxed process could neither open a log nor ask who it is. */
	if (sys_sandboxed()) {
		/* Not process_stop(): the header is the parent's. */
		atomic_store_explicit(&state, STATE_OFF, memory_order_relaxed);
		if (settings.children)
			loss_add(FORMAT_LOSS_CHILDREN, 1);
		return false;
	}
	me = sys_getpid();
	if (lock_mine(&process_lock))
		return false;
	/* Whoever held the lock at fork() does not exist here.  One thread of the child finds that
	 * out. */
	if (atomic_load_explicit(&state, memory_order_relaxed) == STATE_RECORDING && known != me &&
	    atomic_compare_exchange_strong_explicit(&pid, &known, me, memory_order_relaxed,
						    memory_order_relaxed))
		lock_reset(&process_lock);
	if (!lock_take(&process_lock))
		return false;
	if (process_records())
		ok = true;
	else if (atomic_load_explicit(&state, memory_order_relaxed) == STATE_NEW)
		ok = start();
	else if (atomic_load_explicit(&state, memory_order_relaxed) == STATE_RECORDING &&
		 settings.children)
		ok = start_child();
	else
		atomic_store_explicit(&state, STATE_OFF, memory_order_relaxed);
	lock_drop(&process_lock);
	return ok;
}

void process_change_mark(void)
{
	/* Release: what changed; pairs with the acquire in process_mark_now(). */
	if (process_records())
		atomic_fetch_add_explicit(&process_page.mark, MARK_STEP, memory_order_release);
}

bool process_is_recorded(void)
{
	return sys_getpid() == atomic_load_explicit(&pid, memory_order_relaxed);
}

bool process_enter_sandbox(void)
{
	if ((!process_records() && !process_begin()) || sys_sandboxed() || !process_is_recorded())
		return false;
	/* The program's own module, even if it did not allocate yet. */
	modules_encode(getauxval(AT_ENTRY) + 1);
	snapshot_enter_sandbox();
	store_reserve();
	/* Later nothing can be copied: what the file cannot map has its state of now. */
	store_flush(UINT32_MAX);
	peak_seal();
	atomic_store_explicit(&sys_sandbox, true, memory_order_relaxed);
	return true;
}

void process_leave_sandbox(void)
{
	atomic_store_explicit(&sys_sandbox, false, memory_order_relaxed);
}

void process_end_before_strict(void)
{
	if (!process_records()) {
		/* Not process_stop(): in a forked child the header is the parent's still. */
		atomic_store_explicit(&state, STATE_OFF, memory_order_relaxed);
		return;
	}
	if (!sys_sandboxed() && !process_is_recorded())
		return;
	process_end();
	process_stop();
}

/* --- end ------------------------------------------------------------------------------------- */

/* The verification build's last line. */
static void write_verification(void)
{
	char bytes[256];
	struct text text = {.bytes = bytes, .room = sizeof(bytes)};

	verify_report(&text);
	if (text.size && settings.log)
		log_write(text.bytes, text.size);
}

static void set(_Atomic uint64_t *field, uint64_t value)
{
	atomic_store_explicit(field, value, memory_order_relaxed);
}

/* What readers want of the latest moment. */
static void update_profile(void)
{
	struct format_header *head = store_head();

	timeline_final();
	/* mincore(2) is not among the calls of a sandbox. */
	if (!sys_sandboxed())
		set(&head->own_bytes,
		    store_size() + side_table_size() + mappings_size() + live_table_resident());
	waterfall_record();
	set(&head->update_ns, store_time());
}

/* Other threads may go on to record for a moment; their events count. */
static void end_profile(void)
{
	struct format_header *head = store_head();

	if (!sys_sandboxed())
		thread_record_names();
	update_profile();
	set(&head->end_ns, store_time());
	atomic_store_explicit(&head->state, FORMAT_STATE_ENDED, memory_order_relaxed);
	store_flush(UINT32_MAX);
}

/* Events after the end find recording off; so no signal handler writes to what is given back. */
static void trim_profile(void)
{
	enum { ALONE = 3 }; /* links of a folder with one more in it */
	struct stat tasks;

	if (sys_call(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/task", (long)&tasks, 0) < 0 ||
	    tasks.st_nlink != ALONE)
		return;
	atomic_store_explicit(&state, STATE_OFF, memory_order_relaxed);
	atomic_store_explicit(&process_page.mark, 0, memory_order_relaxed);
	store_trim();
}

void process_end(void)
{
	if (!process_records())
		return;
	/* In a sandbox we must not ask who we are: a vfork() child's end is taken for one that may
	 * not be the last.  The timeline's next point takes it back. */
	if (sys_sandboxed()) {
		snapshot_now();
		own_malloc_note();
		end_profile();
		return;
	}
	if (sys_getpid() != atomic_load_explicit(&pid, memory_order_relaxed))
		return;
	/* The program's own module, even if it did not allocate: its file tells of an allocator of
	 * its own. */
	modules_encode(getauxval(AT_ENTRY) + 1);
	snapshot_final();
	own_malloc_note();
	end_profile();
	write_verification();
	trim_profile();
}

__attribute__((constructor)) static void construct(void)
{
	static const struct handlers_fork at_fork = {before_fork, after_fork, on_fork_child};
	bool records = process_records() || process_begin();

	handlers_register(&at_fork, process_end);
	if (!records)
		return;
	if (!settings.children)
		leave_preload();
	if (settings.log) {
		snapshot_open_log();
		own_malloc_note();
	} else {
		log_warn_profile();
	}
	verify_init();
}
