/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * waits.c - threads that wait in the kernel, each in another system call, and say when a call ends otherwise than it should.
 *
 * Prints "ready" when all wait.  At a line of input it ends the waits, one by one, and prints what each of them returned.  Calls with a
 * timeout have one that is over at that time only if the call waits twice as long as it was told to.
 *
 * A System V semaphore outlives its processes: another one, which is nobody's child here, removes it when this one has ended, however.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LONG_MS = 100000 };

struct wait {
	const char *name;
	long (*run)(int fd); /* returns as the system call; fd is readable at the end */
	int ends[2];
	pthread_t thread;
	long result;
	int error;
};

static int futex_word;
static int semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int is_over;

static long run_read(int fd)
{
	char byte;

	return read(fd, &byte, 1);
}

static long run_poll(int fd)
{
	struct pollfd entry = {.fd = fd, .events = POLLIN};

	return poll(&entry, 1, -1);
}

static long run_poll_timeout(int fd)
{
	struct pollfd entry = {.fd = fd, .events = POLLIN};

	return poll(&entry, 1, LONG_MS);
}

static long run_select(int fd)
{
	struct timeval timeout = {.tv_sec = LONG_MS / 1000};
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	return select(fd + 1, &set, NULL, NULL, &timeout);
}

static long wait_by_epoll(int fd, int timeout_ms)
{
	struct epoll_event event = {.events = EPOLLIN};
	int group = epoll_create1(0);

	epoll_ctl(group, EPOLL_CTL_ADD, fd, &event);
	return epoll_wait(group, &event, 1, timeout_ms);
}

static long run_epoll(int fd)
{
	return wait_by_epoll(fd, -1);
}

static long run_epoll_timeout(int fd)
{
	return wait_by_epoll(fd, LONG_MS);
}

static long run_receive(int fd)
{
	struct timeval timeout = {.tv_sec = LONG_MS / 1000};
	char byte;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	return recv(fd, &byte, 1, 0);
}

static long run_futex(int fd)
{
	struct timespec timeout = {.tv_sec = LONG_MS / 1000};

	(void)fd;
	return syscall(SYS_futex, &futex_word, FUTEX_WAIT, 0, &timeout, NULL, 0);
}

static long run_condition(int fd)
{
	int result = 0;

	(void)fd;
	pthread_mutex_lock(&mutex);
	while (!is_over && !result)
		result = pthread_cond_wait(&condition, &mutex);
	pthread_mutex_unlock(&mutex);
	return result;
}

static long run_semaphore(int fd)
{
	struct sembuf one = {.sem_op = -1};

	(void)fd;
	return semop(semaphore, &one, 1);
}

static long run_signal(int fd)
{
	sigset_t set;

	(void)fd;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return sigwaitinfo(&set, NULL);
}

/* A handler runs: that is seen. */
static long run_suspend(int fd)
{
	sigset_t set;

	(void)fd;
	sigfillset(&set);
	sigdelset(&set, SIGUSR2);
	return sigsuspend(&set);
}

static long run_sleep(int fd)
{
	struct timespec time = {.tv_nsec = 900000000};

	(void)fd;
	return nanosleep(&time, NULL);
}

#define WAIT(what)                               \
	{                                        \
		.name = #what, .run = run_##what \
	}

/* First those that see EINTR if nobody hides it: more threads are stopped at the beginning of the list than are looked at. */
static struct wait waits[] = {
	WAIT(epoll),  WAIT(epoll_timeout), WAIT(semaphore), WAIT(receive), WAIT(read),
	WAIT(poll),   WAIT(poll_timeout),  WAIT(select),    WAIT(futex),   WAIT(condition),
	WAIT(signal), WAIT(suspend),	   WAIT(sleep),
};

enum { WAITS = sizeof(waits) / sizeof(*waits) };

/* The one that waits: the pipe is closed when the last process ends that may write to it. */
static void remove_at_end(int id, const int ends[2])
{
	char byte;

	setsid();
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		close(fd);
	close(ends[1]);
	(void)!read(ends[0], &byte, 1);
	semctl(id, 0, IPC_RMID);
	_exit(0);
}

/* Before there are threads. */
static int make_semaphore(void)
{
	struct sembuf zero = {.sem_op = 0};
	int id, ends[2];
	pid_t child;

	if (pipe(ends) != 0)
		return -1;
	id = semget(IPC_PRIVATE, 1, 0600);
	child = fork();
	if (child == 0) {
		if (fork() == 0)
			remove_at_end(id, ends);
		_exit(0);
	}
	close(ends[0]);
	waitpid(child, NULL, 0);
	/* Whose it is: semctl(GETPID). */
	semop(id, &zero, 1);
	return id;
}

static void *run(void *argument)
{
	struct wait *wait = argument;

	errno = 0;
	wait->result = wait->run(wait->ends[0]);
	wait->error = errno;
	return NULL;
}

static void nothing(int number)
{
	(void)number;
}

static void end_all(void)
{
	struct sembuf one = {.sem_op = 1};

	for (int i = 0; i < WAITS; i++)
		(void)!write(waits[i].ends[1], "x", 1);
	futex_word = 1;
	syscall(SYS_futex, &futex_word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	pthread_mutex_lock(&mutex);
	is_over = 1;
	pthread_cond_broadcast(&condition);
	pthread_mutex_unlock(&mutex);
	semop(semaphore, &one, 1);
	for (int i = 0; i < WAITS; i++) {
		if (waits[i].run == run_signal)
			pthread_kill(waits[i].thread, SIGUSR1);
		if (waits[i].run == run_suspend)
			pthread_kill(waits[i].thread, SIGUSR2);
	}
}

/* Number of this process's threads that the kernel says are asleep. */
static int count_asleep(void)
{
	DIR *folder = opendir("/proc/self/task");
	struct dirent *entry;
	char path[300], line[256];
	int count = 0;

	while ((entry = readdir(folder))) {
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/stat", entry->d_name);
		file = fopen(path, "r");
		if (!file)
			continue;
		count += fgets(line, sizeof(line), file) && strstr(line, ") S");
		fclose(file);
	}
	closedir(folder);
	return count;
}

int main(void)
{
	struct sigaction action = {.sa_handler = nothing};
	sigset_t blocked;
	char line[16];
	long result;

	sigaction(SIGUSR2, &action, NULL);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	sigaddset(&blocked, SIGUSR2);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	semaphore = make_semaphore();
	for (int i = 0; i < WAITS; i++) {
		socketpair(AF_UNIX, SOCK_STREAM, 0, waits[i].ends);
		pthread_create(&waits[i].thread, NULL, run, &waits[i]);
	}
	while (count_asleep() < WAITS)
		sched_yield();
	puts("ready");
	fflush(stdout);
	(void)!fgets(line, sizeof(line), stdin);
	end_all();
	for (int i = 0; i < WAITS; i++) {
		pthread_join(waits[i].thread, NULL);
		printf("%s %ld %d\n", waits[i].name, waits[i].result, waits[i].error);
	}
	/* Nobody's child is left here. */
	result = waitpid(-1, NULL, __WALL | WNOHANG);
	printf("wait %ld %d\n", result, errno);
	return 0;
}
