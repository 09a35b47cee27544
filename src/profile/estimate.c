/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * estimate.c - see estimate.h.
 */
#include "profile/estimate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define QUANTILE 1.959964 /* of the normal distribution, for 95 % */

static double cube(double value)
{
	return value > 0 ? value * value * value : 0;
}

/* A number that is too large for the type is the largest. */
static uint64_t whole(double value)
{
	return value < 0x1p64 ? (uint64_t)value : UINT64_MAX;
}

struct estimate estimate_of(uint64_t bytes, uint64_t mean)
{
	struct estimate estimate = {.low = bytes, .high = bytes};
	double draws, more;

	if (!mean)
		return estimate;
	draws = (double)bytes / (double)mean;
	more = draws + 1;
	estimate.low = bytes ? whole(draws * (double)mean *
				     cube(1 - 1 / (9 * draws) - QUANTILE / (3 * sqrt(draws))))
			     : 0;
	estimate.high = whole(more * (double)mean *
			      cube(1 - 1 / (9 * more) + QUANTILE / (3 * sqrt(more))));
	return estimate;
}

uint64_t estimate_percent(uint64_t bytes, uint64_t mean)
{
	struct estimate estimate = estimate_of(bytes, mean);
	double wider;

	if (!bytes)
		return UINT64_MAX;
	wider = fmax((double)estimate.high - (double)bytes, (double)bytes - (double)estimate.low);
	return whole(ceil(100 * wider / (double)bytes));
}

uint64_t estimate_error(uint64_t bytes, uint64_t mean)
{
	struct estimate estimate = estimate_of(bytes, mean);

	return (estimate.high - estimate.low) / 2;
}

uint64_t estimate_error_of_change(uint64_t error_a, uint64_t error_b)
{
	return whole(sqrt((double)error_a * (double)error_a + (double)error_b * (double)error_b));
}

const char *estimate_bytes(uint64_t bytes, uint64_t mean, char text[UNITS_SIZE])
{
	char error[UNITS_SIZE];
	size_t length;

	units_bytes(bytes, text);
	if (!mean)
		return text;
	length = strlen(text);
	snprintf(text + length, UNITS_SIZE - length, " +-%s",
		 units_bytes(estimate_error(bytes, mean), error));
	return text;
}
