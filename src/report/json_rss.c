/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json_rss.c - see json_rss.h; doc/JSON.md describes the keys.
 */
#include "report/json_rss.h"

#include <stdio.h>
#include <stdlib.h>

#include "profile/stack_id.h"
#include "report/json_parts.h"
#include "report/name.h"

void json_rss(struct json *json, const struct rss *rss)
{
	const struct waterfall_result *lines;

	json_key(json, "rss");
	if (!rss) {
		json_null(json);
		return;
	}
	lines = &rss->lines;
	json_object(json);
	json_key_uint(json, "time_ns", rss->time_ns);
	json_key_uint(json, "total_bytes", lines->total);
	for (int i = 0; i < FORMAT_RSS_KINDS; i++) {
		char key[32];

		snprintf(key, sizeof(key), "%s_bytes", rss_line_name((enum format_rss_line)i));
		json_key_uint(json, key, lines->lines[i]);
	}
	json_key_uint(json, "mapped_known_bytes", lines->known);
	json_key_int(json, "unexplained_bytes", waterfall_unexplained(lines));
	json_key_uint(json, "swapped_bytes", lines->swapped);
	json_key_string(json, "allocator", rss_allocator_name(rss->allocator));
	json_parts_known(json, "arenas", lines->arenas);
	json_key_uint(json, "kept_in_arenas_bytes", lines->kept_arenas);
	json_key_uint(json, "stack_count", lines->stacks);
	json_key_uint(json, "heap_bytes", lines->heap);
	json_key_uint(json, "examined_bytes", lines->examined);
	json_key_uint(json, "cost_ns", rss->cost_ns);
	json_end(json);
}

static void put_retained(struct json *json, const struct retained *retained)
{
	json_object(json);
	json_key_uint(json, "free_bytes", retained->free_bytes);
	json_key_uint(json, "used_bytes", retained->used_bytes);
	json_parts_known(json, "bytes_per_minute", retained->per_minute);
	json_parts_known(json, "since_ns", retained->since_ns);
	json_key_bool(json, "given_back", retained->given_back);
	json_end(json);
}

void json_retained(struct json *json, const struct profile *profile, const struct rss *rss)
{
	struct retained retained;

	json_key(json, "retained");
	if (rss && retained_find(profile, rss, &retained))
		put_retained(json, &retained);
	else
		json_null(json);
}

/* --- pinned ---------------------------------------------------------------------------------- */

/* A call stack that pins something. */
struct row {
	uint64_t bytes;
	uint32_t stack;
};

static int compare_rows(const void *first, const void *second)
{
	const struct row *a = first, *b = second;

	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static struct row *list_rows(const struct report *report, const struct pinned *pinned,
			     uint32_t *count)
{
	uint32_t stacks = report->profile->stack_count;
	struct row *rows = calloc((size_t)stacks + 1, sizeof(*rows));

	*count = 0;
	for (uint32_t i = 0; rows && i < stacks; i++)
		if (pinned->stacks[i].pages && report->sites->of_stack[i] != SITES_NONE)
			rows[(*count)++] = (struct row){pinned->stacks[i].bytes, i};
	if (rows)
		qsort(rows, *count, sizeof(*rows), compare_rows);
	return rows;
}

static void put_row(struct json *json, const struct report *report, const struct pinned *pinned,
		    uint32_t index)
{
	const struct profile_stack *stack = &report->profile->stacks[index];
	struct name name = name_of_place(report, report->sites->of_stack[index]);
	char *function = name_function_full(report, &name);

	json_object(json);
	json_parts_hex(json, "id", stack_id(report->profile, stack));
	json_key_string(json, "function", function);
	json_key_uint(json, "pinned_bytes", pinned->stacks[index].bytes);
	json_key_uint(json, "pages", pinned->stacks[index].pages);
	json_key_uint(json, "live_bytes", profile_live_bytes(&stack->counts));
	json_key_uint(json, "live_blocks", profile_live_count(&stack->counts));
	json_end(json);
	free(function);
}

bool json_pinned(struct json *json, const struct report *report, const struct pinned *pinned)
{
	unsigned top = report->options->top;
	struct row *rows;
	uint32_t count;

	json_key(json, "pinned");
	if (!pinned) {
		json_null(json);
		return true;
	}
	rows = list_rows(report, pinned, &count);
	json_object(json);
	json_key_uint(json, "pinned_bytes", pinned->all.bytes);
	json_key_uint(json, "inherited_bytes", pinned->inherited.bytes);
	json_key_uint(json, "other_bytes", pinned->others.bytes);
	json_key_uint(json, "free_pages_bytes", pinned->rss.lines.lines[FORMAT_RSS_KEPT]);
	json_key(json, "stacks");
	json_array(json);
	for (uint32_t i = 0; rows && i < count && (!top || i < top); i++)
		put_row(json, report, pinned, rows[i].stack);
	json_end(json);
	json_end(json);
	free(rows);
	return rows != NULL;
}
