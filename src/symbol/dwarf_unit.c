/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwarf_unit.c - see dwarf_unit.h.
 */
#include "symbol/dwarf_unit.h"

#include <dwarf.h>
#include <stdlib.h>

enum {
	FUNCTIONS_MAX = 1 << 22,
	RANGES_MAX = 1 << 16, /* of one function */
};

static void add_range(struct dwarf_unit *unit, const struct dwarf_function *function)
{
	if (unit->count == unit->room) {
		size_t room = unit->room ? unit->room * 2 : 64;
		struct dwarf_function *grown;

		if (room > FUNCTIONS_MAX)
			return;
		grown = realloc(unit->functions, room * sizeof(*grown));
		if (!grown)
			return;
		unit->functions = grown;
		unit->room = room;
	}
	unit->functions[unit->count++] = *function;
}

/* Adds the ranges of a function.  Linkers leave functions that they threw away at address 0. */
static void add_function(struct dwarf_unit *unit, Dwarf_Die *die, struct dwarf_limit *limit)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t offset = 0;

	if (dwarf_tag(die) != DW_TAG_subprogram ||
	    (!dwarf_hasattr(die, DW_AT_low_pc) && !dwarf_hasattr(die, DW_AT_ranges)))
		return;
	for (unsigned i = 0; i < RANGES_MAX && dwarf_may_go_on(limit); i++) {
		offset = dwarf_ranges(die, offset, &base, &low, &high);
		if (offset <= 0)
			return;
		if (low > 0 && high > low)
			add_range(unit, &(struct dwarf_function){low, high, *die});
	}
}

/* True if functions may be inside. */
static bool is_scope(Dwarf_Die *die, bool deep)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return true;
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		return deep;
	default:
		return false;
	}
}

struct listing {
	struct dwarf_unit *unit;
	struct dwarf_limit *limit;
};

static bool visit(Dwarf_Die *die, size_t depth, void *data)
{
	struct listing *listing = data;

	(void)depth;
	add_function(listing->unit, die, listing->limit);
	return is_scope(die, listing->unit->is_deep);
}

static int by_low(const void *a, const void *b)
{
	const struct dwarf_function *left = a;
	const struct dwarf_function *right = b;

	if (left->low != right->low)
		return left->low < right->low ? -1 : 1;
	/* Of two that begin at once the smaller is nearer. */
	return (left->high < right->high) - (left->high > right->high);
}

static void list(struct dwarf_unit *unit, bool deep, struct dwarf_limit *limit)
{
	struct listing listing = {unit, limit};

	unit->count = 0;
	unit->is_listed = true;
	unit->is_deep = deep;
	dwarf_walk(&unit->body, limit, visit, &listing);
	if (unit->count > 0)
		qsort(unit->functions, unit->count, sizeof(*unit->functions), by_low);
}

static struct dwarf_function *search(struct dwarf_unit *unit, uint64_t address)
{
	size_t low = 0, high = unit->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (unit->functions[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || address >= unit->functions[low - 1].high)
		return NULL;
	return &unit->functions[low - 1];
}

static struct dwarf_function *find_function(struct dwarf_unit *unit, uint64_t address,
					    struct dwarf_limit *limit)
{
	struct dwarf_function *found;

	if (!unit->is_listed)
		list(unit, false, limit);
	found = search(unit, address);
	if (!found && !unit->is_deep) {
		list(unit, true, limit);
		found = search(unit, address);
	}
	return found;
}

/* True if die is a scope that code is in, and address lies there. */
static bool holds(Dwarf_Die *die, uint64_t address)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		return dwarf_haspc(die, address) > 0;
	default:
		return false;
	}
}

/* From scope to the one directly in it that address lies in.  False: there is none. */
static bool descend(Dwarf_Die *scope, uint64_t address, struct dwarf_limit *limit)
{
	Dwarf_Die child;
	bool more = dwarf_to_child(scope, &child);

	while (more && !holds(&child, address))
		more = dwarf_to_sibling(&child, limit);
	if (more)
		*scope = child;
	return more;
}

void dwarf_unit_find(struct dwarf_unit *unit, uint64_t address, struct dwarf_limit *limit,
		     struct dwarf_chain *chain)
{
	struct dwarf_function *function = find_function(unit, address, limit);
	Dwarf_Die scope;

	chain->count = 0;
	if (!function)
		return;
	chain->start = function->low;
	scope = function->die;
	chain->dies[chain->count++] = scope;
	for (unsigned i = 0; i < DWARF_WALK_DEPTH && chain->count < DWARF_FRAMES_MAX; i++) {
		if (!descend(&scope, address, limit))
			break;
		if (dwarf_tag(&scope) == DW_TAG_inlined_subroutine)
			chain->dies[chain->count++] = scope;
	}
}

void dwarf_unit_free(struct dwarf_unit *unit)
{
	free(unit->functions);
	*unit = (struct dwarf_unit){0};
}
