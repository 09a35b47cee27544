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
#include "profile/when.h"

enum { RULER = 57 };

static uint64_t loaded(const _Atomic uint64_t *field)
{
	return atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)field, memory_order_relaxed);
}

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
		if (loaded(&profile->header.losses[kind]))
			fprintf(file, " %s=%" PRIu64, profile_loss_name(kind),
				loaded(&profile->header.losses[kind]));
	if (loaded(&profile->header.inherited_freed))
		fprintf(file, " inherited_freed=%" PRIu64, loaded(&profile->header.inherited_freed));
	if (loaded(&profile->header.unknown_freed))
		fprintf(file, " unknown_freed=%" PRIu64, loaded(&profile->header.unknown_freed));
	fputc('\n', file);
}

static void put_head(const struct profile *profile, FILE *file)
{
	const struct format_header *header = &profile->header;
	uint64_t live = profile_live_bytes(&profile->totals), peak = loaded(&header->peak_bytes);
	uint64_t rss = profile->point_count ? profile->points[profile->point_count - 1].rss_bytes
					    : 0;
	uint64_t ms = profile->duration_ns / 1000000;
	char time[WHEN_SIZE];
	int i;

	fprintf(file, "# time=%s uptime_s=%" PRIu64 ".%03u live=%" PRIu64,
		when_iso(when_realtime(profile, profile->duration_ns), time), ms / 1000,
		(unsigned)(ms % 1000), live);
	fprintf(file, " peak=%" PRIu64 " rss=%" PRIu64 " own=%" PRIu64, peak > live ? peak : live,
		rss, loaded(&header->own_bytes));
	put_losses(profile, file);
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
static void put_frame(const struct export_source *source, uint32_t index, uint32_t number,
		      FILE *file)
{
	const struct profile_location *location = &source->profile->locations[index];
	const struct symbol *found;
	size_t count;
	const char *path;

	fprintf(file, "  {%" PRIu32 "} ", number);
	if (location->special) {
		fprintf(file, "%s\n", location->special);
		return;
	}
	count = names_at(source->names, index, &found);
	path = source->profile->modules[location->module].path;
	if (path[0])
		put_safe(file, path);
	else
		fputs("[anonymous]", file);
	if (path[0] && found[count - 1].raw_name)
		put_place(file, found[count - 1].raw_name, found[count - 1].offset,
			  location->address);
	else
		put_place(file, NULL, location->offset, location->address);
}

static void put_entry(const struct export_source *source, const struct profile_stack *stack,
		      const char *own, FILE *file)
{
	const struct profile *profile = source->profile;
	const struct profile_counts *counts = &stack->counts;
	uint32_t node = stack->node, number = 0;

	fprintf(file, "{%016" PRIx64 "} live:%" PRIu64 ", alloc:%" PRIu64 "/%" PRIu64, stack->id,
		profile_live_bytes(counts), counts->alloc_bytes, counts->alloc_bytes);
	fprintf(file, ", free:%" PRIu64 "/%" PRIu64 "\n", counts->free_bytes, counts->free_bytes);
	if (stack->hook != FORMAT_NO_HOOK) {
		fprintf(file, "  {%" PRIu32 "} ", number++);
		put_safe(file, own);
		put_place(file, profile_hook_name(stack->hook), 0, 0);
	}
	for (; node != 0; node = profile->nodes[node].parent)
		put_frame(source, profile->nodes[node].location, number++, file);
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
	const struct profile_stack **sorted = calloc(profile->stack_count + (size_t)1,
						     sizeof(*sorted));
	const char *own = own_path(profile);
	uint32_t i;

	if (!sorted)
		return error_set(err, "no memory for %" PRIu32 " call stacks", profile->stack_count);
	for (i = 0; i < profile->stack_count; i++)
		sorted[i] = &profile->stacks[i];
	qsort(sorted, profile->stack_count, sizeof(const struct profile_stack *), by_live);
	put_top(profile, file);
	put_head(profile, file);
	for (i = 0; i < profile->stack_count; i++)
		put_entry(source, sorted[i], own, file);
	fputs("# end [  0]\n", file);
	free(sorted);
	return true;
}
