/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys.h - raw system calls.
 *
 * A libc wrapper inside malloc would change errno and be a cancellation point.  Every function
 * returns what the kernel returns: -errno on failure.  Arguments and meaning: section 2 of the
 * Linux man pages.
 */
#ifndef PMEM_LIBPMEM_SYS_H
#define PMEM_LIBPMEM_SYS_H
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>

#include "arch/arch.h"

static inline long sys_call(long number, long a, long b, long c, long d)
{
	return arch_syscall6(number, a, b, c, d, 0, 0);
}

static inline int sys_openat(int dir, const char *path, int flags, mode_t mode)
{
	return (int)sys_call(SYS_openat, dir, (long)path, flags, mode);
}

static inline int sys_close(int fd)
{
	return (int)sys_call(SYS_close, fd, 0, 0, 0);
}

static inline ssize_t sys_read(int fd, void *buffer, size_t size)
{
	return sys_call(SYS_read, fd, (long)buffer, (long)size, 0);
}

static inline ssize_t sys_pread(int fd, void *buffer, size_t size, off_t offset)
{
	return sys_call(SYS_pread64, fd, (long)buffer, (long)size, offset);
}

static inline ssize_t sys_write(int fd, const void *buffer, size_t size)
{
	return sys_call(SYS_write, fd, (long)buffer, (long)size, 0);
}

static inline int sys_fstat(int fd, struct stat *st)
{
	return (int)sys_call(SYS_fstat, fd, (long)st, 0, 0);
}

static inline int sys_fcntl(int fd, int command, long argument)
{
	return (int)sys_call(SYS_fcntl, fd, command, argument, 0);
}

static inline int sys_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	return (int)sys_call(SYS_renameat, from_dir, (long)from, to_dir, (long)to);
}

static inline ssize_t sys_readlinkat(int dir, const char *path, char *buffer, size_t size)
{
	return sys_call(SYS_readlinkat, dir, (long)path, (long)buffer, (long)size);
}

static inline pid_t sys_getpid(void)
{
	return (pid_t)sys_call(SYS_getpid, 0, 0, 0, 0);
}

static inline pid_t sys_gettid(void)
{
	return (pid_t)sys_call(SYS_gettid, 0, 0, 0, 0);
}

/* Numbers of the kernel (asm-generic/resource.h). */
enum sys_limit { SYS_LIMIT_FSIZE = 1, SYS_LIMIT_DATA = 2, SYS_LIMIT_NOFILE = 7, SYS_LIMIT_AS = 9 };

/* The soft limit, UINT64_MAX for none.  False where prlimit64(2) was refused. */
static inline bool sys_soft_limit(enum sys_limit resource, uint64_t *limit)
{
	uint64_t both[2]; /* struct rlimit64: soft, hard */

	if (sys_call(SYS_prlimit64, 0, resource, 0, (long)both) < 0)
		return false;
	*limit = both[0];
	return true;
}

/* Memory of size bytes (whole pages), zeroed, private, touched lazily; NULL if there is none.  MADV_RANDOM, which changes nothing
 * for such memory but how it is read back from swap, tells it from the program's (core/waterfall.h), also where the two would
 * become one mapping. */
static inline void *sys_map_flags(size_t size, int more_flags)
{
	long p = arch_syscall6(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | more_flags, -1, 0);

	if (p < 0 && p > -4096)
		return NULL;
	sys_call(SYS_madvise, p, (long)size, MADV_RANDOM, 0);
	return (void *)p;
}

static inline void *sys_map(size_t size)
{
	return sys_map_flags(size, 0);
}

static inline int sys_unmap(const void *p, size_t size)
{
	return (int)sys_call(SYS_munmap, (long)p, (long)size, 0, 0);
}

/* Set for good when the program is about to enter a sandbox (seccomp): from then on the recorder makes
 * no system calls but those for memory, write and exit. */
extern _Atomic bool sys_sandbox;

static inline bool sys_sandboxed(void)
{
	return __atomic_load_n((bool *)&sys_sandbox, __ATOMIC_RELAXED);
}

/* Writes all size bytes, going on after EINTR and short writes.  Returns false on any other error. */
bool sys_write_all(int fd, const void *buffer, size_t size);

/* Copies size bytes of this process's memory, which may be gone: then false, where memcpy() would be SIGSEGV. */
bool sys_copy(void *buffer, const void *from, size_t size);

/* True if the kernel refused sys_copy() whatever the memory: from then on nothing may be concluded from its failure. */
bool sys_copy_refused(void);

/* 0, or why nothing may be written up to offset end of a file: -EFBIG where that would raise SIGXFSZ (RLIMIT_FSIZE), -EPERM where
 * the limit was never known.  In a sandbox, and where it may not be asked for any more, the last known one counts. */
int sys_check_file_end(uint64_t end);

/* Moves fd out of the program's way: to 512 or above where the limits allow it, else as high as
 * possible, close-on-exec.  Closes fd.  Returns the new descriptor, or fd itself if it cannot move. */
int sys_move_up(int fd);

/* True if the program may have so few descriptors that we keep none that we can do without. */
bool sys_fds_scarce(void);

/* The vDSO's clock_gettime(), once clock_init() found it. */
typedef int sys_clock_function(clockid_t clock, struct timespec *time);
extern sys_clock_function *sys_vdso_clock;

/* CLOCK_MONOTONIC and CLOCK_REALTIME in nanoseconds, without a system call where the vDSO has them. */
uint64_t sys_monotonic_ns(void);
uint64_t sys_realtime_ns(void);

/* CLOCK_MONOTONIC_COARSE: the same clock at the last tick of the kernel, up to 10 ms ago, for a third of the cost. */
uint64_t sys_monotonic_coarse_ns(void);

#endif
