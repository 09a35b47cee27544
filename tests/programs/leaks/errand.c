/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * errand.c - a thread that notices if anything of it is not as it was: registers, flags, signal mask, memory below its stack pointer, or
 * a system call that ends otherwise than it should.
 *
 *   errand busy|poll|sleep|read|futex|suspend|timer
 *
 * Prints "ready"; does the one thing until a line comes in, which another thread reads; prints the number of errors and how often it was done.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static atomic_int is_over;
static atomic_long ticks;
static unsigned long rounds, errors;
static pthread_t main_thread;
static int ends[2];
static int word;
static sigset_t mask;

static void check(int ok)
{
	errors += !ok;
}

static double now_s(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Counts in all registers at once, with a flag that stays and words in the red zone. */
static void be_busy(void)
{
	register uint64_t count_in_r15 __asm__("r15") = 1000000;
	uint64_t wrong;

	__asm__ volatile(
		"	push %%rbp\n"
		"	sub $256, %%rsp\n"
		"	mov $1, %%rax\n mov $2, %%rbx\n mov $3, %%rcx\n mov $4, %%rdx\n"
		"	mov $5, %%rsi\n mov $6, %%rdi\n mov $7, %%rbp\n mov $8, %%r8\n"
		"	mov $9, %%r9\n mov $10, %%r10\n mov $11, %%r11\n mov $12, %%r12\n"
		"	mov $13, %%r13\n mov $14, %%r14\n"
		"	movq %%rax, %%xmm0\n movq %%rbx, %%xmm15\n"
		"	mov %%r14, -8(%%rsp)\n mov %%r13, -120(%%rsp)\n"
		"	stc\n"
		"1:	lea -1(%%r15), %%r15\n"
		"	jnc 2f\n"
		"	xchg %%rcx, %%r15\n"
		"	jrcxz 3f\n"
		"	xchg %%rcx, %%r15\n"
		"	jmp 1b\n"
		"3:	xchg %%rcx, %%r15\n"
		"	sub $1, %%rax\n sub $2, %%rbx\n sub $3, %%rcx\n sub $4, %%rdx\n"
		"	sub $5, %%rsi\n sub $6, %%rdi\n sub $7, %%rbp\n sub $8, %%r8\n"
		"	sub $9, %%r9\n sub $10, %%r10\n sub $11, %%r11\n sub $12, %%r12\n"
		"	sub $13, %%r13\n"
		"	or %%rbx, %%rax\n or %%rcx, %%rax\n or %%rdx, %%rax\n or %%rsi, %%rax\n"
		"	or %%rdi, %%rax\n or %%rbp, %%rax\n or %%r8, %%rax\n or %%r9, %%rax\n"
		"	or %%r10, %%rax\n or %%r11, %%rax\n or %%r12, %%rax\n or %%r13, %%rax\n"
		"	movq %%xmm0, %%rbx\n sub $1, %%rbx\n or %%rbx, %%rax\n"
		"	movq %%xmm15, %%rbx\n sub $2, %%rbx\n or %%rbx, %%rax\n"
		"	sub -8(%%rsp), %%r14\n or %%r14, %%rax\n"
		"	mov -120(%%rsp), %%rbx\n sub $13, %%rbx\n or %%rbx, %%rax\n"
		"	jmp 4f\n"
		"2:	mov $1, %%rax\n"
		"4:	add $256, %%rsp\n"
		"	pop %%rbp\n"
		"	mov %%rax, %%r15\n"
		: "+r"(count_in_r15)
		:
		: "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
		  "r14", "xmm0", "xmm15", "cc", "memory");
	wrong = count_in_r15;
	check(wrong == 0);
}

/* Neither shorter nor begun anew.  Nobody says how late a thread may be on a busy machine. */
static void be_late(int (*wait)(int ms), int ms)
{
	double began_s = now_s();

	check(wait(ms) == 0);
	check(now_s() - began_s >= (double)ms / 1000);
}

static int by_poll(int ms)
{
	struct pollfd entry = {.fd = ends[0], .events = POLLIN};

	return poll(&entry, 1, ms);
}

static int by_sleep(int ms)
{
	struct timespec time = {.tv_nsec = ms * 1000000L};

	return nanosleep(&time, NULL);
}

/* The other thread writes what is read, one byte after the other. */
static void by_read(void)
{
	static unsigned char expected;
	unsigned char byte;

	check(read(ends[0], &byte, 1) == 1 && byte == expected);
	expected++;
}

static void by_futex(void)
{
	struct timespec timeout = {.tv_nsec = 20000000};
	long result = syscall(SYS_futex, &word, FUTEX_WAIT, 0, &timeout, NULL, 0);

	check(result == -1 && errno == ETIMEDOUT);
}

static void tick(int number)
{
	(void)number;
	atomic_fetch_add(&ticks, 1);
}

/* The signal is blocked but here: it cannot be missed. */
static void by_suspend(void)
{
	static long seen;

	check(sigsuspend(&mask) == -1 && errno == EINTR);
	check(atomic_load(&ticks) > seen);
	seen = atomic_load(&ticks);
}

/* A handler that runs at any moment, a thousand times a second, and what it interrupts. */
static void by_timer(void)
{
	be_busy();
}

static void *feed(void *argument)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	const char *what = argument;
	unsigned char byte = 0;

	while (poll(&input, 1, 2) <= 0) {
		if (strcmp(what, "read") == 0) {
			(void)!write(ends[1], &byte, 1);
			byte++;
		}
		if (strcmp(what, "suspend") == 0)
			pthread_kill(main_thread, SIGUSR1);
	}
	atomic_store(&is_over, 1);
	if (strcmp(what, "read") == 0)
		for (int i = 0; i < 2; i++, byte++)
			(void)!write(ends[1], &byte, 1);
	if (strcmp(what, "suspend") == 0)
		pthread_kill(main_thread, SIGUSR1);
	return argument;
}

static void do_once(const char *what)
{
	if (strcmp(what, "busy") == 0)
		be_busy();
	else if (strcmp(what, "poll") == 0)
		be_late(by_poll, 20);
	else if (strcmp(what, "sleep") == 0)
		be_late(by_sleep, 20);
	else if (strcmp(what, "read") == 0)
		by_read();
	else if (strcmp(what, "futex") == 0)
		by_futex();
	else if (strcmp(what, "suspend") == 0)
		by_suspend();
	else
		by_timer();
}

static void prepare(const char *what)
{
	struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
	struct itimerval timer = {{0, 1000}, {0, 1000}};
	sigset_t blocked;

	(void)!pipe(ends);
	main_thread = pthread_self();
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGPROF, &action, NULL);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	sigaddset(&blocked, SIGUSR2);
	sigprocmask(SIG_BLOCK, &blocked, &mask);
	if (strcmp(what, "timer") == 0)
		setitimer(ITIMER_PROF, &timer, NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "busy";
	pthread_t feeder;
	sigset_t now;
	void **kept = malloc(sizeof(*kept));

	*kept = malloc(100);
	prepare(what);
	pthread_create(&feeder, NULL, feed, argv[1]);
	puts("ready");
	fflush(stdout);
	for (; !atomic_load(&is_over); rounds++) {
		do_once(what);
		pthread_sigmask(SIG_SETMASK, NULL, &now);
		check(sigismember(&now, SIGUSR2) == 1 && sigismember(&now, SIGUSR1) == 1 &&
		      sigismember(&now, SIGTERM) == 0);
	}
	pthread_join(feeder, NULL);
	printf("errors %lu of %lu\n", errors, rounds);
	free(*kept);
	free(kept);
	return errors != 0;
}
