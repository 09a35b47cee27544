/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diff.c - what changed between two profiles: makes the comparison, and the order of the page.
 */
#include "report/diff.h"

#include <stdlib.h>
#include <string.h>

#include "profile/estimate.h"
#include "report/diff_head.h"
#include "report/diff_table.h"
#include "report/filter.h"
#include "report/page.h"

enum { SITES = 12, STACKS = 5 };

/* "after", "after@10m": the file's name without control characters and ".prof".  NULL: no memory. */
static char *new_label(const struct diff_page *page, unsigned side)
{
	const char *path = page->sides[side].profile->path, *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t length = strlen(name);
	struct output out = {.width = 80};
	char *copy, *text = NULL;
	size_t size;

	if (length > 5 && strcmp(name + length - 5, ".prof") == 0)
		length -= 5;
	copy = strndup(name, length);
	out.file = open_memstream(&text, &size);
	if (out.file && copy) {
		output_safe(&out, copy);
		if (page->times[side]) {
			fputc('@', out.file);
			output_safe(&out, page->times[side]);
		}
	}
	if (out.file)
		fclose(out.file);
	free(copy);
	return text;
}

static bool make_labels(struct diff_page *page)
{
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		page->labels[side] = new_label(page, side);
	if (!page->labels[DIFF_A] || !page->labels[DIFF_B])
		return false;
	if (strcmp(page->labels[DIFF_A], page->labels[DIFF_B]) != 0)
		return true;
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		free(page->labels[side]);
		page->labels[side] = strdup(side == DIFF_A ? "A" : "B");
	}
	return page->labels[DIFF_A] && page->labels[DIFF_B];
}

static bool open_side(struct diff_page *page, unsigned index, struct error *err)
{
	struct report *side = &page->sides[index];

	side->options = &page->options->report;
	side->out = page->out;
	side->places = places_new(side->profile, side->names);
	if (!side->places)
		return error_set(err, "no memory for %u locations", side->profile->location_count);
	return filter_select(side, err);
}

bool diff_page_open(struct diff_page *page, struct error *err)
{
	struct diff_query query = {.fold_recursion = page->options->fold_recursion};

	for (unsigned i = 0; i < DIFF_SIDES; i++) {
		const struct report *side = &page->sides[i];

		if (!open_side(page, i, err))
			return false;
		query.sides[i] = (struct diff_side){side->profile, side->names, side->places,
						    side->selected, page->times_ns[i]};
	}
	if (!make_labels(page))
		return error_set(err, "no memory for the names of two profiles");
	if (!diff_build(&query, &page->diff, err))
		return false;
	page->key = page->options->report.key < SITES_KEYS ? page->options->report.key : SITES_LIVE;
	diff_sort(page->diff, page->key);
	return true;
}

bool diff_page_is_mapped(const struct diff_page *page)
{
	return page->sides[DIFF_A].profile->is_mapped;
}

bool diff_page_maps(const struct diff_page *page)
{
	return profile_maps(page->sides[DIFF_A].profile) ||
	       profile_maps(page->sides[DIFF_B].profile);
}

bool diff_page_open_mapped(const struct diff_page *page, struct diff_page *mapped, struct error *err)
{
	*mapped = (struct diff_page){.options = page->options, .out = page->out};
	for (unsigned i = 0; i < DIFF_SIDES; i++) {
		mapped->sides[i].profile = page->sides[i].profile->mapped;
		mapped->sides[i].names = page->sides[i].names;
		mapped->times_ns[i] = page->times_ns[i];
		mapped->times[i] = page->times[i];
	}
	if (diff_page_open(mapped, err))
		return true;
	diff_page_close(mapped);
	return false;
}

void diff_page_close(struct diff_page *page)
{
	diff_free(page->diff);
	page->diff = NULL;
	for (unsigned i = 0; i < DIFF_SIDES; i++) {
		places_free(page->sides[i].places);
		free(page->sides[i].selected);
		page->sides[i].places = NULL;
		page->sides[i].selected = NULL;
		free(page->labels[i]);
		page->labels[i] = NULL;
	}
}

struct name diff_page_name(const struct diff_page *page, const struct diff_row *row,
			   const struct report **report)
{
	unsigned shown = diff_shown_side(row);
	const struct report *side = &page->sides[shown];
	const struct profile *profile = side->profile;
	uint32_t node = names_site(side->names, &profile->stacks[row->stack[shown]]);

	*report = side;
	return name_of_place(side, places_find(side->places, profile->nodes[node].location));
}

uint32_t diff_page_rows(const struct diff_page *page, uint32_t count, uint32_t usual)
{
	uint32_t rows = page->options->report.top ? page->options->report.top : usual;

	return rows && rows < count ? rows : count;
}

const char *diff_page_state(enum diff_state state)
{
	static const char *const names[] = {
		[DIFF_MATCHED] = "matched", [DIFF_NEW] = "new", [DIFF_GONE] = "gone"};

	return names[state];
}

void diff_page_print(const struct diff_page *page)
{
	diff_head_warnings(page);
	if (diff_page_is_mapped(page) && !page->diff->stack_count && !page->sides[DIFF_A].selected) {
		page_sentence(page->out, "Neither program mapped memory itself.");
		diff_head_compared(page);
		return;
	}
	diff_head_totals(page);
	if (page->options->stacks)
		diff_table_stacks(page, diff_page_rows(page, page->diff->stack_count, STACKS));
	else
		diff_table_sites(page, diff_page_rows(page, page->diff->site_count, SITES));
	fputc('\n', page->out->file);
	diff_head_compared(page);
	fprintf(page->out->file, "  More: --by %s   %s   --top N\n",
		page->diff->is_timed ? "live|alloc" : "live|alloc|count|peak|temporary",
		page->options->stacks ? "--all-frames" : "--stacks");
}

bool diff_page_sampled(const struct diff_page *page)
{
	return page->sides[DIFF_A].profile->header.sample_bytes ||
	       page->sides[DIFF_B].profile->header.sample_bytes;
}

static uint64_t error_of(const struct diff_page *page, unsigned side,
			 const struct sites_counts *counts, enum sites_key key)
{
	int64_t bytes = sites_value(counts, key);
	uint64_t mean = page->sides[side].profile->header.sample_bytes;

	if (key != SITES_LIVE && key != SITES_ALLOC && key != SITES_PEAK)
		return 0;
	return estimate_error(bytes > 0 ? (uint64_t)bytes : 0, mean);
}

uint64_t diff_page_error(const struct diff_page *page, const struct sites_counts counts[DIFF_SIDES],
			 enum sites_key key)
{
	return estimate_error_of_change(error_of(page, DIFF_A, &counts[DIFF_A], key),
					error_of(page, DIFF_B, &counts[DIFF_B], key));
}
