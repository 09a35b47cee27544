/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * massif.c - Massif's output file, as ms_print reads it: the timeline as snapshots, the peak and the end with trees.
 *
 * Massif's own limits are taken over: call stacks are shown to a depth of 64, and what holds less than 0.1 % of a
 * snapshot is summed up.  '#' begins a comment and becomes ':' in names.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/clean.h"
#include "export/massif_tree.h"
#include "export/order.h"

enum { SNAPSHOTS = 200, THRESHOLD_PART = 1000, NS_IN_MS = 1000000 };

struct writer {
	const struct profile *profile;
	struct frames frames;
	uint32_t *order;
	uint32_t number; /* of the next snapshot */
	FILE *file;
};

static void put_snapshot(struct writer *writer, uint64_t time_ns, uint64_t bytes, const char *tree)
{
	fprintf(writer->file, "#-----------\nsnapshot=%" PRIu32 "\n#-----------\n",
		writer->number++);
	fprintf(writer->file, "time=%" PRIu64 "\nmem_heap_B=%" PRIu64 "\n", time_ns / NS_IN_MS,
		bytes);
	fprintf(writer->file, "mem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n", tree);
}

static bool put_detailed(struct writer *writer, uint64_t time_ns, enum export_value value,
			 const char *kind)
{
	struct massif_tree tree = {&writer->frames, writer->order, writer->file, 0};
	uint64_t total = massif_tree_sum(writer->profile, value);

	/* Of the peak its size is exact, and the composition that of a moment close to it. */
	if (value == EXPORT_PEAK && total < export_peak(writer->profile))
		total = export_peak(writer->profile);
	tree.threshold = total / THRESHOLD_PART;
	put_snapshot(writer, time_ns, total, kind);
	return massif_tree_put(&tree, value, total);
}

/* The points of [since, until), of very many only some. */
static void put_points(struct writer *writer, uint64_t since, uint64_t until)
{
	const struct profile *profile = writer->profile;
	uint32_t step = profile->point_count / SNAPSHOTS + 1, i;

	for (i = 0; i < profile->point_count; i += step) {
		const struct profile_point *point = &profile->points[i];

		if (point->time_ns >= since && point->time_ns < until)
			put_snapshot(writer, point->time_ns, point->live_bytes, "empty");
	}
}

static void put_command(const struct profile *profile, FILE *file)
{
	size_t at = 0;

	fputs("cmd:", file);
	while (at < profile->command_size) {
		char *word = strndup(profile->command + at, profile->command_size - at);
		char *clean = word ? clean_text(word, "#") : NULL;

		fprintf(file, " %s", clean ? clean : "?");
		at += (word ? strlen(word) : profile->command_size - at) + 1;
		free(clean);
		free(word);
	}
	if (profile->command_size == 0)
		fputs(" ?", file);
	fputc('\n', file);
}

static bool put_all(struct writer *writer)
{
	const struct profile *profile = writer->profile;
	uint64_t end = profile->duration_ns, peak_ns = export_peak_ns(profile);

	if (profile->header.sample_bytes)
		fprintf(writer->file,
			"desc: pmem, estimates from a sample, one byte in %" PRIu64 "\n",
			profile->header.sample_bytes);
	else
		fputs("desc: pmem\n", writer->file);
	put_command(profile, writer->file);
	fputs("time_unit: ms\n", writer->file);
	put_snapshot(writer, 0, 0, "empty");
	/* Of what the program maps call stacks have peaks of their own only, at different times. */
	if (profile->is_mapped) {
		put_points(writer, 0, end);
		return put_detailed(writer, end, EXPORT_LIVE, "detailed");
	}
	if (export_peak(profile) <= profile_live_bytes(&profile->totals)) {
		put_points(writer, 0, end);
		return put_detailed(writer, end, EXPORT_LIVE, "peak");
	}
	put_points(writer, 0, peak_ns);
	if (!put_detailed(writer, peak_ns, EXPORT_PEAK, "peak"))
		return false;
	put_points(writer, peak_ns, end);
	return put_detailed(writer, end, EXPORT_LIVE, "detailed");
}

bool export_massif(const struct export_source *source, FILE *file, struct error *err)
{
	struct writer writer = {.profile = source->profile, .file = file};
	bool ok;

	if (!frames_open(&writer.frames, source, "#", err))
		return false;
	writer.order = order_stacks(source->profile);
	ok = writer.order && put_all(&writer);
	free(writer.order);
	frames_close(&writer.frames);
	return ok || error_set(err, "no memory for the call stacks");
}
