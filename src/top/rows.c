/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rows.c - the rows of the table.
 */
#include "top/rows.h"

#include <stdlib.h>
#include <string.h>

#include "top/match.h"

static const char *const column_names[ROWS_COLUMNS] = {
	[ROWS_LIVE] = "live",	  [ROWS_GROWTH] = "growth",   [ROWS_CHURN] = "churn",
	[ROWS_BLOCKS] = "blocks", [ROWS_ALLOCATED] = "alloc", [ROWS_TEMPORARY] = "temporary",
};

static const char *const group_names[ROWS_GROUPS] = {
	[ROWS_SITES] = "site",
	[ROWS_FUNCTIONS] = "function",
	[ROWS_MODULES] = "module",
};

static bool find_name(const char *const *names, unsigned count, const char *name, unsigned *index)
{
	for (unsigned i = 0; i < count; i++) {
		if (strcmp(names[i], name) == 0) {
			*index = i;
			return true;
		}
	}
	return false;
}

const char *rows_column_name(enum rows_column column)
{
	return column < ROWS_COLUMNS ? column_names[column] : NULL;
}

bool rows_column_find(const char *name, enum rows_column *column)
{
	unsigned index;

	if (!find_name(column_names, ROWS_COLUMNS, name, &index))
		return false;
	*column = (enum rows_column)index;
	return true;
}

const char *rows_group_name(enum rows_group group)
{
	return group < ROWS_GROUPS ? group_names[group] : NULL;
}

bool rows_group_find(const char *name, enum rows_group *group)
{
	unsigned index;

	if (!find_name(group_names, ROWS_GROUPS, name, &index))
		return false;
	*group = (enum rows_group)index;
	return true;
}

/* --- figures --------------------------------------------------------------------------------- */

static void use_mark(const struct rows_query *query, const struct profile_stack *stack,
		     int64_t values[ROWS_COLUMNS])
{
	struct moment_counts now = moment_counts_of(&stack->counts);
	struct moment_counts then = moment_at(query->mark, stack);

	values[ROWS_GROWTH] = (int64_t)(now.live_bytes - then.live_bytes);
	values[ROWS_BLOCKS] = (int64_t)(now.live_count - then.live_count);
	values[ROWS_ALLOCATED] = (int64_t)moment_more(now.alloc_bytes, then.alloc_bytes);
	values[ROWS_TEMPORARY] = (int64_t)moment_more(now.temporary_count, then.temporary_count);
}

void rows_values(const struct rows_query *query, uint32_t stack, int64_t values[ROWS_COLUMNS])
{
	const struct report *report = query->report;
	const struct profile_stack *from = &report->profile->stacks[stack];
	struct sites_counts counts;

	sites_stack(report->sites, stack, &counts);
	values[ROWS_LIVE] = (int64_t)counts.live_bytes;
	values[ROWS_GROWTH] = counts.growth;
	values[ROWS_CHURN] = 0;
	values[ROWS_BLOCKS] = (int64_t)counts.live_count;
	values[ROWS_ALLOCATED] = (int64_t)counts.alloc_bytes;
	values[ROWS_TEMPORARY] = (int64_t)counts.temporary_count;
	if (query->before)
		values[ROWS_CHURN] = (int64_t)moment_more(
			counts.alloc_bytes, moment_at(query->before, from).alloc_bytes);
	if (query->mark)
		use_mark(query, from, values);
}

static void add_values(int64_t sum[ROWS_COLUMNS], const int64_t values[ROWS_COLUMNS])
{
	for (unsigned i = 0; i < ROWS_COLUMNS; i++)
		sum[i] = (int64_t)((uint64_t)sum[i] + (uint64_t)values[i]);
}

/* --- groups ---------------------------------------------------------------------------------- */

/* What rows are grouped by: numbers of places, or of modules. */
struct groups {
	const struct rows_query *query;
	uint32_t *of_place; /* number of the group by place; ROWS_NONE: not asked yet */
	uint32_t *slots;    /* places that stand for a function: open addressing */
	size_t mask;
	uint32_t *row; /* by number of the group; ROWS_NONE: no row yet */
};

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; text && *text; text++)
		hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
	return (hash ^ hash >> 29) * UINT64_C(0x9e3779b97f4a7c15);
}

static const char *module_path(const struct report *report, uint32_t place)
{
	const struct profile_module *module;

	module = places_module(report->places, places_get(report->places, place));
	return module ? module->path : "";
}

static uint64_t hash_function(const struct report *report, uint32_t place)
{
	const struct place *at = places_get(report->places, place);
	uint64_t hash = hash_text(UINT64_C(0xcbf29ce484222325), module_path(report, place));

	hash = hash_text(hash, at->symbol->function);
	if (!at->symbol->function)
		hash = (hash ^ report->profile->locations[at->location].offset) *
		       UINT64_C(0x9e3779b97f4a7c15);
	return hash;
}

/* The first place seen of the same function. */
static uint32_t function_of(struct groups *groups, uint32_t place)
{
	const struct report *report = groups->query->report;
	size_t slot = (hash_function(report, place) >> 20) & groups->mask;

	while (groups->slots[slot] != ROWS_NONE &&
	       !places_same_function(report->places, groups->slots[slot], place))
		slot = (slot + 1) & groups->mask;
	if (groups->slots[slot] == ROWS_NONE)
		groups->slots[slot] = place;
	return groups->slots[slot];
}

/* The first module of the same file, which may be loaded several times; of special places one more than there are. */
static uint32_t module_of(const struct report *report, uint32_t place)
{
	const struct profile *profile = report->profile;
	const struct profile_location
		*at = &profile->locations[places_get(report->places, place)->location];
	uint32_t module = 0;

	if (at->special)
		return profile->module_count;
	while (module < at->module &&
	       strcmp(profile->modules[module].path, profile->modules[at->module].path) != 0)
		module++;
	return module;
}

static uint32_t group_of(struct groups *groups, uint32_t place)
{
	uint32_t *known = &groups->of_place[place];

	if (*known != ROWS_NONE)
		return *known;
	switch (groups->query->group) {
	case ROWS_FUNCTIONS:
		*known = function_of(groups, place);
		break;
	case ROWS_MODULES:
		*known = module_of(groups->query->report, place);
		break;
	default:
		*known = place;
	}
	return *known;
}

static uint64_t key_of(const struct report *report, enum rows_group group, uint32_t place)
{
	const struct symbol *symbol = places_get(report->places, place)->symbol;
	uint64_t hash;

	if (group == ROWS_MODULES)
		return hash_text(3, module_path(report, place));
	hash = hash_function(report, place);
	if (group == ROWS_SITES)
		hash = hash_text(hash, symbol->file) ^ symbol->line;
	return hash;
}

static uint32_t *new_indexes(size_t count)
{
	uint32_t *indexes = malloc((count + 1) * sizeof(*indexes));

	return indexes ? memset(indexes, 0xff, (count + 1) * sizeof(*indexes)) : NULL;
}

static bool groups_begin(struct groups *groups, const struct rows_query *query)
{
	const struct report *report = query->report;
	size_t places = places_limit(report->places), size = 16;
	size_t numbers = places > report->profile->module_count ? places
								: report->profile->module_count;

	while (size < (size_t)report->sites->count * 2)
		size *= 2;
	*groups = (struct groups){.query = query, .mask = size - 1};
	groups->of_place = new_indexes(places);
	groups->slots = new_indexes(size);
	groups->row = new_indexes(numbers + 1);
	return groups->of_place && groups->slots && groups->row;
}

static void groups_end(struct groups *groups)
{
	free(groups->of_place);
	free(groups->slots);
	free(groups->row);
}

/* --- rows ------------------------------------------------------------------------------------ */

/* The row that the place belongs to. */
static uint32_t row_of(struct rows *rows, struct groups *groups, uint32_t place)
{
	const struct rows_query *query = &rows->query;
	uint32_t group = group_of(groups, place);
	uint32_t *row = &groups->row[group];

	if (*row != ROWS_NONE)
		return *row;
	*row = rows->count++;
	rows->items[*row] = (struct rows_row){
		.key = key_of(query->report, query->group, place),
		.group = group,
		.first_index = *row,
	};
	if (query->group == ROWS_MODULES && group == query->report->profile->module_count)
		rows->items[*row].group = ROWS_NONE;
	return *row;
}

static void add_stack(struct rows *rows, struct groups *groups, uint32_t stack)
{
	const struct report *report = rows->query.report;
	struct rows_row *row;
	int64_t values[ROWS_COLUMNS];

	rows->of_stack[stack] = row_of(rows, groups, report->sites->of_stack[stack]);
	row = &rows->items[rows->of_stack[stack]];
	rows_values(&rows->query, stack, values);
	add_values(row->values, values);
	add_values(rows->totals, values);
	row->stack_count++;
	rows->stack_count++;
	row->inexact |= report->profile->stacks[stack].inexact;
	row->rough |= report->sites->is_rough[stack];
}

/* Larger first; equal ones by live bytes, then by what they have allocated. */
static int by_values(const int64_t *left, const int64_t *right, const struct rows_query *query)
{
	static const enum rows_column then[] = {ROWS_LIVE, ROWS_ALLOCATED};
	int64_t first = left[query->sort], second = right[query->sort];

	if (first != second)
		return (first < second) == (query->order == ROWS_LARGEST_FIRST) ? 1 : -1;
	for (unsigned i = 0; i < 2; i++)
		if (left[then[i]] != right[then[i]])
			return left[then[i]] < right[then[i]] ? 1 : -1;
	return 0;
}

static int compare_rows(const void *left, const void *right, void *query)
{
	const struct rows_row *a = left, *b = right;
	int order = by_values(a->values, b->values, query);

	return order ? order : (a->key > b->key) - (a->key < b->key);
}

/* Has of_stack know where the rows are now. */
static bool sort_rows(struct rows *rows)
{
	uint32_t *now = new_indexes(rows->count);

	if (!now)
		return false;
	qsort_r(rows->items, rows->count, sizeof(*rows->items), compare_rows, &rows->query);
	for (uint32_t i = 0; i < rows->count; i++) {
		now[rows->items[i].first_index] = i;
		rows->items[i].first_index = i;
	}
	for (uint32_t i = 0; i < rows->query.report->profile->stack_count; i++)
		if (rows->of_stack[i] != ROWS_NONE)
			rows->of_stack[i] = now[rows->of_stack[i]];
	free(now);
	return true;
}

static bool fill(struct rows *rows, const bool *selected)
{
	const struct report *report = rows->query.report;
	struct groups groups;
	bool done = groups_begin(&groups, &rows->query);

	for (uint32_t i = 0; done && i < report->profile->stack_count; i++)
		if ((!selected || selected[i]) && report->sites->of_stack[i] != SITES_NONE)
			add_stack(rows, &groups, i);
	groups_end(&groups);
	return done && sort_rows(rows);
}

bool rows_build(struct rows *rows, const struct rows_query *query)
{
	size_t count = query->report->profile->stack_count;
	bool *selected = NULL;
	bool done;

	rows_end(rows);
	rows->query = *query;
	rows->of_stack = new_indexes(count);
	/* What is not used of it is never touched. */
	rows->items = malloc((count + 1) * sizeof(*rows->items));
	done = rows->of_stack && rows->items;
	if (done && query->filter[0]) {
		selected = match_stacks(query->report, query->filter);
		done = selected != NULL;
	}
	done = done && fill(rows, selected);
	free(selected);
	if (!done)
		rows_end(rows);
	return done;
}

void rows_end(struct rows *rows)
{
	free(rows->items);
	free(rows->of_stack);
	*rows = (struct rows){.items = NULL};
}

bool rows_refine(const struct rows *rows, uint32_t first, uint32_t last)
{
	const struct report *report = rows->query.report;
	uint32_t count = report->profile->stack_count, i;
	bool *marked, any;

	/* The name of a module needs no line. */
	if (rows->query.group == ROWS_MODULES)
		return false;
	last = last < rows->count ? last : rows->count;
	for (i = first; i < last && !rows->items[i].rough; i++)
		;
	if (i >= last)
		return false;
	marked = calloc((size_t)count + 1, sizeof(*marked));
	if (!marked)
		return false;
	for (i = 0; i < count; i++)
		marked[i] = rows->of_stack[i] >= first && rows->of_stack[i] < last;
	any = sites_refine_stacks(report->sites, marked);
	free(marked);
	return any;
}

struct entry {
	const struct rows_query *query;
	uint32_t stack;
	int64_t values[ROWS_COLUMNS];
};

static int compare_entries(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	int order = by_values(a->values, b->values, a->query);

	return order ? order : (a->stack > b->stack) - (a->stack < b->stack);
}

uint32_t *rows_stacks(const struct rows *rows, uint32_t row, uint32_t *count)
{
	uint32_t all = rows->query.report->profile->stack_count, n = 0;
	size_t room = (size_t)rows->items[row].stack_count + 1;
	struct entry *entries = malloc(room * sizeof(*entries));
	uint32_t *stacks = malloc(room * sizeof(*stacks));

	if (!entries || !stacks) {
		free(entries);
		free(stacks);
		return NULL;
	}
	for (uint32_t i = 0; i < all; i++) {
		if (rows->of_stack[i] != row)
			continue;
		entries[n] = (struct entry){.query = &rows->query, .stack = i};
		rows_values(&rows->query, i, entries[n++].values);
	}
	qsort(entries, n, sizeof(*entries), compare_entries);
	for (uint32_t i = 0; i < n; i++)
		stacks[i] = entries[i].stack;
	free(entries);
	*count = n;
	return stacks;
}
