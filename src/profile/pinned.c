/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pinned.c - see pinned.h.
 */
#include "profile/pinned.h"

#include <stdlib.h>

#include "core/pins.h"
#include "profile/read.h"

enum { LOG2_MAX = 24 };

static void add_part(struct pinned_part *part, const struct pinned_part *more)
{
	add_limited(&part->bytes, more->bytes);
	add_limited(&part->slack, more->slack);
	add_limited(&part->pages, more->pages);
}

/* --- by call stack --------------------------------------------------------------------------- */

static int compare_numbers(const void *key, const void *stack)
{
	uint32_t number = *(const uint32_t *)key;
	uint32_t other = ((const struct profile_stack *)stack)->number;

	return number < other ? -1 : number > other;
}

/* Call stacks stand in the order of their numbers.  One without events in the profile came later. */
static struct pinned_part *part_of(struct pinned *pinned, const struct profile *profile,
				   uint32_t number)
{
	const struct profile_stack *stack;

	if (number == FORMAT_PIN_INHERITED)
		return &pinned->inherited;
	stack = bsearch(&number, profile->stacks, profile->stack_count, sizeof(*stack),
			compare_numbers);
	return stack ? &pinned->stacks[stack - profile->stacks] : &pinned->others;
}

static void add_pin(struct pinned *pinned, const struct profile *profile,
		    const struct format_pin *pin)
{
	const struct pinned_part part = {pin->bytes, pin->slack, pin->pages};

	add_part(part_of(pinned, profile, pin->stack_id), &part);
	add_part(&pinned->all, &part);
}

static struct pinned *make(const struct profile *profile)
{
	struct pinned *pinned = calloc(1, sizeof(*pinned));

	if (!pinned)
		return NULL;
	pinned->stacks = calloc((size_t)profile->stack_count + 1, sizeof(*pinned->stacks));
	if (pinned->stacks)
		return pinned;
	free(pinned);
	return NULL;
}

void pinned_free(struct pinned *pinned)
{
	if (!pinned)
		return;
	free(pinned->stacks);
	free(pinned);
}

/* Of a process that runs; false: no memory. */
static bool make_table(const struct profile *profile, struct rss_pins *table)
{
	uint32_t count = profile->stack_count;
	uint32_t limit = count ? profile->stacks[count - 1].number + 1 : 0;

	*table = (struct rss_pins){.log2 = pins_log2(limit, LOG2_MAX)};
	if (profile->is_live)
		table->slots = calloc((size_t)1 << table->log2, sizeof(*table->slots));
	return table->slots || !profile->is_live;
}

static void add_measured(struct pinned *pinned, const struct profile *profile,
			 const struct rss_pins *table)
{
	for (uint32_t i = 0; i < 1u << table->log2; i++) {
		const struct pin *from = &table->slots[i];
		const struct format_pin pin = {
			.stack_id = pins_stack(from),
			.pages = from->pages < UINT32_MAX ? (uint32_t)from->pages : UINT32_MAX,
			.bytes = from->bytes,
			.slack = from->slack,
		};

		if (from->key)
			add_pin(pinned, profile, &pin);
	}
}

static void add_recorded(struct pinned *pinned, const struct profile *profile)
{
	for (uint32_t i = 0; i < profile->pin_count; i++)
		add_pin(pinned, profile, &profile->pins[i]);
}

struct pinned *pinned_recorded(const struct profile *profile)
{
	struct pinned *pinned;
	struct rss rss;

	if (profile->is_live || !rss_recorded(profile, &rss) ||
	    (!profile->pin_count && rss.lines.lines[FORMAT_RSS_FRAGMENTS]))
		return NULL;
	pinned = make(profile);
	if (!pinned)
		return NULL;
	pinned->rss = rss;
	add_recorded(pinned, profile);
	return pinned;
}

static bool find(const struct profile *profile, const struct rss_pins *table, struct pinned *pinned,
		 struct error *err)
{
	if (!rss_of_pins(profile, table, &pinned->rss, err))
		return false;
	if (profile->is_live)
		add_measured(pinned, profile, table);
	else
		add_recorded(pinned, profile);
	if (pinned->all.pages || !pinned->rss.lines.lines[FORMAT_RSS_FRAGMENTS])
		return true;
	return error_set(
		err,
		"%s: which call stacks pin memory was not recorded: its pmem was older, or "
		"had no room for it",
		profile->path);
}

bool pinned_of(const struct profile *profile, struct pinned **pinned, struct error *err)
{
	struct pinned *made = make(profile);
	struct rss_pins table = {.slots = NULL};
	bool done;

	if (made && make_table(profile, &table))
		done = find(profile, &table, made, err);
	else
		done = error_set(err, "%s: no memory for %u call stacks", profile->path,
				 profile->stack_count);
	free(table.slots);
	if (done)
		*pinned = made;
	else
		pinned_free(made);
	return done;
}

/* --- by site --------------------------------------------------------------------------------- */

static int compare_sites(const void *first, const void *second)
{
	const struct pinned_site *a = first, *b = second;

	if (a->part.bytes != b->part.bytes)
		return a->part.bytes < b->part.bytes ? 1 : -1;
	return a->site < b->site ? -1 : a->site > b->site;
}

static void add_stack(const struct pinned *pinned, const struct sites *sites, uint32_t stack,
		      struct pinned_site *found)
{
	const struct pinned_part *part = &pinned->stacks[stack];
	uint32_t place = sites->of_stack[stack];
	uint32_t index = place == SITES_NONE ? SITES_NONE : sites->of_place[place];

	if (index == SITES_NONE || !part->pages)
		return;
	if (!found[index].site || part->bytes > pinned->stacks[found[index].stack].bytes)
		found[index].stack = stack;
	found[index].site = &sites->items[index];
	add_part(&found[index].part, part);
}

struct pinned_site *pinned_sites(const struct pinned *pinned, const struct sites *sites,
				 uint32_t *count)
{
	struct pinned_site *found = calloc((size_t)sites->count + 1, sizeof(*found));

	if (!found)
		return NULL;
	for (uint32_t i = 0; i < sites->query.profile->stack_count; i++)
		add_stack(pinned, sites, i, found);
	*count = 0;
	for (uint32_t i = 0; i < sites->count; i++)
		if (found[i].site)
			found[(*count)++] = found[i];
	qsort(found, *count, sizeof(*found), compare_sites);
	return found;
}
