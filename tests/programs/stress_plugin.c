/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress_plugin.c - a library that stress_processes.c loads and unloads; it allocates, at load too.
 */
#include <stdlib.h>

static void *own;

__attribute__((constructor)) static void begin(void)
{
	own = malloc(77);
}

__attribute__((destructor)) static void end(void)
{
	free(own);
}

__attribute__((noinline, noclone)) static void *at_plugin(size_t size)
{
	return malloc(size);
}

__attribute__((visibility("default"))) void *plugin_alloc(size_t size)
{
	void *block = at_plugin(size);

	free(own);
	own = malloc(78);
	return block;
}
