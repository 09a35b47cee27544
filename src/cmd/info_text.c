/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * info_text.c - see info_text.h.  What is as usual is said in few words or not at all.
 */
#include "cmd/info_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "profile/estimate.h"

static uint64_t get(const _Atomic uint64_t *field)
{
	return atomic_load_explicit(field, memory_order_relaxed);
}

static void begin(const struct output *out, const char *label)
{
	fprintf(out->file, "  %s%-10s%s ", output_style(out, OUTPUT_DIM), label,
		output_style(out, OUTPUT_PLAIN));
}

static void end(const struct output *out)
{
	fputc('\n', out->file);
}

/* A line with a text from the file; none without one. */
static void put_fact(const struct output *out, const char *label, const char *text)
{
	if (!text[0])
		return;
	begin(out, label);
	output_safe(out, text);
	end(out);
}

const char *info_text_state(const struct profile *profile)
{
	uint32_t state = atomic_load_explicit(&profile->header.state, memory_order_relaxed);

	if (state == FORMAT_STATE_ENDED)
		return "ended";
	if (state == FORMAT_STATE_STOPPED)
		return "stopped";
	return profile->is_live ? "running" : "cut off";
}

static void put_title(const struct profile *profile, const struct output *out)
{
	char date[UNITS_SIZE], duration[UNITS_SIZE];

	output_safe(out, profile->program_name[0] ? profile->program_name : "(unknown program)");
	fprintf(out->file, " (pid %" PRIu32 "), %s, %s    ", profile->header.pid,
		units_date(profile->header.start_realtime_ns, date),
		units_duration(profile->duration_ns, duration));
	output_safe(out, profile->path);
	fputs("\n\n", out->file);
}

static void put_recorded(const struct profile *profile, const struct output *out)
{
	char bytes[UNITS_SIZE];

	begin(out, "recorded");
	if (profile->header.sample_bytes > 0)
		fprintf(out->file, "a sample of the allocations, one every %s on average",
			units_bytes(profile->header.sample_bytes, bytes));
	else
		fputs("every allocation with its call stack", out->file);
	if (profile->header.lifetime_sample > 0 && !profile->header.sample_bytes)
		fprintf(out->file, "; the lifetime of one block in %" PRIu64,
			profile->header.lifetime_sample);
	if (profile->header.max_overhead)
		fprintf(out->file, "; %.4g %% of the CPU time for capturing call stacks",
			profile->header.max_overhead / 10.0);
	fputs("; by pmem ", out->file);
	output_safe(out, profile->header.recorder[0] ? profile->header.recorder : "(unknown)");
	end(out);
}

static void put_state(const struct profile *profile, const struct output *out)
{
	const char *state = info_text_state(profile);

	begin(out, "state");
	if (strcmp(state, "cut off") == 0)
		state = "cut off: the process was killed, or executed another program";
	else if (strcmp(state, "stopped") == 0)
		state = "stopped before the process ended";
	fprintf(out->file, "%s\n", state);
}

static void put_command(const struct profile *profile, const struct output *out)
{
	const char *at = profile->command;
	const char *end_of_all = profile->command + profile->command_size;

	if (profile->command_size == 0)
		return;
	begin(out, "command");
	while (at < end_of_all) {
		if (at != profile->command)
			fputc(' ', out->file);
		output_safe(out, at);
		at += strlen(at) + 1;
	}
	end(out);
}

static void put_process(const struct profile *profile, const struct output *out)
{
	const struct format_header *header = &profile->header;

	begin(out, "process");
	fprintf(out->file, "pid %" PRIu32 ", parent %" PRIu32, header->pid, header->parent_pid);
	if (header->forked)
		fputs(", forked by a recorded process", out->file);
	if (header->image > 1)
		fprintf(out->file, ", profile %" PRIu32 " of this name", header->image);
	if (header->run_id > 0)
		fprintf(out->file, ", run %016" PRIx64, header->run_id);
	end(out);
	put_fact(out, "program", profile->program);
	put_command(profile, out);
	put_fact(out, "directory", profile->directory);
	put_fact(out, "host", profile->host);
	put_fact(out, "cgroup", profile->cgroup);
}

static void put_heap(const struct profile *profile, const struct output *out)
{
	char live[UNITS_SIZE], peak[UNITS_SIZE], all[UNITS_SIZE], calls[UNITS_SIZE];

	begin(out, "heap");
	fprintf(out->file, "%s live, peak %s, %s allocated in %s call%s\n",
		estimate_bytes(profile_live_bytes(&profile->totals), profile->header.sample_bytes,
			       live),
		estimate_bytes(get(&profile->header.peak_bytes), profile->header.sample_bytes, peak),
		units_bytes(profile->totals.alloc_bytes, all),
		units_count(profile->totals.alloc_count, calls),
		profile->totals.alloc_count == 1 ? "" : "s");
}

static void put_mapped(const struct profile *profile, const struct output *out)
{
	char now[UNITS_SIZE], peak[UNITS_SIZE], all[UNITS_SIZE], calls[UNITS_SIZE];
	const struct profile *mapped = profile->mapped;

	if (!profile_maps(profile))
		return;
	begin(out, "mapped");
	fprintf(out->file,
		"%s by the program itself (mmap), peak %s, %s in all in %s call%s; no part of the "
		"heap\n",
		units_bytes(profile_live_bytes(&mapped->totals), now),
		units_bytes(get(&mapped->header.peak_bytes), peak),
		units_bytes(mapped->totals.alloc_bytes, all),
		units_count(mapped->totals.alloc_count, calls),
		mapped->totals.alloc_count == 1 ? "" : "s");
}

static void put_count(const struct output *out, uint64_t count, const char *one, const char *more)
{
	char text[UNITS_SIZE];

	fprintf(out->file, "%s %s", units_count(count, text), count == 1 ? one : more);
}

static void put_contents(const struct profile *profile, const struct output *out)
{
	begin(out, "contents");
	put_count(out, profile->stack_count, "call stack", "call stacks");
	fputs(", ", out->file);
	put_count(out, profile->node_count - 1, "node", "nodes");
	fputs(", ", out->file);
	put_count(out, profile->module_count - 1, "module", "modules");
	fputs(", ", out->file);
	put_count(out, profile->thread_count, "thread", "threads");
	fputs(", ", out->file);
	put_count(out, profile->point_count, "point of the timeline", "points of the timeline");
	if (profile->mark_count > 0) {
		fputs(", ", out->file);
		put_count(out, profile->mark_count, "mark", "marks");
	}
	end(out);
}

static void put_losses(const struct profile *profile, const struct output *out)
{
	const char *between = "";
	char count[UNITS_SIZE];

	begin(out, "losses");
	for (uint32_t kind = 0; kind < FORMAT_LOSSES; kind++) {
		uint64_t loss = get(&profile->header.losses[kind]);

		if (loss == 0)
			continue;
		if (kind < FORMAT_LOSS_KINDS)
			fprintf(out->file, "%s%s %s", between, profile_loss_name(kind),
				units_count(loss, count));
		else
			fprintf(out->file, "%skind %" PRIu32 " %s", between, kind,
				units_count(loss, count));
		between = ", ";
	}
	fprintf(out->file, "%s\n", between[0] ? "" : "nothing lost");
}

/* What happened beside the recorder. */
static void put_coverage(const struct profile *profile, const struct output *out)
{
	uint64_t inherited = get(&profile->header.inherited_freed);
	uint64_t unknown = get(&profile->header.unknown_freed);
	uint32_t inexact = 0;
	char text[UNITS_SIZE];

	for (uint32_t i = 0; i < profile->stack_count; i++)
		inexact += profile->stacks[i].inexact;
	begin(out, "coverage");
	if (inherited + unknown + inexact == 0)
		fputs("every block that was freed had been seen allocated", out->file);
	if (inherited > 0)
		fprintf(out->file, "%s frees of blocks from before fork",
			units_count(inherited, text));
	if (unknown > 0)
		fprintf(out->file, "%s%s frees of blocks that were allocated unseen",
			inherited > 0 ? "; " : "", units_count(unknown, text));
	if (inexact > 0)
		fprintf(out->file, "%sthe figures of %" PRIu32 " call stacks are estimates",
			inherited + unknown > 0 ? "; " : "", inexact);
	end(out);
}

static void put_limits(const struct profile *profile, const struct output *out)
{
	uint64_t group = profile->header.cgroup_limit;
	uint64_t address = profile->header.address_limit, data = profile->header.data_limit;
	char text[UNITS_SIZE];

	if (profile->refused_setting[0]) {
		begin(out, "settings");
		fputs("not understood, default used: ", out->file);
		output_safe(out, profile->refused_setting);
		end(out);
	}
	begin(out, "limits");
	fprintf(out->file, "memory of the cgroup: %s",
		group ? units_bytes(group, text) : "none known");
	fprintf(out->file, "; address space: %s", address ? units_bytes(address, text) : "none");
	fprintf(out->file, "; data: %s\n", data ? units_bytes(data, text) : "none");
}

static void put_cost(const struct profile *profile, const struct output *out)
{
	const struct format_header *header = &profile->header;
	uint64_t whole_ns = profile->duration_ns;
	char text[UNITS_SIZE];

	begin(out, "disk");
	fprintf(out->file, "%s\n", units_bytes(profile->file_bytes, text));
	begin(out, "cost");
	if (get(&header->own_bytes) > 0)
		fprintf(out->file, "%s of memory; ", units_bytes(get(&header->own_bytes), text));
	put_count(out, get(&header->snapshot_count), "snapshot", "snapshots");
	fprintf(out->file, ", %s of the time",
		units_share(get(&header->snapshot_ns), whole_ns, text));
	fprintf(out->file, "; timeline %s of the time\n",
		units_share(get(&header->timeline_ns), whole_ns, text));
}

/* Where the file is not all that was recorded. */
static void put_partial(const struct profile *profile, const struct output *out)
{
	const struct format_header *header = &profile->header;
	uint32_t blocks = atomic_load_explicit(&header->memory_blocks, memory_order_relaxed);
	uint32_t error = atomic_load_explicit(&header->file_error, memory_order_relaxed);
	uint64_t flushed_ns = get(&header->flushed_ns);
	char size[UNITS_SIZE], when[UNITS_SIZE];

	if (blocks > 0) {
		begin(out, "partial");
		fprintf(out->file, "%s found no room in the file",
			units_bytes((uint64_t)blocks * FORMAT_BLOCK_SIZE, size));
		if (error > 0)
			fprintf(out->file, " (%s)", strerror((int)(error & 0xffff)));
		if (flushed_ns > 0)
			fprintf(out->file, ": the state after %s is shown\n",
				units_duration(flushed_ns, when));
		else
			fputs(" and is missing\n", out->file);
	}
	if (profile->damage_count == 0)
		return;
	begin(out, blocks > 0 ? "" : "partial");
	fprintf(out->file, "%s%s%s: ", output_style(out, OUTPUT_RED), profile_damage_words(profile),
		output_style(out, OUTPUT_PLAIN));
	output_safe(out, profile->damage);
	if (profile->damage_unlisted > 0)
		fprintf(out->file, ", and %" PRIu32 " more", profile->damage_unlisted);
	end(out);
}

void info_text_print(const struct profile *profile, const struct output *out)
{
	put_title(profile, out);
	put_state(profile, out);
	put_partial(profile, out);
	put_recorded(profile, out);
	put_heap(profile, out);
	put_mapped(profile, out);
	put_losses(profile, out);
	put_coverage(profile, out);
	put_contents(profile, out);
	put_process(profile, out);
	put_limits(profile, out);
	put_cost(profile, out);
}
