/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys.c - the system calls of sys.h that need more than one instruction around them.
 */
#include "libpmem/sys.h"

#include <stdatomic.h>
#include <limits.h>
#include <time.h>

_Atomic bool sys_sandbox;

enum {
	HIGH_FD = 512,
	HIGH_FD_MARGIN = 16, /* room that must be above it */
	SCARCE_FDS = 32,
	FIRST_FD = 3, /* never take the place of stdin, stdout or stderr */
};

bool sys_write_all(int fd, const void *buffer, size_t size)
{
	const char *at = buffer;

	while (size > 0) {
		ssize_t count = sys_write(fd, at, size);

		if (count == -EINTR)
			continue;
		if (count <= 0)
			return false;
		at += count;
		size -= (size_t)count;
	}
	return true;
}

static _Atomic bool copy_refused;

bool sys_copy(void *buffer, const void *from, size_t size)
{
	struct {
		const void *start;
		size_t size;
	} local = {buffer, size}, remote = {from, size};
	long count = arch_syscall6(SYS_process_vm_readv, sys_getpid(), (long)&local, 1,
				   (long)&remote, 1, 0);

	/* Not the memory's fault: a filter, or a kernel without it. */
	if (count < 0 && count != -EFAULT)
		atomic_store_explicit(&copy_refused, true, memory_order_relaxed);
	return count >= 0 && (size_t)count == size;
}

bool sys_copy_refused(void)
{
	return atomic_load_explicit(&copy_refused, memory_order_relaxed);
}

/* Returns false where that may not be asked. */
static bool ask_file_limit(uint64_t *soft)
{
	uint64_t both[2]; /* struct rlimit: soft, hard */

	if (sys_soft_limit(SYS_LIMIT_FSIZE, soft))
		return true;
	if (sys_call(SYS_getrlimit, SYS_LIMIT_FSIZE, (long)both, 0, 0) < 0)
		return false;
	*soft = both[0];
	return true;
}

int sys_check_file_end(uint64_t end)
{
	enum { UNKNOWN, KNOWN };
	static _Atomic int state = UNKNOWN;
	static _Atomic uint64_t known;
	uint64_t limit;

	if (!sys_sandboxed() && ask_file_limit(&limit)) {
		atomic_store_explicit(&known, limit, memory_order_relaxed);
		/* Release: known; pairs with the acquire below. */
		atomic_store_explicit(&state, KNOWN, memory_order_release);
		/* Acquire: known; pairs with the release above. */
	} else if (atomic_load_explicit(&state, memory_order_acquire) == UNKNOWN) {
		return -EPERM;
	} else {
		limit = atomic_load_explicit(&known, memory_order_relaxed);
	}
	return end > limit ? -EFBIG : 0;
}

/* The soft limit on descriptors: they are below it. */
static uint64_t fd_limit(void)
{
	uint64_t limit = HIGH_FD;

	sys_soft_limit(SYS_LIMIT_NOFILE, &limit);
	return limit;
}

/* The highest free number below limit, if that is small; from HIGH_FD on where there is room. */
int sys_move_up(int fd)
{
	uint64_t limit = fd_limit();
	int floor = limit > HIGH_FD + HIGH_FD_MARGIN ? HIGH_FD
						     : (int)(limit < INT_MAX ? limit : INT_MAX) - 1;

	for (; floor > fd && floor >= FIRST_FD; floor--) {
		int moved = sys_fcntl(fd, F_DUPFD_CLOEXEC, floor);

		if (moved < 0)
			continue;
		sys_close(fd);
		return moved;
	}
	sys_fcntl(fd, F_SETFD, FD_CLOEXEC);
	return fd;
}

bool sys_fds_scarce(void)
{
	return fd_limit() < SCARCE_FDS;
}

sys_clock_function *sys_vdso_clock;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now = {0};

	if (!sys_vdso_clock || sys_vdso_clock(clock, &now) != 0)
		sys_call(SYS_clock_gettime, clock, (long)&now, 0, 0);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t sys_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t sys_realtime_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

uint64_t sys_monotonic_coarse_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC_COARSE);
}
