/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pprof.c - perftools.profiles.Profile (profile.proto of pprof), compressed with gzip.
 *
 * Messages are written as soon as they are complete, so that only one is in memory at a time; texts are collected,
 * and come last: the order of fields is free.  Locations of functions that have no name get no line where there is a
 * module: whoever has its debug information can name them later by build-id and address.  Addresses are those of the call:
 * return address - 1.
 *
 * A profile without a second one for what the program maps (profile->mapped) gets the heap's four types only.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/clean.h"
#include "export/frames.h"
#include "export/gzip.h"
#include "export/protobuf.h"
#include "export/strings.h"

/* Fields of Profile. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};

enum { VALUE_TYPE = 1, VALUE_UNIT = 2 };
enum { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_STR = 2 };
enum {
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_FILENAME = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILENAMES = 8,
	MAPPING_HAS_LINE_NUMBERS = 9,
	MAPPING_HAS_INLINE_FRAMES = 10,
};
enum { LOCATION_ID = 1, LOCATION_MAPPING_ID = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4 };
enum { LINE_FUNCTION_ID = 1, LINE_LINE = 2 };
/* Of a sample.  The last two are of what the program maps itself, which is no part of the heap: a sample has either the first four, or them. */
enum { HEAP_VALUES = 4, VALUES = 6 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILENAME = 4 };

/* One message may be as large as a call stack of all nodes that a profile can hold. */
#define MESSAGE_LIMIT ((size_t)1 << 30)

/* What is known of a module's locations. */
struct coverage {
	bool has_nameless;
	bool has_files;
	bool has_lines;
	bool has_inlined;
};

/* Call stacks of a profile by number: their index + 1; 0 = none. */
struct by_number {
	uint32_t *index;
	uint32_t limit;
};

struct writer {
	const struct export_source *source;
	const struct profile *profile;
	struct frames frames;
	struct strings strings;
	struct strings functions;  /* keys: name, system name, file */
	struct coverage *coverage; /* by module */
	uint32_t *mapping_ids;	   /* by module; 0 = it has no mapping */
	uint32_t *mappings;	   /* modules, by id - 1 */
	uint32_t mapping_count;
	struct by_number base;	      /* source->base */
	struct by_number base_mapped; /* what its program maps */
	uint32_t values;	      /* of a sample */
	struct path path;
	uint64_t *ids; /* of a call stack's locations: [ids_size] */
	uint32_t ids_size;
	uint32_t unknown_id; /* of the location that stands for no frame at all */
	struct protobuf message;
	struct protobuf outer;
	struct gzip gzip;
};

static uint32_t string_of(struct writer *writer, const char *text)
{
	return strings_add(&writer->strings, text);
}

/* For texts that no frame has: those are clean. */
static uint32_t clean_string_of(struct writer *writer, const char *text)
{
	char *clean = clean_text(text, "");
	uint32_t number = clean ? string_of(writer, clean) : 0;

	writer->strings.failed |= !clean;
	free(clean);
	return number;
}

static void put_outer(struct writer *writer)
{
	gzip_write(&writer->gzip, writer->outer.bytes, writer->outer.size);
	protobuf_clear(&writer->outer);
}

/* Writes the message as a field of Profile, and empties it. */
static void put_message(struct writer *writer, uint32_t field)
{
	protobuf_message(&writer->outer, field, &writer->message);
	protobuf_clear(&writer->message);
	put_outer(writer);
}

static void put_number(struct writer *writer, uint32_t field, uint64_t value)
{
	protobuf_uint(&writer->outer, field, value);
	put_outer(writer);
}

static void put_value_type(struct writer *writer, uint32_t field, const char *type, const char *unit)
{
	protobuf_uint(&writer->message, VALUE_TYPE, string_of(writer, type));
	protobuf_uint(&writer->message, VALUE_UNIT, string_of(writer, unit));
	put_message(writer, field);
}

/* since: from when on, since the start. */
static void put_times(struct writer *writer, uint64_t since)
{
	const struct profile *profile = writer->profile;

	if (writer->source->is_state)
		since = profile->duration_ns;
	put_number(writer, PROFILE_TIME_NANOS, profile->header.start_realtime_ns + since);
	put_number(writer, PROFILE_DURATION_NANOS,
		   profile->duration_ns > since ? profile->duration_ns - since : 0);
}

static void put_types(struct writer *writer)
{
	const struct profile *profile = writer->profile, *base = writer->source->base;
	uint64_t period = profile->header.sample_bytes;
	const char *first = writer->source->value == EXPORT_ALLOC ? "alloc_space" : "inuse_space";

	put_value_type(writer, PROFILE_SAMPLE_TYPE, "alloc_objects", "count");
	put_value_type(writer, PROFILE_SAMPLE_TYPE, "alloc_space", "bytes");
	put_value_type(writer, PROFILE_SAMPLE_TYPE, "inuse_objects", "count");
	put_value_type(writer, PROFILE_SAMPLE_TYPE, "inuse_space", "bytes");
	if (writer->values == VALUES) {
		put_value_type(writer, PROFILE_SAMPLE_TYPE, "mmap_calls", "count");
		put_value_type(writer, PROFILE_SAMPLE_TYPE, "mmap_space", "bytes");
	}
	put_value_type(writer, PROFILE_PERIOD_TYPE, "space", "bytes");
	put_number(writer, PROFILE_PERIOD, period ? period : 1);
	put_number(writer, PROFILE_DEFAULT_SAMPLE_TYPE, string_of(writer, first));
	put_times(writer, base ? base->duration_ns : 0);
}

static void put_comment(struct writer *writer, const char *what, const char *text)
{
	char *comment;

	if (!text[0])
		return;
	if (asprintf(&comment, "%s: %s", what, text) < 0) {
		writer->strings.failed = true;
		return;
	}
	put_number(writer, PROFILE_COMMENT, clean_string_of(writer, comment));
	free(comment);
}

static void put_comments(struct writer *writer)
{
	const struct profile *profile = writer->profile;
	char text[64];

	put_comment(writer, "program", profile->program);
	snprintf(text, sizeof(text), "%" PRIu32, profile->header.pid);
	put_comment(writer, "pid", text);
	put_comment(writer, "host", profile->host);
	snprintf(text, sizeof(text), "pmem %.*s", (int)sizeof(profile->header.recorder),
		 profile->header.recorder);
	put_comment(writer, "recorder", text);
	if (profile->header.sample_bytes) {
		snprintf(text, sizeof(text), "one byte in %" PRIu64 " on average",
			 profile->header.sample_bytes);
		put_comment(writer, "estimates from a sample", text);
	}
	if (profile_losses(profile)) {
		snprintf(text, sizeof(text), "%" PRIu64, profile_losses(profile));
		put_comment(writer, "lost", text);
	}
	put_comment(writer, "damage", profile->damage);
}

static bool read_ids(struct writer *writer, uint32_t node)
{
	struct path *path = &writer->path;
	uint32_t i;

	if (!path_read(path, writer->profile, node))
		return false;
	if (path->capacity > writer->ids_size) {
		uint64_t *ids = realloc(writer->ids, path->capacity * sizeof(*ids));

		if (!ids)
			return false;
		writer->ids = ids;
		writer->ids_size = path->capacity;
	}
	for (i = 0; i < path->count; i++)
		writer->ids[i] = (uint64_t)path->locations[i] + 1;
	return true;
}

/* The function of the malloc family that was called is a label: it is no frame of the program. */
static void put_label(struct writer *writer, const char *key, const char *text)
{
	struct protobuf label = protobuf_new(64);

	protobuf_uint(&label, LABEL_KEY, string_of(writer, key));
	protobuf_uint(&label, LABEL_STR, string_of(writer, text));
	protobuf_message(&writer->message, SAMPLE_LABEL, &label);
	protobuf_free(&label);
}

/* In the order of put_types(). */
static void values_of(const struct profile *profile, const struct profile_counts *counts,
		      uint64_t values[VALUES])
{
	if (profile->is_mapped) {
		values[HEAP_VALUES] = counts->alloc_count;
		values[HEAP_VALUES + 1] = profile_live_bytes(counts);
		return;
	}
	values[0] = counts->alloc_count;
	values[1] = counts->alloc_bytes;
	values[2] = profile_live_count(counts);
	values[3] = profile_live_bytes(counts);
}

/* Takes away what there was before: changes may be negative.  False: nothing has changed. */
static bool subtract_base(const struct writer *writer, const struct profile *profile,
			  const struct profile_stack *stack, uint64_t values[VALUES])
{
	const struct profile *base = writer->source->base;
	const struct by_number *known = &writer->base;
	uint64_t before[VALUES] = {0}, changed = 0;

	if (profile->is_mapped) {
		base = base->mapped;
		known = &writer->base_mapped;
	}
	if (stack->number < known->limit && known->index[stack->number] > 0)
		values_of(base, &base->stacks[known->index[stack->number] - 1].counts, before);
	for (int i = 0; i < VALUES; i++) {
		values[i] -= before[i];
		changed |= values[i];
	}
	return changed != 0;
}

static bool put_sample(struct writer *writer, const struct profile *profile,
		       const struct profile_stack *stack)
{
	uint64_t values[VALUES] = {0};
	uint64_t unknown = writer->unknown_id;

	values_of(profile, &stack->counts, values);
	if (writer->source->base && !subtract_base(writer, profile, stack, values))
		return true;
	if (!read_ids(writer, stack->node))
		return false;
	if (writer->path.count > 0)
		protobuf_packed(&writer->message, SAMPLE_LOCATION_ID, writer->ids,
				writer->path.count);
	else
		protobuf_packed(&writer->message, SAMPLE_LOCATION_ID, &unknown, 1);
	protobuf_packed(&writer->message, SAMPLE_VALUE, values, writer->values);
	if (stack->hook != FORMAT_NO_HOOK)
		put_label(writer, "entry", profile_hook_name(stack->hook));
	if (stack->inexact)
		put_label(writer, "inexact", "yes");
	put_message(writer, PROFILE_SAMPLE);
	return true;
}

static bool put_samples(struct writer *writer, const struct profile *profile)
{
	bool ok = true;

	for (uint32_t i = 0; i < profile->stack_count && ok; i++)
		ok = put_sample(writer, profile, &profile->stacks[i]);
	return ok;
}

/* The name that a linker knows, where it is known. */
static const char *system_name(const struct frame *frame)
{
	return frame->symbol->raw_name && frame->is_named ? frame->symbol->raw_name : frame->name;
}

/* Number of a function; what is new is written at once. */
static uint64_t function_of(struct writer *writer, const struct frame *frame)
{
	uint32_t name = string_of(writer, frame->name);
	uint32_t system = clean_string_of(writer, system_name(frame));
	uint32_t file = string_of(writer, frame->file ? frame->file : "");
	uint32_t known = writer->functions.count;
	uint64_t id = (uint64_t)strings_add_key(&writer->functions, name, system, file) + 1;
	struct protobuf function = protobuf_new(64);

	if (writer->functions.count == known)
		return id;
	protobuf_uint(&function, FUNCTION_ID, id);
	protobuf_uint(&function, FUNCTION_NAME, name);
	protobuf_uint(&function, FUNCTION_SYSTEM_NAME, system);
	protobuf_uint(&function, FUNCTION_FILENAME, file);
	protobuf_message(&writer->outer, PROFILE_FUNCTION, &function);
	put_outer(writer);
	protobuf_free(&function);
	return id;
}

static void put_line(struct writer *writer, const struct frame *frame)
{
	struct protobuf line = protobuf_new(64);

	protobuf_uint(&line, LINE_FUNCTION_ID, function_of(writer, frame));
	if (frame->line)
		protobuf_uint(&line, LINE_LINE, frame->line);
	protobuf_message(&writer->message, LOCATION_LINE, &line);
	protobuf_free(&line);
}

static void cover(struct coverage *coverage, const struct frame *frame)
{
	coverage->has_nameless |= !frame->is_named;
	coverage->has_files |= frame->file != NULL;
	coverage->has_lines |= frame->line != 0;
	coverage->has_inlined |= frame->symbol->inlined;
}

static uint32_t mapping_of(const struct writer *writer, const struct profile_location *location)
{
	return location->special ? 0 : writer->mapping_ids[location->module];
}

static void put_location(struct writer *writer, uint32_t index)
{
	const struct profile_location *location = &writer->profile->locations[index];
	const struct frames *frames = &writer->frames;
	uint32_t mapped = mapping_of(writer, location);
	uint32_t i;

	protobuf_uint(&writer->message, LOCATION_ID, (uint64_t)index + 1);
	if (mapped)
		protobuf_uint(&writer->message, LOCATION_MAPPING_ID, mapped);
	if (!location->special && location->address > 0)
		protobuf_uint(&writer->message, LOCATION_ADDRESS, location->address - 1);
	for (i = frames->first[index]; i < frames->first[index + 1]; i++) {
		const struct frame *frame = &frames->items[i];

		if (mapped)
			cover(&writer->coverage[location->module], frame);
		if (frame->is_named || !mapped)
			put_line(writer, frame);
	}
	put_message(writer, PROFILE_LOCATION);
}

static void put_unknown(struct writer *writer)
{
	static const struct symbol nameless;
	struct frame frame = {.is_named = true, .name = FRAMES_NONE, .symbol = &nameless};

	protobuf_uint(&writer->message, LOCATION_ID, writer->unknown_id);
	put_line(writer, &frame);
	put_message(writer, PROFILE_LOCATION);
}

static void put_build_id(struct writer *writer, const struct profile_module *module)
{
	char text[2 * FORMAT_BUILD_ID_MAX + 1] = "";
	size_t i;

	for (i = 0; i < module->build_id_size && i < FORMAT_BUILD_ID_MAX; i++)
		snprintf(text + 2 * i, 3, "%02x", module->build_id[i]);
	if (text[0])
		protobuf_uint(&writer->message, MAPPING_BUILD_ID, string_of(writer, text));
}

/* Of a module whose functions have all got names readers need not look for more. */
static void put_mapping(struct writer *writer, uint32_t index)
{
	const struct profile_module *module = &writer->profile->modules[index];
	const struct coverage *coverage = &writer->coverage[index];
	struct protobuf *message = &writer->message;

	protobuf_uint(message, MAPPING_ID, writer->mapping_ids[index]);
	protobuf_uint(message, MAPPING_START, module->start);
	protobuf_uint(message, MAPPING_LIMIT, module->end);
	protobuf_uint(message, MAPPING_FILENAME, clean_string_of(writer, module->path));
	put_build_id(writer, module);
	protobuf_uint(message, MAPPING_HAS_FUNCTIONS, !coverage->has_nameless);
	protobuf_uint(message, MAPPING_HAS_FILENAMES, coverage->has_files);
	protobuf_uint(message, MAPPING_HAS_LINE_NUMBERS, coverage->has_lines);
	protobuf_uint(message, MAPPING_HAS_INLINE_FRAMES, coverage->has_inlined);
	put_message(writer, PROFILE_MAPPING);
}

static void put_mappings(struct writer *writer)
{
	uint32_t i;

	for (i = 0; i < writer->mapping_count; i++)
		put_mapping(writer, writer->mappings[i]);
}

static void put_strings(struct writer *writer)
{
	uint32_t i;

	for (i = 0; i < writer->strings.count; i++) {
		protobuf_text(&writer->outer, PROFILE_STRING_TABLE, writer->strings.items[i]);
		put_outer(writer);
	}
}

static bool put_profile(struct writer *writer)
{
	const struct profile *profile = writer->profile;
	bool ok;
	uint32_t i;

	string_of(writer, ""); /* number 0, as the format wants it */
	put_types(writer);
	put_comments(writer);
	ok = put_samples(writer, profile) &&
	     (writer->values == HEAP_VALUES || put_samples(writer, profile->mapped));
	for (i = 0; i < profile->location_count; i++)
		put_location(writer, i);
	put_unknown(writer);
	put_mappings(writer);
	put_strings(writer);
	return ok && !writer->strings.failed && !writer->functions.failed &&
	       !writer->message.failed && !writer->outer.failed;
}

static void close_writer(struct writer *writer)
{
	frames_close(&writer->frames);
	strings_free(&writer->strings);
	strings_free(&writer->functions);
	path_free(&writer->path);
	protobuf_free(&writer->message);
	protobuf_free(&writer->outer);
	free(writer->coverage);
	free(writer->mapping_ids);
	free(writer->mappings);
	free(writer->base.index);
	free(writer->base_mapped.index);
	free(writer->ids);
	free(writer);
}

static void add_mapping(struct writer *writer, uint32_t module)
{
	if (writer->mapping_ids[module] || !writer->profile->modules[module].path[0])
		return;
	writer->mappings[writer->mapping_count++] = module;
	writer->mapping_ids[module] = writer->mapping_count;
}

/* The first mapping is the program's, by convention of the format; ids are numbers from 1 on in the order of the file, which Parca
 * insists on. */
static void order_mappings(struct writer *writer)
{
	const struct profile *profile = writer->profile;
	uint32_t i;

	for (i = 1; i < profile->module_count && writer->mapping_count == 0; i++)
		if (profile->program[0] && strcmp(profile->modules[i].path, profile->program) == 0)
			add_mapping(writer, i);
	for (i = 1; i < profile->module_count; i++)
		add_mapping(writer, i);
}

/* Call stacks keep their numbers as long as the process runs.  profile NULL: there are none.  False: no memory. */
static bool index_stacks(const struct profile *profile, struct by_number *known)
{
	uint32_t count = profile ? profile->stack_count : 0, i;

	for (i = 0; i < count; i++)
		if (profile->stacks[i].number >= known->limit)
			known->limit = profile->stacks[i].number + 1;
	known->index = calloc((size_t)known->limit + 1, sizeof(*known->index));
	for (i = 0; known->index && i < count; i++)
		known->index[profile->stacks[i].number] = i + 1;
	return known->index != NULL;
}

static bool index_base(struct writer *writer)
{
	const struct profile *base = writer->source->base;

	return index_stacks(base, &writer->base) &&
	       index_stacks(base ? base->mapped : NULL, &writer->base_mapped);
}

static struct writer *new_writer(const struct export_source *source)
{
	struct writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return NULL;
	writer->source = source;
	writer->profile = source->profile;
	writer->values = source->profile->mapped ? VALUES : HEAP_VALUES;
	writer->unknown_id = source->profile->location_count + 1;
	writer->coverage = calloc((size_t)source->profile->module_count + 1,
				  sizeof(*writer->coverage));
	writer->message = protobuf_new(MESSAGE_LIMIT);
	writer->outer = protobuf_new(MESSAGE_LIMIT + 16);
	writer->mapping_ids = calloc((size_t)source->profile->module_count + 1,
				     sizeof(*writer->mapping_ids));
	writer->mappings = calloc((size_t)source->profile->module_count + 1,
				  sizeof(*writer->mappings));
	if (!writer->coverage || !writer->mapping_ids || !writer->mappings || !index_base(writer)) {
		close_writer(writer);
		return NULL;
	}
	order_mappings(writer);
	return writer;
}

bool export_pprof(const struct export_source *source, FILE *file, struct error *err)
{
	struct writer *writer = new_writer(source);
	bool ok;

	if (!writer)
		return error_set(err, "no memory to write the profile");
	ok = frames_open(&writer->frames, source, "", err) && gzip_begin(&writer->gzip, file, err);
	if (ok) {
		ok = put_profile(writer);
		gzip_end(&writer->gzip);
		if (!ok)
			error_set(err,
				  "no memory to write the profile, or a call stack is too large");
	}
	close_writer(writer);
	return ok;
}
