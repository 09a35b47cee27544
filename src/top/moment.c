/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * moment.c - what each call stack had at a moment.
 */
#include "top/moment.h"

#include <stdlib.h>
#include <string.h>

struct moment_counts moment_counts_of(const struct profile_counts *counts)
{
	return (struct moment_counts){
		.live_bytes = profile_live_bytes(counts),
		.live_count = profile_live_count(counts),
		.alloc_bytes = counts->alloc_bytes,
		.alloc_count = counts->alloc_count,
		.temporary_count = counts->temporary_count,
	};
}

bool moment_take(struct moment *moment, const struct profile *profile, uint64_t time_ns)
{
	struct moment taken = {.time_ns = time_ns};

	for (uint32_t i = 0; i < profile->stack_count; i++)
		if (profile->stacks[i].number >= taken.limit)
			taken.limit = profile->stacks[i].number + 1;
	taken.by_number = calloc((size_t)taken.limit + 1, sizeof(*taken.by_number));
	if (!taken.by_number)
		return false;
	for (uint32_t i = 0; i < profile->stack_count; i++)
		taken.by_number[profile->stacks[i].number] = moment_counts_of(
			&profile->stacks[i].counts);
	taken.totals = moment_counts_of(&profile->totals);
	moment_end(moment);
	*moment = taken;
	return true;
}

void moment_move(struct moment *to, struct moment *from)
{
	moment_end(to);
	*to = *from;
	*from = (struct moment){0};
}

bool moment_copy(struct moment *to, const struct moment *from)
{
	struct moment copy = *from;
	size_t size = ((size_t)from->limit + 1) * sizeof(*copy.by_number);

	copy.by_number = malloc(size);
	if (!copy.by_number)
		return false;
	memcpy(copy.by_number, from->by_number, size);
	moment_end(to);
	*to = copy;
	return true;
}

void moment_end(struct moment *moment)
{
	free(moment->by_number);
	*moment = (struct moment){0};
}

struct moment_counts moment_at(const struct moment *moment, const struct profile_stack *stack)
{
	if (stack->number < moment->limit)
		return moment->by_number[stack->number];
	return (struct moment_counts){0};
}
