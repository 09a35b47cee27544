/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lifetimes.c - how long freed blocks had lived, from a sample of them.
 */
#include "report/head.h"
#include "report/histogram.h"
#include "report/report.h"

static const char *bound(unsigned class, char text[UNITS_SIZE])
{
	char duration[UNITS_SIZE];

	if (class == FORMAT_CLASSES - 1) {
		units_duration(UINT64_C(1) << (FORMAT_LIFETIME_SHIFT + class - 1), duration);
		snprintf(text, UNITS_SIZE, "over %.20s", duration);
	} else {
		units_duration(UINT64_C(1) << (FORMAT_LIFETIME_SHIFT + class), duration);
		snprintf(text, UNITS_SIZE, "up to %.20s", duration);
	}
	return text;
}

bool view_lifetimes(struct report *report, struct error *err)
{
	struct histogram histogram;
	char count[UNITS_SIZE], one_in[UNITS_SIZE];

	if (!report_refuse_interval(report, err))
		return false;
	if (!histogram_sum(report, profile_lifetimes, &histogram))
		return error_set(err, "no memory for %u sites", report->sites->count);
	head_print(report);
	head_print_selection(report);
	if (!histogram.total) {
		fputs("  No lifetimes: no block of the sample was freed.\n", report->out->file);
		return true;
	}
	if (report->profile->header.sample_bytes)
		fprintf(report->out->file,
			"  Lifetimes of %s freed blocks: an estimate from the sample.\n"
			"  Blocks that are still live are not in it.\n\n",
			units_count(histogram.total, count));
	else
		fprintf(report->out->file,
			"  Lifetimes of %s freed blocks, a sample of one block in %s: an "
			"estimate.\n"
			"  Blocks that are still live are not in it.\n\n",
			units_count(histogram.total, count),
			units_count(report->profile->header.lifetime_sample, one_in));
	histogram_print(report, &histogram, bound);
	return true;
}
