/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * store_file.h - the blocks of the profile's file.
 *
 * The file grows in extents: zeros are written, so that a full disk is an error of write(2) and never a SIGBUS, and
 * then the extent is mapped.  Whatever does not work (no folder, full disk, limits, a file system without
 * shared maps, a sandbox) gives blocks of private memory instead.  For store.c only; any thread, no
 * lock.
 */
#ifndef PMEM_LIBPMEM_STORE_FILE_H
#define PMEM_LIBPMEM_STORE_FILE_H
#include <stdbool.h>
#include <stdint.h>

#include "core/format.h"

struct store_file_block {
	void *bytes;
	uint32_t number; /* in the file; 0 = private memory */
};

/* Makes the file, with the header of *without_file.  Returns block 0, or NULL: there will be no file. */
struct format_first_block *store_file_begin(const struct format_first_block *without_file);

/* An unused block, all zeros.  Returns false when memory is exhausted. */
bool store_file_take(struct store_file_block *block);
void store_file_give_back(const struct store_file_block *block);

/* Enters the block in the file's directory (format.h), or, if it is private memory, into the list for
 * store_file_flush(). */
void store_file_name(const struct store_file_block *block, uint32_t entry);

/* See store_flush(). */
void store_file_flush(uint32_t max);

/* Before a sandbox: grows the file by what may be needed in it. */
void store_file_reserve(void);

/* See store_trim(). */
void store_file_trim(void);

/* Absolute path of the file, or its name if that is not known; "" = none. */
const char *store_file_path(void);

/* Around a fork() by a handler that interrupted an event, which will go on in the child too: there the mapped
 * blocks become private, as they were before, so that the parent's profile does not see what the child
 * writes, nor the child what the parent goes on to write. */
void store_file_before_fork(void);
void store_file_after_fork(void); /* in the parent */
void store_file_detach(void);	  /* in the child */

/* The file is of no use to anybody: deletes it. */
void store_file_abandon(void);

/* Forgets the file, and closes the copy of its descriptor. */
void store_file_fork_child(void);

#endif
