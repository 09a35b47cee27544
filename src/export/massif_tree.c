/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * massif_tree.c - the tree of a detailed snapshot of Massif's.
 *
 * Call stacks that are equal from the innermost frame on are neighbours, so that a node of the tree is a range of them, and its
 * children are the ranges with equal next frames.  Each call stack has a cursor, the node of the profile that comes next; it moves out as the tree is
 * gone down.  A line begins with the number of the node's children: so they are found before it is written.
 */
#include "export/massif_tree.h"

#include <inttypes.h>
#include <stdlib.h>

/* Locations of a call stack that are shown.  The recursion is that deep, and so is ms_print's. */
enum { DEPTH_MAX = 64 };

/* Call stacks with the same frames so far. */
struct range {
	uint32_t begin;
	uint32_t end;
	uint64_t sum;
};

struct walk {
	const struct massif_tree *tree;
	const struct profile *profile;
	uint64_t *values;  /* by place in the order; here only those that are not 0 have a place */
	uint32_t *cursors; /* likewise: the next node; 0 = no more */
	uint32_t count;
};

/* The children of a range: those of at least the threshold, the largest first, and the others together. */
struct children {
	struct range *items;
	uint32_t count;
	uint32_t small_count;
	uint64_t small_sum;
};

uint64_t massif_tree_sum(const struct profile *profile, enum export_value value)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < profile->stack_count; i++)
		sum += export_value_of(value, &profile->stacks[i].counts);
	return sum;
}

static int by_sum(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	if (a->sum != b->sum)
		return a->sum < b->sum ? 1 : -1;
	return (a->begin > b->begin) - (a->begin < b->begin);
}

/* The end of the group of equal next frames that begins at begin, and its sum. */
static struct range group_at(const struct walk *walk, uint32_t begin, uint32_t end)
{
	const struct profile_node *nodes = walk->profile->nodes;
	struct range group = {begin, begin, 0};

	do {
		group.sum += walk->values[group.end++];
	} while (group.end < end && walk->cursors[group.end] != 0 &&
		 nodes[walk->cursors[group.end]].location == nodes[walk->cursors[begin]].location);
	return group;
}

static bool add_child(struct children *children, const struct range *group)
{
	struct range *items;

	if ((children->count & (children->count - 1)) == 0) {
		items = realloc(children->items, (children->count ? children->count * (size_t)2 : 1) *
							 sizeof(*items));
		if (!items)
			return false;
		children->items = items;
	}
	children->items[children->count++] = *group;
	return true;
}

static bool find_children(const struct walk *walk, const struct range *range,
			  struct children *children)
{
	uint32_t at = range->begin;

	*children = (struct children){0};
	while (at < range->end && walk->cursors[at] == 0)
		at++; /* those that end here come first */
	while (at < range->end) {
		struct range group = group_at(walk, at, range->end);

		at = group.end;
		if (group.sum < walk->tree->threshold) {
			children->small_count++;
			children->small_sum += group.sum;
		} else if (!add_child(children, &group)) {
			free(children->items);
			return false;
		}
	}
	if (children->count)
		qsort(children->items, children->count, sizeof(*children->items), by_sum);
	return true;
}

static void put_indent(FILE *file, unsigned indent)
{
	while (indent--)
		fputc(' ', file);
}

/* "n2: 4096 0x401136: f (x.c:3)", without what comes before the name. */
static void put_name(const struct walk *walk, const struct frame *frame)
{
	const struct profile_location *location = &walk->profile->locations[frame->location];
	FILE *file = walk->tree->file;

	if (location->special) {
		fprintf(file, "%s\n", frame->name);
		return;
	}
	fprintf(file, "0x%" PRIX64 ": %s", location->address ? location->address - 1 : 0,
		frame->is_named ? frame->name : "???");
	if (frame->file && frame->line)
		fprintf(file, " (%s:%" PRIu32 ")\n", frames_base_name(frame->file), frame->line);
	else if (frame->is_named)
		fprintf(file, " (in %s)\n", walk->tree->frames->modules[location->module]);
	else
		fprintf(file, " (%s)\n", frame->name);
}

/* A location in the tree. */
struct place {
	uint32_t location;
	uint32_t child_count; /* lines right below it */
	uint64_t sum;
};

/* The lines of a location: inlined functions are parents of their callers.  Returns the indentation for its children. */
static unsigned put_place(const struct walk *walk, const struct place *place, unsigned indent)
{
	const struct frames *frames = walk->tree->frames;
	uint32_t i, end = frames->first[place->location + 1];

	for (i = frames->first[place->location]; i < end; i++) {
		put_indent(walk->tree->file, indent++);
		fprintf(walk->tree->file, "n%" PRIu32 ": %" PRIu64 " ",
			i + 1 < end ? 1 : place->child_count, place->sum);
		put_name(walk, &frames->items[i]);
	}
	return indent;
}

static void put_small(const struct walk *walk, const struct children *children, unsigned indent)
{
	if (!children->small_count)
		return;
	put_indent(walk->tree->file, indent);
	fprintf(walk->tree->file,
		"n0: %" PRIu64 " in %" PRIu32 " place%s, all below massif's threshold (%" PRIu64
		" bytes)\n",
		children->small_sum, children->small_count, children->small_count == 1 ? "" : "s",
		walk->tree->threshold);
}

static uint32_t line_count(const struct children *children)
{
	return children->count + (children->small_count > 0);
}

/* A range whose next frames are equal: that frame's lines, and all below. */
static bool put_range(const struct walk *walk, const struct range *range, unsigned depth,
		      unsigned indent)
{
	const struct profile_node *nodes = walk->profile->nodes;
	struct place place = {.location = nodes[walk->cursors[range->begin]].location,
			      .sum = range->sum};
	struct children children = {0};
	bool ok = true;
	uint32_t i;

	for (i = range->begin; i < range->end; i++)
		walk->cursors[i] = nodes[walk->cursors[i]].parent;
	if (depth < DEPTH_MAX && !find_children(walk, range, &children))
		return false;
	place.child_count = line_count(&children);
	indent = put_place(walk, &place, indent);
	for (i = 0; i < children.count && ok; i++)
		ok = put_range(walk, &children.items[i], depth + 1, indent);
	put_small(walk, &children, indent);
	free(children.items);
	return ok;
}

static bool put_root(const struct walk *walk, uint64_t total, uint64_t sum)
{
	struct range all = {0, walk->count, sum};
	FILE *file = walk->tree->file;
	struct children children;
	bool ok = true;
	uint32_t i;

	if (!find_children(walk, &all, &children))
		return false;
	/* As Massif itself with and without --pages-as-heap=yes. */
	fprintf(file, "n%" PRIu32 ": %" PRIu64 " %s\n", line_count(&children) + (total > sum), total,
		walk->profile->is_mapped ? "(page allocation syscalls) mmap/mremap/brk"
					 : "(heap allocation functions) malloc/new/new[]");
	for (i = 0; i < children.count && ok; i++)
		ok = put_range(walk, &children.items[i], 1, 1);
	put_small(walk, &children, 1);
	if (total > sum)
		fprintf(file, " n0: %" PRIu64 " in call stacks that are not known\n", total - sum);
	free(children.items);
	return ok;
}

bool massif_tree_put(const struct massif_tree *tree, enum export_value value, uint64_t total)
{
	const struct profile *profile = tree->frames->profile;
	struct walk walk = {.tree = tree, .profile = profile};
	bool ok = false;
	uint32_t i;

	walk.values = calloc((size_t)profile->stack_count + 1, sizeof(*walk.values));
	walk.cursors = calloc((size_t)profile->stack_count + 1, sizeof(*walk.cursors));
	for (i = 0; i < profile->stack_count && walk.values && walk.cursors; i++) {
		const struct profile_stack *stack = &profile->stacks[tree->order[i]];
		uint64_t bytes = export_value_of(value, &stack->counts);

		if (bytes == 0)
			continue;
		walk.values[walk.count] = bytes;
		walk.cursors[walk.count++] = stack->node;
	}
	if (walk.values && walk.cursors)
		ok = put_root(&walk, total, massif_tree_sum(profile, value));
	free(walk.values);
	free(walk.cursors);
	return ok;
}
