/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * page.c - what was lost, for a person: the answer in words, a table of sites, call stacks.
 */
#include "leaks/page.h"

#include <stdlib.h>

#include "report/head.h"
#include "report/name.h"
#include "report/page.h"
#include "report/stack.h"

enum { SITES = 10, SITES_WITH_STACKS = 5, STACKS = 2, FRAMES = 8 };

/* What a site lost. */
static struct leaks_counts counts_of(const struct leaks_page *page, const struct site *site)
{
	const struct sites *sites = page->report->sites;
	struct leaks_counts sum = {0};

	for (uint32_t i = 0; i < page->report->profile->stack_count; i++) {
		const struct leaks_counts *stack = &page->leaks->stacks[i];

		if (sites->of_stack[i] != site->place)
			continue;
		sum.direct_bytes += stack->direct_bytes;
		sum.direct_blocks += stack->direct_blocks;
		sum.indirect_bytes += stack->indirect_bytes;
		sum.indirect_blocks += stack->indirect_blocks;
	}
	return sum;
}

/* Sites that lost something come first. */
static uint32_t losing_sites(const struct report *report)
{
	uint32_t count = 0;

	while (count < report->sites->count && report->sites->items[count].counts.live_count)
		count++;
	return count;
}

/* --- words ----------------------------------------------------------------------------------- */

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

static void print_none(const struct leaks_page *page)
{
	char bytes[UNITS_SIZE], blocks[UNITS_SIZE];
	const struct leaks *leaks = page->leaks;

	page_sentence(page->report->out,
		      "No leaks: all of the %s live block%s (%s) can still be reached%s.",
		      units_count(leaks->live_blocks, blocks), plural(leaks->live_blocks),
		      units_bytes(leaks->live_bytes, bytes),
		      leaks->suppressed_blocks ? ", but for those that the suppressions know" : "");
}

static void print_answer(const struct leaks_page *page)
{
	const struct report *report = page->report;
	const struct leaks_counts *totals = &page->leaks->totals;
	const struct site *first = &report->sites->items[0];
	char bytes[UNITS_SIZE], blocks[UNITS_SIZE], share[UNITS_SIZE];
	struct page_text text;

	page_sentence(report->out,
		      "%s in %s block%s cannot be reached any more: no pointer to %s is left.",
		      units_bytes(leaks_bytes(totals), bytes),
		      units_count(leaks_blocks(totals), blocks), plural(leaks_blocks(totals)),
		      leaks_blocks(totals) == 1 ? "it" : "them");
	if (!losing_sites(report))
		return;
	page_text_begin(&text, report->out);
	if (text.file) {
		struct name name = name_of_site(report, first);

		name_in_text(report, &name, text.file);
		fprintf(text.file, " lost %s, %s.", units_bytes(first->counts.live_bytes, bytes),
			units_share(first->counts.live_bytes, leaks_bytes(totals), share));
	}
	page_text_end(&text, report->out, PAGE_INDENT);
}

/* --- table ----------------------------------------------------------------------------------- */

static void print_row(const struct leaks_page *page, const struct site *site)
{
	struct leaks_counts counts = counts_of(page, site);
	char all[UNITS_SIZE], blocks[UNITS_SIZE], direct[UNITS_SIZE], indirect[UNITS_SIZE];
	struct name name = name_of_site(page->report, site);
	const struct output *out = page->report->out;
	int used = fprintf(out->file, "%10s  %8s  %10s  %10s  ",
			   units_bytes(leaks_bytes(&counts), all),
			   units_count(leaks_blocks(&counts), blocks),
			   units_bytes(counts.direct_bytes, direct),
			   units_bytes(counts.indirect_bytes, indirect));

	name_line(page->report, &name, used > 0 ? (unsigned)used : 0);
	fputc('\n', out->file);
}

static void print_table(const struct leaks_page *page, uint32_t rows)
{
	const struct output *out = page->report->out;
	uint32_t all = losing_sites(page->report);

	fprintf(out->file, "\n%s%10s  %8s  %10s  %10s  site%s\n", output_style(out, OUTPUT_DIM),
		"lost", "blocks", "direct", "indirect", output_style(out, OUTPUT_PLAIN));
	for (uint32_t i = 0; i < rows; i++)
		print_row(page, &page->report->sites->items[i]);
	if (all > rows)
		fprintf(out->file, "%10s  %8s  %10s  %10s  in %u more site%s, see --top\n", "...",
			"", "", "", all - rows, plural(all - rows));
}

/* --- call stacks ----------------------------------------------------------------------------- */

static void print_stack(const struct leaks_page *page, uint32_t stack)
{
	const struct leaks_counts *counts = &page->leaks->stacks[stack];
	char direct[UNITS_SIZE], blocks[UNITS_SIZE], indirect[UNITS_SIZE], more[UNITS_SIZE];
	FILE *file = page->report->out->file;

	fputs("\n  ", file);
	if (counts->direct_blocks)
		fprintf(file, "%s in %s block%s directly%s",
			units_bytes(counts->direct_bytes, direct),
			units_count(counts->direct_blocks, blocks), plural(counts->direct_blocks),
			counts->indirect_blocks ? ", " : "");
	if (counts->indirect_blocks)
		fprintf(file, "%s in %s block%s indirectly",
			units_bytes(counts->indirect_bytes, indirect),
			units_count(counts->indirect_blocks, more), plural(counts->indirect_blocks));
	fputs(", allocated by\n", file);
	stack_print(page->report, stack, FRAMES);
}

static bool print_stacks(const struct leaks_page *page, const struct site *site)
{
	uint32_t count;
	uint32_t *stacks = sites_stacks(page->report->sites, site, SITES_LIVE, &count);

	if (!stacks)
		return false;
	for (uint32_t i = 0; i < count && i < STACKS; i++)
		if (leaks_blocks(&page->leaks->stacks[stacks[i]]))
			print_stack(page, stacks[i]);
	free(stacks);
	return true;
}

/* --- what was done --------------------------------------------------------------------------- */

static void print_suppressions(const struct leaks_page *page)
{
	FILE *file = page->report->out->file;
	const struct suppress *suppress = page->suppress;
	char bytes[UNITS_SIZE];

	if (!page->leaks->suppressed_blocks)
		return;
	fprintf(file, "\nSuppressions used:\n%10s  %8s  rule\n", "bytes", "blocks");
	for (uint32_t i = 0; i < suppress->count; i++) {
		const struct suppress_rule *rule = &suppress->rules[i];

		if (!rule->blocks)
			continue;
		fprintf(file, "%10s  %8llu  leak:", units_bytes(rule->bytes, bytes),
			(unsigned long long)rule->blocks);
		output_safe(page->report->out, rule->pattern);
		fputc('\n', file);
	}
}

static void print_end(const struct leaks_page *page)
{
	char bytes[UNITS_SIZE], took[UNITS_SIZE], paused[UNITS_SIZE];
	const struct leaks *leaks = page->leaks;
	struct page_text text;

	page_text_begin(&text, page->report->out);
	if (leaks_blocks(&leaks->totals))
		fputs("Indirect: only other lost blocks point to it. ", text.file);
	fprintf(text.file, "Searched %s and the registers of %u thread%s in %s",
		units_bytes(leaks->scanned, bytes), leaks->thread_count,
		plural(leaks->thread_count), units_duration(leaks->took_ns, took));
	if (page->paused_ns)
		fprintf(text.file, "; the process was stopped for %s",
			units_duration(page->paused_ns, paused));
	/* No profile is left of a run of our own. */
	fputs(page->report->options->file_is_gone ? "."
						  : ". Who holds what can be reached: pmem report.",
	      text.file);
	fputc('\n', page->report->out->file);
	page_text_end(&text, page->report->out, PAGE_INDENT);
}

bool leaks_page_print(const struct leaks_page *page, struct error *err)
{
	struct report *report = page->report;
	unsigned top = report->options->top ? report->options->top : SITES;
	uint32_t rows;

	report_sort(report, SITES_LIVE);
	rows = losing_sites(report);
	if (rows > top)
		rows = top;
	head_print(report);
	if (leaks_blocks(&page->leaks->totals))
		print_answer(page);
	else
		print_none(page);
	if (rows)
		print_table(page, rows);
	for (uint32_t i = 0; i < rows && i < SITES_WITH_STACKS; i++)
		if (!print_stacks(page, &report->sites->items[i]))
			return error_set(err, "no memory for the call stacks of a site");
	print_suppressions(page);
	print_end(page);
	return true;
}
