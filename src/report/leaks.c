/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * leaks.c - what is live at the end, by site, with its call stacks.
 */
#include <stdlib.h>

#include "report/head.h"
#include "report/name.h"
#include "report/page.h"
#include "report/report.h"
#include "report/source.h"
#include "report/stack.h"

enum { SITES = 10, STACKS = 3, FRAMES = 8 };

static void print_intro(const struct report *report)
{
	char bytes[UNITS_SIZE], blocks[UNITS_SIZE], sites[UNITS_SIZE];
	const struct sites_counts *totals = &report->sites->totals;
	uint32_t i, holding = 0;

	for (i = 0; i < report->sites->count; i++)
		holding += report->sites->items[i].counts.live_count > 0;
	page_sentence(report->out,
		      "Live %s: %s in %s block%s of %s site%s. That a block is live is not yet a "
		      "fault: what "
		      "the program still uses, or never frees on purpose, is here too.",
		      report->profile->is_live ? "now" : "at the end",
		      report_bytes(report, totals->live_bytes, bytes),
		      units_count(totals->live_count, blocks), totals->live_count == 1 ? "" : "s",
		      units_count(holding, sites), holding == 1 ? "" : "s");
}

static void print_stack(const struct report *report, uint32_t stack)
{
	const struct profile_counts *counts = &report->profile->stacks[stack].counts;
	char bytes[UNITS_SIZE], blocks[UNITS_SIZE];

	fprintf(report->out->file, "  %s in %s block%s\n",
		report_bytes(report, profile_live_bytes(counts), bytes),
		units_count(profile_live_count(counts), blocks),
		profile_live_count(counts) == 1 ? "" : "s");
	stack_print(report, stack, FRAMES);
}

static bool print_stacks(const struct report *report, const struct site *site)
{
	uint32_t count, *stacks = sites_stacks(report->sites, site, SITES_LIVE, &count), i, more;

	if (!stacks)
		return false;
	while (count > 0 &&
	       profile_live_count(&report->profile->stacks[stacks[count - 1]].counts) == 0)
		count--;
	for (i = 0; i < count && i < STACKS; i++)
		print_stack(report, stacks[i]);
	more = count - i;
	if (more)
		fprintf(report->out->file, "  ... %u more call stack%s\n", more,
			more == 1 ? "" : "s");
	free(stacks);
	return true;
}

static void print_site(const struct report *report, const struct site *site)
{
	char bytes[UNITS_SIZE], blocks[UNITS_SIZE], share[UNITS_SIZE];
	struct name name = name_of_site(report, site);
	const struct output *out = report->out;
	struct page_text heading;

	fprintf(out->file, "\n%s", output_style(out, OUTPUT_BOLD));
	page_text_begin(&heading, out);
	fprintf(heading.file,
		"%s, %s, in %s block%s: ", report_bytes(report, site->counts.live_bytes, bytes),
		units_share(site->counts.live_bytes, report->sites->totals.live_bytes, share),
		units_count(site->counts.live_count, blocks),
		site->counts.live_count == 1 ? "" : "s");
	name_in_text(report, &name, heading.file);
	page_text_end(&heading, out, 0);
	fputs(output_style(out, OUTPUT_PLAIN), out->file);
	source_print(report, site);
}

bool view_leaks(struct report *report, struct error *err)
{
	unsigned top = report->options->top ? report->options->top : SITES, shown = 0, more = 0;
	uint32_t i;

	if (!report_refuse_interval(report, err))
		return false;
	report_sort(report, SITES_LIVE);
	head_print(report);
	head_print_selection(report);
	print_intro(report);
	for (i = 0; i < report->sites->count; i++) {
		const struct site *site = &report->sites->items[i];

		/* A block of 0 bytes is live too. */
		if (site->counts.live_count == 0)
			continue;
		if (shown == top) {
			more++;
			continue;
		}
		shown++;
		print_site(report, site);
		if (!print_stacks(report, site))
			return error_set(err, "no memory for the call stacks of a site");
	}
	if (more)
		fprintf(report->out->file, "\n... %u more site%s, see --top\n", more,
			more == 1 ? "" : "s");
	return true;
}
