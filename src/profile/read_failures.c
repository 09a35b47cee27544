/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * read_failures.c - what the program asked for and did not get.
 */
#include <stdlib.h>

#include "profile/read.h"

static const struct image_array failures_array = {FORMAT_FAILURES, sizeof(struct format_failure),
						  "failed allocations", 0};

bool read_failures(struct reader *reader)
{
	reader->failure_limit = image_limit(&reader->image, &failures_array,
					    plain32(&reader->image.first->header.failure_count));
	reader->raw_failures = image_items(&reader->image, &failures_array, reader->failure_limit);
	return reader->raw_failures != NULL;
}

void read_failures_add(const struct format_failure *item, struct profile_failure *failure)
{
	uint64_t largest = plain64(&item->largest_bytes), last_ns = plain64(&item->last_ns);

	/* A running process may have made it and not counted yet. */
	add_limited(&failure->count, plain64(&item->count));
	add_limited(&failure->bytes, plain64(&item->bytes));
	if (largest > failure->largest_bytes)
		failure->largest_bytes = largest;
	if (last_ns > failure->last_ns)
		failure->last_ns = last_ns;
	if (failure->first_ns && failure->first_ns <= item->first_ns)
		return;
	failure->first_ns = item->first_ns;
	failure->first_bytes = item->first_bytes;
}

static int by_time(const void *left, const void *right)
{
	const struct profile_failure *a = left, *b = right;

	if (a->first_ns != b->first_ns)
		return a->first_ns < b->first_ns ? -1 : 1;
	return (a->stack.number > b->stack.number) - (a->stack.number < b->stack.number);
}

void read_failures_sort(struct profile *profile)
{
	if (profile->failure_count)
		qsort(profile->failures, profile->failure_count, sizeof(*profile->failures),
		      by_time);
}
