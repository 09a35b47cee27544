/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * opens.c - loads a library and unloads it; allocates much before, meanwhile and after, and keeps 1,000 blocks of 50 bytes.
 *
 * Usage: opens LIBRARY
 */
#include <dlfcn.h>
#include <stdlib.h>

static void *volatile sink;

static __attribute__((noinline)) void keep(void)
{
	sink = malloc(50);
}

static void churn(void)
{
	int i;

	for (i = 0; i < 1000000; i++) {
		sink = malloc(100);
		free(sink);
	}
}

int main(int argc, char **argv)
{
	void *library;
	int i;

	churn();
	library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	if (!library)
		return 1;
	churn();
	dlclose(library);
	churn();
	for (i = 0; i < 1000; i++)
		keep();
	return 0;
}
