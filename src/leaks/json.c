/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json.c - what was lost, for programs; doc/JSON.md is its description, and changes with it.
 */
#include "base/json.h"

#include <inttypes.h>
#include <stdlib.h>

#include "leaks/page.h"
#include "profile/stack_id.h"
#include "report/name.h"

enum { SCHEMA = 1 };

static void put_counts(struct json *json, const struct leaks_counts *counts)
{
	json_key_uint(json, "lost_bytes", leaks_bytes(counts));
	json_key_uint(json, "lost_blocks", leaks_blocks(counts));
	json_key_uint(json, "direct_bytes", counts->direct_bytes);
	json_key_uint(json, "direct_blocks", counts->direct_blocks);
	json_key_uint(json, "indirect_bytes", counts->indirect_bytes);
	json_key_uint(json, "indirect_blocks", counts->indirect_blocks);
}

static void put_frame(struct json *json, const struct profile *profile, uint32_t index,
		      const struct symbol *symbol)
{
	const struct profile_location *location = &profile->locations[index];
	const char *module = location->special ? "" : profile->modules[location->module].path;

	json_object(json);
	json_key_string(json, "function", location->special ? location->special : symbol->function);
	json_key_string(json, "file", symbol->file);
	json_key(json, "line");
	if (symbol->line)
		json_uint(json, symbol->line);
	else
		json_null(json);
	json_key_string(json, "module", module[0] ? module : NULL);
	json_key_uint(json, "offset", location->special ? 0 : location->offset);
	json_key_bool(json, "inlined", symbol->inlined);
	json_end(json);
}

static void put_frames(struct json *json, const struct report *report,
		       const struct profile_stack *stack)
{
	const struct profile_node *nodes = report->profile->nodes;

	json_key(json, "frames");
	json_array(json);
	for (uint32_t node = stack->node; node != 0; node = nodes[node].parent) {
		const struct symbol *found;
		size_t count = names_at(report->names, nodes[node].location, &found);

		for (size_t i = 0; i < count; i++)
			put_frame(json, report->profile, nodes[node].location, &found[i]);
	}
	json_end(json);
}

static void put_site(struct json *json, const struct report *report, uint32_t stack)
{
	struct name name = name_of_place(report, report->sites->of_stack[stack]);
	char *function = name_function_full(report, &name);

	json_key_string(json, "site", function);
	free(function);
}

static void put_stacks(struct json *json, const struct leaks_page *page, const uint32_t *stacks,
		       uint32_t count)
{
	const struct report *report = page->report;
	uint32_t shown = 0;
	char id[17];

	json_key(json, "stacks");
	json_array(json);
	for (uint32_t i = 0; i < count && (!report->options->top || shown < report->options->top);
	     i++) {
		const struct profile_stack *stack = &report->profile->stacks[stacks[i]];

		if (!leaks_blocks(&page->leaks->stacks[stacks[i]]))
			continue;
		shown++;
		snprintf(id, sizeof(id), "%016" PRIx64, stack_id(report->profile, stack));
		json_object(json);
		json_key_string(json, "id", id);
		put_counts(json, &page->leaks->stacks[stacks[i]]);
		put_site(json, report, stacks[i]);
		put_frames(json, report, stack);
		json_end(json);
	}
	json_end(json);
}

static void put_suppressions(struct json *json, const struct suppress *suppress)
{
	json_key(json, "suppressions");
	json_array(json);
	for (uint32_t i = 0; i < suppress->count; i++) {
		json_object(json);
		json_key_string(json, "pattern", suppress->rules[i].pattern);
		json_key_uint(json, "bytes", suppress->rules[i].bytes);
		json_key_uint(json, "blocks", suppress->rules[i].blocks);
		json_end(json);
	}
	json_end(json);
}

bool leaks_json_print(const struct leaks_page *page, struct error *err)
{
	const struct report *report = page->report;
	const struct leaks *leaks = page->leaks;
	uint32_t count, *stacks = sites_stacks(report->sites, NULL, SITES_LIVE, &count);
	struct json json;

	if (!stacks)
		return error_set(err, "no memory for %u call stacks", report->profile->stack_count);
	json_begin(&json, report->out->file);
	json_object(&json);
	json_key_uint(&json, "schema", SCHEMA);
	json_key_uint(&json, "pid", report->profile->header.pid);
	json_key_string(&json, "exe", report->profile->program);
	put_counts(&json, &leaks->totals);
	json_key_uint(&json, "live_bytes", leaks->live_bytes);
	json_key_uint(&json, "live_blocks", leaks->live_blocks);
	json_key_uint(&json, "suppressed_bytes", leaks->suppressed_bytes);
	json_key_uint(&json, "suppressed_blocks", leaks->suppressed_blocks);
	json_key_uint(&json, "searched_bytes", leaks->scanned);
	json_key_uint(&json, "threads", leaks->thread_count);
	json_key_uint(&json, "search_ns", leaks->took_ns);
	json_key_uint(&json, "pause_ns", page->paused_ns);
	json_key_uint(&json, "expected_pause_ns", page->expected_ns);
	put_suppressions(&json, page->suppress);
	put_stacks(&json, page, stacks, count);
	json_end(&json);
	free(stacks);
	return true;
}
