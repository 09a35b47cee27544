/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jumps_out.c - a handler that leaves by siglongjmp(), again and again, wherever it came: also out of the recorder.
 *
 * Usage: jumps_out JUMPS.  The blocks that the handler interrupts are mapped ones: for them glibc takes no lock that would stay
 * held.  Then known() keeps 100 blocks of 3,000 bytes.
 */
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

static sigjmp_buf back;
static volatile int jumps, armed;
static void *volatile kept;

static void jump(int number)
{
	(void)number;
	if (!armed)
		return;
	armed = 0;
	jumps++;
	siglongjmp(back, 1);
}

/* From call stacks of several depths. */
static __attribute__((noinline)) void *allocate(int depth, size_t size)
{
	volatile char frame[16];
	void *block;

	frame[0] = (char)depth;
	block = depth ? allocate(depth - 1, size) : malloc(size);
	frame[1] = 1;
	return block;
}

static __attribute__((noinline)) void known(void)
{
	kept = malloc(3000);
}

static void churn(int turn)
{
	int i;

	for (i = 0; i < 50; i++)
		free(allocate((turn * 7 + i) % 60, 200000 + (size_t)(turn % 100) * 4096));
}

int main(int argc, char **argv)
{
	struct itimerval timer = {{0, 500}, {0, 500}}, off = {{0, 0}, {0, 0}};
	int wanted = argc > 1 ? atoi(argv[1]) : 0;
	volatile int turn = 0;
	int i;

	mallopt(M_MMAP_THRESHOLD, 65536);
	signal(SIGALRM, jump);
	setitimer(ITIMER_REAL, &timer, NULL);
	while (jumps < wanted) {
		if (sigsetjmp(back, 1) == 0) {
			armed = 1;
			churn(turn);
			armed = 0;
		}
		turn++;
	}
	setitimer(ITIMER_REAL, &off, NULL);
	for (i = 0; i < 100; i++)
		known();
	return 0;
}
