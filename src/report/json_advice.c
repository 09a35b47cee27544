/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json_advice.c - see json_advice.h; doc/JSON.md describes the keys.
 */
#include "report/json_advice.h"

#include <math.h>
#include <stdlib.h>

#include "profile/advice.h"
#include "profile/stack_id.h"
#include "report/json_parts.h"
#include "report/name.h"

/* What a kind does not have is null. */
static void put_if(struct json *json, const char *key, bool has, uint64_t value)
{
	json_key(json, key);
	if (has)
		json_uint(json, value);
	else
		json_null(json);
}

static void put_advice(struct json *json, const struct report *report, const struct advice *advice)
{
	struct name name = name_of_site(report, advice->site);
	char *function = name_function_full(report, &name);
	bool is_bytes = advice_is_bytes(advice->kind), grows = advice->kind == ADVICE_REALLOC;

	json_object(json);
	json_key_string(json, "kind", advice_name(advice->kind));
	json_key_string(json, "function", function);
	json_parts_hex(json, "stack_id",
		       stack_id(report->profile, &report->profile->stacks[advice->stack]));
	put_if(json, "gain_calls", !is_bytes, advice->gain);
	put_if(json, "gain_bytes", is_bytes, advice->gain);
	json_key(json, "share");
	json_real(json, round((double)advice->gain / (double)advice->whole * 1e6) / 1e6);
	put_if(json, "blocks", advice->kind != ADVICE_TEMPORARIES, advice->blocks);
	put_if(json, "mean_bytes", advice->kind != ADVICE_FOREIGN, advice->mean_bytes);
	put_if(json, "lifetime_ns", advice->lifetime_ns != 0, advice->lifetime_ns);
	put_if(json, "grown_blocks", grows, advice->grown);
	put_if(json, "realloc_calls", grows, advice->steps);
	json_end(json);
	free(function);
}

bool json_advice(struct json *json, const struct report *report, const struct pinned *pinned,
		 struct error *err)
{
	struct advices advices;

	if (!advice_find(report->sites, pinned, &advices, err))
		return false;
	json_key(json, "advice");
	json_array(json);
	for (uint32_t i = 0; i < advices.count; i++)
		put_advice(json, report, &advices.items[i]);
	json_end(json);
	advice_free(&advices);
	return true;
}
