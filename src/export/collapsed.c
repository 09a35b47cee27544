/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * collapsed.c - "main;f;g 123": one line for each call stack, the outermost frame first.
 *
 * There is no specification but the programs that read it: all split a line at its last blank and frames at ';', so that
 * ';' in a name becomes ':'.  Call stacks whose value is 0 have no line.  Equal lines are added up by readers.
 */
#include <inttypes.h>

#include "export/frames.h"

static void put_location(const struct frames *frames, uint32_t location, bool is_first, FILE *file)
{
	uint32_t at = frames->first[location + 1];

	while (at-- > frames->first[location]) {
		if (!is_first)
			fputc(';', file);
		is_first = false;
		fputs(frames->items[at].name, file);
	}
}

static void put_path(const struct frames *frames, const struct path *path, FILE *file)
{
	uint32_t i;

	if (path->count == 0)
		fputs(FRAMES_NONE, file);
	for (i = path->count; i-- > 0;)
		put_location(frames, path->locations[i], i + 1 == path->count, file);
}

bool export_collapsed(const struct export_source *source, FILE *file, struct error *err)
{
	const struct profile *profile = source->profile;
	struct frames frames;
	struct path path = {0};
	bool ok = true;
	uint32_t i;

	if (!frames_open(&frames, source, ";", err))
		return false;
	for (i = 0; i < profile->stack_count && ok; i++) {
		uint64_t value = export_value_of(source->value, &profile->stacks[i].counts);

		if (value == 0)
			continue;
		ok = path_read(&path, profile, profile->stacks[i].node);
		if (!ok)
			break;
		put_path(&frames, &path, file);
		fprintf(file, " %" PRIu64 "\n", value);
	}
	path_free(&path);
	frames_close(&frames);
	return ok || error_set(err, "no memory for a call stack");
}
