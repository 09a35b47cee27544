/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * steps.c - allocates and frees what it is told to, one line of standard input after the other, and answers each with "ok":
 * between two lines its heap is known to the byte.
 *
 *   keep N    N blocks of 1024 bytes, by remember() in handle()
 *   load N    N blocks of 4096 bytes, by load_index()
 *   pass N    N blocks of 100 bytes, each freed at once, by parse() in handle()
 *   drop N    frees the N blocks that were kept last
 *   deep N    a block of 10 bytes, N calls of walk() deep
 *   quit      ends
 *
 * It does not use stdio, which would allocate.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEPT_MAX = 100000, LINE = 80 };

#define STEP __attribute__((noinline, noclone)) static

static void *kept[KEPT_MAX];
static int kept_count;
static void *volatile other;

STEP void remember(void)
{
	kept[kept_count++] = malloc(1024);
}

STEP void load_index(int count)
{
	while (count--)
		other = malloc(4096);
}

STEP void parse(void)
{
	other = malloc(100);
	free(other);
}

STEP void walk(int depth)
{
	if (depth > 1)
		walk(depth - 1);
	else
		other = malloc(10);
	__asm__ volatile("");
}

STEP void handle(const char *what, int count)
{
	while (count--) {
		if (*what == 'k')
			remember();
		else
			parse();
	}
}

static void drop(int count)
{
	while (count--)
		free(kept[--kept_count]);
}

static void obey(const char *line)
{
	int count = atoi(line + 5);

	switch (line[0]) {
	case 'k':
	case 'p':
		handle(line, count);
		break;
	case 'l':
		load_index(count);
		break;
	case 'd':
		if (line[1] == 'r')
			drop(count);
		else
			walk(count);
		break;
	case 'q':
		exit(0);
	}
}

/* False: there is no line any more. */
static int read_line(char *line)
{
	size_t size = 0;

	while (size < LINE - 1 && read(STDIN_FILENO, line + size, 1) == 1)
		if (line[size++] == '\n')
			break;
	line[size] = '\0';
	return size > 0;
}

int main(void)
{
	char line[LINE];

	while (read_line(line)) {
		obey(line);
		write(STDOUT_FILENO, "ok\n", 3);
	}
	return 0;
}
