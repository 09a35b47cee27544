/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json.c - the whole profile for programs; doc/JSON.md is its description, and changes with it.
 */
#include "base/json.h"

#include <elf.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/estimate.h"
#include "profile/rss.h"
#include "profile/when.h"
#include "profile/unseen.h"
#include "report/json_counts.h"
#include "report/name.h"
#include "report/report.h"

enum { SCHEMA = 1 };

static uint64_t loaded(const _Atomic uint64_t *field)
{
	return atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)field, memory_order_relaxed);
}

/* 0 stands for "none" or "not known". */
static void put_known(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	if (value)
		json_uint(json, value);
	else
		json_null(json);
}

static void put_text(struct json *json, const char *key, const char *text)
{
	json_key_string(json, key, text[0] ? text : NULL);
}

static void put_hex(struct json *json, const char *key, uint64_t value)
{
	char text[17];

	snprintf(text, sizeof(text), "%016" PRIx64, value);
	json_key_string(json, key, text);
}

static const char *state_name(const struct profile *profile)
{
	switch (atomic_load_explicit(&profile->header.state, memory_order_relaxed)) {
	case FORMAT_STATE_ENDED:
		return "ended";
	case FORMAT_STATE_STOPPED:
		return "stopped";
	default:
		return profile->is_live ? "running" : "killed";
	}
}

static const char *machine_name(uint32_t machine)
{
	switch (machine) {
	case EM_X86_64:
		return "x86_64";
	case EM_AARCH64:
		return "aarch64";
	default:
		return NULL;
	}
}

static void put_command(struct json *json, const struct profile *profile)
{
	size_t at = 0;

	json_key(json, "cmdline");
	json_array(json);
	while (at < profile->command_size) {
		size_t left = profile->command_size - at;
		char *word = strndup(profile->command + at, left);

		json_string(json, word);
		at += (word ? strlen(word) : left) + 1;
		free(word);
	}
	json_end(json);
}

static void put_process(struct json *json, const struct profile *profile)
{
	const struct format_header *header = &profile->header;
	char start[WHEN_SIZE];

	json_key(json, "process");
	json_object(json);
	json_key_uint(json, "pid", header->pid);
	json_key_uint(json, "parent_pid", header->parent_pid);
	json_key_uint(json, "image", header->image);
	json_key_bool(json, "forked", header->forked);
	put_text(json, "exe", profile->program);
	put_command(json, profile);
	put_text(json, "directory", profile->directory);
	json_key_string(json, "start", when_iso(header->start_realtime_ns, start));
	json_key_uint(json, "start_realtime_ns", header->start_realtime_ns);
	json_key_uint(json, "duration_ns", profile->duration_ns);
	json_key_string(json, "state", state_name(profile));
	json_end(json);
	json_key(json, "host");
	json_object(json);
	put_text(json, "name", profile->host);
	json_key_string(json, "machine", machine_name(header->machine));
	json_key_uint(json, "page_bytes", header->page_size);
	put_text(json, "cgroup", profile->cgroup);
	put_known(json, "cgroup_limit_bytes", header->cgroup_limit);
	put_known(json, "address_limit_bytes", header->address_limit);
	put_known(json, "data_limit_bytes", header->data_limit);
	json_end(json);
}

static void put_recorder(struct json *json, const struct profile *profile)
{
	const struct format_header *header = &profile->header;
	char version[sizeof(header->recorder) + 1];

	snprintf(version, sizeof(version), "%.*s", (int)sizeof(header->recorder), header->recorder);
	json_key(json, "recorder");
	json_object(json);
	json_key_string(json, "version", version);
	json_key_uint(json, "format", header->version);
	if (header->run_id)
		put_hex(json, "run_id", header->run_id);
	else
		json_key_string(json, "run_id", NULL);
	put_known(json, "sample_bytes", header->sample_bytes);
	put_known(json, "max_overhead", header->max_overhead);
	put_known(json, "lifetime_sample", header->lifetime_sample);
	put_known(json, "own_bytes", loaded(&header->own_bytes));
	json_key_uint(json, "snapshot_ns", loaded(&header->snapshot_ns));
	json_key_uint(json, "timeline_ns", loaded(&header->timeline_ns));
	put_text(json, "refused_setting", profile->refused_setting);
	json_end(json);
}

/* Of a sampled profile: between what the live bytes and those allocated lie in 95 % of the cases. */
static void put_bounds(struct json *json, const struct profile *profile,
		       const struct profile_counts *counts)
{
	uint64_t mean = profile->header.sample_bytes;
	struct estimate live = estimate_of(profile_live_bytes(counts), mean);
	struct estimate allocated = estimate_of(counts->alloc_bytes, mean);

	if (!mean)
		return;
	json_key_uint(json, "live_bytes_low", live.low);
	json_key_uint(json, "live_bytes_high", live.high);
	json_key_uint(json, "alloc_bytes_low", allocated.low);
	json_key_uint(json, "alloc_bytes_high", allocated.high);
}

static void put_totals(struct json *json, const struct profile *profile)
{
	const struct profile_counts *totals = &profile->totals;
	uint64_t peak = loaded(&profile->header.peak_bytes), live = profile_live_bytes(totals);

	json_key(json, "totals");
	json_object(json);
	json_key_uint(json, "live_bytes", live);
	json_key_uint(json, "live_blocks", profile_live_count(totals));
	json_counts(json, totals);
	json_key_uint(json, "temporary_blocks", totals->temporary_count);
	put_bounds(json, profile, totals);
	json_key_uint(json, "peak_live_bytes", peak > live ? peak : live);
	json_key_uint(json, "peak_time_ns", loaded(&profile->header.peak_ns));
	json_key_uint(json, "inherited_freed_blocks", loaded(&profile->header.inherited_freed));
	json_key_uint(json, "unknown_freed_blocks", loaded(&profile->header.unknown_freed));
	json_end(json);
}

static void put_losses(struct json *json, const struct profile *profile)
{
	const struct format_header *header = &profile->header;
	char unseen[UNSEEN_SIZE];
	uint32_t kind;

	json_key(json, "losses");
	json_object(json);
	for (kind = 0; kind < FORMAT_LOSS_KINDS; kind++)
		json_key_uint(json, profile_loss_name(kind), loaded(&header->losses[kind]));
	json_key_uint(json, "memory_blocks",
		      atomic_load_explicit(&header->memory_blocks, memory_order_relaxed));
	json_key_uint(json, "damage_count", profile->damage_count);
	put_text(json, "damage", profile->damage);
	put_text(json, "unseen", unseen_words(profile, unseen) ? unseen : "");
	json_key_bool(json, "complete",
		      !profile_losses(profile) && !profile->damage[0] &&
			      !atomic_load_explicit(&header->memory_blocks, memory_order_relaxed));
	json_end(json);
}

static void put_growth(struct json *json, const struct report *report)
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
	json_key(json, "interval");
	json_object(json);
	json_key_uint(json, "since_ns", report->interval.since_ns);
	json_key_uint(json, "until_ns", report->interval.until_ns);
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
		put_hex(json, "stack_id", report->profile->stacks[verdict->stack].id);
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

static void put_limit(struct json *json, const struct report *report)
{
	struct limit limit = {.bytes = 0};
	bool known = verdicts_limit(report->profile, &report->growth, report->verdicts, &limit);

	json_key(json, "limit");
	json_object(json);
	json_key_string(json, "kind", known ? limit_name(limit.kind) : NULL);
	put_known(json, "bytes", limit.bytes);
	put_known(json, "used_bytes", limit.used);
	put_known(json, "left_ns", limit.left_ns);
	json_end(json);
}

static void put_verdicts(struct json *json, const struct report *report)
{
	json_key(json, "verdicts");
	json_array(json);
	for (uint32_t i = 0; i < report->verdicts->count; i++)
		put_verdict(json, report, &report->verdicts->items[i]);
	json_end(json);
}

static void put_timeline(struct json *json, const struct profile *profile)
{
	uint32_t i;

	json_key(json, "timeline");
	json_array(json);
	for (i = 0; i < profile->point_count; i++) {
		const struct profile_point *point = &profile->points[i];

		json_object(json);
		json_key_uint(json, "time_ns", point->time_ns);
		json_key_uint(json, "live_bytes", point->live_bytes);
		put_known(json, "alloc_bytes", point->alloc_bytes);
		put_known(json, "alloc_blocks", point->alloc_count);
		put_known(json, "rss_bytes", point->rss_bytes);
		json_key_uint(json, "lost_events", point->lost_events);
		json_end(json);
	}
	json_end(json);
	json_key(json, "marks");
	json_array(json);
	for (i = 0; i < profile->mark_count; i++) {
		json_object(json);
		json_key_uint(json, "time_ns", profile->marks[i].time_ns);
		json_key_string(json, "text", profile->marks[i].text);
		json_end(json);
	}
	json_end(json);
}

static void put_threads(struct json *json, const struct profile *profile)
{
	uint32_t i;

	json_key(json, "threads");
	json_array(json);
	for (i = 0; i < profile->thread_count; i++) {
		const struct profile_thread *thread = &profile->threads[i];

		json_object(json);
		json_key_uint(json, "tid", thread->tid);
		put_text(json, "name", thread->name);
		json_key_uint(json, "owners", thread->owners);
		json_key_uint(json, "level", thread->level);
		json_key_bool(json, "running", thread->running);
		json_counts(json, &thread->counts);
		json_key_uint(json, "temporary_blocks", thread->counts.temporary_count);
		json_end(json);
	}
	json_end(json);
}

static void put_build_id(struct json *json, const struct profile_module *module)
{
	char text[2 * FORMAT_BUILD_ID_MAX + 1] = "";
	size_t i;

	for (i = 0; i < module->build_id_size && i < FORMAT_BUILD_ID_MAX; i++)
		snprintf(text + 2 * i, 3, "%02x", module->build_id[i]);
	put_text(json, "build_id", text);
}

/* Module 0 is code outside of all files. */
static void put_modules(struct json *json, const struct profile *profile)
{
	uint32_t i;

	json_key(json, "modules");
	json_array(json);
	for (i = 1; i < profile->module_count; i++) {
		const struct profile_module *module = &profile->modules[i];

		json_object(json);
		json_key_string(json, "path", module->path);
		put_build_id(json, module);
		json_key_uint(json, "instance", module->instance);
		json_key_uint(json, "bias", module->bias);
		json_key_uint(json, "start", module->start);
		json_key_uint(json, "end", module->end);
		json_key_uint(json, "load_ns", module->load_ns);
		put_known(json, "unload_ns", module->unload_ns);
		json_end(json);
	}
	json_end(json);
}

static void put_frame(struct json *json, const struct profile *profile,
		      const struct profile_location *location, const struct symbol *symbol)
{
	json_object(json);
	json_key_string(json, "function", location->special ? location->special : symbol->function);
	json_key_string(json, "raw_name", location->special ? NULL : symbol->raw_name);
	json_key_string(json, "file", symbol->file);
	put_known(json, "line", symbol->line);
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

/* Leaf first; "site" is the index of the site's frame. */
static void put_frames(struct json *json, const struct report *report,
		       const struct profile_stack *stack)
{
	const struct profile *profile = report->profile;
	uint32_t site = names_site(report->names, stack), node;
	uint64_t index = 0, site_index = 0;

	json_key(json, "frames");
	json_array(json);
	for (node = stack->node; node != 0; node = profile->nodes[node].parent) {
		uint32_t location = profile->nodes[node].location;
		const struct symbol *found;
		size_t count = names_at(report->names, location, &found), i;

		if (node == site)
			site_index = index + names_shown(report->names, location);
		for (i = 0; i < count; i++)
			put_frame(json, profile, &profile->locations[location], &found[i]);
		index += count;
	}
	json_end(json);
	json_key(json, "site");
	if (index)
		json_uint(json, site_index);
	else
		json_null(json);
}

static void put_classes(struct json *json, const char *key, const uint64_t *counts)
{
	unsigned i;

	json_key(json, key);
	if (!counts) {
		json_null(json);
		return;
	}
	json_array(json);
	for (i = 0; i < FORMAT_CLASSES; i++)
		json_uint(json, counts[i]);
	json_end(json);
}

static void put_series(struct json *json, const struct report *report, uint32_t stack)
{
	uint32_t index = report->sites->series[stack], i;
	const struct profile_series *series;
	struct sites_counts counts;

	sites_stack(report->sites, stack, &counts);
	json_key(json, "growth_bytes");
	if (index == SITES_NONE) {
		json_null(json);
		json_key_string(json, "samples", NULL);
		return;
	}
	json_int(json, counts.growth);
	series = &report->profile->series[index];
	json_key(json, "samples");
	json_array(json);
	for (i = 0; i < series->count; i++) {
		json_object(json);
		json_key_uint(json, "time_ns", series->samples[i].time_ns);
		json_key_uint(json, "live_bytes", series->samples[i].live_bytes);
		json_key_uint(json, "alloc_bytes", series->samples[i].alloc_bytes);
		json_end(json);
	}
	json_end(json);
}

static void put_stack(struct json *json, const struct report *report, uint32_t index)
{
	const struct profile_stack *stack = &report->profile->stacks[index];
	const struct profile_counts *counts = &stack->counts;

	json_object(json);
	put_hex(json, "id", stack->id);
	json_key_string(json, "entry",
			stack->hook == FORMAT_NO_HOOK ? NULL : profile_hook_name(stack->hook));
	json_key_bool(json, "inexact", stack->inexact);
	json_key_uint(json, "live_bytes", profile_live_bytes(counts));
	json_key_uint(json, "live_blocks", profile_live_count(counts));
	json_counts(json, counts);
	json_key_int(json, "peak_bytes", counts->peak_bytes);
	json_key_int(json, "peak_blocks", counts->peak_count);
	json_key_uint(json, "temporary_blocks", counts->temporary_count);
	put_bounds(json, report->profile, counts);
	put_series(json, report, index);
	put_classes(json, "sizes", stack->sizes);
	put_classes(json, "lifetimes", stack->lifetimes);
	put_frames(json, report, stack);
	json_end(json);
}

static bool put_stacks(struct json *json, const struct report *report, struct error *err)
{
	uint32_t count, *stacks = sites_stacks(report->sites, NULL, report->key, &count), i;

	if (!stacks)
		return error_set(err, "no memory for %u call stacks", report->profile->stack_count);
	json_key(json, "stacks");
	json_array(json);
	for (i = 0; i < count && (!report->options->top || i < report->options->top); i++)
		put_stack(json, report, stacks[i]);
	json_end(json);
	free(stacks);
	return true;
}

static void put_rss(struct json *json, const struct rss *rss)
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
	json_key_int(json, "unexplained_bytes", waterfall_unexplained(lines));
	json_key_uint(json, "swapped_bytes", lines->swapped);
	json_key_string(json, "allocator", rss_allocator_name(rss->allocator));
	put_known(json, "arenas", lines->arenas);
	json_key_uint(json, "kept_in_arenas_bytes", lines->kept_arenas);
	json_key_uint(json, "stack_count", lines->stacks);
	json_key_uint(json, "heap_bytes", lines->heap);
	json_key_uint(json, "examined_bytes", lines->examined);
	json_key_uint(json, "cost_ns", rss->cost_ns);
	json_end(json);
}

/* What --rss leaves: no call stacks, whose names take their time. */
static bool print_rss_alone(const struct report *report, struct json *json, struct error *err)
{
	const struct profile *profile = report->profile;
	struct rss rss;

	if (!rss_of(profile, &rss, err))
		return false;
	json_begin(json, report->out->file);
	json_object(json);
	json_key_uint(json, "schema", SCHEMA);
	put_process(json, profile);
	put_recorder(json, profile);
	put_totals(json, profile);
	put_losses(json, profile);
	put_rss(json, &rss);
	json_end(json);
	return true;
}

bool view_json(struct report *report, struct error *err)
{
	const struct profile *profile = report->profile;
	struct json json;
	struct rss rss;
	bool ok;

	if (report->options->rss)
		return print_rss_alone(report, &json, err);
	if (!report_find_verdicts(report, err))
		return false;
	json_begin(&json, report->out->file);
	json_object(&json);
	json_key_uint(&json, "schema", SCHEMA);
	put_process(&json, profile);
	put_recorder(&json, profile);
	put_totals(&json, profile);
	put_losses(&json, profile);
	put_rss(&json, rss_recorded(profile, &rss) ? &rss : NULL);
	put_growth(&json, report);
	put_verdicts(&json, report);
	put_limit(&json, report);
	put_timeline(&json, profile);
	put_threads(&json, profile);
	put_modules(&json, profile);
	ok = put_stacks(&json, report, err);
	json_end(&json);
	return ok;
}
