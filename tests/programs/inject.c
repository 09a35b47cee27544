/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inject.c - runs a program and lets system calls of libpmem.so fail, and only those (x86_64).
 *
 *   inject REPORT list PROGRAM ARGUMENT...
 *   inject REPORT fail NAME ERROR N PROGRAM ...        the Nth call of that name (1 = the first)
 *   inject REPORT fail-from NAME ERROR N PROGRAM ...   from the Nth on
 *   inject REPORT fail-all ERROR N PROGRAM ...         libpmem's Nth call of whatever name and all after it, but for those that cannot fail
 *   inject names                                       the calls that it knows: number and name
 *
 * ERROR is a number of errno(3), or SHORT: write, pwrite64 and pwritev then do half of what was asked.  A call that fails is not
 * made.  Calls are counted over all threads, forked children and executed programs together.  Whose call it is follows from the
 * address that it comes from.  REPORT gets a line "process PID" for each process in the order of their births, "PHASE NAME COUNT" for
 * what libpmem called, and "injected COUNT"; the exit status is the program's, or 128 + its signal; 99 where the program cannot be
 * traced.  The variable INJECT_PRELOAD becomes the program's LD_PRELOAD.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRACEES = 1024, NUMBERS = 512, NO_TRACE = 99 };

/* Where in the life of its process a thread is. */
enum phase { RUN, THREAD, CHILD, SANDBOX, PHASES };

static const char *const phase_names[PHASES] = {"run", "thread", "child", "sandbox"};

#define CALL(name) [SYS_##name] = #name

static const char *const names[NUMBERS] = {
	CALL(mmap),	     CALL(mremap),	   CALL(munmap),      CALL(mprotect),
	CALL(madvise),	     CALL(mincore),	   CALL(openat),      CALL(close),
	CALL(read),	     CALL(pread64),	   CALL(write),	      CALL(pwrite64),
	CALL(pwritev),	     CALL(fallocate),	   CALL(fstat),	      CALL(newfstatat),
	CALL(fstatfs),	     CALL(fcntl),	   CALL(renameat),    CALL(unlinkat),
	CALL(readlinkat),    CALL(getcwd),	   CALL(uname),	      CALL(prlimit64),
	CALL(getrlimit),     CALL(ppoll),	   CALL(membarrier),  CALL(prctl),
	CALL(nanosleep),     CALL(rt_sigprocmask), CALL(sched_yield), CALL(getpid),
	CALL(gettid),	     CALL(tgkill),	   CALL(getppid),     CALL(process_vm_readv),
	CALL(clock_gettime), CALL(exit_group)};

enum mode { LIST, FAIL, FAIL_FROM, FAIL_ALL };

static struct {
	enum mode mode;
	int number; /* -1: all */
	int error;  /* 0: half of it */
	uint64_t first;
} plan = {.number = -1};

static uint64_t matching, injected, counts[PHASES][NUMBERS];

struct tracee {
	pid_t pid; /* 0 = free place */
	enum phase phase;
	uint64_t low, high; /* libpmem's code; high 0: not found yet */
	bool waits;	    /* stopped, until the parent's event tells who it is */
	int number;	    /* of the system call that it is in */
	int fail;	    /* errno for it, 0 = none */
	bool halved;
	uint64_t size; /* the argument that was halved */
};

static struct tracee tracees[TRACEES];

static FILE *report;

static struct tracee *find(pid_t pid)
{
	for (int i = 0; i < TRACEES; i++)
		if (tracees[i].pid == pid)
			return &tracees[i];
	return NULL;
}

static struct tracee *add(pid_t pid)
{
	struct tracee *made = find(0);

	if (!made)
		exit(NO_TRACE);
	*made = (struct tracee){.pid = pid};
	return made;
}

/* The executable mapping of libpmem.so, if there is one. */
static void find_library(struct tracee *tracee)
{
	char path[64], line[4096];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", tracee->pid);
	maps = fopen(path, "r");
	while (maps && fgets(line, sizeof(line), maps)) {
		unsigned long low, high;
		char rights[8];

		if (strstr(line, "/libpmem.so") &&
		    sscanf(line, "%lx-%lx %7s", &low, &high, rights) == 3 && rights[2] == 'x') {
			tracee->low = low;
			tracee->high = high;
		}
	}
	if (maps)
		fclose(maps);
}

static void poke(const struct tracee *tracee, size_t offset, uint64_t value)
{
	ptrace(PTRACE_POKEUSER, tracee->pid, offset, value);
}

#define REGISTER(name) (offsetof(struct user, regs) + offsetof(struct user_regs_struct, name))

static bool never_fails(int number)
{
	return number == SYS_getpid || number == SYS_gettid || number == SYS_getppid ||
	       number == SYS_munmap || number == SYS_exit_group;
}

static bool is_hit(int number)
{
	if (plan.mode == LIST || (plan.number >= 0 && plan.number != number))
		return false;
	matching++;
	if (plan.mode == FAIL_ALL && never_fails(number))
		return false;
	return plan.mode == FAIL ? matching == plan.first : matching >= plan.first;
}

static void at_entry(struct tracee *tracee, const struct __ptrace_syscall_info *info)
{
	int number = (int)info->entry.nr;
	bool is_ours = info->instruction_pointer >= tracee->low &&
		       info->instruction_pointer < tracee->high;

	tracee->number = number;
	tracee->fail = 0;
	tracee->halved = false;
	/* The sandbox begins when the call has been made; libpmem has prepared by then. */
	if (number == SYS_prctl && !is_ours &&
	    (info->entry.args[0] == PR_SET_NO_NEW_PRIVS || info->entry.args[0] == PR_SET_SECCOMP))
		tracee->phase = SANDBOX;
	if (!is_ours || number < 0 || number >= NUMBERS)
		return;
	counts[tracee->phase][number]++;
	if (!is_hit(number))
		return;
	injected++;
	if (plan.error == 0) {
		/* All that has a size has it in the third argument. */
		tracee->size = info->entry.args[2];
		tracee->halved = true;
		poke(tracee, REGISTER(rdx), tracee->size / 2);
		return;
	}
	tracee->fail = plan.error;
	poke(tracee, REGISTER(orig_rax), (uint64_t)-1);
}

static void at_exit_of_call(struct tracee *tracee)
{
	if (tracee->fail)
		poke(tracee, REGISTER(rax), (uint64_t)-tracee->fail);
	if (tracee->halved)
		poke(tracee, REGISTER(rdx), tracee->size);
	if (!tracee->high && tracee->number == SYS_mmap)
		find_library(tracee);
}

static void at_call(struct tracee *tracee)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, tracee->pid, sizeof(info), &info) <= 0)
		return;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
		at_entry(tracee, &info);
	else if (info.op == PTRACE_SYSCALL_INFO_EXIT)
		at_exit_of_call(tracee);
}

static void resume(pid_t pid, int signal)
{
	ptrace(PTRACE_SYSCALL, pid, 0, signal);
}

/* *parent made a thread or a process, which begins in this phase; its first stop may have come before. */
static void at_birth(const struct tracee *parent, enum phase phase)
{
	unsigned long pid = 0;
	struct tracee *child;
	bool waited;

	ptrace(PTRACE_GETEVENTMSG, parent->pid, 0, &pid);
	child = find((pid_t)pid);
	waited = child && child->waits;
	if (!child)
		child = add((pid_t)pid);
	child->low = parent->low;
	child->high = parent->high;
	child->phase = phase;
	child->waits = false;
	if (waited)
		resume(child->pid, 0);
}

static void at_birth_of_process(const struct tracee *parent)
{
	unsigned long pid = 0;

	ptrace(PTRACE_GETEVENTMSG, parent->pid, 0, &pid);
	fprintf(report, "process %lu\n", pid);
	at_birth(parent, parent->phase == SANDBOX ? SANDBOX : CHILD);
}

static void at_birth_of_thread(const struct tracee *parent)
{
	at_birth(parent, parent->phase == RUN ? THREAD : parent->phase);
}

static void at_event(struct tracee *tracee, int event, int signal)
{
	switch (event) {
	case PTRACE_EVENT_STOP:
		if (signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU)
			ptrace(PTRACE_LISTEN, tracee->pid, 0, 0);
		else
			resume(tracee->pid, 0);
		return;
	case PTRACE_EVENT_EXEC:
		tracee->low = tracee->high = 0;
		break;
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
		at_birth_of_process(tracee);
		break;
	case PTRACE_EVENT_CLONE:
		at_birth_of_thread(tracee);
		break;
	}
	resume(tracee->pid, 0);
}

static void at_stop(pid_t pid, int status)
{
	struct tracee *tracee = find(pid);

	if (!tracee) {
		add(pid)->waits = true;
		return;
	}
	if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
		at_call(tracee);
		resume(pid, 0);
	} else if (status >> 16) {
		at_event(tracee, status >> 16, WSTOPSIG(status));
	} else {
		resume(pid, WSTOPSIG(status));
	}
}

/* Until the last tracee has ended.  Returns the exit status of the first. */
static int trace(pid_t first)
{
	int status, result = NO_TRACE;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
		if (pid > 0 && WIFSTOPPED(status)) {
			at_stop(pid, status);
			continue;
		}
		if (pid == first)
			result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		if (pid > 0 && find(pid))
			find(pid)->pid = 0;
	}
	return result;
}

/* The program, stopped before it is executed until *go can be read. */
static pid_t start(char **argv, int *go)
{
	int ends[2];
	char byte;
	pid_t pid;

	if (pipe(ends) != 0)
		exit(NO_TRACE);
	pid = fork();
	if (pid == 0) {
		close(ends[1]);
		if (read(ends[0], &byte, 1) == 1) {
			close(ends[0]);
			if (getenv("INJECT_PRELOAD"))
				setenv("LD_PRELOAD", getenv("INJECT_PRELOAD"), 1);
			unsetenv("INJECT_PRELOAD");
			execvp(argv[0], argv);
		}
		_exit(NO_TRACE);
	}
	close(ends[0]);
	*go = ends[1];
	return pid;
}

static int run(char **argv)
{
	enum {
		OPTIONS = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			  PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL
	};
	int go;
	pid_t pid = start(argv, &go);

	add(pid);
	fprintf(report, "process %d\n", pid);
	if (pid < 0 || ptrace(PTRACE_SEIZE, pid, 0, OPTIONS) != 0 ||
	    ptrace(PTRACE_INTERRUPT, pid, 0, 0) != 0) {
		fprintf(stderr, "inject: cannot trace: %s\n", strerror(errno));
		close(go); /* ends it */
		return NO_TRACE;
	}
	if (write(go, "", 1) != 1)
		return NO_TRACE;
	close(go);
	return trace(pid);
}

static void report_counts(void)
{
	for (int phase = 0; phase < PHASES; phase++)
		for (int number = 0; number < NUMBERS; number++)
			if (counts[phase][number])
				fprintf(report, "%s %s %lu\n", phase_names[phase],
					names[number] ? names[number] : "?",
					(unsigned long)counts[phase][number]);
	fprintf(report, "injected %lu\n", (unsigned long)injected);
}

static int number_of(const char *name)
{
	for (int number = 0; number < NUMBERS; number++)
		if (names[number] && strcmp(names[number], name) == 0)
			return number;
	fprintf(stderr, "inject: unknown call %s\n", name);
	exit(2);
}

/* Reads the plan.  Returns where the program begins. */
static char **read_plan(char **at)
{
	static const char *const modes[] = {"list", "fail", "fail-from", "fail-all"};

	while (strcmp(modes[plan.mode], *at) != 0)
		if (++plan.mode > FAIL_ALL)
			exit(2);
	at++;
	if (plan.mode == LIST)
		return at;
	if (plan.mode != FAIL_ALL)
		plan.number = number_of(*at++);
	plan.error = strcmp(at[0], "SHORT") == 0 ? 0 : atoi(at[0]);
	plan.first = strtoull(at[1], NULL, 10);
	return at + 2;
}

int main(int argc, char **argv)
{
	char **program;
	int result;

	if (argc == 2 && strcmp(argv[1], "names") == 0) {
		for (int number = 0; number < NUMBERS; number++)
			if (names[number])
				printf("%d %s\n", number, names[number]);
		return 0;
	}
	if (argc < 4)
		return 2;
	program = read_plan(argv + 2);
	report = fopen(argv[1], "we");
	if (program >= argv + argc || !report)
		return 2;
	result = run(program);
	report_counts();
	return fclose(report) == 0 ? result : NO_TRACE;
}
