/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * musl_plugin.c - a library for musl.c.
 */
#include <stdlib.h>

void *plugin_allocate(size_t size);

void *volatile plugin_last;

void *plugin_allocate(size_t size)
{
	void *block = malloc(size);

	plugin_last = block;
	return block;
}
