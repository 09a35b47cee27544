/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * histogram.h - numbers by class, as bars.
 */
#ifndef PMEM_REPORT_HISTOGRAM_H
#define PMEM_REPORT_HISTOGRAM_H
#include "report/report.h"

struct histogram {
	uint64_t counts[FORMAT_CLASSES];
	uint64_t most[FORMAT_CLASSES];	/* of one site in a class */
	uint32_t place[FORMAT_CLASSES]; /* of that site */
	uint64_t total;
};

/* profile_sizes() or profile_lifetimes(). */
typedef bool histogram_counts(const struct profile *profile, const struct profile_stack *stack,
			      uint64_t counts[FORMAT_CLASSES]);

/* Sums a histogram of the selected call stacks, and looks up the lines of the sites it names: the order of the sites is none then.  False:
 * no memory. */
bool histogram_sum(const struct report *report, histogram_counts *of, struct histogram *histogram);

/* A line for each class between the first and the last that is not empty: bound, number, share, bar, and the site with
 * the most.  bound gives the upper end of a class as text. */
void histogram_print(const struct report *report, const struct histogram *histogram,
		     const char *(*bound)(unsigned class, char text[UNITS_SIZE]));

#endif
