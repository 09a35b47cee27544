/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * die.c - a library for the tool: kills its worker at a call of ptrace(2), process_vm_writev(2) or waitpid(2).
 *
 * DIE_AT=N: at the Nth such call of a process that this one forked, before the call; with DIE_AFTER=1 behind it.  With DIE_ALL=1 the process
 * that was started first goes too.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static pid_t first;
static long at, count;
static int after, all;

__attribute__((constructor)) static void begin(void)
{
	const char *text = getenv("DIE_AT");

	first = getpid();
	at = text ? strtol(text, NULL, 10) : 0;
	after = getenv("DIE_AFTER") != NULL;
	all = getenv("DIE_ALL") != NULL;
}

static void die_if(int is_after)
{
	if (getpid() == first || is_after != after || count != at)
		return;
	if (all)
		kill(first, SIGKILL);
	kill(getpid(), SIGKILL);
}

static void *next(const char *name)
{
	count++;
	die_if(0);
	return dlsym(RTLD_NEXT, name);
}

long ptrace(enum __ptrace_request request, ...)
{
	long (*real)(enum __ptrace_request,
		     ...) = (long (*)(enum __ptrace_request, ...))next("ptrace");
	va_list args;
	pid_t pid;
	void *addr, *data;
	long result;

	va_start(args, request);
	pid = va_arg(args, pid_t);
	addr = va_arg(args, void *);
	data = va_arg(args, void *);
	va_end(args);
	result = real(request, pid, addr, data);
	die_if(1);
	return result;
}

ssize_t process_vm_writev(pid_t pid, const struct iovec *local, unsigned long local_count,
			  const struct iovec *remote, unsigned long remote_count,
			  unsigned long flags)
{
	ssize_t (*real)(pid_t, const struct iovec *, unsigned long, const struct iovec *,
			unsigned long,
			unsigned long) = (ssize_t(*)(pid_t, const struct iovec *, unsigned long,
						     const struct iovec *, unsigned long,
						     unsigned long))next("process_vm_writev");
	ssize_t result = real(pid, local, local_count, remote, remote_count, flags);

	die_if(1);
	return result;
}

pid_t waitpid(pid_t pid, int *status, int options)
{
	pid_t (*real)(pid_t, int *, int) = (pid_t(*)(pid_t, int *, int))next("waitpid");
	pid_t result = real(pid, status, options);

	die_if(1);
	return result;
}
