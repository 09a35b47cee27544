/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * family.c - a parent that does nothing while its child works, so that the two profiles can be told apart.
 *
 *   family watch       the parent keeps blocks and forks; the child waits for a byte of stdin, works at the parent's and at other
 *                      call stacks, says "child" and ends; the parent waits for a second byte, keeps more and says "parent"
 *   family sandboxed   enters a sandbox first; the child works; the parent kills itself
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 3000 };

static void *volatile kept[BLOCKS];

#define NOINLINE __attribute__((noinline, noclone))

static NOINLINE void parent_keep(int i)
{
	kept[i] = malloc(100);
}

static NOINLINE void child_keep(int i)
{
	kept[i] = malloc(200);
}

static NOINLINE void down(int depth, void (*act)(int), int i)
{
	volatile int here = depth;

	if (depth > 0)
		down(depth - 1, act, i);
	else
		act(i);
	here++;
}

static void wait_for_byte(void)
{
	char byte;

	if (read(STDIN_FILENO, &byte, 1) != 1)
		_exit(9);
}

static void say(const char *line, size_t size)
{
	if (write(STDOUT_FILENO, line, size) < 0)
		_exit(9);
}

/* Frees what the parent kept, keeps its own, also where the parent did. */
static void be_child(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		free(kept[i]);
		down(i % 200, child_keep, i);
	}
	for (int i = 0; i < 100; i++)
		parent_keep(i);
	say("child\n", 6);
	_exit(3);
}

int main(int argc, char **argv)
{
	int is_sandboxed = argc > 1 && argv[1][0] == 's', status = 0;
	pid_t child;

	for (int i = 0; i < BLOCKS; i++)
		down(i % 100, parent_keep, i);
	if (is_sandboxed)
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	child = fork();
	if (child == 0) {
		if (!is_sandboxed)
			wait_for_byte();
		be_child();
	}
	waitpid(child, &status, 0);
	if (is_sandboxed)
		raise(SIGKILL);
	wait_for_byte();
	for (int i = 0; i < 10; i++)
		parent_keep(i);
	say("parent\n", 7);
	return status != 3 << 8;
}
