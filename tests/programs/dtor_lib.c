/* SPDX-License-Identifier: BSD-2-Clause */
/* dtor_lib.c - a library that allocates in its constructor and frees in its destructor, after exit handlers. */
#include <stdlib.h>

static void *block[50];

__attribute__((noinline, noclone)) static void *dtor_lib_take(void)
{
	return malloc(1000);
}

__attribute__((constructor)) static void begin(void)
{
	for (int i = 0; i < 50; i++)
		block[i] = dtor_lib_take();
}

__attribute__((destructor)) static void end(void)
{
	void *last = malloc(333);

	for (int i = 0; i < 50; i++)
		free(block[i]);
	free(last);
}

int dtor_lib_touch(void)
{
	return block[49] != NULL;
}
