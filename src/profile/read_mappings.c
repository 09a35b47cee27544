/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * read_mappings.c - the call stacks that map memory themselves, and a second profile of which they are the heap.
 *
 * Their records are read before the counters: so each call stack that has one is complete, and below the limit, when call stacks are read.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/read.h"

static const struct image_array mappings_array = {FORMAT_MAPPINGS, sizeof(struct format_mapping),
						  "mappings", 0};

bool read_mappings(struct reader *reader)
{
	const struct format_header *header;

	if (!image_refresh(&reader->image))
		return false;
	header = &reader->image.first->header;
	reader->mapping_limit = image_limit(&reader->image, &mappings_array,
					    plain32(&header->mapping_count));
	reader->raw_mappings = image_items(&reader->image, &mappings_array, reader->mapping_limit);
	return reader->raw_mappings != NULL;
}

/* No sum of them overflows: more than any address space. */
#define LARGEST (UINT64_C(1) << 57)

bool read_mappings_counts(const struct format_mapping *mapping, struct profile_counts *counts)
{
	uint64_t mapped = plain64(&mapping->mapped_bytes);
	uint64_t unmapped = plain64(&mapping->unmapped_bytes);
	uint64_t peak = plain64(&mapping->peak_bytes), calls = plain64(&mapping->call_count);
	bool possible = unmapped <= mapped && peak <= mapped && mapped < LARGEST && calls < LARGEST;

	mapped = mapped < LARGEST ? mapped : LARGEST;
	*counts = (struct profile_counts){
		.alloc_bytes = mapped,
		.alloc_count = calls < LARGEST ? calls : LARGEST,
		.free_bytes = unmapped < mapped ? unmapped : mapped,
		.peak_bytes = (int64_t)(peak < mapped ? peak : mapped),
	};
	return possible;
}

/* Points as if what was mapped were the heap. */
static bool copy_points(struct reader *reader, struct profile *mapped)
{
	uint32_t count = reader->profile.point_count;

	mapped->points = reader_alloc(reader, count, sizeof(*mapped->points));
	for (uint32_t i = 0; mapped->points && i < count; i++) {
		mapped->points[i] = reader->profile.points[i];
		mapped->points[i].live_bytes = mapped->points[i].mapped_bytes;
		mapped->points[i].alloc_bytes = mapped->points[i].alloc_count = 0;
	}
	return mapped->points != NULL;
}

void read_mapped_renew(struct reader *reader)
{
	const struct profile *profile = &reader->profile;
	struct profile *mapped = reader->mapped;
	struct profile_point *points = mapped->points;

	*mapped = *profile;
	mapped->mapped = NULL;
	mapped->is_mapped = true;
	mapped->whole = profile;
	mapped->records = reader->mapping_records;
	mapped->resident = reader->mapping_resident;
	mapped->points = points;
	mapped->stacks = profile->stacks + profile->stack_count;
	mapped->stack_count = reader->mapping_count;
	mapped->series = profile->series + profile->series_count;
	mapped->series_count = reader->mapping_series;
	mapped->totals = (struct profile_counts){0};
	reader_add_up(mapped->stacks, mapped->stack_count, &mapped->totals);
	mapped->header.peak_bytes = plain64(&profile->header.mapped_peak_bytes);
	mapped->header.sample_bytes = 0;
	mapped->thread_count = 0;
}

bool read_mapped(struct reader *reader)
{
	reader->mapped = reader_alloc(reader, 1, sizeof(*reader->mapped));
	if (!reader->mapped || !copy_points(reader, reader->mapped))
		return false;
	reader->profile.mapped = reader->mapped;
	read_mapped_renew(reader);
	return true;
}
