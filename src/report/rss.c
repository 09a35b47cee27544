/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rss.c - why the process takes more memory than its live blocks.
 */
#include "profile/rss.h"

#include <inttypes.h>

#include "report/head.h"
#include "report/mappings.h"
#include "report/page.h"
#include "report/pinned_words.h"
#include "report/report.h"
#include "report/rss_words.h"

static void print_row(const struct report *report, const char *bytes, uint64_t part, uint64_t whole,
		      const char *what)
{
	char share[UNITS_SIZE];

	fprintf(report->out->file, "%12s  %6s  %s\n", bytes, units_share(part, whole, share), what);
}

/* The heap's lines always, others if there is something. */
static bool is_shown(const struct rss *rss, int line)
{
	return line <= FORMAT_RSS_KEPT || rss->lines.lines[line] > 0;
}

/* What the program is known to have mapped, and other anonymous memory, are two rows. */
static void print_line(const struct report *report, const struct rss *rss, enum format_rss_line line)
{
	const struct waterfall_result *lines = &rss->lines;
	uint64_t part = lines->lines[line], known = 0;
	char bytes[UNITS_SIZE];

	if (line == FORMAT_RSS_MAPPED && lines->known) {
		known = lines->known < part ? lines->known : part;
		print_row(report, units_bytes(known, bytes), known, lines->total,
			  "mapped by the program itself (mmap): --mappings");
		part -= known;
	}
	if (known ? part > 0 : is_shown(rss, line))
		print_row(report, units_bytes(part, bytes), part, lines->total,
			  rss_words_line(line));
}

static void print_table(const struct report *report, const struct rss *rss)
{
	const struct waterfall_result *lines = &rss->lines;
	int64_t unexplained = waterfall_unexplained(lines);
	const struct output *out = report->out;
	char bytes[UNITS_SIZE];

	fprintf(out->file, "%s%12s  %6s  what%s\n", output_style(out, OUTPUT_DIM), "bytes", "share",
		output_style(out, OUTPUT_PLAIN));
	for (int i = 0; i < FORMAT_RSS_KINDS; i++)
		print_line(report, rss, (enum format_rss_line)i);
	if (unexplained > 0)
		print_row(report, units_bytes((uint64_t)unexplained, bytes), (uint64_t)unexplained,
			  lines->total, "unexplained");
	else if (unexplained < 0)
		fprintf(out->file, "%12s  %6s  counted twice\n",
			units_bytes_change(unexplained, bytes), "");
	print_row(report, units_bytes(lines->total, bytes), lines->total, lines->total,
		  "resident set (RSS)");
}

static void print_notes(const struct report *report, const struct rss *rss)
{
	const struct waterfall_result *lines = &rss->lines;
	char some[UNITS_SIZE], all[UNITS_SIZE], swapped[UNITS_SIZE];
	struct page_text text;

	page_text_begin(&text, report->out);
	if (lines->examined < lines->heap)
		fprintf(text.file,
			"The first four are estimates from %s of %s of pages, here and there. ",
			units_bytes(lines->examined, some), units_bytes(lines->heap, all));
	if (lines->swapped)
		fprintf(text.file, "Another %s are swapped out. ",
			units_bytes(lines->swapped, swapped));
	if (lines->known >= lines->total / 50 && profile_maps(report->profile))
		mappings_resident_words(report, text.file);
	fputs("Who holds the live blocks: pmem report.", text.file);
	page_text_end(&text, report->out, PAGE_INDENT);
}

/* Together with who pins what, if that is known. */
static bool find(const struct profile *profile, struct rss *rss, struct pinned **pinned,
		 struct error *err)
{
	if (!profile->is_live) {
		*pinned = pinned_recorded(profile);
		return rss_of(profile, rss, err);
	}
	if (!pinned_of(profile, pinned, err))
		return false;
	*rss = (*pinned)->rss;
	return true;
}

bool view_rss(struct report *report, struct error *err)
{
	struct pinned *pinned = NULL;
	struct page_text text;
	struct rss rss;

	if (!report_refuse_interval(report, err))
		return false;
	if (report->selected)
		return error_set(err, "--rss is of the process as a whole: leave out --focus and "
				      "--ignore");
	if (!find(report->profile, &rss, &pinned, err))
		return false;
	head_print(report);
	page_text_begin(&text, report->out);
	rss_words_print(report->profile, &rss, text.file);
	pinned_words_most(report, pinned, text.file);
	pinned_free(pinned);
	page_text_end(&text, report->out, PAGE_INDENT);
	fputc('\n', report->out->file);
	print_table(report, &rss);
	fputc('\n', report->out->file);
	print_notes(report, &rss);
	return true;
}
