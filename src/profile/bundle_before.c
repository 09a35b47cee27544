/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bundle_before.c - see bundle_before.h.
 *
 * Both are states of the same file, whose modules are only ever added to: an index means the same module in both, which is checked.
 */
#include "profile/bundle_before.h"

#include <stdlib.h>
#include <string.h>

#include "profile/bundle.h"

struct bundle_before {
	const struct profile *profile; /* that is bundled now */
	struct profile *old;
	uint32_t *order; /* locations of old that have a name, by module and offset */
	uint32_t count;
};

static bool is_same_process(const struct format_header *a, const struct format_header *b)
{
	return a->pid == b->pid && a->run_id == b->run_id &&
	       a->start_realtime_ns == b->start_realtime_ns &&
	       a->start_monotonic_ns == b->start_monotonic_ns;
}

static int compare(const struct profile_location *a, const struct profile_location *b)
{
	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

static const struct profile_location *sorted_locations; /* for the comparison */

static int compare_indexes(const void *a, const void *b)
{
	return compare(&sorted_locations[*(const uint32_t *)a],
		       &sorted_locations[*(const uint32_t *)b]);
}

static bool has_name(const struct profile *profile, uint32_t location)
{
	const struct given_frames *frames = &profile->given->by_location[location];

	return !profile->locations[location].special && frames->count > 0 &&
	       frames->symbols[0].function;
}

static bool sort(struct bundle_before *before)
{
	const struct profile *old = before->old;

	before->order = calloc((size_t)old->location_count + 1, sizeof(*before->order));
	for (uint32_t i = 0; before->order && i < old->location_count; i++)
		if (has_name(old, i))
			before->order[before->count++] = i;
	sorted_locations = old->locations;
	if (before->count > 1)
		qsort(before->order, before->count, sizeof(*before->order), compare_indexes);
	return before->order != NULL;
}

struct bundle_before *bundle_before_open(const char *path, const struct profile *profile)
{
	struct bundle_before *before;
	struct error ignored;

	if (!bundle_is_at(path))
		return NULL;
	before = calloc(1, sizeof(*before));
	if (!before)
		return NULL;
	before->profile = profile;
	if (profile_open(path, &before->old, &ignored) && given_names_all(before->old) &&
	    is_same_process(&before->old->header, &profile->header) && sort(before))
		return before;
	bundle_before_close(before);
	return NULL;
}

void bundle_before_close(struct bundle_before *before)
{
	if (!before)
		return;
	if (before->old)
		profile_close(before->old);
	free(before->order);
	free(before);
}

static bool is_same_module(const struct bundle_before *before, uint32_t module)
{
	const struct profile_module *a = &before->profile->modules[module], *b;

	if (module >= before->old->module_count)
		return false;
	b = &before->old->modules[module];
	return strcmp(a->path, b->path) == 0 && a->build_id_size == b->build_id_size &&
	       (!a->build_id_size || memcmp(a->build_id, b->build_id, a->build_id_size) == 0);
}

const struct given_frames *bundle_before_at(const struct bundle_before *before, uint32_t location)
{
	const struct profile_location *wanted;
	uint32_t low = 0, high = before ? before->count : 0;

	if (!before)
		return NULL;
	wanted = &before->profile->locations[location];
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		uint32_t index = before->order[middle];
		int order = compare(&before->old->locations[index], wanted);

		if (order == 0)
			return is_same_module(before, wanted->module)
				       ? &before->old->given->by_location[index]
				       : NULL;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

bool bundle_before_has_module(const struct bundle_before *before, uint32_t module)
{
	if (!before || !is_same_module(before, module) || given_names_problem(before->old, module))
		return false;
	for (uint32_t i = 0; i < before->count; i++)
		if (before->old->locations[before->order[i]].module == module)
			return true;
	return false;
}
