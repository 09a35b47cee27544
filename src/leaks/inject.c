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
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "arch/errand.h"

enum { SYSCALL_STOP = SIGTRAP | 0x80, SIGMASK_SIZE = 8 };

/* A call that takes longer is a machine that is about to stand still. */
#define CALL_NS UINT64_C(10000000000)

static bool set_general(pid_t tid, const struct arch_registers *registers)
{
	struct iovec part = {(void *)(uintptr_t)registers, sizeof(*registers)};

	return ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &part) == 0;
}

static bool peek(pid_t tid, uint64_t addr, void *to, size_t size)
{
	struct iovec local = {to, size}, remote = {(void *)(uintptr_t)addr, size};

	return process_vm_readv(tid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

static bool poke(pid_t tid, uint64_t addr, const void *from, size_t size)
{
	struct iovec local = {(void *)(uintptr_t)from, size};
	struct iovec remote = {(void *)(uintptr_t)addr, size};

	return process_vm_writev(tid, &local, 1, &remote, 1, 0) == (ssize_t)size;
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
		if (status >> 16 == PTRACE_EVENT_CLONE && call->born &&
		    ptrace(PTRACE_GETEVENTMSG, tid, NULL, &born) == 0)
			call->born->pid = (pid_t)born;
		if (how == PTRACE_CONT ? stop_is_event(status) : status >> 8 == SYSCALL_STOP)
			return true;
	}
}

static void prepare(const struct stop_thread *thread, const struct inject *call, uint64_t code,
		    struct arch_registers *registers)
{
	*registers = thread->registers;
	arch_registers_call(registers, code, call->number, call->arguments);
}

/* From here on the thread finds home by itself, whenever this process dies: at first it would go there at once. */
static bool leave_home(const struct stop_thread *thread, const struct inject *call,
		       struct arch_errand *way)
{
	const struct format_errand *errand = call->errand;
	struct arch_registers home, away;
	uint64_t mask, all = UINT64_MAX;
	pid_t tid = thread->tid;

	prepare(thread, call, errand->home, &home);
	prepare(thread, call, call->born ? errand->fork : errand->call, &away);
	if (ptrace(PTRACE_GETSIGMASK, tid, SIGMASK_SIZE, &mask) != 0)
		return false;
	arch_errand_fill(way, &thread->registers, mask);
	return poke(tid, errand->memory, way, sizeof(*way)) && set_general(tid, &home) &&
	       ptrace(PTRACE_SETSIGMASK, tid, SIGMASK_SIZE, &all) == 0 && set_general(tid, &away);
}

/* In the reverse order, so that the code would still do what is left. */
static bool come_home(const struct stop_thread *thread, const struct inject *call,
		      const struct arch_errand *way)
{
	const uint64_t state = ARCH_ERRAND_FREE;
	pid_t tid = thread->tid;

	return ptrace(PTRACE_SETSIGMASK, tid, SIGMASK_SIZE, &way->mask) == 0 &&
	       set_general(tid, &thread->registers) &&
	       poke(tid, call->errand->memory, &state, sizeof(state));
}

static bool run_call(pid_t tid, struct inject *call)
{
	struct arch_registers registers;

	if (!run_until(tid, PTRACE_SYSCALL, call) || !run_until(tid, PTRACE_SYSCALL, call) ||
	    !get_general(tid, &registers))
		return false;
	call->result = arch_registers_result(&registers);
	if (call->born && call->born->pid)
		call->born->inside = (pid_t)call->result;
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	return run_until(tid, PTRACE_CONT, call);
}

bool inject(const struct stop_thread *thread, struct inject *call, struct error *err)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK;
	struct arch_errand way;
	pid_t tid = thread->tid;
	bool done;

	call->result = -ESRCH;
	if (ptrace(PTRACE_SETOPTIONS, tid, NULL, options) != 0 || !leave_home(thread, call, &way))
		return error_set_errno(err, "thread %d", (int)tid);
	done = run_call(tid, call);
	ptrace(PTRACE_SETOPTIONS, tid, NULL, 0L);
	if (come_home(thread, call, &way) && done)
		return true;
	return error_set(err, "thread %d ended while pmem looked at its process", (int)tid);
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

static bool is_on_errand(const struct stop_thread *thread, const struct format_errand *errand)
{
	return arch_registers_pc(&thread->registers) - errand->fork < errand->end - errand->fork;
}

bool inject_may(const struct stop *stop, const struct format_errand *errand)
{
	uint64_t state = ARCH_ERRAND_HOME;

	for (uint32_t i = 0; i < stop->count; i++) {
		const struct stop_thread *thread = &stop->threads[i];

		if (thread->state != STOP_STOPPED)
			continue;
		if (is_on_errand(thread, errand) ||
		    !peek(thread->tid, errand->memory, &state, sizeof(state)))
			return false;
	}
	return state == ARCH_ERRAND_FREE || (state == ARCH_ERRAND_USED && stop->is_whole);
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
