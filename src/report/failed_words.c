/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * failed_words.c - see failed_words.h.
 */
#include "report/failed_words.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/units.h"
#include "profile/stack_id.h"
#include "profile/when.h"
#include "report/json_parts.h"
#include "report/name.h"

static uint64_t unrecorded(const struct profile *profile)
{
	const _Atomic uint64_t *loss = &profile->header.losses[FORMAT_LOSS_FAILURES];

	return atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)loss, memory_order_relaxed);
}

uint64_t failed_words_count(const struct profile *profile)
{
	uint64_t count = unrecorded(profile);

	for (uint32_t i = 0; i < profile->failure_count; i++)
		count += profile->failures[i].count;
	return count;
}

/* Of a call by which many ask for more than there is by mistake the size is no amount. */
static const char *size_text(uint64_t bytes, char text[UNITS_SIZE])
{
	if (bytes >= UINT64_C(1) << 48)
		snprintf(text, UNITS_SIZE, "more than the address space");
	else
		units_bytes(bytes, text);
	return text;
}

static uint64_t sum_of(const struct profile *profile)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < profile->failure_count; i++)
		if (__builtin_add_overflow(sum, profile->failures[i].bytes, &sum))
			return UINT64_MAX;
	return sum;
}

void failed_words_put(const struct profile *profile, const char *name, FILE *file)
{
	const struct profile_failure *first = profile->failures;
	uint64_t count = failed_words_count(profile);
	char number[UNITS_SIZE], bytes[UNITS_SIZE], time[UNITS_SIZE];

	fprintf(file, "%s allocation%s failed", units_count(count, number), count == 1 ? "" : "s");
	if (!profile->failure_count)
		return;
	if (count > 1)
		fprintf(file, ", %s in all; the first", size_text(sum_of(profile), bytes));
	fprintf(file, ", %s,", size_text(first->first_bytes, bytes));
	if (name)
		fprintf(file, " in %s", name);
	if (first->stack.hook >= FORMAT_HOOK_MMAP && first->stack.hook != FORMAT_NO_HOOK)
		fprintf(file, " by %s", profile_hook_name(first->stack.hook));
	fprintf(file, " at %s", units_time(when_realtime(profile, first->first_ns), time));
}

/* To be freed; NULL: not known. */
static char *first_name(const struct report *report)
{
	const struct profile *profile = report->profile;
	struct name name;
	uint32_t node;
	char *text = NULL;
	size_t size;
	FILE *file;

	if (!profile->failure_count)
		return NULL;
	node = names_site(report->names, &profile->failures[0].stack);
	if (node == 0)
		return NULL;
	name = name_of_place(report, places_find(report->places, profile->nodes[node].location));
	file = open_memstream(&text, &size);
	if (!file)
		return NULL;
	name_in_text(report, &name, file);
	fclose(file);
	return text;
}

void failed_words_first_page(const struct report *report, FILE *file)
{
	char *name;

	if (!failed_words_count(report->profile))
		return;
	name = first_name(report);
	failed_words_put(report->profile, name, file);
	fputs(". ", file);
	free(name);
}

static void put_failure(struct json *json, const struct report *report,
			const struct profile_failure *failure)
{
	const struct profile_stack *stack = &failure->stack;

	json_object(json);
	json_parts_hex(json, "id", stack_id(report->profile, stack));
	json_key_string(json, "entry",
			stack->hook == FORMAT_NO_HOOK ? NULL : profile_hook_name(stack->hook));
	json_key_uint(json, "count", failure->count);
	json_key_uint(json, "bytes", failure->bytes);
	json_key_uint(json, "largest_bytes", failure->largest_bytes);
	json_key_uint(json, "first_bytes", failure->first_bytes);
	json_key_uint(json, "first_ns", failure->first_ns);
	json_key_uint(json, "last_ns", failure->last_ns);
	json_parts_frames(json, report, stack);
	json_end(json);
}

void failed_words_json(struct json *json, const struct report *report)
{
	const struct profile *profile = report->profile;

	json_key(json, "failures");
	json_object(json);
	json_key_uint(json, "count", failed_words_count(profile));
	json_key_uint(json, "bytes", sum_of(profile));
	json_key(json, "stacks");
	json_array(json);
	for (uint32_t i = 0; i < profile->failure_count; i++)
		put_failure(json, report, &profile->failures[i]);
	json_end(json);
	json_end(json);
}
