/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwarf_unit.h - the functions of one compilation unit by address, and the calls inlined into each.
 *
 * A unit's functions are listed once, at the first question.  Those inside of other functions (methods of local classes) are
 * listed only if an address is found in none of the others: that takes a walk through everything.
 */
#ifndef PMEM_SYMBOL_DWARF_UNIT_H
#define PMEM_SYMBOL_DWARF_UNIT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "symbol/dwarf_walk.h"

/* One range of a function's addresses. */
struct dwarf_function {
	uint64_t low;
	uint64_t high;
	Dwarf_Die die;
};

struct dwarf_unit {
	Dwarf_Die die;			  /* in the main file: has the lines */
	Dwarf_Die body;			  /* has the functions: the same, or that of a split file */
	struct dwarf_function *functions; /* by low */
	size_t count;
	size_t room;
	bool is_listed;
	bool is_deep;	/* those in functions are listed too */
	bool has_lines; /* libdw has read them */
};

/* The concrete function at address and the inlined calls in it that lead there, outermost first, into chain[max].
 * Returns how many, 0 if there is no function; *start is where the function's range begins. */
size_t dwarf_unit_find(struct dwarf_unit *unit, uint64_t address, struct dwarf_limit *limit,
		       Dwarf_Die *chain, size_t max, uint64_t *start);
void dwarf_unit_free(struct dwarf_unit *unit);

#endif
