/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pinned.c - whose live blocks keep pages from being given back.
 */
#include "profile/pinned.h"

#include <stdlib.h>

#include "report/head.h"
#include "report/name.h"
#include "report/page.h"
#include "report/pinned_words.h"
#include "report/report.h"
#include "report/stack.h"

enum { ROWS = 10, FRAMES = 8, USED = 33 };

struct rows {
	const struct pinned *pinned;
	const struct pinned_site *sites;
	uint32_t count;
};

static void print_words(const struct report *report, const struct rows *rows)
{
	const struct pinned *pinned = rows->pinned;
	uint64_t kept = pinned->rss.lines.lines[FORMAT_RSS_KEPT];
	char bytes[UNITS_SIZE], share[UNITS_SIZE], free_bytes[UNITS_SIZE];
	struct page_text text;

	page_text_begin(&text, report->out);
	fprintf(text.file,
		"Live blocks pin %s, %s of the resident set: free bytes in pages that could go "
		"back to the kernel but for them. ",
		units_bytes(pinned->all.bytes, bytes),
		units_share(pinned->all.bytes, pinned->rss.lines.total, share));
	if (kept)
		fprintf(text.file,
			"Nobody pins the %s in pages without a live block, which the allocator "
			"keeps: --rss. ",
			units_bytes(kept, free_bytes));
	if (rows->count)
		pinned_words_site(report, &rows->sites[0], text.file);
	page_text_end(&text, report->out, PAGE_INDENT);
}

static void print_figures(const struct report *report, const struct pinned_part *part,
			  const char *live)
{
	char bytes[UNITS_SIZE], pages[UNITS_SIZE];

	fprintf(report->out->file, "%10s %10s %9s  ", units_bytes(part->bytes, bytes), live,
		units_count(part->pages, pages));
}

static void print_site(const struct report *report, const struct pinned_site *site)
{
	struct name name = name_of_site(report, site->site);
	char live[UNITS_SIZE];

	print_figures(report, &site->part, units_bytes(site->site->counts.live_bytes, live));
	name_line(report, &name, USED);
	fputc('\n', report->out->file);
}

/* The rows that are not shown, and what is no site's. */
static void print_rest(const struct report *report, const struct rows *rows, uint32_t shown)
{
	const struct pinned *pinned = rows->pinned;
	struct pinned_part rest = {0};
	char count[UNITS_SIZE];

	for (uint32_t i = shown; i < rows->count; i++) {
		rest.bytes += rows->sites[i].part.bytes;
		rest.pages += rows->sites[i].part.pages;
	}
	if (shown < rows->count) {
		print_figures(report, &rest, "");
		fprintf(report->out->file, "in %s other site%s\n",
			units_count(rows->count - shown, count),
			rows->count - shown == 1 ? "" : "s");
	}
	if (pinned->inherited.pages) {
		print_figures(report, &pinned->inherited, "");
		fputs("blocks of the parent process\n", report->out->file);
	}
	if (pinned->others.pages) {
		print_figures(report, &pinned->others, "");
		fputs("other call stacks\n", report->out->file);
	}
}

static void print_table(const struct report *report, const struct rows *rows)
{
	uint32_t shown = report->options->top ? report->options->top : ROWS;
	const struct output *out = report->out;

	if (shown > rows->count)
		shown = rows->count;
	fprintf(out->file, "\n%s%10s %10s %9s  site%s\n", output_style(out, OUTPUT_DIM), "pins",
		"live", "pages", output_style(out, OUTPUT_PLAIN));
	for (uint32_t i = 0; i < shown; i++)
		print_site(report, &rows->sites[i]);
	print_rest(report, rows, shown);
}

static void print_heaviest(const struct report *report, const struct rows *rows)
{
	const struct pinned_site *site = &rows->sites[0];
	const struct pinned_part *part = &rows->pinned->stacks[site->stack];
	char bytes[UNITS_SIZE], share[UNITS_SIZE];

	fprintf(report->out->file, "\n%*sThe call stack that pins most, %s of it (%s):\n",
		PAGE_INDENT, "", units_share(part->bytes, rows->pinned->all.bytes, share),
		units_bytes(part->bytes, bytes));
	stack_print(report, site->stack, report->options->top ? 0 : FRAMES);
}

/* explains: there is a table. */
static void print_notes(const struct report *report, const struct pinned *pinned, bool explains)
{
	const struct waterfall_result *lines = &pinned->rss.lines;
	char some[UNITS_SIZE], all[UNITS_SIZE];
	struct page_text text;

	if (!explains && lines->examined >= lines->heap)
		return;
	fputc('\n', report->out->file);
	page_text_begin(&text, report->out);
	if (explains)
		fputs("The free bytes of a page are shared out by the bytes that blocks have in "
		      "it. pages: partly free ones with a block of that site; others may have "
		      "some in them too. ",
		      text.file);
	if (lines->examined < lines->heap)
		fprintf(text.file, "Estimates from %s of %s of pages, here and there.",
			units_bytes(lines->examined, some), units_bytes(lines->heap, all));
	page_text_end(&text, report->out, PAGE_INDENT);
}

static void print_all(const struct report *report, const struct rows *rows)
{
	bool any = rows->count || rows->pinned->all.pages;

	head_print(report);
	head_print_selection(report);
	print_words(report, rows);
	if (any)
		print_table(report, rows);
	if (rows->count)
		print_heaviest(report, rows);
	print_notes(report, rows->pinned, any);
}

bool view_pinned(struct report *report, struct error *err)
{
	struct pinned_site *sites;
	struct pinned *pinned;
	struct rows rows;

	if (!report_refuse_interval(report, err) || !pinned_of(report->profile, &pinned, err))
		return false;
	report_sort(report, SITES_LIVE);
	sites = pinned_sites(pinned, report->sites, &rows.count);
	if (sites) {
		rows.pinned = pinned;
		rows.sites = sites;
		print_all(report, &rows);
	}
	free(sites);
	pinned_free(pinned);
	return sites || error_set(err, "no memory for %u sites", report->sites->count);
}
