/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * own_malloc.c - a program with an allocator of its own, by its definitions:
 *
 *   (none)         defines malloc(), calloc(), realloc() and free(), which serve from an arena of the program
 *   -DPREFIX=je_   the same with a prefix; the program calls both kinds
 *   -DPASS_ON      its malloc() and free() count, and pass on to the next ones, found by dlsym(RTLD_NEXT)
 *   -DHIDDEN=...   an attribute for all of them
 *   -DKILLED       kills itself
 *
 * It keeps 1,000 bytes by its own malloc(), which PREFIX gives another name, and 77 by libc's strdup(); then it checks the content.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#ifndef PREFIX
#define PREFIX
#endif
#define OWN(name) JOIN(PREFIX, name)

#ifndef HIDDEN
#define HIDDEN
#endif

HIDDEN void *OWN(malloc)(size_t size);
HIDDEN void OWN(free)(void *block);

static unsigned long calls;

#ifdef PASS_ON

void *malloc(size_t size)
{
	static void *(*next)(size_t);

	calls++;
	if (!next)
		next = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	return next(size);
}

void free(void *block)
{
	static void (*next)(void *);

	if (!next)
		next = (void (*)(void *))dlsym(RTLD_NEXT, "free");
	next(block);
}

#else

HIDDEN void *OWN(calloc)(size_t count, size_t size);
HIDDEN void *OWN(realloc)(void *old, size_t size);

static char arena[1 << 20] __attribute__((aligned(16)));
static size_t used;

void *OWN(malloc)(size_t size)
{
	size_t room = (size + 31) & ~(size_t)15;
	char *block = arena + used + 16;

	calls++;
	if (room > sizeof(arena) - used)
		return NULL;
	memcpy(block - sizeof(size), &size, sizeof(size));
	used += room;
	return block;
}

void *OWN(calloc)(size_t count, size_t size)
{
	return OWN(malloc)(count * size);
}

void *OWN(realloc)(void *old, size_t size)
{
	char *block = OWN(malloc)(size);
	size_t before;

	if (block && old) {
		memcpy(&before, (char *)old - sizeof(before), sizeof(before));
		memcpy(block, old, before < size ? before : size);
	}
	return block;
}

void OWN(free)(void *block)
{
	if (block && ((char *)block < arena || (char *)block >= arena + sizeof(arena))) {
		fputs("a foreign block\n", stderr);
		abort();
	}
}

#endif

static char *own, *copied;

__attribute__((noinline)) static void keep(void)
{
	char text[77];

	own = OWN(malloc)(1000);
	memset(own, 'x', 1000);
	memset(text, 'y', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	copied = strdup(text);
	OWN(free)(OWN(calloc)(10, 10));
	own = OWN(realloc)(own, 2000);
}

int main(void)
{
	keep();
#ifdef KILLED
	raise(SIGKILL);
#endif
	puts(calls && own[999] == 'x' && copied[75] == 'y' && copied[76] == 0 ? "ok" : "wrong");
	return 0;
}
