/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spark.c - a series of numbers as a line of small bars.
 */
#include "top/spark.h"

enum { LEVELS = 8 };

static const char *const bars[][LEVELS] = {
	[SPARK_ASCII] = {"_", ".", ":", "-", "=", "+", "*", "#"},
	[SPARK_UTF8] = {"\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587",
			"\u2588"},
};

void spark_put(const uint64_t *values, unsigned count, enum spark_form form, FILE *file)
{
	uint64_t low = UINT64_MAX, high = 0, range;

	for (unsigned i = 0; i < count; i++) {
		if (values[i] == SPARK_UNKNOWN)
			continue;
		low = values[i] < low ? values[i] : low;
		high = values[i] > high ? values[i] : high;
	}
	if (low > high - high / LEVELS)
		low = high - high / LEVELS;
	range = high > low ? high - low : 1;
	for (unsigned i = 0; i < count; i++) {
		double share = values[i] > low ? (double)(values[i] - low) / (double)range : 0;

		if (values[i] == SPARK_UNKNOWN)
			fputc(' ', file);
		else
			fputs(bars[form][(unsigned)(share * (LEVELS - 1) + 0.5)], file);
	}
}
