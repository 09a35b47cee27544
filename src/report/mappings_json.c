/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mappings_json.c - what the program maps itself, as a member of the document.
 */
#include <stdlib.h>

#include "profile/stack_id.h"
#include "report/json_parts.h"
#include "report/mappings.h"

static void put_counts(struct json *json, const struct profile_counts *counts)
{
	json_key_uint(json, "mapped_bytes", profile_live_bytes(counts));
	json_key_uint(json, "mapped_in_all_bytes", counts->alloc_bytes);
	json_key_uint(json, "unmapped_bytes", counts->free_bytes);
	json_key_uint(json, "calls", counts->alloc_count);
}

static void put_resident(struct json *json, const struct report *mapped, uint64_t bytes)
{
	json_key(json, "resident_bytes");
	if (mappings_is_measured(mapped))
		json_uint(json, bytes);
	else
		json_null(json);
}

static void put_stack(struct json *json, const struct report *mapped, uint32_t index)
{
	const struct profile_stack *stack = &mapped->profile->stacks[index];

	json_object(json);
	json_parts_hex(json, "id", stack_id(mapped->profile, stack));
	json_key_string(json, "entry",
			stack->hook == FORMAT_NO_HOOK ? NULL : profile_hook_name(stack->hook));
	put_counts(json, &stack->counts);
	json_key_int(json, "peak_bytes", stack->counts.peak_bytes);
	put_resident(json, mapped, mappings_resident(mapped, index));
	json_parts_series(json, mapped, index);
	json_parts_frames(json, mapped, stack);
	json_end(json);
}

static bool put_stacks(struct json *json, const struct report *mapped, struct error *err)
{
	uint32_t count, *stacks = sites_stacks(mapped->sites, NULL, mapped->key, &count), i;

	if (!stacks)
		return error_set(err, "no memory for the call stacks that map memory");
	json_key(json, "stacks");
	json_array(json);
	for (i = 0; i < count && (!mapped->options->top || i < mapped->options->top); i++)
		put_stack(json, mapped, stacks[i]);
	json_end(json);
	free(stacks);
	return true;
}

static bool put_all(struct json *json, const struct report *mapped, struct error *err)
{
	const struct profile *profile = mapped->profile;
	uint64_t resident = 0;
	bool ok;

	for (uint32_t i = 0; i < profile->stack_count; i++)
		resident += mappings_resident(mapped, i);
	json_object(json);
	put_counts(json, &profile->totals);
	json_key_uint(json, "peak_bytes",
		      atomic_load_explicit(&profile->header.peak_bytes, memory_order_relaxed));
	put_resident(json, mapped, resident);
	json_parts_growth(json, mapped);
	json_parts_verdicts(json, mapped);
	ok = put_stacks(json, mapped, err);
	json_end(json);
	return ok;
}

bool mappings_json(const struct report *report, struct json *json, struct error *err)
{
	struct report mapped;
	struct error ignored;
	bool ok;

	json_key(json, "mappings");
	if (!profile_maps(report->profile)) {
		json_null(json);
		return true;
	}
	if (!mappings_open(report, &mapped, err))
		return false;
	/* It takes its time: only where nothing else is asked for. */
	if (report->options->mappings)
		mappings_measure(&mapped, &ignored);
	ok = put_all(json, &mapped, err);
	report_close(&mapped);
	return ok;
}
