/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwarf_walk.c - see dwarf_walk.h.
 */
#include "symbol/dwarf_walk.h"

#include "base/clock.h"

enum { STEPS_BETWEEN_LOOKS = 1024 };

uint64_t dwarf_now(void)
{
	return clock_monotonic_ns();
}

bool dwarf_may_go_on(struct dwarf_limit *limit)
{
	if (++limit->steps % STEPS_BETWEEN_LOOKS == 0 && dwarf_now() > limit->end_ns)
		limit->is_over = true;
	return !limit->is_over;
}

bool dwarf_to_sibling(Dwarf_Die *die, struct dwarf_limit *limit)
{
	const void *before = die->addr;

	return dwarf_may_go_on(limit) && dwarf_siblingof(die, die) == 0 &&
	       (const char *)die->addr > (const char *)before;
}

bool dwarf_to_child(Dwarf_Die *die, Dwarf_Die *child)
{
	return dwarf_child(die, child) == 0 && (const char *)child->addr > (const char *)die->addr;
}

void dwarf_walk(Dwarf_Die *unit, struct dwarf_limit *limit, dwarf_visit *visit, void *data)
{
	Dwarf_Die path[DWARF_WALK_DEPTH];
	size_t depth = 0;

	if (!dwarf_to_child(unit, &path[0]))
		return;
	while (!limit->is_over) {
		if (visit(&path[depth], depth, data) && depth + 1 < DWARF_WALK_DEPTH &&
		    dwarf_to_child(&path[depth], &path[depth + 1])) {
			depth++;
			continue;
		}
		while (!dwarf_to_sibling(&path[depth], limit))
			if (depth-- == 0)
				return;
	}
}
