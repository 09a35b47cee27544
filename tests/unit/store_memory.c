/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * store_memory.c - in place of store_file.c and place.c: blocks are private memory, there is no file.
 */
#include <stddef.h>

#include "libpmem/place.h"
#include "libpmem/store_file.h"
#include "libpmem/sys.h"

struct format_first_block *store_file_begin(const struct format_first_block *without_file)
{
	(void)without_file;
	return NULL;
}

bool store_file_take(struct store_file_block *block)
{
	block->number = 0;
	block->bytes = sys_map(FORMAT_BLOCK_SIZE);
	return block->bytes != NULL;
}

void store_file_give_back(const struct store_file_block *block)
{
	sys_unmap(block->bytes, FORMAT_BLOCK_SIZE);
}

void store_file_name(const struct store_file_block *block, uint32_t entry)
{
	(void)block, (void)entry;
}

void store_file_flush(uint32_t max)
{
	(void)max;
}

void store_file_reserve(void)
{
}

void store_file_trim(void)
{
}

const char *store_file_path(void)
{
	return "";
}

void store_file_before_fork(void)
{
}

void store_file_after_fork(void)
{
}

void store_file_detach(void)
{
}

void store_file_fork_child(void)
{
}

unsigned place_suffix(void)
{
	return 1;
}

void store_file_abandon(void)
{
}
