/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwarf_walk.h - walks through the entries of a compilation unit, with bounds on depth and time.
 *
 * No walk is endless: a sibling or child that does not lie further on in the file ends it.  Trees are walked without
 * recursion: their depth is the file's choice.
 */
#ifndef PMEM_SYMBOL_DWARF_WALK_H
#define PMEM_SYMBOL_DWARF_WALK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>

enum { DWARF_WALK_DEPTH = 1024 };

/* Bounds the work on hostile files: CLOCK_MONOTONIC time at which it is given up. */
struct dwarf_limit {
	uint64_t end_ns;
	unsigned steps;
	bool is_over;
};

/* Now, in ns of CLOCK_MONOTONIC. */
uint64_t dwarf_now(void);

/* Counts one step.  False: the time is over. */
bool dwarf_may_go_on(struct dwarf_limit *limit);

/* From die to its next sibling; to the first child of die.  False: there is none. */
bool dwarf_to_sibling(Dwarf_Die *die, struct dwarf_limit *limit);
bool dwarf_to_child(Dwarf_Die *die, Dwarf_Die *child);

/* Called for each entry; depth 0: directly in the unit.  Returns true to have what is inside visited too. */
typedef bool dwarf_visit(Dwarf_Die *die, size_t depth, void *data);

void dwarf_walk(Dwarf_Die *unit, struct dwarf_limit *limit, dwarf_visit *visit, void *data);

#endif
