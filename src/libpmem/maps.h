/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * maps.h - finds the object mapped around an address in /proc/self/maps, by raw reads.
 *
 * For C libraries without _dl_find_object().  Slow (reads the file anew each time); allocates nothing.
 */
#ifndef PMEM_LIBPMEM_MAPS_H
#define PMEM_LIBPMEM_MAPS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAPS_PATH_MAX = 1024 };

struct maps_object {
	uintptr_t start; /* of the mapping of file offset 0 below the address */
	uintptr_t end; /* past the last mapping of the same file that follows without another file between */
	char *path; /* the caller's, MAPS_PATH_MAX bytes; cut if longer */
};

/* Describes the file-backed object (or the vDSO) that contains addr.  Returns false, *object
 * undefined, if addr lies in no such mapping or the file cannot be read. */
bool maps_find(uintptr_t addr, struct maps_object *object);

#endif
