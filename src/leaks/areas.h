/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * areas.h - what the parts of a process's memory are: where pointers count, and where they do not.
 *
 * Roots are variables of all modules, stacks from their pointer up with what lies there of threads' own variables, and all that the program mapped
 * itself.  No roots are: heaps but for their live blocks, as what was freed keeps old pointers; stacks below their pointer, and those of
 * threads that have ended; the recorder's own memory, which knows the address of every block; files that are shared.
 */
#ifndef PMEM_LEAKS_AREAS_H
#define PMEM_LEAKS_AREAS_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "core/format.h"
#include "leaks/blocks.h"
#include "leaks/memory.h"
#include "leaks/stop.h"

struct areas_range {
	uint64_t start;
	uint64_t end;
	bool is_shared; /* with other processes, and so no part of a snapshot */
	bool is_libc;	/* glibc's variables */
};

struct areas_ranges {
	struct areas_range *items; /* by address */
	uint32_t count;
	uint32_t room;
};

struct areas {
	struct areas_ranges roots;
	struct areas_ranges heaps; /* what allocators keep, with live blocks and without */
};

struct areas_source {
	pid_t pid; /* whose maps are read */
	struct memory *memory;
	const struct format_memory *location;
	const char *profile_name; /* last part of the profile's path */
	const struct stop *stop;  /* the threads */
};

/* Finds areas and live blocks; ends with areas_free() and blocks_free(), also after a failure. */
bool areas_find(const struct areas_source *source, struct areas *areas, struct blocks *blocks,
		struct error *err);
void areas_free(struct areas *areas);

#endif
