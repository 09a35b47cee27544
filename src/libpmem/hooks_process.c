/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hooks_process.c - the other calls that the recorder must see: ends, unloading, sandboxes, unmapping.
 *
 * Each passes on to the next definition in the search order, which may be another preloaded library's.  Only
 * while that is being looked up the calls are made here, as the C library makes them: a system call and errno.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/types.h>

#include "libpmem/modules.h"
#include "libpmem/process.h"
#include "libpmem/real.h"
#include "libpmem/sys.h"
#include "libpmem/unwind.h"

#define EXPORT __attribute__((visibility("default")))

/* musl before 1.2.4 has a macro of that name, and exports the function all the same. */
#undef mmap64

/* Of the kernel (linux/seccomp.h), whose headers musl-gcc does not find. */
enum { STRICT_MODE = 1 };

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4 /* Linux 5.7 */
#endif

EXPORT _Noreturn void _exit(int status);
EXPORT _Noreturn void _Exit(int status);
EXPORT int dlclose(void *handle);
EXPORT int prctl(int option, ...);
EXPORT void *mmap(void *addr, size_t size, int protection, int flags, int fd, off_t offset);
EXPORT void *mmap64(void *addr, size_t size, int protection, int flags, int fd, off_t offset);
EXPORT int munmap(void *addr, size_t size);
EXPORT int mprotect(void *addr, size_t size, int protection);
EXPORT void *mremap(void *addr, size_t old_size, size_t new_size, int flags, ...);

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

/* As every C library's prctl(): -errno becomes -1 and errno. */
static long result_of(long result)
{
	if (result >= 0 || result < -4095)
		return result;
	errno = (int)-result;
	return -1;
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
		result = (int)result_of(
			arch_syscall6(SYS_prctl, option, (long)a, (long)b, (long)c, (long)d, 0));
	if (entered && result < 0)
		process_leave_sandbox();
	return result;
}

/* After the call: a page that another thread proved before it may be gone. */
static long changed(long result)
{
	atomic_fetch_add_explicit(&unwind_mappings, 1, memory_order_release);
	return result;
}

/* A mapping put over another one is the only kind that takes memory away. */
void *mmap(void *addr, size_t size, int protection, int flags, int fd, off_t offset)
{
	long result;

	if (real_resolve() && real.mmap)
		result = (long)real.mmap(addr, size, protection, flags, fd, offset);
	else
		result = result_of(arch_syscall6(SYS_mmap, (long)addr, (long)size, protection,
						 flags, fd, offset));
	return (void *)(flags & MAP_FIXED ? changed(result) : result);
}

/* off_t has 64 bits on every CPU that we know. */
void *mmap64(void *addr, size_t size, int protection, int flags, int fd, off_t offset)
{
	return mmap(addr, size, protection, flags, fd, offset);
}

int munmap(void *addr, size_t size)
{
	if (real_resolve() && real.munmap)
		return (int)changed(real.munmap(addr, size));
	return (int)changed(result_of(sys_call(SYS_munmap, (long)addr, (long)size, 0, 0)));
}

int mprotect(void *addr, size_t size, int protection)
{
	if (real_resolve() && real.mprotect)
		return (int)changed(real.mprotect(addr, size, protection));
	return (int)changed(result_of(sys_call(SYS_mprotect, (long)addr, (long)size, protection, 0)));
}

void *mremap(void *addr, size_t old_size, size_t new_size, int flags, ...)
{
	void *new_addr = NULL;
	va_list args;

	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) {
		va_start(args, flags);
		new_addr = va_arg(args, void *);
		va_end(args);
	}
	if (!real_resolve() || !real.mremap) {
		errno = ENOSYS;
		return MAP_FAILED;
	}
	/* Which flags make it read the last argument differs between versions. */
	return (void *)changed((long)real.mremap(addr, old_size, new_size, flags, new_addr));
}
