/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diff_csv.c - a comparison as a table for spreadsheets: RFC 4180, UTF-8, lines end with CR LF.
 *
 * What is not known is an empty field.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "report/csv_field.h"
#include "report/diff.h"

static void put_site(const struct diff_page *page, const struct diff_row *row, FILE *file)
{
	const struct report *report;
	struct name name = diff_page_name(page, row, &report);
	const struct profile_location *location = &report->profile->locations[name.location];
	char *function = name_function_full(report, &name);

	fprintf(file, "%s,", diff_page_state(diff_state(row)));
	csv_field(file, function);
	fputc(',', file);
	csv_field(file, location->special ? "" : report->profile->modules[location->module].path);
	fputc(',', file);
	csv_field(file, name.symbol->file);
	fputc(',', file);
	if (name.symbol->line)
		fprintf(file, "%" PRIu32, name.symbol->line);
	free(function);
}

static void put_counts(const struct diff_page *page, const struct diff_row *row, FILE *file)
{
	bool is_timed = page->diff->is_timed;

	for (unsigned side = 0; side < DIFF_SIDES; side++)
		fprintf(file, ",%" PRIu64, row->counts[side].live_bytes);
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		fprintf(file, ",%" PRIu64, row->counts[side].alloc_bytes);
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		const struct sites_counts *counts = &row->counts[side];

		if (is_timed)
			fputs(",,,,", file);
		else
			fprintf(file, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRId64,
				counts->live_count, counts->alloc_count, counts->temporary_count,
				counts->peak_bytes);
	}
	fprintf(file, ",%d,", row->inexact);
}

/* Innermost first, ";" between them. */
static void put_frames(const struct diff_page *page, const struct diff_row *row, FILE *file)
{
	const struct report *side = &page->sides[diff_shown_side(row)];
	const struct profile_node *nodes = side->profile->nodes;
	uint32_t node = side->profile->stacks[row->stack[diff_shown_side(row)]].node;
	char *text = NULL;
	size_t size;
	FILE *frames = open_memstream(&text, &size);

	if (!frames)
		return;
	for (; node != 0; node = nodes[node].parent) {
		const struct symbol *found;
		size_t count = names_at(side->names, nodes[node].location, &found);

		for (size_t i = 0; i < count; i++) {
			struct name name = {nodes[node].location, &found[i]};
			char *function = name_function_full(side, &name);

			fprintf(frames, "%s%s", function ? function : "?",
				i + 1 < count || nodes[node].parent ? ";" : "");
			free(function);
		}
	}
	fclose(frames);
	csv_field(file, text);
	free(text);
}

void diff_page_csv(const struct diff_page *page)
{
	const struct diff *diff = page->diff;
	const struct diff_row *rows = page->options->stacks ? diff->stacks : diff->sites;
	uint32_t count = page->options->stacks ? diff->stack_count : diff->site_count;
	FILE *file = page->out->file;

	count = diff_page_rows(page, count, 0);
	fputs("state,function,module,file,line,live_bytes_a,live_bytes_b,alloc_bytes_a,"
	      "alloc_bytes_b,live_blocks_a,alloc_blocks_a,temporary_blocks_a,peak_bytes_a,"
	      "live_blocks_b,alloc_blocks_b,temporary_blocks_b,peak_bytes_b,inexact,frames\r\n",
	      file);
	for (uint32_t i = 0; i < count; i++) {
		put_site(page, &rows[i], file);
		put_counts(page, &rows[i], file);
		if (page->options->stacks)
			put_frames(page, &rows[i], file);
		fputs("\r\n", file);
	}
}
