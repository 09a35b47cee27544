/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * call_tree.c - the call stacks of one or two profiles as one tree.
 *
 * A profile's node is at a location, which may have several functions: it becomes as many nodes, the outermost first.
 */
#include "page/call_tree.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/clean.h"
#include "export/frames.h"

enum { ROOT = 0, FIRST_SLOTS = 1024 };

static bool no_memory(struct error *err)
{
	return error_set(err, "no memory for the call stacks");
}

static uint32_t hash(uint32_t parent, uint32_t frame)
{
	uint64_t mixed = ((uint64_t)parent << 32 | frame) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(mixed >> 32);
}

/* The slot that a node has, or gets. */
static uint32_t *slot_of(const struct call_tree *tree, uint32_t parent, uint32_t frame)
{
	uint32_t at = hash(parent, frame);

	for (;; at++) {
		uint32_t *slot = &tree->slots[at & (tree->slot_count - 1)];
		uint32_t node = *slot - 1;

		if (*slot == 0 || (tree->parents[node] == parent && tree->frame_of[node] == frame))
			return slot;
	}
}

static bool grow_slots(struct call_tree *tree)
{
	uint32_t count = tree->slot_count ? tree->slot_count * 2 : FIRST_SLOTS;
	uint32_t *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return false;
	free(tree->slots);
	tree->slots = slots;
	tree->slot_count = count;
	for (uint32_t node = 1; node < tree->node_count; node++)
		*slot_of(tree, tree->parents[node], tree->frame_of[node]) = node + 1;
	return true;
}

static bool grow_nodes(struct call_tree *tree)
{
	uint32_t room = tree->node_room ? tree->node_room * 2 : FIRST_SLOTS;
	uint32_t *parents = realloc(tree->parents, room * sizeof(*parents)), *frame_of;

	if (!parents)
		return false;
	tree->parents = parents;
	frame_of = realloc(tree->frame_of, room * sizeof(*frame_of));
	if (!frame_of)
		return false;
	tree->frame_of = frame_of;
	tree->node_room = room;
	return true;
}

/* The child of a node with this frame.  False: no memory. */
static bool step(struct call_tree *tree, uint32_t *node, uint32_t frame)
{
	uint32_t *slot;

	if (tree->node_count == tree->node_room && !grow_nodes(tree))
		return false;
	if (tree->node_count >= tree->slot_count / 2 && !grow_slots(tree))
		return false;
	slot = slot_of(tree, *node, frame);
	if (*slot == 0) {
		tree->parents[tree->node_count] = *node;
		tree->frame_of[tree->node_count] = frame;
		*slot = ++tree->node_count;
	}
	*node = *slot - 1;
	return true;
}

bool call_tree_begin(struct call_tree *tree, struct error *err)
{
	*tree = (struct call_tree){0};
	strings_add(&tree->texts, "");
	if (!grow_nodes(tree))
		return no_memory(err);
	tree->parents[ROOT] = tree->frame_of[ROOT] = 0;
	tree->node_count = 1;
	return grow_slots(tree) || no_memory(err);
}

void call_tree_free(struct call_tree *tree)
{
	strings_free(&tree->texts);
	strings_free(&tree->keys);
	free(tree->frames);
	free(tree->parents);
	free(tree->frame_of);
	free(tree->slots);
	free(tree->order);
	*tree = (struct call_tree){0};
}

void call_tree_stacks_free(struct call_tree_stacks *stacks)
{
	free(stacks->nodes);
	free(stacks->sites);
	*stacks = (struct call_tree_stacks){0};
}

/* --- frames ---------------------------------------------------------------------------------- */

static bool grow_frames(struct call_tree *tree)
{
	uint32_t room = tree->frame_room ? tree->frame_room * 2 : FIRST_SLOTS;
	struct call_tree_frame *frames = realloc(tree->frames, room * sizeof(*frames));

	if (!frames)
		return false;
	tree->frames = frames;
	tree->frame_room = room;
	return true;
}

/* The number of a frame; what is new gets the next one.  False: no memory. */
static bool find_frame(struct call_tree *tree, const struct call_tree_frame *frame, uint32_t *number)
{
	uint32_t known = tree->keys.count;
	char key[48];

	snprintf(key, sizeof(key), "%" PRIx32 ",%" PRIx32 ",%" PRIx32 ",%" PRIx32, frame->full,
		 frame->file, frame->line, frame->module);
	*number = strings_add(&tree->keys, key);
	if (tree->keys.failed || tree->texts.failed)
		return false;
	if (tree->keys.count == known)
		return true;
	if (*number == tree->frame_room && !grow_frames(tree))
		return false;
	tree->frames[*number] = *frame;
	return true;
}

/* The text without control characters. */
static uint32_t add_clean(struct strings *texts, const char *text)
{
	char *copy = clean_text(text, "");
	uint32_t number = copy ? strings_add(texts, copy) : 0;

	texts->failed |= copy == NULL;
	free(copy);
	return number;
}

/* One profile while it is added. */
struct source {
	const struct profile *profile;
	struct names *names;
	struct frames frames;
	uint32_t *frame_of; /* by frame of frames: that of the tree */
	uint32_t unknown;   /* the frame of call stacks without any */
	uint32_t *nodes;    /* by node of the profile: that of the tree */
};

/* A frame of struct frames as the tree has it. */
static bool adopt(struct call_tree *tree, struct source *source, uint32_t at)
{
	const struct frame *from = &source->frames.items[at];
	const struct profile_location *location = &source->profile->locations[from->location];
	struct call_tree_frame frame = {
		.full = strings_add(&tree->texts, from->name),
		.file = strings_add(&tree->texts, from->file ? from->file : ""),
		.line = from->line,
		.is_own = names_is_own_function(source->names, from->location,
						at - source->frames.first[from->location]),
	};

	frame.name = frame.full;
	if (from->is_named && !location->special)
		frame.name = add_clean(&tree->texts,
				       names_short(source->names, from->location, from->symbol));
	if (!location->special)
		frame.module = strings_add(&tree->texts, source->frames.modules[location->module]);
	return find_frame(tree, &frame, &source->frame_of[at]);
}

static bool adopt_all(struct call_tree *tree, struct source *source)
{
	struct call_tree_frame unknown = {.full = strings_add(&tree->texts, FRAMES_NONE)};

	unknown.name = unknown.full;
	source->frame_of = calloc((size_t)source->frames.count + 1, sizeof(uint32_t));
	if (!source->frame_of || !find_frame(tree, &unknown, &source->unknown))
		return false;
	for (uint32_t i = 0; i < source->frames.count; i++)
		if (!adopt(tree, source, i))
			return false;
	return true;
}

/* --- nodes ----------------------------------------------------------------------------------- */

/* Gives the profile's nodes, which stand in order[count] after their parents, those of the tree. */
static bool add_nodes(struct call_tree *tree, struct source *source, const uint32_t *order,
		      uint32_t count)
{
	const uint32_t *first = source->frames.first;

	source->nodes[ROOT] = ROOT;
	for (uint32_t i = 0; i < count; i++) {
		const struct profile_node *from = &source->profile->nodes[order[i]];
		uint32_t node = source->nodes[from->parent];

		for (uint32_t at = first[from->location + 1]; at-- > first[from->location];)
			if (!step(tree, &node, source->frame_of[at]))
				return false;
		source->nodes[order[i]] = node;
	}
	return true;
}

static bool place_stack(struct call_tree *tree, const struct source *source,
			const struct profile_stack *from, struct call_tree_stacks *to)
{
	uint32_t index = (uint32_t)(from - source->profile->stacks), site, location;
	uint32_t node = source->nodes[from->node];

	to->sites[index] = source->unknown;
	if (from->node == ROOT && !step(tree, &node, source->unknown))
		return false;
	to->nodes[index] = node;
	site = names_site(source->names, from);
	if (site == ROOT)
		return true;
	location = source->profile->nodes[site].location;
	to->sites[index] = source->frame_of[source->frames.first[location] +
					    names_shown(source->names, location)];
	return true;
}

static bool add_stacks(struct call_tree *tree, const struct source *source,
		       struct call_tree_stacks *stacks)
{
	const struct profile *profile = source->profile;

	stacks->nodes = calloc((size_t)profile->stack_count + 1, sizeof(*stacks->nodes));
	stacks->sites = calloc((size_t)profile->stack_count + 1, sizeof(*stacks->sites));
	if (!stacks->nodes || !stacks->sites)
		return false;
	for (uint32_t i = 0; i < profile->stack_count; i++)
		if (!place_stack(tree, source, &profile->stacks[i], stacks))
			return false;
	return true;
}

bool call_tree_add(struct call_tree *tree, const struct profile *profile, struct names *names,
		   struct call_tree_stacks *stacks, struct error *err)
{
	struct export_source from = {.profile = profile, .names = names};
	struct source source = {.profile = profile, .names = names};
	uint32_t *order, count;
	bool ok;

	*stacks = (struct call_tree_stacks){0};
	if (!frames_open(&source.frames, &from, "", err))
		return false;
	order = frames_nodes(profile, &count);
	source.nodes = calloc((size_t)profile->node_count + 1, sizeof(*source.nodes));
	ok = order && source.nodes && adopt_all(tree, &source) &&
	     add_nodes(tree, &source, order, count) && add_stacks(tree, &source, stacks);
	free(order);
	free(source.nodes);
	free(source.frame_of);
	frames_close(&source.frames);
	return ok || no_memory(err);
}

/* --- columns --------------------------------------------------------------------------------- */

struct links {
	uint32_t *child; /* first; ROOT = none */
	uint32_t *next;	 /* sibling */
	uint32_t *depths;
	uint32_t *frames;
};

static void links_free(struct links *links)
{
	free(links->child);
	free(links->next);
	free(links->depths);
	free(links->frames);
}

static bool links_make(const struct call_tree *tree, struct links *links)
{
	*links = (struct links){
		.child = calloc(tree->node_count, sizeof(uint32_t)),
		.next = calloc(tree->node_count, sizeof(uint32_t)),
		.depths = calloc(tree->node_count, sizeof(uint32_t)),
		.frames = calloc(tree->node_count, sizeof(uint32_t)),
	};
	if (!links->child || !links->next || !links->depths || !links->frames)
		return false;
	for (uint32_t node = tree->node_count; node-- > 1;) {
		links->next[node] = links->child[tree->parents[node]];
		links->child[tree->parents[node]] = node;
	}
	return true;
}

/* Depths and frames in the order in which the nodes get their places. */
static void walk(struct call_tree *tree, struct links *links)
{
	uint32_t node = ROOT, depth = 0, place = 0;

	for (;;) {
		tree->order[node] = place;
		links->depths[place] = depth;
		links->frames[place++] = tree->frame_of[node];
		if (links->child[node] != ROOT) {
			node = links->child[node];
			depth++;
			continue;
		}
		while (node != ROOT && links->next[node] == ROOT) {
			node = tree->parents[node];
			depth--;
		}
		if (node == ROOT)
			return;
		node = links->next[node];
	}
}

static bool add_texts(const struct strings *texts, struct columns *columns)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	for (uint32_t i = 0; file && i < texts->count; i++) {
		fputs(texts->items[i], file);
		fputc('\n', file);
	}
	if (!file || fclose(file) != 0) {
		free(text);
		return false;
	}
	columns_add_bytes(columns, "texts", text, size);
	free(text);
	return true;
}

static bool add_frames(const struct call_tree *tree, struct columns *columns)
{
	static const struct {
		const char *name;
		size_t offset;
	} fields[] = {
		{"frame_name", offsetof(struct call_tree_frame, name)},
		{"frame_full", offsetof(struct call_tree_frame, full)},
		{"frame_file", offsetof(struct call_tree_frame, file)},
		{"frame_line", offsetof(struct call_tree_frame, line)},
		{"frame_module", offsetof(struct call_tree_frame, module)},
		{"frame_own", offsetof(struct call_tree_frame, is_own)},
	};
	uint32_t *values = calloc((size_t)tree->keys.count + 1, sizeof(*values));

	for (size_t f = 0; values && f < sizeof(fields) / sizeof(*fields); f++) {
		for (uint32_t i = 0; i < tree->keys.count; i++)
			memcpy(&values[i], (const char *)&tree->frames[i] + fields[f].offset,
			       sizeof(*values));
		columns_add_small(columns, fields[f].name, values, tree->keys.count);
	}
	free(values);
	return values != NULL;
}

bool call_tree_finish(struct call_tree *tree, struct columns *columns, struct error *err)
{
	struct links links;
	bool ok = links_make(tree, &links);

	tree->order = calloc(tree->node_count, sizeof(*tree->order));
	ok = ok && tree->order && add_texts(&tree->texts, columns) && add_frames(tree, columns);
	if (ok) {
		walk(tree, &links);
		columns_add_small(columns, "node_depth", links.depths, tree->node_count);
		columns_add_small(columns, "node_frame", links.frames, tree->node_count);
	}
	links_free(&links);
	return (ok && !columns->failed) || no_memory(err);
}
