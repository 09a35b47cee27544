/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_child.c - fork, exec, signals, wait.
 *
 * All signals that can be waited for are blocked from before the fork until the program's end, and taken by sigwaitinfo():
 * no handler, no race.  Linux queues a blocked signal even if its action is to ignore it.  The child gets mask and
 * actions as they were before it executes; SIGCHLD is set to its default meanwhile, because an ignored one
 * would make wait fail.
 */
#include "cmd/run_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/cmd.h"

struct signals {
	sigset_t waited;
	sigset_t mask_before;
	struct sigaction child_before;
};

/* Those of a fault here, and those that stop whoever uses the terminal in the background, are for this process. */
static void signals_take(struct signals *signals)
{
	static const int not_waited[] = {SIGSEGV, SIGBUS,  SIGFPE,  SIGILL, SIGTRAP,
					 SIGABRT, SIGTTIN, SIGTTOU, SIGSYS};
	const struct sigaction standard = {.sa_handler = SIG_DFL};
	size_t i;

	sigfillset(&signals->waited);
	for (i = 0; i < sizeof(not_waited) / sizeof(*not_waited); i++)
		sigdelset(&signals->waited, not_waited[i]);
	sigprocmask(SIG_BLOCK, &signals->waited, &signals->mask_before);
	sigaction(SIGCHLD, &standard, &signals->child_before);
}

static void signals_give_back(const struct signals *signals)
{
	sigaction(SIGCHLD, &signals->child_before, NULL);
	sigprocmask(SIG_SETMASK, &signals->mask_before, NULL);
}

/* As execvp(3): what the kernel does not know is the shell's. */
static void execute(const char *path, char **argv)
{
	char **shell;
	size_t count = 0;

	execv(path, argv);
	if (errno != ENOEXEC)
		return;
	while (argv[count])
		count++;
	shell = calloc(count + 2, sizeof(*shell));
	if (!shell)
		return;
	shell[0] = (char *)"sh";
	shell[1] = (char *)path;
	if (count)
		memcpy(shell + 2, argv + 1, (count - 1) * sizeof(*shell));
	execv("/bin/sh", shell);
	free(shell);
}

/* The descriptors between this process and the child, until it has executed the program. */
struct pipes {
	int reason[2]; /* carries errno, and closes when the program begins */
	int go[2];     /* closes when the child may begin */
};

/* In the child. */
static void become_program(const char *path, char **argv, const struct signals *signals,
			   const struct pipes *pipes)
{
	int reason, pipe_end = pipes->reason[1];
	char nothing;

	close(pipes->go[1]);
	(void)!read(pipes->go[0], &nothing, sizeof(nothing));
	signals_give_back(signals);
	execute(path, argv);
	reason = errno;
	(void)!write(pipe_end, &reason, sizeof(reason));
	_exit(CMD_RUN_FAILED);
}

/* Takes what has happened to the program: its id, as of waitpid(2), or 0. */
static pid_t look_once(const struct run_child *child, int *status)
{
	if (child->watch)
		return child->watch->look(child->watch->context, status);
	return waitpid(child->pid, status, WNOHANG | WUNTRACED);
}

/* errno of the exec that failed, 0 if the program runs. */
static int read_reason(int pipe_end)
{
	int reason = 0;
	ssize_t got;

	do
		got = read(pipe_end, &reason, sizeof(reason));
	while (got < 0 && errno == EINTR);
	return got == sizeof(reason) ? reason : 0;
}

static bool open_pipes(struct pipes *pipes)
{
	if (pipe2(pipes->reason, O_CLOEXEC) != 0)
		return false;
	if (pipe2(pipes->go, O_CLOEXEC) == 0)
		return true;
	close(pipes->reason[0]);
	close(pipes->reason[1]);
	return false;
}

static int start(const char *path, char **argv, const struct signals *signals,
		 struct run_child *child)
{
	struct pipes pipes;
	int reason;

	if (!open_pipes(&pipes))
		return errno;
	child->pid = fork();
	if (child->pid == 0)
		become_program(path, argv, signals, &pipes);
	reason = child->pid < 0 ? errno : 0;
	close(pipes.reason[1]);
	close(pipes.go[0]);
	if (!reason && child->watch)
		child->watch->begin(child->watch->context, child->pid);
	close(pipes.go[1]);
	if (!reason)
		reason = read_reason(pipes.reason[0]);
	close(pipes.reason[0]);
	return reason;
}

/* True if somebody will continue this process once it has stopped: a shell with job control, which is of the same session but
 * another process group (POSIX, "orphaned process group"). */
static bool has_job_control(void)
{
	pid_t parent = getppid();

	return getsid(parent) == getsid(0) && getpgid(parent) != getpgrp();
}

/* Takes what waitpid() has.  True: the program has ended. */
static bool look_at(struct run_child *child)
{
	int status;

	while (look_once(child, &status) == child->pid) {
		if (!WIFSTOPPED(status)) {
			child->status = status;
			return true;
		}
		if (has_job_control())
			raise(SIGSTOP);
	}
	return false;
}

/* The terminal sends these to its whole foreground process group: the program has its own, unless it left the group, as
 * timeout(1) does. */
static bool is_of_terminal(const siginfo_t *info, const struct run_child *child)
{
	switch (info->si_signo) {
	case SIGINT:
	case SIGQUIT:
	case SIGTSTP:
	case SIGWINCH:
		return info->si_code == SI_KERNEL && getpgid(child->pid) == getpgrp();
	default:
		return false;
	}
}

static void wait_for_end(const struct signals *signals, struct run_child *child)
{
	siginfo_t info;

	while (!look_at(child)) {
		if (sigwaitinfo(&signals->waited, &info) < 0 || info.si_signo == SIGCHLD)
			continue;
		if (!is_of_terminal(&info, child))
			kill(child->pid, info.si_signo);
	}
}

static int explain(const char *path, int reason, struct error *err)
{
	errno = reason;
	error_set_errno(err, "%s: cannot be executed", path);
	if (reason == EAGAIN || reason == ENOMEM || reason == EMFILE || reason == ENFILE)
		return CMD_RUN_FAILED;
	return reason == ENOENT ? CMD_RUN_NOT_FOUND : CMD_RUN_CANNOT;
}

int run_child(const char *path, char **argv, struct run_child *child, struct error *err)
{
	struct signals signals;
	uint64_t began = clock_monotonic_ns();
	int reason;

	signals_take(&signals);
	reason = start(path, argv, &signals, child);
	if (!reason)
		wait_for_end(&signals, child);
	else if (child->pid > 0)
		waitpid(child->pid, &child->status, 0);
	child->duration_ns = clock_monotonic_ns() - began;
	signals_give_back(&signals);
	return reason ? explain(path, reason, err) : 0;
}

/* The core file, if any, is the program's: ours would overwrite it, or burden the system's core handler. */
static void die_by(int number)
{
	const struct sigaction standard = {.sa_handler = SIG_DFL};
	const struct rlimit none = {0, 0};
	sigset_t only;

	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	sigaction(number, &standard, NULL);
	raise(number);
	sigemptyset(&only);
	sigaddset(&only, number);
	sigprocmask(SIG_UNBLOCK, &only, NULL);
}

int run_child_exit_code(const struct run_child *child)
{
	if (!WIFSIGNALED(child->status))
		return WEXITSTATUS(child->status);
	die_by(WTERMSIG(child->status));
	return 128 + WTERMSIG(child->status);
}
