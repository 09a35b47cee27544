/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * histogram.c - numbers by class, as bars.
 */
#include "report/histogram.h"

#include <stdlib.h>

#include "report/name.h"

enum { BAR = 16, USED = 16 + 2 + 8 + 2 + 5 + 2 + BAR + 2 };

/* Adds up sums, which are by site and class. */
static void find_most(const struct report *report, const uint64_t *sums, struct histogram *histogram)
{
	uint32_t i;
	unsigned class;

	for (i = 0; i < report->sites->count; i++) {
		for (class = 0; class < FORMAT_CLASSES; class ++) {
			uint64_t count = sums[(size_t)i * FORMAT_CLASSES + class];

			histogram->counts[class] += count;
			histogram->total += count;
			if (count > histogram->most[class]) {
				histogram->most[class] = count;
				histogram->place[class] = report->sites->items[i].place;
			}
		}
	}
}

static bool sum(const struct report *report, histogram_counts *of, struct histogram *histogram)
{
	const struct profile *profile = report->profile;
	const struct sites *sites = report->sites;
	uint64_t *sums = calloc((size_t)sites->count * FORMAT_CLASSES + 1, sizeof(*sums));
	uint32_t i;
	unsigned class;

	if (!sums)
		return false;
	*histogram = (struct histogram){0};
	for (i = 0; i < profile->stack_count; i++) {
		uint64_t counts[FORMAT_CLASSES];

		if (sites->of_stack[i] == SITES_NONE || !of(profile, &profile->stacks[i], counts))
			continue;
		for (class = 0; class < FORMAT_CLASSES; class ++)
			sums[(size_t)sites->of_place[sites->of_stack[i]] * FORMAT_CLASSES +
			     class] += counts[class];
	}
	find_most(report, sums, histogram);
	free(sums);
	return true;
}

/* Looks up the lines of the sites that are named.  False: they were known. */
static bool refine(const struct report *report, const struct histogram *histogram)
{
	struct sites *sites = report->sites;
	uint32_t count = report->profile->stack_count, i;
	bool *marked = calloc((size_t)count + 1, sizeof(*marked));
	unsigned class;
	bool any;

	if (!marked)
		return false;
	for (class = 0; class < FORMAT_CLASSES; class ++)
		for (i = 0; histogram->most[class] && i < count; i++)
			marked[i] |= sites->of_stack[i] == histogram->place[class];
	any = sites_refine_stacks(sites, marked);
	free(marked);
	return any;
}

bool histogram_sum(const struct report *report, histogram_counts *of, struct histogram *histogram)
{
	do {
		if (!sum(report, of, histogram))
			return false;
	} while (refine(report, histogram));
	return true;
}

static void print_bar(const struct report *report, uint64_t count, uint64_t most)
{
	unsigned length = most ? (unsigned)((double)count * BAR / (double)most + 0.5) : 0, i;

	if (count && !length)
		length = 1;
	fputs("  ", report->out->file);
	for (i = 0; i < BAR; i++)
		fputc(i < length ? '#' : ' ', report->out->file);
}

void histogram_print(const struct report *report, const struct histogram *histogram,
		     const char *(*bound)(unsigned class, char text[UNITS_SIZE]))
{
	unsigned first = 0, last = FORMAT_CLASSES, class;
	uint64_t most = 0;

	while (first < FORMAT_CLASSES && !histogram->counts[first])
		first++;
	while (last > first && !histogram->counts[last - 1])
		last--;
	for (class = first; class < last; class ++)
		most = histogram->counts[class] > most ? histogram->counts[class] : most;
	fprintf(report->out->file, "%s%16s  %8s  %5s  %-*s  most from%s\n",
		output_style(report->out, OUTPUT_DIM), "", "blocks", "share", BAR, "",
		output_style(report->out, OUTPUT_PLAIN));
	for (class = first; class < last; class ++) {
		uint64_t count = histogram->counts[class];
		char text[UNITS_SIZE], number[UNITS_SIZE], share[UNITS_SIZE];

		fprintf(report->out->file, "%16s  %8s  %5s", bound(class, text),
			units_count(count, number), units_share(count, histogram->total, share));
		if (count) {
			struct name name = name_of_place(report, histogram->place[class]);

			print_bar(report, count, most);
			fputs("  ", report->out->file);
			name_line(report, &name, USED);
		}
		fputc('\n', report->out->file);
	}
}
