/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * summary.c - the first page: the answer in words, the sites, the heaviest call stack, and the way onward.
 *
 * It fits into 80 x 24 with a line left for the shell's prompt: what stands above and below the table is written first, and
 * table and call stack get the lines that remain.  --top, --source and --all-frames ask for more than a page.
 */
#include "report/head.h"
#include "report/mappings.h"
#include "report/page.h"
#include "report/report.h"
#include "report/source.h"
#include "report/stack.h"
#include "report/table.h"
#include "report/words.h"

enum { PAGE = 23, ROWS_MAX = 6, ROWS_MIN = 3, FRAMES = 4, INDENT = 2 };

static struct output written_to(const struct output *out, struct page_text *text)
{
	struct output to = *out;

	page_text_begin(text, out);
	to.file = text->file;
	return to;
}

static void print_top(struct report *report)
{
	head_print(report);
	head_print_selection(report);
	/* Of what matches nothing there is nothing to say. */
	if (report->sites->count || !report->profile->stack_count)
		words_print(report);
	if (report->sites->count)
		fputc('\n', report->out->file);
}

static void print_bottom(struct report *report)
{
	struct page_text text;

	fputc('\n', report->out->file);
	head_print_seen(report);
	page_text_begin(&text, report->out);
	fprintf(text.file,
		"More: --by live|peak|alloc|count|temporary|growth --tree --callers --leaks --peak "
		"--sizes --lifetimes --threads --rss --pinned%s --advice --json",
		mappings_matter(report->profile) ? " --mappings" : "");
	page_text_end(&text, report->out, INDENT);
}

static void print_heaviest(struct report *report, unsigned lines)
{
	const struct sites *sites = report->sites;
	int64_t value, total = sites_value(&sites->totals, report->key);
	char share[UNITS_SIZE], text[UNITS_SIZE];
	uint32_t stack = total > 0 ? sites_heaviest(sites, report->key) : SITES_NONE;
	struct sites_counts counts;

	if (stack == SITES_NONE)
		return;
	sites_stack(sites, stack, &counts);
	value = sites_value(&counts, report->key);
	fprintf(report->out->file, "\n%*sThe heaviest call stack, %s of %s (%s):\n", INDENT, "",
		units_share(value > 0 ? (uint64_t)value : 0, (uint64_t)total, share),
		report_key_words(report->key), report_value(report, report->key, value, text));
	stack_print(report, stack, lines);
}

/* Table and call stack in what two more lines, for the empty line and the head of the stack, leave. */
static void print_middle(struct report *report, unsigned lines)
{
	unsigned rows = ROWS_MAX, used, top = report->options->top;

	if (!report->sites->count)
		return;
	if (top) {
		table_print(report, top);
		source_print_sites(report, top);
		print_heaviest(report, 0);
		return;
	}
	while (rows > ROWS_MIN && table_lines(report, rows) + 2 + FRAMES > lines)
		rows--;
	used = table_lines(report, rows) + 2;
	table_print(report, rows);
	source_print_sites(report, rows);
	if (used + 1 < lines)
		print_heaviest(report, lines - used);
}

bool view_summary(struct report *report, struct error *err)
{
	const struct output *out = report->out;
	struct page_text top, bottom;
	struct output top_out, bottom_out;
	enum sites_key key = report_main_key(report);
	unsigned lines;

	if (!report_find_verdicts(report, err))
		return false;
	/* The words name sites by these keys too. */
	sites_refine(report->sites, 1u << SITES_GROWTH | 1u << SITES_LIVE | 1u << SITES_PEAK |
					    1u << SITES_TEMPORARY | 1u << key);
	report_sort(report, key);
	top_out = written_to(out, &top);
	report->out = &top_out;
	print_top(report);
	bottom_out = written_to(out, &bottom);
	report->out = &bottom_out;
	print_bottom(report);
	report->out = out;
	lines = page_text_lines(&bottom) + page_text_print(&top, out);
	print_middle(report, lines < PAGE ? PAGE - lines : 0);
	page_text_print(&bottom, out);
	return true;
}
