/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * info_json.c - see info_json.h.  Times are in nanoseconds, sizes in bytes.
 */
#include "cmd/info_json.h"

#include <string.h>

#include "base/json.h"
#include "cmd/info_text.h"

static uint64_t get(const _Atomic uint64_t *field)
{
	return atomic_load_explicit(field, memory_order_relaxed);
}

static uint32_t get32(const _Atomic uint32_t *field)
{
	return atomic_load_explicit(field, memory_order_relaxed);
}

static void open_object(struct json *json, const char *key)
{
	json_key(json, key);
	json_object(json);
}

static void put_command(struct json *json, const struct profile *profile)
{
	const char *at = profile->command;

	json_key(json, "cmdline");
	json_array(json);
	while (at < profile->command + profile->command_size) {
		json_string(json, at);
		at += strlen(at) + 1;
	}
	json_end(json);
}

static void put_process(struct json *json, const struct profile *profile)
{
	const struct format_header *header = &profile->header;

	open_object(json, "process");
	json_key_uint(json, "pid", header->pid);
	json_key_uint(json, "parent_pid", header->parent_pid);
	json_key_string(json, "exe", profile->program);
	put_command(json, profile);
	json_key_string(json, "directory", profile->directory);
	json_key_string(json, "host", profile->host);
	json_key_string(json, "cgroup", profile->cgroup);
	json_key_uint(json, "start_realtime_ns", header->start_realtime_ns);
	json_key_uint(json, "duration_ns", profile->duration_ns);
	json_key_bool(json, "forked", header->forked != 0);
	json_key_uint(json, "image", header->image);
	json_key_uint(json, "run_id", header->run_id);
	json_key_uint(json, "cgroup_limit", header->cgroup_limit);
	json_key_uint(json, "address_limit", header->address_limit);
	json_key_uint(json, "data_limit", header->data_limit);
	json_end(json);
}

static void put_recording(struct json *json, const struct profile *profile)
{
	const struct format_header *header = &profile->header;

	open_object(json, "recording");
	json_key_string(json, "version", header->recorder);
	json_key_uint(json, "format", header->version);
	json_key_string(json, "state", info_text_state(profile));
	json_key_uint(json, "sample_bytes", header->sample_bytes);
	json_key_uint(json, "max_overhead", header->max_overhead);
	json_key_uint(json, "lifetime_sample", header->lifetime_sample);
	json_key_string(json, "refused_setting",
			profile->refused_setting[0] ? profile->refused_setting : NULL);
	json_end(json);
}

static void put_totals(struct json *json, const struct profile *profile)
{
	const struct profile_counts *totals = &profile->totals;

	open_object(json, "totals");
	json_key_uint(json, "live_bytes", profile_live_bytes(totals));
	json_key_uint(json, "live_blocks", profile_live_count(totals));
	json_key_uint(json, "alloc_bytes", totals->alloc_bytes);
	json_key_uint(json, "alloc_blocks", totals->alloc_count);
	json_key_uint(json, "free_bytes", totals->free_bytes);
	json_key_uint(json, "free_blocks", totals->free_count);
	json_key_uint(json, "peak_live_bytes", get(&profile->header.peak_bytes));
	json_key_uint(json, "temporary_blocks", totals->temporary_count);
	json_end(json);
}

/* What the program maps itself; zeros if that is nothing. */
static void put_mappings(struct json *json, const struct profile *profile)
{
	const struct profile *mapped = profile->mapped;

	open_object(json, "mappings");
	json_key_uint(json, "mapped_bytes", profile_live_bytes(&mapped->totals));
	json_key_uint(json, "mapped_in_all_bytes", mapped->totals.alloc_bytes);
	json_key_uint(json, "unmapped_bytes", mapped->totals.free_bytes);
	json_key_uint(json, "calls", mapped->totals.alloc_count);
	json_key_uint(json, "peak_bytes", get(&mapped->header.peak_bytes));
	json_key_uint(json, "stacks", mapped->stack_count);
	json_end(json);
}

static void put_counts(struct json *json, const struct profile *profile)
{
	open_object(json, "counts");
	json_key_uint(json, "stacks", profile->stack_count);
	json_key_uint(json, "nodes", profile->node_count - 1);
	json_key_uint(json, "modules", profile->module_count - 1);
	json_key_uint(json, "threads", profile->thread_count);
	json_key_uint(json, "points", profile->point_count);
	json_key_uint(json, "series", profile->series_count);
	json_key_uint(json, "marks", profile->mark_count);
	json_end(json);
}

static void put_losses(struct json *json, const struct profile *profile)
{
	open_object(json, "losses");
	for (uint32_t kind = 0; kind < FORMAT_LOSS_KINDS; kind++)
		json_key_uint(json, profile_loss_name(kind), get(&profile->header.losses[kind]));
	json_end(json);
	open_object(json, "coverage");
	json_key_uint(json, "inherited_freed", get(&profile->header.inherited_freed));
	json_key_uint(json, "unknown_freed", get(&profile->header.unknown_freed));
	json_key_uint(json, "truncated", get(&profile->header.losses[FORMAT_LOSS_TRUNCATED]));
	json_end(json);
}

static void put_file(struct json *json, const struct profile *profile)
{
	const struct format_header *header = &profile->header;

	open_object(json, "file");
	json_key_string(json, "path", profile->path);
	json_key_uint(json, "bytes", profile->file_bytes);
	json_key_bool(json, "partial",
		      profile->damage_count > 0 || get32(&header->memory_blocks) > 0);
	json_key_uint(json, "damage_count", profile->damage_count);
	json_key_string(json, "damage", profile->damage[0] ? profile->damage : NULL);
	json_key_uint(json, "memory_blocks", get32(&header->memory_blocks));
	json_key_uint(json, "file_error", get32(&header->file_error));
	json_key_uint(json, "flushed_ns", get(&header->flushed_ns));
	json_end(json);
}

static void put_cost(struct json *json, const struct profile *profile)
{
	const struct format_header *header = &profile->header;

	open_object(json, "cost");
	json_key_uint(json, "own_bytes", get(&header->own_bytes));
	json_key_uint(json, "snapshots", get(&header->snapshot_count));
	json_key_uint(json, "snapshot_ns", get(&header->snapshot_ns));
	json_key_uint(json, "timeline_ns", get(&header->timeline_ns));
	json_end(json);
}

void info_json_print(const struct profile *profile, FILE *file)
{
	struct json json;

	json_begin(&json, file);
	json_object(&json);
	json_key_uint(&json, "schema", 1);
	put_process(&json, profile);
	put_recording(&json, profile);
	put_totals(&json, profile);
	put_mappings(&json, profile);
	put_counts(&json, profile);
	put_losses(&json, profile);
	put_file(&json, profile);
	put_cost(&json, profile);
	json_end(&json);
}
