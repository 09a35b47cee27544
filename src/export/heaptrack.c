/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * heaptrack.c - heaptrack's data file, plain, as heaptrack_print and heaptrack_gui read it; version 2 of it, which all since 1.2 know.
 *
 * That file is the list of all allocations and frees; a profile only knows how many there were.  So a list is made that gives
 * the same sums (heaptrack_plan.h), in three moments: what was freed, while nothing else is live; what the peak consisted of,
 * at its time; what is live in the end.  Sizes of blocks are the mean ones of a call stack.  A free counts
 * as that of a temporary allocation if it follows right after that allocation; where it is none, the free of an
 * empty block that nobody counts stands between.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/clean.h"
#include "export/frames.h"
#include "export/heaptrack_plan.h"

/* Blocks that are listed: there would be no end of a file of a program that ran for days. */
enum { BLOCKS_MAX = 20 * 1000 * 1000, BATCH = 1000, NS_IN_MS = 1000000 };

struct writer {
	const struct profile *profile;
	struct frames frames;
	double share;	      /* of the blocks that are listed */
	uint32_t *trace_of;   /* by node: number of its trace */
	uint32_t *first_info; /* by call stack: number of its first allocation info */
	uint32_t string_count;
	FILE *file;
};

/* Numbers are hexadecimal.  Those of strings, ips and traces begin at 1, those of allocation infos at 0. */
static uint32_t put_string(struct writer *writer, const char *text)
{
	fprintf(writer->file, "s %s\n", text);
	return ++writer->string_count;
}

static void put_command(struct writer *writer)
{
	const struct profile *profile = writer->profile;
	size_t at = 0;

	fputc('X', writer->file);
	while (at < profile->command_size) {
		char *word = strndup(profile->command + at, profile->command_size - at);
		char *clean = word ? clean_text(word, "") : NULL;

		fprintf(writer->file, " %s", clean ? clean : "?");
		at += (word ? strlen(word) : profile->command_size - at) + 1;
		free(clean);
		free(word);
	}
	fputs(profile->command_size ? "\n" : " ?\n", writer->file);
}

/* A frame's function, file and line. */
static void put_frame(struct writer *writer, const struct frame *frame, FILE *line)
{
	uint32_t function = put_string(writer, frame->name), file = 0;

	if (frame->file)
		file = put_string(writer, frame->file);
	fprintf(line, " %" PRIx32 " %" PRIx32 " %" PRIx32, function, file, frame->line);
}

/* Its strings come first.  False: no memory. */
static bool put_ip(struct writer *writer, uint32_t index, const uint32_t *module_strings)
{
	const struct profile_location *location = &writer->profile->locations[index];
	const struct frames *frames = &writer->frames;
	char *text = NULL;
	size_t size;
	FILE *line = open_memstream(&text, &size);
	uint32_t i;

	if (!line)
		return false;
	for (i = frames->first[index]; i < frames->first[index + 1]; i++)
		if (frames->items[i].is_named || i + 1 < frames->first[index + 1])
			put_frame(writer, &frames->items[i], line);
	fclose(line);
	fprintf(writer->file, "i %" PRIx64 " %" PRIx32 "%s\n",
		location->special || !location->address ? 0 : location->address - 1,
		location->special ? 0 : module_strings[location->module], text ? text : "");
	free(text);
	return true;
}

/* The last one stands for call stacks without a frame. */
static bool put_ips(struct writer *writer)
{
	const struct profile *profile = writer->profile;
	uint32_t *strings = calloc((size_t)profile->module_count + 1, sizeof(*strings)), i;
	bool ok = strings;

	for (i = 0; i < profile->module_count && ok; i++)
		strings[i] = put_string(writer, writer->frames.modules[i]);
	for (i = 0; i < profile->location_count && ok; i++)
		ok = put_ip(writer, i, strings);
	if (ok)
		fprintf(writer->file, "i 0 0 %" PRIx32 " 0 0\n", put_string(writer, FRAMES_NONE));
	free(strings);
	return ok;
}

static bool put_traces(struct writer *writer)
{
	const struct profile_node *nodes = writer->profile->nodes;
	uint32_t count = 0, *order = frames_nodes(writer->profile, &count), i;

	for (i = 0; i < count && order; i++) {
		const struct profile_node *node = &nodes[order[i]];

		writer->trace_of[order[i]] = i + 1;
		fprintf(writer->file, "t %" PRIx32 " %" PRIx32 "\n", node->location + 1,
			node->parent ? writer->trace_of[node->parent] : 0);
	}
	writer->trace_of[0] = count + 1;
	fprintf(writer->file, "t %" PRIx32 " 0\n", writer->profile->location_count + 1);
	free(order);
	return order;
}

/* Each group of blocks has two infos: blocks of the mean size, and those a byte larger. */
static void put_infos(struct writer *writer)
{
	const struct profile *profile = writer->profile;
	uint32_t number = 1, i;
	struct plan plan;
	unsigned part;

	fprintf(writer->file, "a 0 %" PRIx32 "\n", writer->trace_of[0]); /* the empty block */
	for (i = 0; i < profile->stack_count; i++) {
		writer->first_info[i] = number;
		plan_make(&profile->stacks[i].counts, writer->share, &plan);
		for (part = 0; part < PLAN_PARTS; part++) {
			uint32_t trace = writer->trace_of[profile->stacks[i].node];
			uint64_t size;

			if (plan.parts[part].count == 0)
				continue;
			size = plan_size(&plan.parts[part]);
			fprintf(writer->file, "a %" PRIx64 " %" PRIx32 "\n", size, trace);
			fprintf(writer->file, "a %" PRIx64 " %" PRIx32 "\n", size + 1, trace);
			number += 2;
		}
	}
}

/* Some blocks of one size. */
struct run {
	uint32_t info;
	uint64_t count;
	uint64_t size;
};

/* Millions of lines: each is made once. */
static void put_lines(FILE *file, const char *line, uint64_t count)
{
	size_t length = strlen(line);

	while (count--)
		fwrite(line, 1, length, file);
}

static void put_events(struct writer *writer, char sign, const struct run *run)
{
	char line[16];

	snprintf(line, sizeof(line), "%c %" PRIx32 "\n", sign, run->info);
	put_lines(writer->file, line, run->count);
}

/* The next free is none of a temporary allocation. */
static void put_break(struct writer *writer)
{
	fputs("- 0\n", writer->file);
}

static void put_temporary(struct writer *writer, const struct run *run)
{
	char lines[32];

	snprintf(lines, sizeof(lines), "+ %" PRIx32 "\n- %" PRIx32 "\n", run->info, run->info);
	put_lines(writer->file, lines, run->count);
}

/* No more at a time than the heap held at its peak. */
static void put_freed(struct writer *writer, const struct run *run)
{
	uint64_t left = run->count, most = BATCH;
	struct run batch = *run;

	if (run->size && export_peak(writer->profile) / run->size < most)
		most = export_peak(writer->profile) / run->size;
	for (; left > 0; left -= batch.count) {
		batch.count = left < most ? left : most ? most : 1;
		put_events(writer, '+', &batch);
		put_break(writer);
		put_events(writer, '-', &batch);
	}
}

typedef void put_run(struct writer *writer, const struct run *run);

static void put_born(struct writer *writer, const struct run *run)
{
	put_events(writer, '+', run);
}

static void put_dead(struct writer *writer, const struct run *run)
{
	put_events(writer, '-', run);
}

/* Runs put() on one part of all call stacks. */
static void put_part(struct writer *writer, enum plan_part wanted, put_run *put)
{
	const struct profile *profile = writer->profile;
	struct plan plan;
	unsigned part;
	uint32_t i;

	for (i = 0; i < profile->stack_count; i++) {
		uint32_t info = writer->first_info[i];

		plan_make(&profile->stacks[i].counts, writer->share, &plan);
		for (part = 0; part < wanted; part++)
			info += plan.parts[part].count ? 2 : 0;
		if (plan.parts[wanted].count) {
			const struct plan_blocks *blocks = &plan.parts[wanted];
			uint64_t large = plan_large_count(blocks), size = plan_size(blocks);

			put(writer, &(struct run){info, blocks->count - large, size});
			put(writer, &(struct run){info + 1, large, size + 1});
		}
	}
}

static uint64_t most_rss(const struct profile *profile)
{
	uint64_t most = 0;
	uint32_t i;

	for (i = 0; i < profile->point_count; i++)
		if (profile->points[i].rss_bytes > most)
			most = profile->points[i].rss_bytes;
	return most;
}

static void put_all_events(struct writer *writer, uint32_t page_size)
{
	const struct profile *profile = writer->profile;

	fputs("c 0\n", writer->file);
	put_part(writer, PLAN_TEMPORARY, put_temporary);
	put_part(writer, PLAN_FREED, put_freed);
	fprintf(writer->file, "c %" PRIx64 "\n", export_peak_ns(profile) / NS_IN_MS);
	put_part(writer, PLAN_KEPT, put_born);
	put_part(writer, PLAN_PEAK_ONLY, put_born);
	fprintf(writer->file, "R %" PRIx64 "\n", most_rss(profile) / page_size);
	put_break(writer);
	put_part(writer, PLAN_PEAK_ONLY, put_dead);
	put_part(writer, PLAN_LIVE_ONLY, put_born);
	fprintf(writer->file, "c %" PRIx64 "\n", profile->duration_ns / NS_IN_MS);
}

static bool put_all(struct writer *writer)
{
	uint32_t page_size = writer->profile->header.page_size;

	page_size = page_size ? page_size : 4096;
	fputs("v 10200 2\n", writer->file);
	put_command(writer);
	fprintf(writer->file, "I %" PRIx32 " 0\n", page_size);
	if (!put_ips(writer) || !put_traces(writer))
		return false;
	put_infos(writer);
	put_all_events(writer, page_size);
	return true;
}

/* How many blocks there are to list, and how many will be.  A damaged profile may have any number. */
static void find_share(struct writer *writer, const struct export_source *source)
{
	const struct profile *profile = writer->profile;
	double all = 0;
	struct plan plan;
	unsigned part;
	uint32_t i;

	writer->share = 1;
	for (i = 0; i < profile->stack_count; i++) {
		plan_make(&profile->stacks[i].counts, 1, &plan);
		for (part = 0; part < PLAN_PARTS; part++)
			all += (double)plan.parts[part].count;
	}
	if (all <= BLOCKS_MAX)
		return;
	writer->share = BLOCKS_MAX / all;
	if (source->note)
		error_set(source->note,
			  "the file lists about %d of %.0f blocks: its numbers of allocations are "
			  "too "
			  "small; bytes live and at the peak are exact",
			  BLOCKS_MAX, all);
}

bool export_heaptrack(const struct export_source *source, FILE *file, struct error *err)
{
	struct writer writer = {.profile = source->profile, .file = file};
	bool ok;

	if (!frames_open(&writer.frames, source, "", err))
		return false;
	writer.trace_of = calloc((size_t)source->profile->node_count + 1, sizeof(uint32_t));
	writer.first_info = calloc((size_t)source->profile->stack_count + 1, sizeof(uint32_t));
	find_share(&writer, source);
	ok = writer.trace_of && writer.first_info && put_all(&writer);
	free(writer.trace_of);
	free(writer.first_info);
	frames_close(&writer.frames);
	return ok || error_set(err, "no memory for the call stacks");
}
