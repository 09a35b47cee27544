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

#include "symbol/dwarf.h"
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

/* The concrete function at an address and the inlined calls in it that lead there, outermost first. */
struct dwarf_chain {
	size_t count;	/* 0: no function is known */
	uint64_t start; /* of the concrete function's range */
	Dwarf_Die dies[DWARF_FRAMES_MAX];
};

void dwarf_unit_find(struct dwarf_unit *unit, uint64_t address, struct dwarf_limit *limit,
		     struct dwarf_chain *chain);
void dwarf_unit_free(struct dwarf_unit *unit);

#endif
