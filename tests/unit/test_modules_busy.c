/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_modules_busy.c - what others do while a thread has the table of modules locked.
 *
 * A signal handler that interrupted that very thread cannot find the rules of code: its call stack is cut, and says so.
 * Another thread that must not go on with what it knows waits until the modules were looked at.  Both are brought about
 * inside the loader's function that the recorder asks under that lock.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cmocka.h>

#include "libpmem/modules.h"
#include "libpmem/rules.h"
#include "unwind_fixture.h"

struct dl_find_object;

int _dl_find_object(void *address, struct dl_find_object *result);

static _Atomic(void (*)(void)) under_lock; /* called once */

int _dl_find_object(void *address, struct dl_find_object *result)
{
	int (*next)(void *, struct dl_find_object *);
	void (*call)(void) = atomic_exchange(&under_lock, NULL);

	*(void **)&next = dlsym(RTLD_NEXT, "_dl_find_object");
	if (call)
		call();
	return next ? next(address, result) : -1;
}

static uintptr_t libc_code(void)
{
	return (uintptr_t)dlsym(RTLD_NEXT, "malloc");
}

/* --- a handler ---------------------------------------------------------------------------------- */

static uintptr_t frame[64]; /* its return address leads into the middle of a function */
static uint32_t flags;
static const char *library; /* what a snapshot in the handler would call ours */

static void capture(void)
{
	library = modules_library_path();
	unwind_capture(&walker->unwind, frame, FORMAT_HOOK_MALLOC);
	flags = walker->unwind.flags;
}

static void a_stack_whose_rules_cannot_be_found_says_that_it_is_cut(void **state)
{
	(void)state;
	frame[1] = (uintptr_t)walker_make + 16;
	/* The rule of what follows the caller's instruction is known, but no longer the module. */
	assert_int_not_equal(rule_kind(rules_at(frame[1])), CFI_NONE);
	modules_encode(frame[1] + ((uintptr_t)MODULES_CACHE_SIZE << MODULES_PAGE_SHIFT));
	atomic_store(&under_lock, capture);
	rules_at(libc_code());
	assert_null(atomic_load(&under_lock));
	assert_true(flags & UNWIND_TRUNCATED);
	assert_true(flags & UNWIND_UNCLEAN);
	assert_string_equal(library, modules_program_path());
	/* Nothing of that is remembered. */
	assert_int_not_equal(rule_kind(rules_at(frame[1] - 1)), CFI_NONE);
}

/* --- another thread ------------------------------------------------------------------------------ */

static atomic_bool looking, looked, other_is_back, other_was_early;
static _Atomic pid_t other_tid;

/* Its state in /proc/self/task/TID/stat, proc(5). */
static char state_of(pid_t tid)
{
	char path[64], text[512] = "";
	const char *name_end;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	close(fd);
	name_end = strrchr(text, ')');
	return name_end ? name_end[2] : '?';
}

/* Until the other thread is back too early, or sleeps: that it does nowhere but in lock_take(). */
static void look_slowly(void)
{
	atomic_store(&looking, true);
	while (!atomic_load(&other_is_back) && state_of(atomic_load(&other_tid)) != 'S')
		sched_yield();
	atomic_store(&looked, true);
}

static void *refresh_too(void *unused)
{
	atomic_store(&other_tid, (pid_t)syscall(SYS_gettid));
	while (!atomic_load(&looking))
		sched_yield();
	modules_refresh();
	atomic_store(&other_was_early, !atomic_load(&looked));
	atomic_store(&other_is_back, true);
	return unused;
}

static void a_thread_waits_for_one_that_looks_at_the_modules(void **state)
{
	pthread_t other;

	(void)state;
	modules_encode(libc_code()); /* a module to look at */
	assert_int_equal(pthread_create(&other, NULL, refresh_too, NULL), 0);
	while (!atomic_load(&other_tid))
		sched_yield();
	modules_suspect();
	atomic_store(&under_lock, look_slowly);
	modules_refresh();
	pthread_join(other, NULL);
	assert_true(atomic_load(&looked));
	assert_false(atomic_load(&other_was_early));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_stack_whose_rules_cannot_be_found_says_that_it_is_cut, walker_begin,
			walker_end),
		cmocka_unit_test_setup_teardown(a_thread_waits_for_one_that_looks_at_the_modules,
						walker_begin, walker_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
