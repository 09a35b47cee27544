/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rss_ranges.c - see rss_ranges.h.
 */
#include "profile/rss_ranges.h"

#include <stdlib.h>
#include <string.h>

#include "core/range_leaf.h"

enum { LEAVES_MAX = 1 << 20 };

/* Takes over what a leaf holds, as far as it makes sense.  False: no memory. */
static bool add_leaf(struct rss_ranges *ranges, const struct ranges_leaf *leaf, uint64_t inherited)
{
	struct waterfall_range *grown = realloc(ranges->items,
						(ranges->count + RANGES_LEAF) * sizeof(*grown));

	if (!grown)
		return false;
	ranges->items = grown;
	for (uint32_t i = 0; i < leaf->count && i < RANGES_LEAF; i++) {
		const struct range *from = &leaf->items[i];
		uint64_t end = ranges->count ? grown[ranges->count - 1].end : 0;

		/* The process changes it while it is read. */
		if (from->start < end || from->end <= from->start || from->birth <= inherited)
			continue;
		grown[ranges->count++] = (struct waterfall_range){from->start, from->end,
								  from->owner};
	}
	return true;
}

static void read_leaves(struct rss_ranges *ranges, const struct ranges *head,
			const struct rss_ranges_source *source, uint64_t *leaves)
{
	const uint64_t at = (uint64_t)(uintptr_t)head->leaves;
	struct ranges_leaf leaf;

	if (!source->copy(source->context, at, leaves, head->leaf_count * sizeof(*leaves)))
		return;
	for (uint32_t i = 0; i < head->leaf_count; i++)
		if (!source->copy(source->context, leaves[i], &leaf, sizeof(leaf)) ||
		    !add_leaf(ranges, &leaf, head->inherited))
			return;
}

void rss_ranges_read(struct rss_ranges *ranges, const struct rss_ranges_source *source)
{
	struct ranges head;
	uint64_t *leaves;

	*ranges = (struct rss_ranges){0};
	if (!source->address ||
	    !source->copy(source->context, source->address, &head, sizeof(head)) ||
	    head.leaf_count == 0 || head.leaf_count > LEAVES_MAX)
		return;
	leaves = calloc(head.leaf_count, sizeof(*leaves));
	if (leaves)
		read_leaves(ranges, &head, source, leaves);
	free(leaves);
}

bool rss_ranges_next(struct rss_ranges *ranges, uint64_t addr, struct waterfall_range *range)
{
	while (ranges->at < ranges->count && ranges->items[ranges->at].end <= addr)
		ranges->at++;
	if (ranges->at == ranges->count)
		return false;
	*range = ranges->items[ranges->at];
	return true;
}
