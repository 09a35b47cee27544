/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sizes.c - how large the allocated blocks were.
 */
#include "report/head.h"
#include "report/histogram.h"
#include "report/report.h"

static const char *bound(unsigned class, char text[UNITS_SIZE])
{
	char bytes[UNITS_SIZE];

	if (class == FORMAT_CLASSES - 1) {
		units_bytes(UINT64_C(1) << (FORMAT_SIZE_SHIFT + class - 1), bytes);
		snprintf(text, UNITS_SIZE, "over %.20s", bytes);
	} else {
		units_bytes(UINT64_C(1) << (FORMAT_SIZE_SHIFT + class), bytes);
		snprintf(text, UNITS_SIZE, "up to %.20s", bytes);
	}
	return text;
}

bool view_sizes(struct report *report, struct error *err)
{
	struct histogram histogram;
	char calls[UNITS_SIZE], mean[UNITS_SIZE];
	const struct profile_counts *totals = &report->profile->totals;

	if (!report_refuse_interval(report, err))
		return false;
	if (!histogram_sum(report, profile_sizes, &histogram))
		return error_set(err, "no memory for %u sites", report->sites->count);
	head_print(report);
	head_print_selection(report);
	if (histogram.total == 1)
		fputs("  Size of the only block that was allocated", report->out->file);
	else
		fprintf(report->out->file, "  Sizes of %s blocks, all that were allocated",
			units_count(histogram.total, calls));
	if (!report->selected && totals->alloc_count)
		fprintf(report->out->file, "; mean %s",
			units_bytes(totals->alloc_bytes / totals->alloc_count, mean));
	fputs(".\n\n", report->out->file);
	if (histogram.total)
		histogram_print(report, &histogram, bound);
	return true;
}
