/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tree.c - the calling-context tree from the top down, with the share that each branch has.
 *
 * A function that calls itself directly is one line: its node and those below it are one level.
 */
#include <stdlib.h>

#include "report/branches.h"
#include "report/head.h"
#include "report/report.h"

enum { LINES = 40 };

#define NONE UINT32_MAX

struct tree {
	int64_t *values;   /* by node, with all below it */
	uint32_t *child;   /* first child; NONE */
	uint32_t *next;	   /* sibling; NONE */
	uint32_t *waiting; /* number of children that are not added yet */
};

static void tree_free(struct tree *tree)
{
	free(tree->values);
	free(tree->child);
	free(tree->next);
	free(tree->waiting);
}

static bool tree_allocate(struct tree *tree, size_t count)
{
	*tree = (struct tree){
		.values = calloc(count, sizeof(*tree->values)),
		.child = malloc(count * sizeof(*tree->child)),
		.next = malloc(count * sizeof(*tree->next)),
		.waiting = calloc(count, sizeof(*tree->waiting)),
	};
	return tree->values && tree->child && tree->next && tree->waiting;
}

static void link_children(const struct profile *profile, struct tree *tree)
{
	uint32_t i;

	for (i = 0; i < profile->node_count; i++)
		tree->child[i] = tree->next[i] = NONE;
	for (i = profile->node_count; i-- > 1;) {
		uint32_t parent = profile->nodes[i].parent;

		tree->next[i] = tree->child[parent];
		tree->child[parent] = i;
		tree->waiting[parent]++;
	}
}

/* Adds every node to its parent once all of its own children are in it. */
static void sum_up(const struct profile *profile, struct tree *tree)
{
	uint32_t i;

	for (i = 1; i < profile->node_count; i++) {
		uint32_t node = i;

		/* Those that have children are reached from the last of these. */
		if (tree->child[i] != NONE)
			continue;
		while (node != 0) {
			uint32_t parent = profile->nodes[node].parent;

			tree->values[parent] += tree->values[node];
			if (--tree->waiting[parent] > 0)
				break;
			node = parent;
		}
	}
}

static bool tree_build(const struct report *report, struct tree *tree)
{
	const struct profile *profile = report->profile;
	uint32_t i;

	if (!tree_allocate(tree, profile->node_count ? profile->node_count : 1))
		return false;
	link_children(profile, tree);
	for (i = 0; i < profile->stack_count; i++) {
		struct sites_counts counts;

		if (report->sites->of_stack[i] == SITES_NONE)
			continue;
		sites_stack(report->sites, i, &counts);
		tree->values[profile->stacks[i].node] += sites_value(&counts, report->key);
	}
	sum_up(profile, tree);
	return true;
}

/* The outermost of the functions below index end at the twig's node that is a step from a place. */
static bool step_in(const struct branches *branches, uint32_t from, uint32_t end,
		    struct branches_twig *twig)
{
	while (end-- > 0)
		if (branches_step(branches, from, end, twig))
			return true;
	return false;
}

/* Children at places to show; those of a hidden child, or of one in the same function, stand for it. */
static void expand_node(struct branches *branches, uint32_t start, uint32_t place,
			struct branches_set *further)
{
	const struct profile_node *nodes = branches->report->profile->nodes;
	const struct tree *tree = branches->data;
	uint32_t node = tree->child[start];

	while (node != NONE) {
		struct branches_twig twig = {.node = node, .value = tree->values[node]};

		if (step_in(branches, place, branches_functions(branches, node), &twig)) {
			branches_add(further, &twig);
		} else if (tree->child[node] != NONE) {
			node = tree->child[node];
			continue;
		}
		while (tree->next[node] == NONE && nodes[node].parent != start)
			node = nodes[node].parent;
		node = tree->next[node];
	}
}

/* What is inlined at the twig's location comes before what is called from it. */
static void expand_twig(struct branches *branches, const struct branches_twig *from,
			struct branches_set *further)
{
	struct branches_twig twig = *from;

	if (step_in(branches, from->place, from->function, &twig))
		branches_add(further, &twig);
	else
		expand_node(branches, from->node, from->place, further);
}

static void expand(struct branches *branches, const struct branches_set *from,
		   struct branches_set *further)
{
	size_t i;

	if (!from)
		expand_node(branches, 0, BRANCHES_ROOT, further);
	for (i = 0; from && i < from->count; i++)
		expand_twig(branches, &from->items[i], further);
}

bool view_tree(struct report *report, struct error *err)
{
	struct tree tree;
	struct branches branches = {
		.report = report,
		.data = &tree,
		.total = sites_value(&report->sites->totals, report->key),
		.lines = report->options->top ? report->options->top : LINES,
		.expand = expand,
	};
	bool ok = tree_build(report, &tree);

	if (!ok) {
		tree_free(&tree);
		return error_set(err, "no memory for a tree of %u nodes",
				 report->profile->node_count);
	}
	head_print(report);
	head_print_selection(report);
	fprintf(report->out->file, "  Callers above, callees below; share of %s.\n\n",
		report_key_words(report->key));
	ok = branches_print(&branches, NULL, err);
	if (branches.cut)
		fprintf(report->out->file, "... %u more branch%s: below 1 %%, or beyond --top %u\n",
			branches.cut, branches.cut == 1 ? "" : "es",
			report->options->top ? report->options->top : LINES);
	tree_free(&tree);
	return ok;
}
