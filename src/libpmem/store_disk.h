/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * store_disk.h - room on disk for the profile's blocks.  For store_file.c only.
 *
 * A file is filled with zeros before it is mapped, so that a full disk is never a SIGBUS.  Most pages
 * of a small process's file stay zeros: at its end they are given back.
 */
#ifndef PMEM_LIBPMEM_STORE_DISK_H
#define PMEM_LIBPMEM_STORE_DISK_H
#include <stdbool.h>
#include <stdint.h>

/* Writes count blocks of zeros.  Returns 0 or -errno. */
int store_disk_fill(int fd, uint32_t number, uint32_t count);

/* Gives the disk back what count blocks took. */
void store_disk_punch(int fd, uint32_t number, uint32_t count);

/* True where a page that was written needs new room when it is written again: there a full disk is a
 * SIGBUS even for pages that were filled with zeros. */
bool store_disk_moves(int fd);

struct store_trim {
	int fd;
	uint64_t start; /* zeros from here on, up to */
	uint64_t end;
};

/* Gives back pages that hold nothing but zeros: for each block, mapped at bytes (NULL: not), in order,
 * then store_disk_trim_end().  Who writes to such a page later may be hit by SIGBUS: nobody may write
 * any more. */
void store_disk_trim(struct store_trim *trim, uint32_t number, const void *bytes);
void store_disk_trim_end(struct store_trim *trim);

#endif
