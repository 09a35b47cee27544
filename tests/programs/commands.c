/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * commands.c - allocates what standard input says, a letter at a time, and answers each with a line once it is done.
 *
 * k keeps a block of 5000 bytes, c allocates and frees 7 blocks of 100, f frees the block that was kept last; s forks a
 * child that keeps 3000 bytes and ends.  Before the first it has kept 10 blocks of 1000 bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *kept[1000];
static int count;
static char output[256], input[256];

__attribute__((noinline)) static void keep(size_t size)
{
	kept[count] = malloc(size);
	memset(kept[count++], 1, size);
}

__attribute__((noinline)) static void churn(int blocks)
{
	int i;

	for (i = 0; i < blocks; i++) {
		void *volatile block = malloc(100);

		free(block);
	}
}

__attribute__((noinline)) static void spawn(void)
{
	pid_t child = fork();

	if (child == 0) {
		keep(3000);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

int main(void)
{
	int i, letter;

	setvbuf(stdin, input, _IOFBF, sizeof(input));
	setvbuf(stdout, output, _IOLBF, sizeof(output));
	for (i = 0; i < 10; i++)
		keep(1000);
	puts("ready");
	while ((letter = getchar()) != EOF) {
		if (letter == 'k')
			keep(5000);
		else if (letter == 'c')
			churn(7);
		else if (letter == 'f')
			free(kept[--count]);
		else if (letter == 's')
			spawn();
		if (letter != '\n')
			puts("done");
	}
	return 0;
}
