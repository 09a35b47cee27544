/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diff_tree.c - one tree of names that the call stacks of two profiles lead through.
 *
 * Paths are exact: a child is found by the numbers of its parent and its name.
 */
#include "profile/diff_tree.h"

#include <stdlib.h>
#include <string.h>

#include "profile/blame.h"

enum { SIDES = 2, START = 4096, FOLD = 8 };

#define NONE UINT32_MAX

/* With or without the frames of process start at the outer end. */
enum mode { WITHOUT_START, WHOLE, MODES };

struct child {
	uint32_t parent;
	uint32_t frame; /* number of its name */
};

/* A function of a location. */
struct step {
	const struct symbol *symbol;
	uint32_t frame;
	bool part; /* of the function that calls it */
};

/* The functions of a location, outermost first, are steps[first] and on. */
struct spot {
	uint32_t first; /* NONE: not asked yet */
	uint32_t count;
};

struct side {
	const struct profile *profile;
	struct names *names;
	uint32_t *paths[MODES]; /* by node; NONE: not asked yet */
	uint32_t *pending;	/* nodes on the way to one whose path is known */
	struct spot *spots;	/* by location */
};

struct diff_tree {
	struct diff_frames *frames;
	bool fold;
	struct side sides[SIDES];
	struct step *steps;
	uint32_t step_count;
	uint32_t step_room;
	struct child *children; /* by number; 0 is the root */
	uint32_t count;
	uint32_t room;	 /* a power of 2 */
	uint32_t *slots; /* numbers, open addressing; 0 = free; twice as many as room */
};

static bool new_side(struct side *side, const struct diff_tree_query *query, unsigned index)
{
	const struct profile *profile = query->profiles[index];
	size_t nodes = (size_t)profile->node_count + 1,
	       locations = (size_t)profile->location_count + 1;

	side->profile = profile;
	side->names = query->names[index];
	side->pending = malloc(nodes * sizeof(*side->pending));
	side->spots = malloc(locations * sizeof(*side->spots));
	for (unsigned mode = 0; mode < MODES; mode++) {
		side->paths[mode] = malloc(nodes * sizeof(**side->paths));
		if (!side->paths[mode])
			return false;
		memset(side->paths[mode], 0xff, nodes * sizeof(**side->paths));
		side->paths[mode][0] = 0;
	}
	if (!side->pending || !side->spots)
		return false;
	memset(side->spots, 0xff, locations * sizeof(*side->spots));
	return true;
}

/* Has all names looked up that names_of() will ask for in full. */
static bool prepare_names(const struct diff_tree *tree, unsigned index)
{
	const struct side *side = &tree->sides[index];
	uint32_t count = side->profile->location_count;
	bool *wanted = calloc((size_t)count + 1, sizeof(*wanted));

	if (!wanted)
		return false;
	for (uint32_t i = 0; i < count; i++)
		wanted[i] = !diff_frames_is_shared(tree->frames, index, i);
	names_prepare(side->names, wanted);
	free(wanted);
	return true;
}

struct diff_tree *diff_tree_new(const struct diff_tree_query *query)
{
	struct diff_tree *tree = calloc(1, sizeof(*tree));

	if (!tree)
		return NULL;
	tree->frames = query->frames;
	tree->fold = query->fold_recursion;
	tree->count = 1;
	tree->room = START;
	tree->children = calloc(tree->room, sizeof(*tree->children));
	tree->slots = calloc((size_t)tree->room * 2, sizeof(*tree->slots));
	if (tree->children && tree->slots && new_side(&tree->sides[0], query, 0) &&
	    new_side(&tree->sides[1], query, 1) && prepare_names(tree, 0) && prepare_names(tree, 1))
		return tree;
	diff_tree_free(tree);
	return NULL;
}

void diff_tree_free(struct diff_tree *tree)
{
	if (!tree)
		return;
	for (unsigned i = 0; i < SIDES; i++) {
		for (unsigned mode = 0; mode < MODES; mode++)
			free(tree->sides[i].paths[mode]);
		free(tree->sides[i].pending);
		free(tree->sides[i].spots);
	}
	free(tree->steps);
	free(tree->children);
	free(tree->slots);
	free(tree);
}

uint32_t diff_tree_limit(const struct diff_tree *tree)
{
	return tree->count;
}

/* --- children -------------------------------------------------------------------------------- */

static uint32_t *find_slot(const struct diff_tree *tree, const struct child *child)
{
	uint64_t hash = ((uint64_t)child->parent << 32 | child->frame) *
			UINT64_C(0x9e3779b97f4a7c15);
	uint64_t mask = (uint64_t)tree->room * 2 - 1;

	for (uint64_t i = (hash ^ hash >> 32) & mask;; i = (i + 1) & mask) {
		const struct child *known = &tree->children[tree->slots[i]];

		if (tree->slots[i] == 0 ||
		    (known->parent == child->parent && known->frame == child->frame))
			return &tree->slots[i];
	}
}

static bool grow(struct diff_tree *tree)
{
	uint32_t room = tree->room * 2;
	struct child *children;
	uint32_t *slots;

	if (room > UINT32_MAX / 4)
		return false;
	children = realloc(tree->children, room * sizeof(*children));
	slots = children ? calloc((size_t)room * 2, sizeof(*slots)) : NULL;
	tree->children = children ? children : tree->children;
	if (!slots)
		return false;
	free(tree->slots);
	tree->slots = slots;
	tree->room = room;
	for (uint32_t i = 1; i < tree->count; i++)
		*find_slot(tree, &children[i]) = i;
	return true;
}

/* The number above child's parent at which the same few functions begin that would now end a second time; NONE:
 * nothing repeats. */
static uint32_t find_repeated(const struct diff_tree *tree, const struct child *child)
{
	uint32_t frames[2 * FOLD], numbers[2 * FOLD];
	uint32_t at = child->parent, count = 1;

	frames[0] = child->frame;
	for (; at != 0 && count < 2 * FOLD; count++, at = tree->children[at].parent) {
		frames[count] = tree->children[at].frame;
		numbers[count] = at;
	}
	for (uint32_t size = 1; 2 * size <= count; size++)
		if (memcmp(frames, frames + size, size * sizeof(*frames)) == 0)
			return numbers[size];
	return NONE;
}

/* The number of parent's child; NONE: no memory. */
static uint32_t child_of(struct diff_tree *tree, uint32_t parent, const struct step *step)
{
	struct child child = {parent, step->frame};
	uint32_t repeated, *slot;

	if (step->part && parent != 0 && tree->children[parent].frame == step->frame)
		return parent;
	if (tree->fold) {
		repeated = find_repeated(tree, &child);
		if (repeated != NONE)
			return repeated;
	}
	if (tree->count == tree->room && !grow(tree))
		return NONE;
	slot = find_slot(tree, &child);
	if (*slot == 0) {
		tree->children[tree->count] = child;
		*slot = tree->count++;
	}
	return *slot;
}

/* --- paths ----------------------------------------------------------------------------------- */

static bool make_room(struct diff_tree *tree, size_t more)
{
	size_t room = tree->step_room ? tree->step_room : START;
	struct step *steps;

	while (room < tree->step_count + more)
		room *= 2;
	if (room == tree->step_room)
		return true;
	steps = room < UINT32_MAX / 2 ? realloc(tree->steps, room * sizeof(*steps)) : NULL;
	if (!steps)
		return false;
	tree->steps = steps;
	tree->step_room = (uint32_t)room;
	return true;
}

static size_t names_of(const struct diff_tree *tree, unsigned index, uint32_t location,
		       const struct symbol **found)
{
	const struct side *side = &tree->sides[index];

	if (!diff_frames_is_shared(tree->frames, index, location))
		return names_at(side->names, location, found);
	*found = names_at_fast(side->names, location);
	return 1;
}

static bool look_up(struct diff_tree *tree, unsigned index, uint32_t location)
{
	struct side *side = &tree->sides[index];
	const struct symbol *found;
	size_t count = names_of(tree, index, location, &found);
	struct spot spot = {tree->step_count, (uint32_t)count};

	if (!make_room(tree, count))
		return false;
	for (size_t i = count; i-- > 0;) {
		const struct diff_frames_place place = {index, location, &found[i]};
		struct step step = {.symbol = &found[i], .part = diff_frames_is_part(&found[i])};

		step.frame = diff_frames_find(tree->frames, &place);
		if (step.frame == 0)
			return false;
		tree->steps[tree->step_count++] = step;
	}
	side->spots[location] = spot;
	return true;
}

/* True if a function at a location belongs to the C library or to process start. */
static bool is_start(const struct side *side, uint32_t location, const struct symbol *symbol)
{
	const struct profile_location *at = &side->profile->locations[location];
	enum blame blame;

	if (at->special)
		return false;
	blame = blame_of(side->profile->modules[at->module].path, symbol->raw_name,
			 symbol->function);
	return blame == BLAME_START || blame == BLAME_LIBC;
}

/* The number of the path that leads from parent through a location; NONE: no memory. */
static uint32_t go_through(struct diff_tree *tree, unsigned index, uint32_t location,
			   enum mode mode, uint32_t parent)
{
	struct side *side = &tree->sides[index];

	if (side->spots[location].first == NONE && !look_up(tree, index, location))
		return NONE;
	for (uint32_t i = 0; parent != NONE && i < side->spots[location].count; i++) {
		const struct step *step = &tree->steps[side->spots[location].first + i];

		if (parent != 0 || mode == WHOLE || !is_start(side, location, step->symbol))
			parent = child_of(tree, parent, step);
	}
	return parent;
}

static uint32_t find_path(struct diff_tree *tree, unsigned index, uint32_t node, enum mode mode)
{
	struct side *side = &tree->sides[index];
	uint32_t *paths = side->paths[mode];
	const struct profile_node *nodes = side->profile->nodes;
	uint32_t count = 0, path;

	for (; paths[node] == NONE; node = nodes[node].parent)
		side->pending[count++] = node;
	path = paths[node];
	while (count > 0 && path != NONE) {
		node = side->pending[--count];
		path = go_through(tree, index, nodes[node].location, mode, path);
		paths[node] = path;
	}
	return path;
}

uint32_t diff_tree_path(struct diff_tree *tree, unsigned side, uint32_t node)
{
	uint32_t path = find_path(tree, side, node, WITHOUT_START);

	if (path == 0)
		path = find_path(tree, side, node, WHOLE);
	return path == NONE ? 0 : path;
}
