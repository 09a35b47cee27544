/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * csv.c - one row for each call stack, for spreadsheets: RFC 4180, UTF-8, lines end with CR LF.
 *
 * Bytes and counts are plain integers.  What is not known is an empty field.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profile/estimate.h"
#include "profile/stack_id.h"
#include "report/csv_field.h"
#include "report/name.h"
#include "report/report.h"

static void put_site(const struct report *report, uint32_t stack, FILE *file)
{
	struct name name = name_of_place(report, report->sites->of_stack[stack]);
	const struct profile_location *location = &report->profile->locations[name.location];
	char *function = name_function_full(report, &name);

	csv_field(file, function ? function : "");
	fputc(',', file);
	csv_field(file, location->special ? "" : report->profile->modules[location->module].path);
	fputc(',', file);
	csv_field(file, name.symbol->file ? name.symbol->file : "");
	fputc(',', file);
	if (name.symbol->line)
		fprintf(file, "%" PRIu32, name.symbol->line);
	free(function);
}

/* Innermost first, ";" between them. */
static void put_frames(const struct report *report, uint32_t node, FILE *file)
{
	const struct profile_node *nodes = report->profile->nodes;
	char *text = NULL;
	size_t size;
	FILE *frames = open_memstream(&text, &size);
	bool first = true;

	if (!frames)
		return;
	for (; node != 0; node = nodes[node].parent) {
		const struct symbol *found;
		size_t count = names_at(report->names, nodes[node].location, &found), i;

		for (i = 0; i < count; i++) {
			struct name name = {nodes[node].location, &found[i]};
			char *function = name_function_full(report, &name);

			fprintf(frames, "%s%s", first ? "" : ";", function ? function : "?");
			free(function);
			first = false;
		}
	}
	fclose(frames);
	csv_field(file, text ? text : "");
	free(text);
}

/* Columns that only a sample has. */
static void put_interval(const struct report *report, uint64_t live)
{
	uint64_t mean = report->profile->header.sample_bytes;
	struct estimate interval = estimate_of(live, mean);

	if (mean)
		fprintf(report->out->file, ",%" PRIu64 ",%" PRIu64, interval.low, interval.high);
}

static void put_row(const struct report *report, uint32_t stack)
{
	const struct profile_stack *from = &report->profile->stacks[stack];
	const struct profile_counts *counts = &from->counts;
	FILE *file = report->out->file;
	struct sites_counts under;

	sites_stack(report->sites, stack, &under);
	fprintf(file, "%016" PRIx64 ",%s,", stack_id(report->profile, from),
		from->hook == FORMAT_NO_HOOK ? "" : profile_hook_name(from->hook));
	put_site(report, stack, file);
	fprintf(file, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64,
		profile_live_bytes(counts), profile_live_count(counts), counts->alloc_bytes,
		counts->alloc_count, counts->free_bytes, counts->free_count);
	fprintf(file, ",%" PRId64 ",%" PRId64 ",%" PRIu64 ",", counts->peak_bytes,
		counts->peak_count, counts->temporary_count);
	if (report->sites->series[stack] != SITES_NONE)
		fprintf(file, "%" PRId64, under.growth);
	fprintf(file, ",%d,", from->inexact);
	put_frames(report, from->node, file);
	put_interval(report, profile_live_bytes(counts));
	fputs("\r\n", file);
}

bool view_csv(struct report *report, struct error *err)
{
	uint32_t count, *stacks = sites_stacks(report->sites, NULL, report->key, &count), i;

	if (!stacks)
		return error_set(err, "no memory for %u call stacks", report->profile->stack_count);
	fputs("id,entry,function,module,file,line,live_bytes,live_blocks,alloc_bytes,alloc_blocks,"
	      "free_bytes,free_blocks,peak_bytes,peak_blocks,temporary_blocks,growth_bytes,inexact,"
	      "frames",
	      report->out->file);
	fputs(report->profile->header.sample_bytes ? ",live_bytes_low,live_bytes_high\r\n" : "\r\n",
	      report->out->file);
	for (i = 0; i < count && (!report->options->top || i < report->options->top); i++)
		put_row(report, stacks[i]);
	free(stacks);
	return true;
}
