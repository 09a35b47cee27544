/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * store_extents.h - what is mapped of the profile's file, for a fork() by a handler that interrupted an event.
 *
 * For store_file.c only.  Any thread may add an extent; the others run around a fork().
 */
#ifndef PMEM_LIBPMEM_STORE_EXTENTS_H
#define PMEM_LIBPMEM_STORE_EXTENTS_H
#include <stdint.h>

/* The extent of so many blocks at bytes is mapped, for good. */
void store_extents_keep(void *bytes, uint32_t blocks);

/* Before the fork: copies all that is mapped.  What finds no memory stays the parent's also in the child. */
void store_extents_copy(void);

/* After it, in the parent: the copies are not needed. */
void store_extents_drop_copies(void);

/* In the child: the copies take the places of what they are copies of. */
void store_extents_detach(void);

void store_extents_forget(void);

#endif
