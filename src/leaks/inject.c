/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inject.c - see inject.h.
 *
 * The thread is in PTRACE_EVENT_STOP, on its way back to the program.  From there it goes to our call's entry, its end, and, as it is
 * interrupted once more, to another PTRACE_EVENT_STOP before it executes anything: only there are registers whose system call is to begin
 * anew in good hands, as the kernel looks at them behind that stop only.
 */
#include "leaks/inject.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SYSCALL_STOP = SIGTRAP | 0x80, SIGMASK_SIZE = 8, VDSO_MAX = 256 * 1024 };

/* A call that takes longer is a machine that is about to stand still. */
#define CALL_NS UINT64_C(10000000000)

static bool set_general(pid_t tid, const struct arch_registers *registers)
{
	struct iovec part = {(void *)(uintptr_t)registers, sizeof(*registers)};

	return ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &part) == 0;
}

static bool get_general(pid_t tid, struct arch_registers *registers)
{
	struct iovec part = {registers, sizeof(*registers)};

	return ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &part) == 0;
}

/* Runs the thread until the kernel stops it at a beginning or end of a system call, or, with PTRACE_CONT, by an interrupt. */
static bool run_until(pid_t tid, enum __ptrace_request how, struct inject *call)
{
	unsigned long born;
	int status;

	for (;;) {
		if (ptrace(how, tid, NULL, NULL) != 0 ||
		    stop_wait(tid, &status, stop_now_ns() + CALL_NS) != tid || !WIFSTOPPED(status))
			return false;
		if (status >> 16 == PTRACE_EVENT_CLONE &&
		    ptrace(PTRACE_GETEVENTMSG, tid, NULL, &born) == 0)
			call->born = (pid_t)born;
		if (how == PTRACE_CONT ? stop_is_event(status) : status >> 8 == SYSCALL_STOP)
			return true;
	}
}

static bool run_call(const struct stop_thread *thread, struct inject *call)
{
	struct arch_registers registers = thread->registers;

	arch_registers_call(&registers, call->code, call->number, call->arguments);
	if (!set_general(thread->tid, &registers) || !run_until(thread->tid, PTRACE_SYSCALL, call) ||
	    !run_until(thread->tid, PTRACE_SYSCALL, call) || !get_general(thread->tid, &registers))
		return false;
	call->result = arch_registers_result(&registers);
	return true;
}

bool inject(const struct stop_thread *thread, struct inject *call, struct error *err)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK;
	uint64_t mask, all = UINT64_MAX;
	pid_t tid = thread->tid;
	bool done;

	call->born = 0;
	call->result = -ESRCH;
	if (ptrace(PTRACE_GETSIGMASK, tid, SIGMASK_SIZE, &mask) != 0 ||
	    ptrace(PTRACE_SETSIGMASK, tid, SIGMASK_SIZE, &all) != 0 ||
	    ptrace(PTRACE_SETOPTIONS, tid, NULL, options) != 0)
		return error_set_errno(err, "thread %d", (int)tid);
	done = run_call(thread, call);
	if (done) {
		ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
		done = run_until(tid, PTRACE_CONT, call);
	}
	ptrace(PTRACE_SETOPTIONS, tid, NULL, 0L);
	if (set_general(tid, &thread->registers) &&
	    ptrace(PTRACE_SETSIGMASK, tid, SIGMASK_SIZE, &mask) == 0 && done)
		return true;
	return error_set(err, "thread %d ended while pmem looked at its process", (int)tid);
}

/* --- where ----------------------------------------------------------------------------------- */

static bool find_vdso(pid_t pid, uint64_t range[2])
{
	char path[64], *line = NULL;
	size_t room = 0;
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!found && getline(&line, &room, file) > 0)
		found = strstr(line, "[vdso]") &&
			sscanf(line, "%lx-%lx", &range[0], &range[1]) == 2 &&
			range[1] - range[0] <= VDSO_MAX;
	free(line);
	fclose(file);
	return found;
}

uint64_t inject_find_code(pid_t pid)
{
	uint64_t range[2], found = 0;
	const unsigned char *at = NULL;
	unsigned char *bytes;
	char path[64];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	bytes = malloc(VDSO_MAX);
	if (bytes && find_vdso(pid, range)) {
		got = pread(fd, bytes, range[1] - range[0], (off_t)range[0]);
		if (got > 0)
			at = memmem(bytes, (size_t)got, arch_syscall_code, ARCH_SYSCALL_SIZE);
		found = at ? range[0] + (uint64_t)(at - bytes) : 0;
	}
	free(bytes);
	close(fd);
	return found;
}

/* --- by whom --------------------------------------------------------------------------------- */

/* linux/rseq.h, struct rseq_cs */
struct critical_section {
	uint32_t version;
	uint32_t flags;
	uint64_t start;
	uint64_t size;
	uint64_t abort;
};

static bool peek(pid_t tid, uint64_t addr, void *to, size_t size)
{
	struct iovec local = {to, size}, remote = {(void *)(uintptr_t)addr, size};

	return process_vm_readv(tid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* True inside a restartable sequence: it would not be started anew after our call, as the kernel sees another place in the code. */
static bool is_in_sequence(const struct stop_thread *thread)
{
	struct {
		uint64_t area;
		uint32_t size, signature, flags, pad;
	} rseq = {0};
	const int request = 0x420f; /* PTRACE_GET_RSEQ_CONFIGURATION, Linux 5.13 */
	struct critical_section section;
	uint64_t at;

	if (ptrace((enum __ptrace_request)request, thread->tid, sizeof(rseq), &rseq) <= 0 ||
	    !rseq.area || !peek(thread->tid, rseq.area + 8, &at, sizeof(at)) || !at ||
	    !peek(thread->tid, at, &section, sizeof(section)))
		return false;
	return arch_registers_pc(&thread->registers) - section.start < section.size;
}

const struct stop_thread *inject_choose(const struct stop *stop)
{
	const struct stop_thread *other = NULL;

	for (uint32_t i = 0; i < stop->count; i++) {
		const struct stop_thread *thread = &stop->threads[i];

		if (thread->state != STOP_STOPPED)
			continue;
		if (arch_registers_interrupted(&thread->registers) >= 0)
			return thread;
		if (!other && !is_in_sequence(thread))
			other = thread;
	}
	return other;
}
