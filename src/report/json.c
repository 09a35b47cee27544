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
#include "profile/pinned.h"
#include "profile/rss.h"
#include "profile/stack_id.h"
#include "profile/when.h"
#include "profile/unseen.h"
#include "report/failed_words.h"
#include "report/json_advice.h"
#include "report/json_counts.h"
#include "report/json_parts.h"
#include "report/json_rss.h"
#include "report/mappings.h"
#include "report/name.h"
#include "report/report.h"

enum { SCHEMA = 1 };

static uint64_t loaded(const _Atomic uint64_t *field)
{
	return atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)field, memory_order_relaxed);
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
	json_parts_text(json, "exe", profile->program);
	put_command(json, profile);
	json_parts_text(json, "directory", profile->directory);
	json_key_string(json, "start", when_iso(header->start_realtime_ns, start));
	json_key_uint(json, "start_realtime_ns", header->start_realtime_ns);
	json_key_uint(json, "duration_ns", profile->duration_ns);
	json_key_string(json, "state", state_name(profile));
	json_end(json);
	json_key(json, "host");
	json_object(json);
	json_parts_text(json, "name", profile->host);
	json_key_string(json, "machine", machine_name(header->machine));
	json_key_uint(json, "page_bytes", header->page_size);
	json_parts_text(json, "cgroup", profile->cgroup);
	json_parts_known(json, "cgroup_limit_bytes", header->cgroup_limit);
	json_parts_known(json, "address_limit_bytes", header->address_limit);
	json_parts_known(json, "data_limit_bytes", header->data_limit);
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
		json_parts_hex(json, "run_id", header->run_id);
	else
		json_key_string(json, "run_id", NULL);
	json_parts_known(json, "sample_bytes", header->sample_bytes);
	json_parts_known(json, "max_overhead", header->max_overhead);
	json_parts_known(json, "lifetime_sample", header->lifetime_sample);
	json_parts_known(json, "own_bytes", loaded(&header->own_bytes));
	json_key_uint(json, "snapshot_ns", loaded(&header->snapshot_ns));
	json_key_uint(json, "timeline_ns", loaded(&header->timeline_ns));
	json_parts_text(json, "refused_setting", profile->refused_setting);
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
	json_parts_text(json, "damage", profile->damage);
	json_parts_text(json, "unseen", unseen_words(profile, unseen) ? unseen : "");
	json_key_bool(json, "complete",
		      !profile_losses(profile) && !profile->damage[0] &&
			      !atomic_load_explicit(&header->memory_blocks, memory_order_relaxed));
	json_end(json);
}

static void put_interval(struct json *json, const struct report *report)
{
	json_key(json, "interval");
	json_object(json);
	json_key_uint(json, "since_ns", report->interval.since_ns);
	json_key_uint(json, "until_ns", report->interval.until_ns);
	json_key_uint(json, "asked_since_ns", report->wanted.since_ns);
	json_key_uint(json, "asked_until_ns", report->wanted.until_ns);
	json_end(json);
}

static void put_limit(struct json *json, const struct report *report)
{
	struct limit limit = {.bytes = 0};
	bool known = verdicts_limit(report->profile, &report->growth, report->verdicts, &limit);

	json_key(json, "limit");
	json_object(json);
	json_key_string(json, "kind", known ? limit_name(limit.kind) : NULL);
	json_parts_known(json, "bytes", limit.bytes);
	json_parts_known(json, "used_bytes", limit.used);
	json_parts_known(json, "left_ns", limit.left_ns);
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
		json_parts_known(json, "alloc_bytes", point->alloc_bytes);
		json_parts_known(json, "alloc_blocks", point->alloc_count);
		json_parts_known(json, "rss_bytes", point->rss_bytes);
		json_key_uint(json, "lost_events", point->lost_events);
		json_key_uint(json, "mapped_bytes", point->mapped_bytes);
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
		json_parts_text(json, "name", thread->name);
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
	json_parts_text(json, "build_id", text);
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
		json_parts_known(json, "unload_ns", module->unload_ns);
		json_end(json);
	}
	json_end(json);
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

static void put_stack(struct json *json, const struct report *report, uint32_t index)
{
	const struct profile *profile = report->profile;
	const struct profile_stack *stack = &profile->stacks[index];
	const struct profile_counts *counts = &stack->counts;
	uint64_t classes[FORMAT_CLASSES];

	json_object(json);
	json_parts_hex(json, "id", stack_id(profile, stack));
	json_key_string(json, "entry",
			stack->hook == FORMAT_NO_HOOK ? NULL : profile_hook_name(stack->hook));
	json_key_bool(json, "inexact", stack->inexact);
	json_key_uint(json, "live_bytes", profile_live_bytes(counts));
	json_key_uint(json, "live_blocks", profile_live_count(counts));
	json_counts(json, counts);
	json_key_int(json, "peak_bytes", counts->peak_bytes);
	json_key_int(json, "peak_blocks", counts->peak_count);
	json_key_uint(json, "temporary_blocks", counts->temporary_count);
	put_bounds(json, profile, counts);
	json_parts_series(json, report, index);
	put_classes(json, "sizes", profile_sizes(profile, stack, classes) ? classes : NULL);
	put_classes(json, "lifetimes", profile_lifetimes(profile, stack, classes) ? classes : NULL);
	json_parts_frames(json, report, stack);
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

static void begin_document(const struct report *report, struct json *json)
{
	json_begin(json, report->out->file);
	json_object(json);
	json_key_uint(json, "schema", SCHEMA);
	put_process(json, report->profile);
	put_recorder(json, report->profile);
}

static bool no_memory(const struct report *report, struct error *err)
{
	return error_set(err, "no memory for %u call stacks", report->profile->stack_count);
}

/* What --rss leaves: no call stacks, whose names take their time. */
static bool print_rss_alone(const struct report *report, struct json *json, struct error *err)
{
	struct rss rss;

	if (!rss_of(report->profile, &rss, err))
		return false;
	begin_document(report, json);
	put_totals(json, report->profile);
	put_losses(json, report->profile);
	json_rss(json, &rss);
	json_end(json);
	return true;
}

/* What --pinned leaves. */
static bool print_pinned_alone(const struct report *report, struct json *json, struct error *err)
{
	struct pinned *pinned;
	bool done;

	if (!report_refuse_interval(report, err) || !pinned_of(report->profile, &pinned, err))
		return false;
	begin_document(report, json);
	put_totals(json, report->profile);
	put_losses(json, report->profile);
	json_rss(json, &pinned->rss);
	done = json_pinned(json, report, pinned);
	json_end(json);
	pinned_free(pinned);
	return done || no_memory(report, err);
}

/* What --advice leaves.  Without slack where that may not be looked at. */
static bool print_advice_alone(const struct report *report, struct json *json, struct error *err)
{
	struct pinned *pinned = NULL;
	struct error ignored;
	bool done;

	if (!report_refuse_interval(report, err))
		return false;
	pinned_of(report->profile, &pinned, &ignored);
	begin_document(report, json);
	put_totals(json, report->profile);
	put_losses(json, report->profile);
	done = json_advice(json, report, pinned, err);
	json_end(json);
	pinned_free(pinned);
	return done;
}

/* What --mappings leaves. */
static bool print_mappings_alone(const struct report *report, struct json *json, struct error *err)
{
	bool ok;

	begin_document(report, json);
	put_losses(json, report->profile);
	json_parts_frame_table(json, report);
	ok = mappings_json(report, json, err);
	json_end(json);
	return ok;
}

/* What was recorded, and follows from that. */
static bool put_recorded(struct json *json, const struct report *report, struct error *err)
{
	struct pinned *pinned = pinned_recorded(report->profile);
	struct rss rss;
	bool known = rss_recorded(report->profile, &rss), done;

	json_rss(json, known ? &rss : NULL);
	json_retained(json, report->profile, known ? &rss : NULL);
	done = json_pinned(json, report, pinned) ? json_advice(json, report, pinned, err)
						 : no_memory(report, err);
	pinned_free(pinned);
	return done;
}

static bool print_all(struct report *report, struct json *json, struct error *err)
{
	const struct profile *profile = report->profile;
	bool ok;

	begin_document(report, json);
	put_totals(json, profile);
	put_losses(json, profile);
	ok = put_recorded(json, report, err);
	failed_words_json(json, report);
	json_parts_growth(json, report);
	put_interval(json, report);
	json_parts_verdicts(json, report);
	put_limit(json, report);
	put_timeline(json, profile);
	put_threads(json, profile);
	put_modules(json, profile);
	json_parts_frame_table(json, report);
	ok = ok && mappings_json(report, json, err) && put_stacks(json, report, err);
	json_end(json);
	return ok;
}

bool view_json(struct report *report, struct error *err)
{
	struct json json;

	if (report->options->rss)
		return print_rss_alone(report, &json, err);
	if (report->options->mappings)
		return print_mappings_alone(report, &json, err);
	if (report->options->pinned)
		return print_pinned_alone(report, &json, err);
	if (report->options->advice)
		return print_advice_alone(report, &json, err);
	return report_find_verdicts(report, err) && print_all(report, &json, err);
}
