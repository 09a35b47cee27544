/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hooks_process.c - the other calls that the recorder must see: ends, unloading, sandboxes.
 *
 * Each passes on to the next definition in the search order, which may be another preloaded library's.  Only
 * while that is being looked up the calls are made here, as the C library makes them: a system call and errno.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdbool.h>
#include <sys/prctl.h>

#include "libpmem/modules.h"
#include "libpmem/process.h"
#include "libpmem/real.h"
#include "libpmem/sys.h"

#define EXPORT __attribute__((visibility("default")))

/* Of the kernel (linux/seccomp.h), whose headers musl-gcc does not find. */
enum { STRICT_MODE = 1 };

EXPORT _Noreturn void _exit(int status);
EXPORT _Noreturn void _Exit(int status);
EXPORT int dlclose(void *handle);
EXPORT int prctl(int option, ...);

_Noreturn void _exit(int status)
{
	process_end();
	if (real_resolve() && real.exit)
		real.exit(status);
	for (;;)
		sys_call(SYS_exit_group, status, 0, 0, 0);
}

_Noreturn void _Exit(int status)
{
	_exit(status);
}

int dlclose(void *handle)
{
	int result;

	if (!real_resolve() || !real.dlclose)
		return -1;
	result = real.dlclose(handle);
	modules_suspect();
	return result;
}

int prctl(int option, ...)
{
	unsigned long a, b, c, d;
	bool entered = false;
	va_list args;
	int result;

	va_start(args, option);
	a = va_arg(args, unsigned long);
	b = va_arg(args, unsigned long);
	c = va_arg(args, unsigned long);
	d = va_arg(args, unsigned long);
	va_end(args);
	if (option == PR_SET_SECCOMP && a == STRICT_MODE)
		process_end_before_strict();
	else if (option == PR_SET_NO_NEW_PRIVS || option == PR_SET_SECCOMP)
		entered = process_enter_sandbox();
	if (real_resolve() && real.prctl)
		result = real.prctl(option, a, b, c, d);
	else
		result = (int)real_raw_result(
			arch_syscall6(SYS_prctl, option, (long)a, (long)b, (long)c, (long)d, 0));
	if (entered && result < 0)
		process_leave_sandbox();
	return result;
}
