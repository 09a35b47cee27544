/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * log.c - a profile's state as one snapshot of the text log.  doc/LOG.md is normative.
 *
 * What differs from a log that the recorder wrote: churn is everything since start, its threshold is 0, for there
 * is none; and the address of entry points is 0, for a profile does not have it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/output.h"
#include "export/export.h"
#include "profile/stack_id.h"
#include "profile/when.h"

enum { RULER = 57 };

static void put_safe(FILE *file, const char *text)
{
	struct output out = {.file = file};

	output_safe(&out, text);
}

static void put_top(const struct profile *profile, FILE *file)
{
	char start[WHEN_SIZE];

	fputs("# pmem log of ", file);
	put_safe(file, profile->program[0] ? profile->program : "?");
	fprintf(file, ", pid %" PRIu32 ", start %s, version ", profile->header.pid,
		when_iso(profile->header.start_realtime_ns, start));
	if (profile->header.recorder[0]) {
		char version[sizeof(profile->header.recorder) + 1];

		snprintf(version, sizeof(version), "%.*s", (int)sizeof(profile->header.recorder),
			 profile->header.recorder);
		for (char *at = version; (at = strpbrk(at, " \t"));)
			*at = '_';
		put_safe(file, version);
	} else {
		fputc('?', file);
	}
	fputc('\n', file);
	if (profile->header.sample_bytes)
		fprintf(file,
			"# sampled: one byte in %" PRIu64
			" on average; all figures are estimates\n",
			profile->header.sample_bytes);
	if (profile->refused_setting[0]) {
		fputs("# refused setting, default used: ", file);
		put_safe(file, profile->refused_setting);
		fputc('\n', file);
	}
	if (profile->damage[0]) {
		fputs("# partial profile: ", file);
		put_safe(file, profile->damage);
		fputc('\n', file);
	}
}

static void put_losses(const struct profile *profile, FILE *file)
{
	uint32_t kind;

	fprintf(file, " lost=%" PRIu64, profile_losses(profile));
	for (kind = 0; kind < FORMAT_LOSS_KINDS; kind++)
		if (export_header(&profile->header.losses[kind]))
			fprintf(file, " %s=%" PRIu64, profile_loss_name(kind),
				export_header(&profile->header.losses[kind]));
	if (export_header(&profile->header.inherited_freed))
		fprintf(file, " inherited_freed=%" PRIu64,
			export_header(&profile->header.inherited_freed));
	if (export_header(&profile->header.unknown_freed))
		fprintf(file, " unknown_freed=%" PRIu64,
			export_header(&profile->header.unknown_freed));
	fputc('\n', file);
}

static void put_mappings(const struct profile *profile, FILE *file)
{
	const struct profile_counts *totals;

	if (!profile_maps(profile))
		return;
	totals = &profile->mapped->totals;
	fprintf(file,
		"# mappings: %" PRIu64 " mapped now, %" PRIu64 " in all, %" PRIu64
		" unmapped, calls %" PRIu64 "\n",
		profile_live_bytes(totals), totals->alloc_bytes, totals->free_bytes,
		totals->alloc_count);
}

/* Without the names that the log has there. */
static void put_failures(const struct profile *profile, FILE *file)
{
	const struct profile_failure *first = profile->failures;
	uint64_t count = export_header(&profile->header.losses[FORMAT_LOSS_FAILURES]), bytes = 0;

	for (uint32_t i = 0; i < profile->failure_count; i++) {
		count += profile->failures[i].count;
		if (__builtin_add_overflow(bytes, profile->failures[i].bytes, &bytes))
			bytes = UINT64_MAX;
	}
	if (!count)
		return;
	fprintf(file, "# failed: %" PRIu64 " allocations, bytes %" PRIu64, count, bytes);
	if (profile->failure_count)
		fprintf(file, ", first %" PRIu64 " at uptime_s=%" PRIu64 ".%03u {%016" PRIx64 "}",
			first->first_bytes, first->first_ns / 1000000000,
			(unsigned)(first->first_ns / 1000000 % 1000),
			stack_id(profile, &first->stack));
	fputc('\n', file);
}

static void put_head(const struct profile *profile, FILE *file)
{
	const struct format_header *header = &profile->header;
	uint64_t live = profile_live_bytes(&profile->totals),
		 peak = export_header(&header->peak_bytes);
	uint64_t rss = profile->point_count ? profile->points[profile->point_count - 1].rss_bytes
					    : 0;
	uint64_t ms = profile->duration_ns / 1000000;
	char time[WHEN_SIZE];
	int i;

	fprintf(file, "# time=%s uptime_s=%" PRIu64 ".%03u live=%" PRIu64,
		when_iso(when_realtime(profile, profile->duration_ns), time), ms / 1000,
		(unsigned)(ms % 1000), live);
	fprintf(file, " peak=%" PRIu64 " rss=%" PRIu64 " own=%" PRIu64, peak > live ? peak : live,
		rss, export_header(&header->own_bytes));
	put_losses(profile, file);
	put_mappings(profile, file);
	put_failures(profile, file);
	fputs("[  0]", file);
	for (i = 0; i < RULER; i++)
		fputc('=', file);
	fprintf(file, "\nchurn=%" PRIu64 "/0\n\n",
		profile->totals.alloc_bytes + profile->totals.free_bytes);
}

/* The path by which the loader knows libpmem.so. */
static const char *own_path(const struct profile *profile)
{
	uint32_t i;

	for (i = 0; i < profile->module_count; i++) {
		const char *path = profile->modules[i].path, *slash = strrchr(path, '/');

		if (strncmp(slash ? slash + 1 : path, "libpmem.so", 10) == 0)
			return path;
	}
	return "libpmem.so";
}

static void put_place(FILE *file, const char *symbol, uint64_t offset, uint64_t address)
{
	fputc('(', file);
	if (symbol)
		put_safe(file, symbol);
	fprintf(file, "+0x%" PRIx64 ") [0x%" PRIx64 "]\n", offset, address);
}

/* The log knows functions as the linker does: the one that was not inlined. */
static void put_location(const struct export_source *source, uint32_t index, FILE *file)
{
	const struct profile_location *location = &source->profile->locations[index];
	const struct symbol *symbol = names_at_fast(source->names, index);
	const char *path = source->profile->modules[location->module].path;

	if (location->special) {
		fprintf(file, "%s\n", location->special);
		return;
	}
	if (path[0])
		put_safe(file, path);
	else
		fputs("[anonymous]", file);
	if (path[0] && symbol->raw_name)
		put_place(file, symbol->raw_name, symbol->offset, location->address);
	else
		put_place(file, NULL, location->offset, location->address);
}

/* The end of a line: locations are on many call stacks, and their texts slow to make.  False: no memory. */
static bool make_line(const struct export_source *source, uint32_t index, char **line)
{
	size_t size;
	FILE *file = open_memstream(line, &size);

	if (!file)
		return false;
	put_location(source, index, file);
	return fclose(file) == 0;
}

static void free_lines(char **lines, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count && lines; i++)
		free(lines[i]);
	free(lines);
}

/* By location, to be freed with free_lines(); NULL: no memory. */
static char **make_lines(const struct export_source *source)
{
	uint32_t count = source->profile->location_count, i;
	char **lines = calloc(count + (size_t)1, sizeof(*lines));

	for (i = 0; i < count && lines; i++)
		if (!make_line(source, i, &lines[i])) {
			free_lines(lines, count);
			return NULL;
		}
	return lines;
}

/* What all entries have in common. */
struct writer {
	const struct profile *profile;
	const char *own; /* path of libpmem.so */
	char **lines;	 /* by location */
	FILE *file;
};

static void put_entry(const struct writer *writer, const struct profile_stack *stack)
{
	const struct profile *profile = writer->profile;
	FILE *file = writer->file;
	const struct profile_counts *counts = &stack->counts;
	uint32_t node = stack->node, number = 0;

	fprintf(file, "{%016" PRIx64 "} live:%" PRIu64 ", alloc:%" PRIu64 "/%" PRIu64,
		stack_id(profile, stack), profile_live_bytes(counts), counts->alloc_bytes,
		counts->alloc_bytes);
	fprintf(file, ", free:%" PRIu64 "/%" PRIu64 "\n", counts->free_bytes, counts->free_bytes);
	if (stack->hook != FORMAT_NO_HOOK) {
		fprintf(file, "  {%" PRIu32 "} ", number++);
		put_safe(file, writer->own);
		put_place(file, profile_hook_name(stack->hook), 0, 0);
	}
	for (; node != 0; node = profile->nodes[node].parent)
		fprintf(file, "  {%" PRIu32 "} %s", number++,
			writer->lines[profile->nodes[node].location]);
	fputc('\n', file);
}

static int by_live(const void *left, const void *right)
{
	const struct profile_stack *a = *(const struct profile_stack *const *)left;
	const struct profile_stack *b = *(const struct profile_stack *const *)right;
	uint64_t live_a = profile_live_bytes(&a->counts), live_b = profile_live_bytes(&b->counts);

	if (live_a != live_b)
		return live_a < live_b ? 1 : -1;
	if (a->counts.alloc_bytes != b->counts.alloc_bytes)
		return a->counts.alloc_bytes < b->counts.alloc_bytes ? 1 : -1;
	return (a > b) - (a < b);
}

bool export_log(const struct export_source *source, FILE *file, struct error *err)
{
	const struct profile *profile = source->profile;
	struct writer writer = {profile, own_path(profile), make_lines(source), file};
	const struct profile_stack **sorted = calloc(profile->stack_count + (size_t)1,
						     sizeof(*sorted));
	bool ok = sorted && writer.lines;
	uint32_t i;

	for (i = 0; i < profile->stack_count && ok; i++)
		sorted[i] = &profile->stacks[i];
	if (ok) {
		qsort(sorted, profile->stack_count, sizeof(const struct profile_stack *), by_live);
		put_top(profile, file);
		put_head(profile, file);
		for (i = 0; i < profile->stack_count; i++)
			put_entry(&writer, sorted[i]);
		fputs("# end [  0]\n", file);
	}
	free_lines(writer.lines, profile->location_count);
	free(sorted);
	return ok || error_set(err, "no memory for %" PRIu32 " call stacks", profile->stack_count);
}
