/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * advice.c - what to change, and what that would spare.
 */
#include "profile/advice.h"

#include "report/advice_words.h"
#include "report/head.h"
#include "report/page.h"
#include "report/report.h"
#include "report/stack.h"

enum { ROWS = 8, FRAMES = 4 };

static void print_one(const struct report *report, const struct advice *advice)
{
	const struct output *out = report->out;
	struct page_text text;

	fprintf(out->file, "\n%s", output_style(out, OUTPUT_BOLD));
	page_text_begin(&text, out);
	advice_words_gain(advice, text.file);
	page_text_end(&text, out, 0);
	fputs(output_style(out, OUTPUT_PLAIN), out->file);
	page_text_begin(&text, out);
	advice_words_print(report, advice, text.file);
	page_text_end(&text, out, PAGE_INDENT);
	stack_print(report, advice->stack, report->options->top ? 0 : FRAMES);
}

/* Of a process that runs the slack is measured now; who may not look learns all else. */
static struct pinned *find_pinned(const struct report *report, struct error *why)
{
	struct pinned *pinned = NULL;

	return pinned_of(report->profile, &pinned, why) ? pinned : NULL;
}

static void print_all(const struct report *report, const struct advices *advices)
{
	uint32_t shown = report->options->top ? report->options->top : ROWS;

	if (!advices->count) {
		page_sentence(report->out,
			      "Nothing is worth a change: no site has enough temporary blocks, "
			      "copies by realloc(), slack, or blocks freed by other threads.");
		return;
	}
	page_sentence(
		report->out,
		"What to change, and what that would spare: what is the largest part of all such "
		"calls or bytes comes first.");
	for (uint32_t i = 0; i < advices->count && i < shown; i++)
		print_one(report, &advices->items[i]);
	if (shown < advices->count)
		fprintf(report->out->file, "\n... %u more, see --top\n", advices->count - shown);
}

bool view_advice(struct report *report, struct error *err)
{
	struct error why = {""};
	struct pinned *pinned;
	struct advices advices;

	if (!report_refuse_interval(report, err))
		return false;
	sites_refine(report->sites, 1u << SITES_TEMPORARY | 1u << SITES_ALLOC | 1u << SITES_LIVE);
	report_sort(report, SITES_ALLOC);
	pinned = find_pinned(report, &why);
	if (!advice_find(report->sites, pinned, &advices, err)) {
		pinned_free(pinned);
		return false;
	}
	head_print(report);
	head_print_selection(report);
	print_all(report, &advices);
	if (!pinned) {
		fputc('\n', report->out->file);
		page_sentence(report->out, "What size classes waste is not known: %s.", why.text);
	}
	advice_free(&advices);
	pinned_free(pinned);
	return true;
}
