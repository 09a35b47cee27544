/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * read_tree.c - call stacks and the nodes that they lead through.
 *
 * Only call stacks with an event and the nodes on their paths are taken over, under new indexes.  In the file the
 * parent of a node stands at the end of its list of siblings.  Lists lead to larger indexes only and parents to
 * smaller ones, which is checked: so there is no cycle.  In the copy of the file's nodes parents take the place of links, and new
 * indexes that of code, so that a large tree needs no further arrays.
 *
 * All blocks of nodes are read, beyond node_count too: a list may lead there, to an entry that is complete.
 * They are read in ascending order, so that an entry is read after the link that leads to it.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/read_places.h"

enum { TRIES = 4, NODES_START = 1024 };

#define NONE UINT32_MAX

/* Of a node whose parent was found: what link means then, beside FORMAT_LINK_STACK. */
#define TAKEN FORMAT_LINK_PARENT /* it has a place in nodes: pc32 */
#define PARENT FORMAT_LINK_INDEX
#define BROKEN PARENT /* no node has this number */

static const struct image_array stacks_array = {FORMAT_STACKS, sizeof(struct format_stack),
						"call stacks", FORMAT_STACK_FIRST};
static const struct image_array nodes_array = {FORMAT_NODES, sizeof(struct format_node), "nodes", 1};

struct tree {
	struct reader *reader;
	struct read_places places;
	struct format_node *raw;
	uint32_t raw_count;
	struct profile_node *nodes;
	uint32_t count;
	uint32_t room;
	uint32_t special[FORMAT_SPECIAL_UNKNOWN + 1]; /* nodes made here; 0 = not made */
	uint32_t broken;
	uint32_t negative;
	uint32_t wrong_hooks;
	uint32_t wrong_mappings;
	uint32_t wrong_failures;
};

/* --- nodes ----------------------------------------------------------------------------------- */

static uint32_t link_of(const struct tree *tree, uint32_t node)
{
	return plain32(&tree->raw[node].link);
}

static void set_link(struct tree *tree, uint32_t node, uint32_t link)
{
	atomic_store_explicit(&tree->raw[node].link, link, memory_order_relaxed);
}

/* Replaces links by parents.  Backwards: what a link leads to is larger, and so has its parent already. */
static void find_parents(struct tree *tree)
{
	for (uint32_t node = tree->raw_count; node-- > 0;) {
		uint32_t link = link_of(tree, node);
		uint32_t parent = link & FORMAT_LINK_INDEX;

		if (!(link & FORMAT_LINK_PARENT))
			parent = parent > node && parent < tree->raw_count
					 ? link_of(tree, parent) & PARENT
					 : BROKEN;
		set_link(tree, node, (link & FORMAT_LINK_STACK) | parent);
	}
}

/* Again if blocks of nodes came meanwhile: a link may lead there. */
static bool load_nodes(struct tree *tree)
{
	struct image *image = &tree->reader->image;
	uint32_t per_block = FORMAT_BLOCK_SIZE / sizeof(struct format_node);
	uint32_t count = plain32(&image->first->header.node_count);

	image_limit(image, &nodes_array, count);
	for (int tries = 0; tries < TRIES; tries++) {
		tree->raw_count = image->counts[FORMAT_NODES] * per_block;
		free(tree->raw);
		tree->raw = image_items(image, &nodes_array, tree->raw_count);
		if (!tree->raw || !tree->reader->profile.is_live)
			break;
		if (!image_refresh(image))
			return false;
		if (image->counts[FORMAT_NODES] * per_block == tree->raw_count)
			break;
	}
	if (!tree->raw)
		return false;
	find_parents(tree);
	return true;
}

/* Takes the next node; its index, or 0 if there is no memory. */
static uint32_t take_node(struct tree *tree)
{
	uint32_t room = tree->room ? tree->room * 2 : NODES_START;
	struct profile_node *grown;

	if (tree->count == tree->room) {
		grown = realloc(tree->nodes, room * sizeof(*grown));
		if (!grown)
			return 0;
		tree->nodes = grown;
		tree->room = room;
	}
	tree->nodes[tree->count] = (struct profile_node){0};
	return tree->count++;
}

/* The node, below the root, that stands for what has no frames.  0: no memory. */
static uint32_t special_node(struct tree *tree, enum format_special special)
{
	uint32_t *node = &tree->special[special];

	if (*node != 0)
		return *node;
	*node = take_node(tree);
	if (*node != 0 &&
	    !read_places_find(&tree->places, (uint32_t)special, &tree->nodes[*node].location))
		*node = 0;
	return *node;
}

static bool is_frame(const struct tree *tree, uint32_t node)
{
	return node != 0 && node < tree->raw_count && !(link_of(tree, node) & FORMAT_LINK_STACK);
}

/* The place in nodes of a frame; 0: it was not taken over. */
static uint32_t place_of(const struct tree *tree, uint32_t node)
{
	return link_of(tree, node) & TAKEN ? tree->raw[node].pc32 : 0;
}

/* Takes over one node of the file.  0: no memory. */
static uint32_t take_over(struct tree *tree, uint32_t node)
{
	uint32_t index = take_node(tree);

	if (index == 0 ||
	    !read_places_find(&tree->places, tree->raw[node].pc32, &tree->nodes[index].location))
		return 0;
	tree->raw[node].pc32 = index;
	set_link(tree, node, link_of(tree, node) | TAKEN);
	return index;
}

/* The index of a frame of the file, taken over with all its callers.  0: no memory. */
static uint32_t take_path(struct tree *tree, uint32_t node)
{
	uint32_t innermost = place_of(tree, node);
	uint32_t index, parent, above;

	if (innermost != 0)
		return innermost;
	index = innermost = take_over(tree, node);
	while (index != 0) {
		parent = link_of(tree, node) & PARENT;
		if (parent == 0)
			return innermost;
		/* A caller comes before what it calls. */
		if (parent >= node || !is_frame(tree, parent)) {
			tree->broken++;
			above = special_node(tree, FORMAT_SPECIAL_TRUNCATED);
			tree->nodes[index].parent = above;
			return above != 0 ? innermost : 0;
		}
		above = place_of(tree, parent);
		if (above != 0) {
			tree->nodes[index].parent = above;
			return innermost;
		}
		above = take_over(tree, parent);
		tree->nodes[index].parent = above;
		index = above;
		node = parent;
	}
	return 0;
}

/* --- call stacks ----------------------------------------------------------------------------- */

/* What is read of a running process can be early by an event, and the size of a stale block is a guess; else, in a file, it
 * is damage. */
static void make_consistent(struct tree *tree, struct profile_stack *stack)
{
	struct profile_counts *counts = &stack->counts;

	if (counts->foreign_count > counts->free_count)
		counts->foreign_count = counts->free_count;
	if (counts->free_count <= counts->alloc_count && counts->free_bytes <= counts->alloc_bytes &&
	    counts->temporary_count <= counts->free_count)
		return;
	if (!tree->reader->profile.is_live && !stack->inexact)
		tree->negative++;
	if (counts->free_count > counts->alloc_count)
		counts->free_count = counts->alloc_count;
	if (counts->free_bytes > counts->alloc_bytes)
		counts->free_bytes = counts->alloc_bytes;
	if (counts->temporary_count > counts->free_count)
		counts->temporary_count = counts->free_count;
}

static uint32_t hook_of(struct tree *tree, uint32_t id, uint32_t flags)
{
	uint32_t hook = flags >> FORMAT_HOOK_SHIFT & 0xff;

	if (id < FORMAT_STACK_FIRST || hook == FORMAT_NO_HOOK)
		return FORMAT_NO_HOOK;
	if (hook < FORMAT_HOOK_COUNT)
		return hook;
	tree->wrong_hooks++;
	return FORMAT_NO_HOOK;
}

/* 0: no memory. */
static uint32_t innermost_node(struct tree *tree, uint32_t id)
{
	uint32_t node = tree->reader->raw_stacks[id].node;

	if (id < FORMAT_STACK_FIRST)
		return special_node(tree, (enum format_special)id);
	if (is_frame(tree, node))
		return take_path(tree, node);
	tree->broken++;
	return special_node(tree, FORMAT_SPECIAL_TRUNCATED);
}

/* All of a call stack but its figures. */
static bool make_stack(struct tree *tree, uint32_t id, struct profile_stack *stack)
{
	uint32_t flags = plain32(&tree->reader->raw_stacks[id].flags);

	*stack = (struct profile_stack){
		.node = innermost_node(tree, id),
		.hook = hook_of(tree, id, flags),
		.inexact = (flags & FORMAT_STACK_INEXACT) != 0,
		.number = id,
	};
	return stack->node != 0;
}

/* Moves it to its place behind those before it: never past itself, as id 0 is not used. */
static bool take_stack(struct tree *tree, uint32_t id)
{
	struct profile *profile = &tree->reader->profile;
	struct profile_stack *stack = &profile->stacks[profile->stack_count];
	const struct format_stack *raw = &tree->reader->raw_stacks[id];
	struct profile_counts counts = profile->stacks[id].counts;

	if (!make_stack(tree, id, stack))
		return false;
	stack->counts = counts;
	stack->sizes = plain32(&raw->sizes);
	stack->lifetimes = plain32(&raw->lifetimes);
	make_consistent(tree, stack);
	tree->reader->stack_index[id] = profile->stack_count++;
	return true;
}

/* Behind the others.  A fixed id may be of both kinds: samples are then the heap's. */
static bool take_mapping(struct tree *tree, uint32_t record)
{
	struct reader *reader = tree->reader;
	const struct format_mapping *mapping = &reader->raw_mappings[record];
	uint32_t id = plain32(&mapping->stack_id);
	uint32_t index = reader->profile.stack_count + reader->mapping_count;
	struct profile_stack *stack = &reader->profile.stacks[index];

	/* 0: it was being made. */
	if (id == 0 || id >= reader->stack_limit) {
		tree->wrong_mappings += id != 0 && !reader->profile.is_live;
		return true;
	}
	if (!make_stack(tree, id, stack))
		return false;
	if (!read_mappings_counts(mapping, &stack->counts) && !reader->profile.is_live)
		tree->wrong_mappings++;
	reader->mapping_resident[reader->mapping_count] = plain64(&mapping->resident_bytes);
	if (reader->stack_index[id] == NONE)
		reader->stack_index[id] = index;
	reader->mapping_records[reader->mapping_count++] = record;
	return true;
}

static bool take_mappings(struct tree *tree)
{
	struct reader *reader = tree->reader;

	reader->mapping_records = reader_alloc(reader, reader->mapping_limit, sizeof(uint32_t));
	reader->mapping_resident = reader_alloc(reader, reader->mapping_limit, sizeof(uint64_t));
	if (!reader->mapping_records || !reader->mapping_resident)
		return false;
	for (uint32_t i = 0; i < reader->mapping_limit; i++)
		if (!take_mapping(tree, i))
			return false;
	return true;
}

/* That of a call stack; made if it is the first one's.  NULL: no memory. */
static struct profile_failure *failure_of(struct tree *tree, uint32_t id)
{
	struct profile *profile = &tree->reader->profile;
	struct profile_failure *failure = profile->failures;

	for (; failure < profile->failures + profile->failure_count; failure++)
		if (failure->stack.number == id)
			return failure;
	if (!make_stack(tree, id, &failure->stack))
		return NULL;
	profile->failure_count++;
	return failure;
}

static bool take_failures(struct tree *tree)
{
	struct reader *reader = tree->reader;

	reader->profile.failures = reader_alloc(reader, reader->failure_limit,
						sizeof(*reader->profile.failures));
	for (uint32_t i = 0; reader->profile.failures && i < reader->failure_limit; i++) {
		const struct format_failure *item = &reader->raw_failures[i];
		uint32_t id = plain32(&item->stack_id);
		struct profile_failure *failure;

		/* 0: it was being made. */
		if (id == 0 || id >= reader->stack_limit) {
			tree->wrong_failures += id != 0 && !reader->profile.is_live;
			continue;
		}
		failure = failure_of(tree, id);
		if (!failure)
			return false;
		read_failures_add(item, failure);
	}
	if (reader->profile.failures)
		read_failures_sort(&reader->profile);
	return reader->profile.failures != NULL;
}

static bool had_event(const struct profile_counts *counts)
{
	return (counts->alloc_count | counts->free_count | counts->alloc_bytes |
		counts->free_bytes) != 0;
}

/* Call stacks without events go, those that map memory come. */
static bool fit_stacks(struct reader *reader)
{
	struct profile *profile = &reader->profile;
	size_t count = (size_t)profile->stack_count + reader->mapping_limit;
	struct profile_stack *stacks = realloc(profile->stacks,
					       (count ? count : 1) * sizeof(*stacks));

	if (stacks)
		profile->stacks = stacks;
	return stacks != NULL;
}

static bool take_stacks(struct tree *tree)
{
	struct reader *reader = tree->reader;
	struct profile *profile = &reader->profile;
	uint32_t limit = reader->stack_limit;

	reader->stack_index = malloc(((size_t)limit + 1) * sizeof(*reader->stack_index));
	if (!reader->stack_index)
		return false;
	memset(reader->stack_index, 0xff, limit * sizeof(*reader->stack_index));
	for (uint32_t id = 1; id < limit; id++)
		if (had_event(&profile->stacks[id].counts) && !take_stack(tree, id))
			return false;
	return fit_stacks(reader) && take_mappings(tree) && take_failures(tree);
}

static bool load_stacks(struct reader *reader)
{
	uint32_t limit;

	if (!image_refresh(&reader->image))
		return false;
	limit = image_limit(&reader->image, &stacks_array,
			    plain32(&reader->image.first->header.stack_limit));
	/* Call stacks that came after the counters were read have no events here. */
	reader->stack_limit = limit < reader->counts_limit ? limit : reader->counts_limit;
	reader->raw_stacks = image_items(&reader->image, &stacks_array, reader->stack_limit);
	return reader->raw_stacks && image_refresh(&reader->image);
}

static void report(const struct tree *tree)
{
	const struct damage *damage = &tree->reader->image.damage;

	if (tree->broken > 0)
		damage_add(damage, "callers are missing in %u places", tree->broken);
	if (tree->negative > 0)
		damage_add(damage, "%u call stacks freed more than they allocated", tree->negative);
	if (tree->wrong_hooks > 0)
		damage_add(damage, "%u call stacks with an unknown entry point", tree->wrong_hooks);
	if (tree->wrong_mappings > 0)
		damage_add(damage, "%u impossible figures of mappings", tree->wrong_mappings);
	if (tree->wrong_failures > 0)
		damage_add(damage, "%u failed allocations of nobody", tree->wrong_failures);
}

bool read_tree(struct reader *reader)
{
	struct tree tree = {.reader = reader};
	bool done = load_stacks(reader) && load_nodes(&tree);

	/* The root. */
	done = done && read_places(reader, &tree.places) &&
	       (take_node(&tree) == 0 && tree.count == 1) && take_stacks(&tree);
	reader->profile.nodes = reader_own(reader, tree.nodes);
	reader->profile.node_count = tree.count;
	if (tree.places.reader)
		read_places_end(&tree.places);
	free(tree.raw);
	if (done)
		report(&tree);
	return done;
}
