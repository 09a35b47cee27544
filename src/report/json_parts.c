/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json_parts.c - members of the document that more than one of its objects has.
 */
#include "report/json_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "profile/stack_id.h"
#include "report/name.h"

/* 0 stands for "none" or "not known". */
void json_parts_known(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	if (value)
		json_uint(json, value);
	else
		json_null(json);
}

void json_parts_text(struct json *json, const char *key, const char *text)
{
	json_key_string(json, key, text[0] ? text : NULL);
}

void json_parts_hex(struct json *json, const char *key, uint64_t value)
{
	char text[17];

	snprintf(text, sizeof(text), "%016" PRIx64, value);
	json_key_string(json, key, text);
}

void json_parts_growth(struct json *json, const struct report *report)
{
	const struct growth *growth = &report->growth;
	bool known = growth->kind != GROWTH_UNKNOWN;

	json_key(json, "growth");
	json_object(json);
	json_key_string(json, "kind", growth_word(growth));
	json_key(json, "bytes_per_minute");
	if (known && growth->kind != GROWTH_VARYING)
		json_int(json, growth->per_minute);
	else
		json_null(json);
	json_key(json, "since_ns");
	if (known)
		json_uint(json, growth->since_ns);
	else
		json_null(json);
	json_end(json);
}

static void put_verdict(struct json *json, const struct report *report,
			const struct verdict *verdict)
{
	bool is_site = verdict->place != SITES_NONE;
	char *function = NULL;

	if (is_site) {
		struct name name = name_of_place(report, verdict->place);

		function = name_function_full(report, &name);
	}
	json_object(json);
	json_key_string(json, "class", trend_class_name(verdict->trend.class));
	if (is_site)
		json_parts_hex(json, "stack_id",
			       stack_id(report->profile, &report->profile->stacks[verdict->stack]));
	else
		json_key_string(json, "stack_id", NULL);
	json_key_string(json, "function", function);
	json_key(json, "rate_bytes_per_s");
	json_real(json, round(verdict->trend.rate * 1000) / 1000);
	json_key(json, "since_ns");
	if (verdict->trend.course == TREND_UNKNOWN)
		json_null(json);
	else
		json_uint(json, verdict->since_ns);
	json_key(json, "confidence");
	json_real(json, round(verdict->trend.confidence * 1000) / 1000);
	json_end(json);
	free(function);
}

void json_parts_verdicts(struct json *json, const struct report *report)
{
	json_key(json, "verdicts");
	json_array(json);
	for (uint32_t i = 0; i < report->verdicts->count; i++)
		put_verdict(json, report, &report->verdicts->items[i]);
	json_end(json);
}

static void put_frame(struct json *json, const struct profile *profile,
		      const struct profile_location *location, const struct symbol *symbol)
{
	json_object(json);
	json_key_string(json, "function", location->special ? location->special : symbol->function);
	json_key_string(json, "raw_name", location->special ? NULL : symbol->raw_name);
	json_key_string(json, "file", symbol->file);
	json_parts_known(json, "line", symbol->line);
	json_key(json, "module");
	if (location->special || !profile->modules[location->module].path[0])
		json_null(json);
	else
		json_string(json, profile->modules[location->module].path);
	if (location->special) {
		json_key_string(json, "offset", NULL);
		json_key_string(json, "address", NULL);
	} else {
		json_key_uint(json, "offset", location->offset);
		json_key_uint(json, "address", location->address);
	}
	json_key_bool(json, "inlined", symbol->inlined);
	json_end(json);
}

/* The index of a call stack's site among its frames, innermost first.  False: it has none. */
static bool find_site(const struct report *report, const struct profile_stack *stack,
		      uint64_t *site_index)
{
	const struct profile *profile = report->profile;
	uint32_t site = names_site(report->names, stack), node;
	uint64_t index = 0;

	*site_index = 0;
	for (node = stack->node; node != 0; node = profile->nodes[node].parent) {
		uint32_t location = profile->nodes[node].location;
		const struct symbol *found;

		if (node == site)
			*site_index = index + names_shown(report->names, location);
		index += names_at(report->names, location, &found);
	}
	return index > 0;
}

static void put_location(struct json *json, const struct report *report, uint32_t location)
{
	const struct profile *profile = report->profile;
	const struct symbol *found;
	size_t count = names_at(report->names, location, &found);

	for (size_t i = 0; i < count; i++)
		put_frame(json, profile, &profile->locations[location], &found[i]);
}

void json_parts_frames(struct json *json, const struct report *report,
		       const struct profile_stack *stack)
{
	const struct profile *profile = report->profile;
	uint64_t site_index;
	uint32_t node;

	if (report->options->frame_table) {
		json_key_uint(json, "node", stack->node);
	} else {
		json_key(json, "frames");
		json_array(json);
		for (node = stack->node; node != 0; node = profile->nodes[node].parent)
			put_location(json, report, profile->nodes[node].location);
		json_end(json);
	}
	json_key(json, "site");
	if (find_site(report, stack, &site_index))
		json_uint(json, site_index);
	else
		json_null(json);
}

/* The root is no frame. */
static void put_node(struct json *json, const struct profile *profile, uint32_t node)
{
	json_object(json);
	if (node == 0) {
		json_key_string(json, "parent", NULL);
		json_key_string(json, "location", NULL);
	} else {
		json_key_uint(json, "parent", profile->nodes[node].parent);
		json_key_uint(json, "location", profile->nodes[node].location);
	}
	json_end(json);
}

void json_parts_frame_table(struct json *json, const struct report *report)
{
	const struct profile *profile = report->profile;

	if (!report->options->frame_table)
		return;
	json_key(json, "locations");
	json_array(json);
	for (uint32_t i = 0; i < profile->location_count; i++) {
		json_object(json);
		json_key(json, "frames");
		json_array(json);
		put_location(json, report, i);
		json_end(json);
		json_end(json);
	}
	json_end(json);
	json_key(json, "nodes");
	json_array(json);
	for (uint32_t i = 0; i < profile->node_count; i++)
		put_node(json, profile, i);
	json_end(json);
}

void json_parts_series(struct json *json, const struct report *report, uint32_t stack)
{
	uint32_t index = report->sites->series[stack], i;
	const struct profile_series *series;
	struct sites_counts counts;

	sites_stack(report->sites, stack, &counts);
	json_key(json, "growth_bytes");
	if (index == SITES_NONE) {
		json_null(json);
		json_key_string(json, "growth_over_ns", NULL);
		json_key_string(json, "samples", NULL);
		return;
	}
	json_int(json, counts.growth);
	json_parts_known(json, "growth_over_ns", counts.most_ns);
	series = &report->profile->series[index];
	json_key(json, "samples");
	json_array(json);
	for (i = 0; i < series->count; i++) {
		json_object(json);
		json_key_uint(json, "time_ns", series->samples[i].time_ns);
		json_key_uint(json, "live_bytes", series->samples[i].live_bytes);
		json_key_uint(json, "alloc_bytes", series->samples[i].alloc_bytes);
		json_key_bool(json, "gap", series->samples[i].gap);
		json_end(json);
	}
	json_end(json);
}
