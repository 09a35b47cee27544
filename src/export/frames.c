/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frames.c - what formats print for a profile's locations.
 */
#include "export/frames.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/clean.h"

const char *frames_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "libx.so+0x1f", to be freed; NULL: no memory. */
static char *nameless(const struct profile *profile, const struct profile_location *location)
{
	const char *path = profile->modules[location->module].path;
	char *text;

	if (asprintf(&text, "%s+0x%" PRIx64, path[0] ? frames_base_name(path) : "[anonymous]",
		     location->offset) < 0)
		return NULL;
	return text;
}

/* Takes over text.  False: it is NULL. */
static bool own(struct frames *frames, char *text, const char **place)
{
	if (!text)
		return false;
	frames->texts[frames->text_count++] = text;
	*place = text;
	return true;
}

static bool name_frame(struct frames *frames, const struct symbol *symbol, const char *reserved,
		       struct frame *frame)
{
	const struct profile_location *location = &frames->profile->locations[frame->location];
	const char *name = location->special ? location->special : symbol->function;
	char *text = NULL;
	bool ok;

	frame->is_named = name && name[0];
	frame->symbol = symbol;
	frame->line = symbol->file ? symbol->line : 0;
	if (!frame->is_named)
		name = text = nameless(frames->profile, location);
	ok = name && own(frames, clean_text(name, reserved), &frame->name);
	free(text);
	if (ok && symbol->file && symbol->file[0])
		ok = own(frames, clean_text(symbol->file, reserved), &frame->file);
	return ok;
}

/* All are wanted: those of one module together are found faster. */
static void prepare(const struct frames *frames, struct names *names)
{
	uint32_t count = frames->profile->location_count;
	bool *wanted = malloc(count + (size_t)1);

	if (!wanted)
		return;
	memset(wanted, true, count);
	names_prepare(names, wanted);
	free(wanted);
}

/* How many frames there are, and where each location's begin. */
static bool number(struct frames *frames, struct names *names)
{
	uint64_t count = 0;
	uint32_t i;

	prepare(frames, names);
	for (i = 0; i < frames->profile->location_count; i++) {
		const struct symbol *found;

		frames->first[i] = (uint32_t)count;
		count += names_at(names, i, &found);
		if (count >= UINT32_MAX / 4)
			return false;
	}
	frames->first[i] = (uint32_t)count;
	frames->count = (uint32_t)count;
	frames->items = calloc(count + 1, sizeof(*frames->items));
	frames->texts = calloc(count * 2 + frames->profile->module_count + 1,
			       sizeof(*frames->texts));
	return frames->items && frames->texts;
}

static bool fill(struct frames *frames, struct names *names, const char *reserved)
{
	uint32_t i, at = 0;

	for (i = 0; i < frames->profile->location_count; i++) {
		const struct symbol *found;
		uint32_t first = frames->first[i];

		names_at(names, i, &found);
		for (; at < frames->first[i + 1]; at++) {
			frames->items[at].location = i;
			if (!name_frame(frames, &found[at - first], reserved, &frames->items[at]))
				return false;
		}
	}
	return true;
}

static bool name_modules(struct frames *frames, const char *reserved)
{
	const struct profile *profile = frames->profile;
	uint32_t i;

	frames->modules = calloc((size_t)profile->module_count + 1, sizeof(*frames->modules));
	for (i = 0; i < profile->module_count && frames->modules; i++) {
		const char *path = profile->modules[i].path;

		if (!own(frames, clean_text(path[0] ? path : "[anonymous]", reserved),
			 &frames->modules[i]))
			return false;
	}
	return frames->modules;
}

bool frames_open(struct frames *frames, const struct export_source *source, const char *reserved,
		 struct error *err)
{
	const struct profile *profile = source->profile;

	*frames = (struct frames){.profile = profile};
	frames->first = calloc((size_t)profile->location_count + 1, sizeof(*frames->first));
	if (frames->first && number(frames, source->names) && name_modules(frames, reserved) &&
	    fill(frames, source->names, reserved))
		return true;
	frames_close(frames);
	return error_set(err, "no memory for the names of %" PRIu32 " locations",
			 profile->location_count);
}

void frames_close(struct frames *frames)
{
	uint32_t i;

	for (i = 0; i < frames->text_count; i++)
		free(frames->texts[i]);
	free(frames->texts);
	free(frames->items);
	free(frames->modules);
	free(frames->first);
	*frames = (struct frames){0};
}

static bool path_grow(struct path *path)
{
	uint32_t capacity = path->capacity ? path->capacity * 2 : 256;
	uint32_t *locations = realloc(path->locations, capacity * sizeof(*locations));

	if (!locations)
		return false;
	path->locations = locations;
	path->capacity = capacity;
	return true;
}

bool path_read(struct path *path, const struct profile *profile, uint32_t node)
{
	path->count = 0;
	for (; node != 0; node = profile->nodes[node].parent) {
		if (path->count == path->capacity && !path_grow(path))
			return false;
		path->locations[path->count++] = profile->nodes[node].location;
	}
	return true;
}

void path_free(struct path *path)
{
	free(path->locations);
	*path = (struct path){0};
}

/* Appends node and those above it that are not in the array yet, the outermost first. */
static uint32_t append(const struct profile *profile, uint32_t node, bool *seen, uint32_t *nodes,
		       uint32_t count)
{
	uint32_t first = count, last;

	for (; node != 0 && !seen[node]; node = profile->nodes[node].parent) {
		seen[node] = true;
		nodes[count++] = node;
	}
	for (last = count; last > first + 1; first++) {
		uint32_t swapped = nodes[--last];

		nodes[last] = nodes[first];
		nodes[first] = swapped;
	}
	return count;
}

uint32_t *frames_nodes(const struct profile *profile, uint32_t *count)
{
	bool *seen = calloc((size_t)profile->node_count + 1, sizeof(*seen));
	uint32_t *nodes = calloc((size_t)profile->node_count + 1, sizeof(*nodes));
	uint32_t used = 0, i;

	if (!seen || !nodes) {
		free(seen);
		free(nodes);
		return NULL;
	}
	for (i = 0; i < profile->stack_count; i++)
		used = append(profile, profile->stacks[i].node, seen, nodes, used);
	free(seen);
	*count = used;
	return nodes;
}
