/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * handlers.c - see handlers.h.
 *
 * glibc runs the destructors of libraries as one of the handlers of exit(), registered after ours.  musl runs them after
 * all handlers, those of the library that was initialized first, ours, last.  Its pthread_atfork() calls malloc(), which would
 * be a block of the program's: there the page that the kernel wipes must do, which misses fork() only in a handler that
 * interrupted the recorder (process.c).
 *
 * Which C library it is shows at run time: a library that was built with glibc works in a program of musl.
 */
#include "libpmem/handlers.h"

#include <stdbool.h>
#include <stddef.h>

/* glibc only.  The dso handle NULL stands for the program. */
extern const char *gnu_get_libc_version(void) __attribute__((weak));
extern int __cxa_at_quick_exit(void (*function)(void *), void *dso) __attribute__((weak));
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
			     void *dso) __attribute__((weak));

extern int __cxa_atexit(void (*function)(void *), void *arg, void *dso);
extern int at_quick_exit(void (*function)(void)) __attribute__((weak)); /* exported by musl only */

/* Immutable after handlers_register(). */
static void (*at_end)(void);
static bool has_late_destructors;

static void end(void *arg)
{
	(void)arg;
	at_end();
}

__attribute__((destructor)) static void end_late(void)
{
	if (has_late_destructors)
		at_end();
}

void handlers_register(const struct handlers_fork *fork, void (*end_function)(void))
{
	at_end = end_function;
	has_late_destructors = !gnu_get_libc_version;
	if (!has_late_destructors)
		__cxa_atexit(end, NULL, NULL);
	if (__register_atfork)
		__register_atfork(fork->before, fork->parent, fork->child, NULL);
	if (__cxa_at_quick_exit)
		__cxa_at_quick_exit(end, NULL);
	else if (at_quick_exit)
		at_quick_exit(end_function);
}
