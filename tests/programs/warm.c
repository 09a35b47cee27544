/* SPDX-License-Identifier: BSD-2-Clause */
/* warm.c - allocates and frees 400,000 times between two calls of getsid(), at the call stacks of the 400,000 times before. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 50000, DEPTHS = 8 };

__attribute__((noinline, noclone)) static void work(int depth)
{
	volatile int here = depth;
	void *volatile block;

	if (depth > 0) {
		work(depth - 1);
	} else {
		block = malloc(100);
		free(block);
	}
	here++;
}

__attribute__((noinline, noclone)) static void work_often(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		for (int depth = 0; depth < DEPTHS; depth++)
			work(depth);
	}
}

int main(void)
{
	for (int period = 0; period < 2; period++) {
		if (period > 0)
			syscall(SYS_getsid, 0);
		work_often();
	}
	syscall(SYS_getsid, 0);
	return 0;
}
