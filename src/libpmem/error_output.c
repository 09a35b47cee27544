/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * error_output.c - see error_output.h.
 *
 * Between poll(2) and write(2) another thread may fill a pipe, and then we would wait.  So pipes are written to by a call that never
 * waits: pwritev2(2) with RWF_NOWAIT where the kernel has it for pipes (Linux 6.4), else through a description of our own,
 * from /proc/self/fd, with O_NONBLOCK.
 */
#define _GNU_SOURCE
#include "libpmem/error_output.h"

#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "libpmem/kept.h"
#include "libpmem/sys.h"

enum { STDERR = 2, NOWAIT = 8 /* RWF_NOWAIT */ };

extern char **environ;

static struct kept output = KEPT_NONE_INIT; /* immutable after init */
static mode_t type;			    /* of it: S_IFMT */

/* --- what it is ------------------------------------------------------------------------------ */

/* The decimal number at *text, which is moved behind it. */
static uint64_t take_number(const char **text)
{
	uint64_t value = 0;

	for (; **text >= '0' && **text <= '9'; ++*text)
		value = value * 10 + (uint64_t)(**text - '0');
	return value;
}

/* JOURNAL_STREAM=device:inode. */
static bool is_journal(const struct kept *kept)
{
	static const char variable[] = "JOURNAL_STREAM=";

	for (char **entry = environ; entry && *entry; entry++) {
		const char *at = *entry + sizeof(variable) - 1;

		if (strncmp(*entry, variable, sizeof(variable) - 1) == 0)
			return take_number(&at) == kept->dev && *at++ == ':' &&
			       take_number(&at) == kept->ino && *at == '\0';
	}
	return false;
}

void error_output_init(void)
{
	struct kept found;
	struct stat st;

	if (sys_fstat(STDERR, &st) < 0 || kept_watch(&found, STDERR) < 0)
		return;
	type = st.st_mode & S_IFMT;
	if (type == S_IFREG || type == S_IFIFO || type == S_IFCHR ||
	    (type == S_IFSOCK && is_journal(&found)))
		output = found;
}

/* --- writing --------------------------------------------------------------------------------- */

/* Beyond RLIMIT_FSIZE it would be SIGXFSZ. */
static long put_file(const char *line, size_t size)
{
	long at = sys_call(SYS_lseek, STDERR, 0, SEEK_CUR, 0);
	struct stat st;
	int error = sys_fstat(STDERR, &st);
	uint64_t end;

	if (at < 0 || error < 0)
		return -EBADF;
	end = (uint64_t)(at > st.st_size ? at : st.st_size) + size;
	error = sys_check_file_end(end);
	return error < 0 ? error : sys_write(STDERR, line, size);
}

/* Through a description of our own. */
static long put_reopened(const char *line, size_t size)
{
	enum { FLAGS = O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY };
	int fd = sys_openat(AT_FDCWD, "/proc/self/fd/2", FLAGS, 0);
	struct stat st;
	long done = -EBADF;

	if (fd < 0)
		return fd;
	if (sys_fstat(fd, &st) == 0 && st.st_dev == output.dev && st.st_ino == output.ino)
		done = sys_write(fd, line, size);
	sys_close(fd);
	return done;
}

/* A terminal may be stopped, a pipe full or without a reader. */
static bool takes_more(void)
{
	struct pollfd one = {.fd = STDERR, .events = POLLOUT};
	struct timespec none = {0};

	return sys_call(SYS_ppoll, (long)&one, 1, (long)&none, 0) == 1 && one.revents == POLLOUT;
}

static long put_pipe(const char *line, size_t size)
{
	const struct iovec part = {(void *)(uintptr_t)line, size};
	long done;

	if (!takes_more())
		return -EAGAIN;
	done = arch_syscall6(SYS_pwritev2, STDERR, (long)&part, 1, -1, -1, NOWAIT);
	return done == -EOPNOTSUPP || done == -ENOSYS || done == -EINVAL ? put_reopened(line, size)
									 : done;
}

static long put_device(const char *line, size_t size)
{
	return takes_more() ? sys_write(STDERR, line, size) : -EAGAIN;
}

static long put(const char *line, size_t size)
{
	switch (type) {
	case S_IFREG:
		return put_file(line, size);
	case S_IFIFO:
		return put_pipe(line, size);
	case S_IFSOCK:
		return arch_syscall6(SYS_sendto, STDERR, (long)line, (long)size,
				     MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);
	default:
		return put_device(line, size);
	}
}

/* --- signals --------------------------------------------------------------------------------- */

/* Numbers and sizes of the kernel (rt_sigprocmask(2)). */
#define SIGNAL_BIT(number) (UINT64_C(1) << ((number)-1))

/* A pipe without a reader is SIGPIPE, a terminal that is another group's may be SIGTTOU. */
static const uint64_t signals = SIGNAL_BIT(SIGPIPE) | SIGNAL_BIT(SIGTTOU);

static bool is_pending(void)
{
	uint64_t pending = 0;

	sys_call(SYS_rt_sigpending, (long)&pending, sizeof(pending), 0, 0);
	return pending & SIGNAL_BIT(SIGPIPE);
}

/* Takes the one that our write made. */
static void take_pipe_signal(void)
{
	const uint64_t pipe = SIGNAL_BIT(SIGPIPE);
	struct timespec none = {0};

	sys_call(SYS_rt_sigtimedwait, (long)&pipe, 0, (long)&none, sizeof(pipe));
}

bool error_output_line(const char *line, size_t size)
{
	uint64_t before;
	bool was_pending;
	long done;

	if (sys_sandboxed() || size > ERROR_OUTPUT_MAX || kept_fd(&output) < 0)
		return false;
	if (sys_call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&signals, (long)&before, sizeof(before)) <
	    0)
		return false;
	was_pending = is_pending();
	done = put(line, size);
	if (done == -EPIPE && !was_pending)
		take_pipe_signal();
	sys_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof(before));
	return done == (long)size;
}
