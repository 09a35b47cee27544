/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * known.c - known blocks for prog.py, by the number of the interpreter that asks.
 */
#include <stdlib.h>

void *known_keep(size_t size);
void known_temporary(size_t size, int count);

static void *volatile last;

void *known_keep(size_t size)
{
	return last = malloc(size);
}

void known_temporary(size_t size, int count)
{
	while (count--) {
		last = malloc(size);
		free(last);
	}
}
