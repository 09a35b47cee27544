/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * peak.c - what the heap consisted of when it was largest.
 */
#include "profile/when.h"
#include "report/head.h"
#include "report/page.h"
#include "report/report.h"
#include "report/source.h"
#include "report/stack.h"
#include "report/table.h"

enum { SITES = 10, FRAMES = 6 };

static void print_intro(const struct report *report)
{
	const struct profile *profile = report->profile;
	uint64_t bytes = atomic_load_explicit(&profile->header.peak_bytes, memory_order_relaxed);
	uint64_t time_ns = atomic_load_explicit(&profile->header.peak_ns, memory_order_relaxed);
	uint64_t live = profile_live_bytes(&profile->totals);
	char size[UNITS_SIZE], after[UNITS_SIZE], at[UNITS_SIZE], now[UNITS_SIZE], share[UNITS_SIZE];

	page_sentence(report->out, "Peak %s, %s after the start (%s); live %s %s, %s of it.",
		      report_bytes(report, bytes > live ? bytes : live, size),
		      units_duration(time_ns, after),
		      units_time(when_realtime(profile, time_ns), at),
		      profile->is_live ? "now" : "at the end", report_bytes(report, live, now),
		      units_share(live, bytes > live ? bytes : live, share));
	fputc('\n', report->out->file);
}

bool view_peak(struct report *report, struct error *err)
{
	uint32_t stack;
	struct sites_counts counts;
	char bytes[UNITS_SIZE];

	if (!report_refuse_interval(report, err))
		return false;
	report_sort(report, SITES_PEAK);
	head_print(report);
	head_print_selection(report);
	print_intro(report);
	table_print(report, report->options->top ? report->options->top : SITES);
	stack = sites_heaviest(report->sites, SITES_PEAK);
	if (stack != SITES_NONE) {
		sites_stack(report->sites, stack, &counts);
		fprintf(report->out->file, "\n  The heaviest call stack at the peak (%s):\n",
			report_value(report, SITES_PEAK, counts.peak_bytes, bytes));
		stack_print(report, stack, FRAMES);
		source_print(report, &report->sites->items[0]);
	}
	return true;
}
