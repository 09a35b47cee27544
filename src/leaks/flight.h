/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flight.h - blocks inside realloc(), which no live table shows.
 *
 * The recorder takes a block out before realloc() and puts another one in behind it.  A thread that is in between has the hook's code as a
 * return address on a stack, or as its program counter.  So what lies there, in the frames that were called and in registers, and leads into a heap,
 * but not to a live block, is taken for such a block.  It may be an old address by accident; that would hide a leak, where the other mistake
 * would call lost all that the block holds.
 */
#ifndef PMEM_LEAKS_FLIGHT_H
#define PMEM_LEAKS_FLIGHT_H
#include "core/format.h"
#include "leaks/areas.h"
#include "leaks/mark.h"
#include "leaks/stop.h"

struct flight {
	struct mark *mark;
	const struct areas *areas;
	const struct stop *stop;
	const struct format_header *header; /* of the profile */
};

/* Before mark_roots(): says what it looks for. */
void flight_begin(const struct flight *flight);

/* After it: marks what such blocks reach. */
void flight_mark(const struct flight *flight);

#endif
