/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sigfree.c - a signal handler frees and allocates blocks of the main flow.
 *
 * The timer's signal is blocked whenever the program itself is inside the allocator, so this is legal.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

enum { BLOCKS = 200 };

static void *volatile block[BLOCKS];
static volatile sig_atomic_t events;

__attribute__((noinline, noclone)) static void *main_take(size_t size)
{
	return malloc(size);
}

__attribute__((noinline, noclone)) static void *handler_take(void)
{
	return malloc(55);
}

static void handler(int number)
{
	(void)number;
	for (int i = 0; i < BLOCKS; i += 2) {
		free(block[i]);
		block[i] = i % 4 ? NULL : handler_take();
	}
	events++;
}

int main(void)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	struct itimerval timer = {{0, 200}, {0, 200}}, off = {{0, 0}, {0, 0}};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (int i = 0; events < 300; i = (i + 1) % BLOCKS) {
		void *old = block[i];

		block[i] = NULL;
		free(old);
		block[i] = main_take(i + 1);
		if (i % 20 == 0) { /* a window in which the handler may run */
			sigprocmask(SIG_UNBLOCK, &set, NULL);
			sigprocmask(SIG_BLOCK, &set, NULL);
		}
	}
	setitimer(ITIMER_REAL, &off, NULL);
	for (int i = 0; i < BLOCKS; i++)
		free(block[i]);
	return 0;
}
