/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pins.c - two functions' blocks that survive between many that are freed.
 *
 *   pins [fork]
 *
 * Prints its live blocks, one a line: function, address, usable size; "ready PID"; waits for a line on stdin; ends.  With "fork" a child
 * does so, and has its parent's blocks too.  Has no blocks but these.
 */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 600, ALONE = 60, TEMPORARY = 900, SMALL = 40, LARGE = 200, LINE = 100 };

struct live {
	const char *who;
	char *block;
};

static struct live lives[4 * COUNT];
static unsigned live_count;
static char *temporaries[COUNT + ALONE];

static void keep(const char *who, char *block, size_t size)
{
	memset(block, 1, size);
	lives[live_count++] = (struct live){who, block};
}

__attribute__((noinline)) static void keep_small(void)
{
	keep("keep_small", malloc(SMALL), SMALL);
}

__attribute__((noinline)) static void keep_large(void)
{
	keep("keep_large", malloc(LARGE), LARGE);
}

__attribute__((noinline)) static void keep_inherited(void)
{
	keep("inherited", malloc(SMALL), SMALL);
}

static void work(void (*small)(void), void (*large)(void))
{
	for (unsigned i = 0; i < COUNT + ALONE; i++) {
		temporaries[i] = malloc(TEMPORARY);
		memset(temporaries[i], 1, TEMPORARY);
		/* The last ones leave pages without a live block. */
		if (i < COUNT && i % 3 == 0)
			small();
		if (i < COUNT && i % 7 == 0)
			large();
	}
	small();
	for (unsigned i = 0; i < COUNT + ALONE; i++)
		free(temporaries[i]);
}

static void say(const char *text)
{
	size_t size = strlen(text);

	if (write(STDOUT_FILENO, text, size) != (ssize_t)size)
		_exit(1);
}

int main(int argc, char **argv)
{
	char line[LINE];
	pid_t child = 0;

	if (argc > 1 && strcmp(argv[1], "fork") == 0) {
		work(keep_inherited, keep_inherited);
		child = fork();
	}
	if (child) {
		waitpid(child, NULL, 0);
		return 0;
	}
	work(keep_small, keep_large);
	for (unsigned i = 0; i < live_count; i++) {
		snprintf(line, sizeof(line), "%s %zu %zu\n", lives[i].who, (size_t)lives[i].block,
			 malloc_usable_size(lives[i].block));
		say(line);
	}
	snprintf(line, sizeof(line), "ready %d\n", (int)getpid());
	say(line);
	return read(STDIN_FILENO, line, 1) < 0;
}
