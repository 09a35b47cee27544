/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bundle_apply.c - what a bundle says of the profile in it: facts, names, modules, source lines.
 *
 * Numbers are ULEB128; a string is named by its number, from 1, in the section of strings; 0 is none.  Names come by module, then by
 * offset, so that they are found whatever order this reader gives places.
 */
#include <stdlib.h>
#include <string.h>

#include "core/cursor.h"
#include "profile/bundle.h"
#include "profile/given_names.h"

enum {
	FRAME_BYTES = 3,	     /* of a function in the section, at least */
	LINES_MAX = 4 * 1024 * 1024, /* of one piece of source */
	STRINGS_MAX = 32 * 1024 * 1024,
	SYMBOLS_MAX = 16 * 1024 * 1024,
};

static const struct symbol nameless;

struct content {
	struct profile *profile;
	struct given_names *given;
	const char **strings; /* by number; [0] is NULL */
	uint64_t string_count;
	struct symbol *symbols;
	uint64_t symbol_count; /* handed out */
	uint64_t symbol_room;
	uint32_t *order; /* locations with code, by module, then by offset */
	uint32_t order_count;
	struct error *err;
};

static struct cursor part_cursor(const struct bundle *bundle, enum bundle_kind kind)
{
	const struct bundle_part *part = &bundle->parts[kind];

	return cursor_make(part->bytes ? part->bytes : "", part->size);
}

static bool damaged(struct content *content, const char *what)
{
	return error_set(content->err, "damaged: its %s are impossible", what);
}

static bool no_memory(struct content *content)
{
	return error_set(content->err, "no memory for its names");
}

/* --- strings --------------------------------------------------------------------------------- */

static uint64_t count_strings(const struct bundle_part *part)
{
	uint64_t count = 0;

	for (size_t i = 0; i < part->size; i++)
		count += part->bytes[i] == '\0';
	return count;
}

/* The bytes go over to given: the bundle is freed soon. */
static bool set_strings(struct content *content, const struct bundle *bundle)
{
	const struct bundle_part *part = &bundle->parts[BUNDLE_STRINGS];
	char *text = given_names_own(content->given, malloc(part->size + 1));
	struct cursor c;

	content->string_count = count_strings(part);
	if (content->string_count > STRINGS_MAX)
		return damaged(content, "strings");
	content->strings = calloc(content->string_count + 1, sizeof(*content->strings));
	if (!text || !content->strings)
		return no_memory(content);
	memcpy(text, part->bytes, part->size + 1);
	c = cursor_make(text, part->size);
	for (uint64_t i = 1; i <= content->string_count; i++) {
		content->strings[i] = cursor_string(&c);
		if (!content->strings[i] || strlen(content->strings[i]) > BUNDLE_STRING_MAX)
			return damaged(content, "strings");
	}
	return cursor_left(&c) == 0 || damaged(content, "strings");
}

/* NULL for 0; a number that is none makes the cursor fail. */
static const char *read_string(struct content *content, struct cursor *c)
{
	uint64_t number = cursor_uleb(c);

	if (number > content->string_count)
		c->failed = true;
	return c->failed ? NULL : content->strings[number];
}

static uint32_t read_u32(struct cursor *c)
{
	uint64_t value = cursor_uleb(c);

	if (value > UINT32_MAX)
		c->failed = true;
	return (uint32_t)value;
}

/* --- facts ----------------------------------------------------------------------------------- */

static bool set_facts(struct content *content, const struct bundle *bundle)
{
	struct cursor c = part_cursor(bundle, BUNDLE_FACTS);
	uint64_t was_live = cursor_uleb(&c);
	uint64_t duration_ns = cursor_uleb(&c);

	if (c.failed || was_live > 1 || duration_ns > INT64_MAX)
		return damaged(content, "facts");
	content->profile->is_live = was_live != 0;
	content->profile->duration_ns = duration_ns;
	content->profile->file_bytes = bundle->file_bytes;
	return true;
}

/* --- names ----------------------------------------------------------------------------------- */

static const struct profile_location *sorted_locations; /* for the comparison */

static int compare_places(const void *a, const void *b)
{
	const struct profile_location *left = &sorted_locations[*(const uint32_t *)a];
	const struct profile_location *right = &sorted_locations[*(const uint32_t *)b];

	if (left->module != right->module)
		return left->module < right->module ? -1 : 1;
	return (left->offset > right->offset) - (left->offset < right->offset);
}

static bool sort_locations(struct content *content)
{
	const struct profile *profile = content->profile;

	content->order = calloc((size_t)profile->location_count + 1, sizeof(*content->order));
	if (!content->order)
		return no_memory(content);
	for (uint32_t i = 0; i < profile->location_count; i++)
		if (!profile->locations[i].special)
			content->order[content->order_count++] = i;
	sorted_locations = profile->locations;
	if (content->order_count > 1)
		qsort(content->order, content->order_count, sizeof(*content->order), compare_places);
	return true;
}

static void read_frame(struct content *content, struct cursor *c, struct symbol *symbol)
{
	uint64_t flags;

	*symbol = (struct symbol){.function = read_string(content, c), .raw_name = NULL};
	symbol->raw_name = read_string(content, c);
	symbol->file = read_string(content, c);
	symbol->line = read_u32(c);
	flags = cursor_uleb(c);
	symbol->inlined = flags & 1;
	symbol->offset = cursor_uleb(c);
}

static void read_fast(struct content *content, struct cursor *c, struct symbol *symbol)
{
	*symbol = (struct symbol){.function = read_string(content, c), .raw_name = NULL};
	symbol->raw_name = read_string(content, c);
	symbol->offset = cursor_uleb(c);
}

/* Where the reading of names has got to. */
struct place {
	uint32_t module;
	uint64_t offset;
	uint32_t next; /* in the order of locations */
};

static bool read_step(struct cursor *c, struct place *at)
{
	uint32_t modules = read_u32(c);
	uint64_t offset = cursor_uleb(c);

	if (modules > UINT32_MAX - at->module)
		return false;
	at->module += modules;
	if (modules > 0)
		at->offset = 0;
	return !__builtin_add_overflow(at->offset, offset, &at->offset) && !c->failed;
}

static bool is_before(const struct profile_location *location, const struct place *at)
{
	return location->module < at->module ||
	       (location->module == at->module && location->offset < at->offset);
}

static void give(struct content *content, struct place *at, const struct given_frames *frames)
{
	const struct profile_location *locations = content->profile->locations;

	for (; at->next < content->order_count; at->next++) {
		uint32_t location = content->order[at->next];

		if (is_before(&locations[location], at))
			continue;
		if (locations[location].module != at->module ||
		    locations[location].offset != at->offset)
			return;
		content->given->by_location[location] = *frames;
		if (at->module == 0 && frames->symbols->function)
			content->given->has_compiled = true;
	}
}

static bool read_place(struct content *content, struct cursor *c, struct place *at)
{
	struct given_frames frames = {.fast = content->symbols + content->symbol_count};
	uint32_t count;

	if (!read_step(c, at))
		return false;
	count = read_u32(c);
	if (c->failed || count == 0 || count >= content->symbol_room - content->symbol_count)
		return false;
	frames.symbols = frames.fast + 1;
	read_fast(content, c, &content->symbols[content->symbol_count++]);
	for (uint32_t i = 0; i < count; i++)
		read_frame(content, c, &content->symbols[content->symbol_count++]);
	frames.count = count;
	if (!c->failed)
		give(content, at, &frames);
	return !c->failed;
}

/* Places that the bundle has no names for must not be looked for in this machine's files. */
static void fill_gaps(struct content *content)
{
	const struct profile *profile = content->profile;

	for (uint32_t i = 0; i < profile->location_count; i++)
		if (!profile->locations[i].special && content->given->by_location[i].count == 0)
			content->given->by_location[i] = (struct given_frames){&nameless, &nameless,
									       1};
}

static bool set_names(struct content *content, const struct bundle *bundle)
{
	struct cursor c = part_cursor(bundle, BUNDLE_NAMES);
	uint64_t places = cursor_uleb(&c);
	struct place at = {0};

	content->symbol_room = cursor_uleb(&c);
	if (c.failed || content->symbol_room > cursor_left(&c) / FRAME_BYTES ||
	    content->symbol_room > SYMBOLS_MAX)
		return damaged(content, "names");
	content->symbols = given_names_own(
		content->given, calloc(content->symbol_room + 1, sizeof(*content->symbols)));
	if (!content->symbols || !sort_locations(content))
		return no_memory(content);
	for (; places > 0; places--)
		if (!read_place(content, &c, &at))
			return damaged(content, "names");
	fill_gaps(content);
	return true;
}

/* --- modules and source lines ---------------------------------------------------------------- */

static bool set_modules(struct content *content, const struct bundle *bundle)
{
	struct cursor c = part_cursor(bundle, BUNDLE_MODULES);
	uint32_t count = content->profile->module_count;
	uint64_t told = cursor_left(&c) ? cursor_uleb(&c) : 0;

	content->given->problems = calloc((size_t)count + 1, sizeof(*content->given->problems));
	if (!content->given->problems)
		return no_memory(content);
	for (uint32_t i = 0; i < count && i < told; i++)
		content->given->problems[i] = read_string(content, &c);
	return !c.failed || damaged(content, "modules");
}

/* They must come by file, then by line, without overlap: they are searched. */
static bool is_behind(const struct given_source *source, const struct given_source *before)
{
	int order = strcmp(before->file, source->file);

	return order < 0 || (order == 0 && source->first > before->first &&
			     source->first - before->first >= before->count);
}

static bool read_source(struct content *content, struct cursor *c, struct given_source *source)
{
	const char **lines;

	source->file = read_string(content, c);
	source->first = read_u32(c);
	source->count = read_u32(c);
	if (c->failed || !source->file || source->count == 0 || source->count > cursor_left(c) ||
	    source->count > LINES_MAX || source->first > UINT32_MAX - source->count)
		return damaged(content, "source lines");
	lines = given_names_own(content->given, calloc(source->count, sizeof(*lines)));
	if (!lines)
		return no_memory(content);
	for (uint32_t i = 0; i < source->count; i++) {
		lines[i] = read_string(content, c);
		if (!lines[i])
			return damaged(content, "source lines");
	}
	source->lines = lines;
	return true;
}

static bool set_sources(struct content *content, const struct bundle *bundle)
{
	struct cursor c = part_cursor(bundle, BUNDLE_SOURCES);
	struct given_names *given = content->given;
	uint64_t count = cursor_left(&c) ? cursor_uleb(&c) : 0;

	if (c.failed || count > cursor_left(&c))
		return damaged(content, "source lines");
	given->sources = calloc(count + 1, sizeof(*given->sources));
	if (!given->sources)
		return no_memory(content);
	for (uint32_t i = 0; i < count; i++) {
		if (!read_source(content, &c, &given->sources[i]))
			return false;
		if (i > 0 && !is_behind(&given->sources[i], &given->sources[i - 1]))
			return damaged(content, "source lines");
	}
	given->source_count = (uint32_t)count;
	return true;
}

/* --------------------------------------------------------------------------------------------- */

bool bundle_apply(const struct bundle *bundle, struct profile *profile, struct error *err)
{
	struct content content = {.profile = profile, .err = err};
	bool done;

	content.given = given_names_new(profile, GIVEN_FROM_BUNDLE);
	if (!content.given)
		return no_memory(&content);
	done = set_strings(&content, bundle) && set_facts(&content, bundle) &&
	       set_names(&content, bundle) && set_modules(&content, bundle) &&
	       set_sources(&content, bundle);
	free(content.strings);
	free(content.order);
	if (!done) {
		given_names_free(content.given);
		return false;
	}
	given_names_free(profile->given);
	profile->given = content.given;
	return true;
}
