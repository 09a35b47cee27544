/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * holder.c - holds 3 MiB that it got in one function, after a peak of 5 MiB; with an argument it first forks children
 * that hold 1 MiB each, or executes the program named.
 *
 *   holder [children COUNT | exec PROGRAM]
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *kept[5];

__attribute__((noinline)) static void hold_mebibytes(int count)
{
	int i;

	for (i = 0; i < count; i++) {
		kept[i] = malloc(1 << 20);
		memset(kept[i], 1, 1 << 20);
	}
}

static void make_children(int count)
{
	int i;

	for (i = 0; i < count; i++) {
		if (fork() == 0) {
			hold_mebibytes(1);
			exit(0);
		}
		wait(NULL);
	}
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "children") == 0)
		make_children(atoi(argv[2]));
	hold_mebibytes(5);
	if (argc > 2 && strcmp(argv[1], "exec") == 0)
		execl(argv[2], argv[2], (char *)NULL);
	free(kept[3]);
	free(kept[4]);
	return 0;
}
