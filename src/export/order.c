/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * order.c - call stacks sorted by their frames.
 */
#include "export/order.h"

#include <stdlib.h>

int order_compare(const struct profile *profile, uint32_t left, uint32_t right)
{
	const struct profile_node *nodes = profile->nodes;
	uint32_t a = profile->stacks[left].node, b = profile->stacks[right].node;

	while (a != b && a != 0 && b != 0) {
		if (nodes[a].location != nodes[b].location)
			return nodes[a].location < nodes[b].location ? -1 : 1;
		a = nodes[a].parent;
		b = nodes[b].parent;
	}
	return a == b ? 0 : a == 0 ? -1 : 1;
}

/* Equal ones in the profile's order: the result is always the same. */
static int by_frames(const void *left, const void *right, void *profile)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	int order = order_compare(profile, a, b);

	return order ? order : (a > b) - (a < b);
}

uint32_t *order_stacks(const struct profile *profile)
{
	uint32_t *stacks = calloc((size_t)profile->stack_count + 1, sizeof(*stacks)), i;

	if (!stacks)
		return NULL;
	for (i = 0; i < profile->stack_count; i++)
		stacks[i] = i;
	qsort_r(stacks, profile->stack_count, sizeof(*stacks), by_frames,
		(void *)(uintptr_t)profile);
	return stacks;
}
