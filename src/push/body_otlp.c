/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * body_otlp.c - profiles of OpenTelemetry, opentelemetry.proto.profiles.v1development: still changing.
 *
 * POST of an ExportProfilesServiceRequest { repeated ResourceProfiles resource_profiles = 1; ProfilesDictionary dictionary = 2 }, as
 * application/x-protobuf, compressed.  A Profile has one type of sample, so there are four, and samples refer to call stacks, these to
 * locations and so on by index into the tables of the dictionary, in each of which number 0 stands for nothing.  The form is that of
 * opentelemetry-proto 1.9 and later (stack_table and string_table in the dictionary, Sample.values); collectors before 0.140 or so
 * do not read it.
 *
 * inuse_* are states: their profiles have no duration.  alloc_* are what came in that time.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/version.h"
#include "export/clean.h"
#include "export/frames.h"
#include "export/gzip.h"
#include "export/protobuf.h"
#include "export/strings.h"
#include "push/body.h"
#include "push/spool.h"

enum { REQUEST_RESOURCES = 1, REQUEST_DICTIONARY = 2 };
enum { RESOURCE_PROFILES_RESOURCE = 1, RESOURCE_PROFILES_SCOPES = 2 };
enum { RESOURCE_ATTRIBUTES = 1 };
enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2 };
enum { ANY_STRING = 1, ANY_INT = 3 };
enum { SCOPE_PROFILES_SCOPE = 1, SCOPE_PROFILES_PROFILES = 2 };
enum { SCOPE_NAME = 1, SCOPE_VERSION = 2 };
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLES = 2,
	PROFILE_TIME = 3,
	PROFILE_DURATION = 4,
	PROFILE_PERIOD_TYPE = 5,
	PROFILE_PERIOD = 6,
	PROFILE_ID = 7,
};
enum { VALUE_TYPE = 1, VALUE_UNIT = 2 };
enum { SAMPLE_STACK = 1, SAMPLE_ATTRIBUTES = 2, SAMPLE_VALUES = 4 };
enum {
	DICTIONARY_MAPPINGS = 1,
	DICTIONARY_LOCATIONS = 2,
	DICTIONARY_FUNCTIONS = 3,
	DICTIONARY_LINKS = 4,
	DICTIONARY_STRINGS = 5,
	DICTIONARY_ATTRIBUTES = 6,
	DICTIONARY_STACKS = 7,
};
enum { MAPPING_START = 1, MAPPING_LIMIT = 2, MAPPING_FILENAME = 4, MAPPING_ATTRIBUTES = 5 };
enum { LOCATION_MAPPING = 1, LOCATION_ADDRESS = 2, LOCATION_LINES = 3 };
enum { LINE_FUNCTION = 1, LINE_LINE = 2 };
enum { FUNCTION_NAME = 1, FUNCTION_SYSTEM_NAME = 2, FUNCTION_FILENAME = 3 };
enum { STACK_LOCATIONS = 1 };
enum { ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE = 2 };

#define MESSAGE_LIMIT ((size_t)1 << 31)

/* Tables of the dictionary grow as what refers to them is written. */
struct writer {
	const struct body *body;
	const struct profile *profile;
	struct frames frames;
	struct path path;
	struct strings strings;
	struct strings functions;  /* keys: name, system name, file */
	struct strings attributes; /* keys: key, value, 0 */
	uint64_t *ids;
	uint32_t ids_size;
	struct protobuf dictionary;
	struct protobuf resources;
	bool failed;
};

struct type {
	const char *name;
	const char *unit;
	uint64_t (*value)(const struct profile_counts *counts);
	bool has_duration;
};

static uint64_t alloc_objects(const struct profile_counts *counts)
{
	return counts->alloc_count;
}

static uint64_t alloc_space(const struct profile_counts *counts)
{
	return counts->alloc_bytes;
}

static const struct type types[] = {
	{"alloc_objects", "count", alloc_objects, true},
	{"alloc_space", "bytes", alloc_space, true},
	{"inuse_objects", "count", profile_live_count, false},
	{"inuse_space", "bytes", profile_live_bytes, false},
};

enum { TYPES = sizeof(types) / sizeof(types[0]) };

static uint32_t string_of(struct writer *writer, const char *text)
{
	return strings_add(&writer->strings, text);
}

/* Adds a row to a table, and ends it. */
static void put_row(struct writer *writer, uint32_t table, struct protobuf *row)
{
	protobuf_message(&writer->dictionary, table, row);
	protobuf_free(row);
}

/* --- attributes ------------------------------------------------------------------------------ */

static void put_value(struct protobuf *outer, uint32_t field, const char *text)
{
	struct protobuf value = protobuf_new(MESSAGE_LIMIT);

	protobuf_text(&value, ANY_STRING, text);
	protobuf_message(outer, field, &value);
	protobuf_free(&value);
}

/* Number of a row of the dictionary. */
static uint64_t attribute_of(struct writer *writer, const char *key, const char *text)
{
	uint32_t known = writer->attributes.count, name = string_of(writer, key);
	uint32_t index = strings_add_key(&writer->attributes, name, string_of(writer, text), 0);
	struct protobuf row = protobuf_new(MESSAGE_LIMIT);

	if (writer->attributes.count == known)
		return index;
	protobuf_uint(&row, ATTRIBUTE_KEY, name);
	put_value(&row, ATTRIBUTE_VALUE, text);
	put_row(writer, DICTIONARY_ATTRIBUTES, &row);
	return index;
}

/* Labels have names of their own among OpenTelemetry's attributes. */
static const char *attribute_name(const char *label)
{
	if (strcmp(label, "service_name") == 0)
		return "service.name";
	if (strcmp(label, "pid") == 0)
		return "process.pid";
	return strcmp(label, "host") == 0 ? "host.name" : label;
}

static bool is_number(const char *text)
{
	size_t length = strlen(text);

	return length > 0 && length < 16 && strspn(text, "0123456789") == length;
}

static void put_resource_attribute(struct protobuf *resource, const struct label *label)
{
	const char *name = attribute_name(label->name);
	struct protobuf attribute = protobuf_new(MESSAGE_LIMIT);
	struct protobuf number = protobuf_new(MESSAGE_LIMIT);

	protobuf_text(&attribute, KEY_VALUE_KEY, name);
	if (strcmp(name, "process.pid") == 0 && is_number(label->value)) {
		protobuf_uint(&number, ANY_INT, strtoull(label->value, NULL, 10));
		protobuf_message(&attribute, KEY_VALUE_VALUE, &number);
	} else {
		put_value(&attribute, KEY_VALUE_VALUE, label->value);
	}
	protobuf_message(resource, RESOURCE_ATTRIBUTES, &attribute);
	protobuf_free(&number);
	protobuf_free(&attribute);
}

/* --- the dictionary -------------------------------------------------------------------------- */

static void put_nothing(struct writer *writer)
{
	static const uint32_t tables[] = {DICTIONARY_MAPPINGS,	 DICTIONARY_LOCATIONS,
					  DICTIONARY_FUNCTIONS,	 DICTIONARY_LINKS,
					  DICTIONARY_ATTRIBUTES, DICTIONARY_STACKS};
	size_t i;

	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		protobuf_bytes(&writer->dictionary, tables[i], "", 0);
	string_of(writer, "");
	strings_add_key(&writer->functions, 0, 0, 0);
	strings_add_key(&writer->attributes, 0, 0, 0);
}

/* The name that a linker knows, where it is known.  Text in messages must be UTF-8. */
static uint32_t system_name_of(struct writer *writer, const struct frame *frame)
{
	const char *raw = frame->is_named && frame->symbol ? frame->symbol->raw_name : NULL;
	char *clean = clean_text(raw ? raw : frame->name, "");
	uint32_t number = clean ? string_of(writer, clean) : 0;

	writer->failed |= !clean;
	free(clean);
	return number;
}

static uint32_t function_of(struct writer *writer, const struct frame *frame)
{
	uint32_t known = writer->functions.count, name = string_of(writer, frame->name);
	uint32_t system = system_name_of(writer, frame);
	uint32_t file = string_of(writer, frame->file ? frame->file : "");
	uint32_t index = strings_add_key(&writer->functions, name, system, file);
	struct protobuf row = protobuf_new(MESSAGE_LIMIT);

	if (writer->functions.count == known)
		return index;
	protobuf_uint(&row, FUNCTION_NAME, name);
	protobuf_uint(&row, FUNCTION_SYSTEM_NAME, system);
	protobuf_uint(&row, FUNCTION_FILENAME, file);
	put_row(writer, DICTIONARY_FUNCTIONS, &row);
	return index;
}

static void put_line(struct writer *writer, struct protobuf *location, const struct frame *frame)
{
	struct protobuf line = protobuf_new(MESSAGE_LIMIT);

	protobuf_uint(&line, LINE_FUNCTION, function_of(writer, frame));
	if (frame->line)
		protobuf_uint(&line, LINE_LINE, frame->line);
	protobuf_message(location, LOCATION_LINES, &line);
	protobuf_free(&line);
}

/* Modules are numbered as in the profile, where 0 is none too. */
static void put_mapping(struct writer *writer, const struct profile_module *module)
{
	char build_id[2 * FORMAT_BUILD_ID_MAX + 1] = "";
	struct protobuf row = protobuf_new(MESSAGE_LIMIT);
	uint64_t attribute;
	size_t i;

	for (i = 0; i < module->build_id_size && i < FORMAT_BUILD_ID_MAX; i++)
		snprintf(build_id + 2 * i, 3, "%02x", module->build_id[i]);
	protobuf_uint(&row, MAPPING_START, module->start);
	protobuf_uint(&row, MAPPING_LIMIT, module->end);
	if (build_id[0]) {
		attribute = attribute_of(writer, "process.executable.build_id.gnu", build_id);
		protobuf_packed(&row, MAPPING_ATTRIBUTES, &attribute, 1);
	}
	protobuf_uint(&row, MAPPING_FILENAME,
		      string_of(writer, writer->frames.modules[module - writer->profile->modules]));
	put_row(writer, DICTIONARY_MAPPINGS, &row);
}

/* Location i has number i + 1. */
static void put_location(struct writer *writer, uint32_t i)
{
	const struct profile_location *location = &writer->profile->locations[i];
	struct protobuf row = protobuf_new(MESSAGE_LIMIT);
	uint32_t frame;

	if (!location->special && location->module > 0)
		protobuf_uint(&row, LOCATION_MAPPING, location->module);
	if (!location->special && location->address > 0)
		protobuf_uint(&row, LOCATION_ADDRESS, location->address - 1);
	for (frame = writer->frames.first[i]; frame < writer->frames.first[i + 1]; frame++)
		put_line(writer, &row, &writer->frames.items[frame]);
	put_row(writer, DICTIONARY_LOCATIONS, &row);
}

/* For call stacks without frames. */
static void put_unknown(struct writer *writer)
{
	struct frame frame = {.name = FRAMES_NONE};
	struct protobuf row = protobuf_new(MESSAGE_LIMIT);

	put_line(writer, &row, &frame);
	put_row(writer, DICTIONARY_LOCATIONS, &row);
}

static bool read_ids(struct writer *writer, uint32_t node)
{
	struct path *path = &writer->path;
	uint32_t i;

	if (!path_read(path, writer->profile, node))
		return false;
	if (path->count + 1 > writer->ids_size) {
		uint64_t *ids = realloc(writer->ids, ((size_t)path->count + 1) * sizeof(*ids));

		if (!ids)
			return false;
		writer->ids = ids;
		writer->ids_size = path->count + 1;
	}
	for (i = 0; i < path->count; i++)
		writer->ids[i] = (uint64_t)path->locations[i] + 1;
	if (path->count == 0)
		writer->ids[0] = (uint64_t)writer->profile->location_count + 1;
	return true;
}

/* Stack i has number i + 1. */
static void put_stack(struct writer *writer, const struct profile_stack *stack)
{
	struct protobuf row = protobuf_new(MESSAGE_LIMIT);

	if (!read_ids(writer, stack->node)) {
		writer->failed = true;
		return;
	}
	protobuf_packed(&row, STACK_LOCATIONS, writer->ids,
			writer->path.count ? writer->path.count : 1);
	put_row(writer, DICTIONARY_STACKS, &row);
}

static void put_tables(struct writer *writer)
{
	const struct profile *profile = writer->profile;
	uint32_t i;

	for (i = 1; i < profile->module_count; i++)
		put_mapping(writer, &profile->modules[i]);
	for (i = 0; i < profile->location_count; i++)
		put_location(writer, i);
	put_unknown(writer);
	for (i = 0; i < profile->stack_count; i++)
		put_stack(writer, &profile->stacks[i]);
}

/* --- profiles -------------------------------------------------------------------------------- */

static void put_value_type(struct writer *writer, struct protobuf *profile, uint32_t field,
			   const struct type *type)
{
	struct protobuf row = protobuf_new(MESSAGE_LIMIT);

	protobuf_uint(&row, VALUE_TYPE, string_of(writer, type->name));
	protobuf_uint(&row, VALUE_UNIT, string_of(writer, type->unit));
	protobuf_message(profile, field, &row);
	protobuf_free(&row);
}

static void put_sample(struct writer *writer, struct protobuf *profile, uint32_t stack_index,
		       uint64_t value)
{
	const struct profile_stack *stack = &writer->profile->stacks[stack_index];
	struct protobuf sample = protobuf_new(MESSAGE_LIMIT);
	uint64_t attribute;

	protobuf_uint(&sample, SAMPLE_STACK, (uint64_t)stack_index + 1);
	if (stack->hook != FORMAT_NO_HOOK) {
		attribute = attribute_of(writer, "entry", profile_hook_name(stack->hook));
		protobuf_packed(&sample, SAMPLE_ATTRIBUTES, &attribute, 1);
	}
	protobuf_packed(&sample, SAMPLE_VALUES, &value, 1);
	protobuf_message(profile, PROFILE_SAMPLES, &sample);
	protobuf_free(&sample);
}

static void put_profile(struct writer *writer, struct protobuf *scope, unsigned number)
{
	static const struct type period = {.name = "space", .unit = "bytes"};
	const struct type *type = &types[number];
	uint64_t bytes = writer->profile->header.sample_bytes;
	struct protobuf profile = protobuf_new(MESSAGE_LIMIT);
	uint8_t id[BODY_ID_SIZE];
	uint32_t i;

	memcpy(id, writer->body->id, sizeof(id));
	id[0] ^= (uint8_t)number; /* each has its own */
	put_value_type(writer, &profile, PROFILE_SAMPLE_TYPE, type);
	for (i = 0; i < writer->profile->stack_count; i++) {
		uint64_t value = type->value(&writer->profile->stacks[i].counts);

		if (value)
			put_sample(writer, &profile, i, value);
	}
	protobuf_fixed64(&profile, PROFILE_TIME, writer->body->until_ns);
	if (type->has_duration)
		protobuf_uint(&profile, PROFILE_DURATION, writer->profile->duration_ns);
	put_value_type(writer, &profile, PROFILE_PERIOD_TYPE, &period);
	protobuf_uint(&profile, PROFILE_PERIOD, bytes ? bytes : 1);
	protobuf_bytes(&profile, PROFILE_ID, id, sizeof(id));
	protobuf_message(scope, SCOPE_PROFILES_PROFILES, &profile);
	protobuf_free(&profile);
}

static void put_scope(struct writer *writer, struct protobuf *resources)
{
	struct protobuf scope = protobuf_new(MESSAGE_LIMIT), scopes = protobuf_new(MESSAGE_LIMIT);
	unsigned i;

	protobuf_text(&scope, SCOPE_NAME, "pmem");
	protobuf_text(&scope, SCOPE_VERSION, PMEM_VERSION);
	protobuf_message(&scopes, SCOPE_PROFILES_SCOPE, &scope);
	for (i = 0; i < TYPES; i++)
		put_profile(writer, &scopes, i);
	protobuf_message(resources, RESOURCE_PROFILES_SCOPES, &scopes);
	protobuf_free(&scope);
	protobuf_free(&scopes);
}

static void put_resource(struct writer *writer)
{
	const struct labels *labels = writer->body->labels;
	struct protobuf resource = protobuf_new(MESSAGE_LIMIT);
	unsigned i;

	for (i = 0; i < labels->count; i++)
		put_resource_attribute(&resource, &labels->items[i]);
	protobuf_message(&writer->resources, RESOURCE_PROFILES_RESOURCE, &resource);
	put_scope(writer, &writer->resources);
	protobuf_free(&resource);
}

static bool put_all(struct writer *writer)
{
	uint32_t i;

	put_nothing(writer);
	put_tables(writer);
	put_resource(writer);
	for (i = 0; i < writer->strings.count; i++)
		protobuf_text(&writer->dictionary, DICTIONARY_STRINGS, writer->strings.items[i]);
	return !writer->failed && !writer->strings.failed && !writer->functions.failed &&
	       !writer->attributes.failed && !writer->dictionary.failed && !writer->resources.failed;
}

static bool write_request(const struct writer *writer, FILE *file, struct error *err)
{
	struct protobuf request = protobuf_new(MESSAGE_LIMIT);
	struct gzip *gzip = calloc(1, sizeof(*gzip));
	bool ok;

	protobuf_message(&request, REQUEST_RESOURCES, &writer->resources);
	protobuf_message(&request, REQUEST_DICTIONARY, &writer->dictionary);
	ok = (gzip && !request.failed) || error_set(err, "no memory, or the profile is too large");
	spool_head_write(file, &(struct spool_head){"application/x-protobuf", "gzip", ""});
	ok = ok && gzip_begin(gzip, file, err);
	if (ok) {
		gzip_write(gzip, request.bytes, request.size);
		gzip_end(gzip);
	}
	free(gzip);
	protobuf_free(&request);
	return ok;
}

bool body_otlp(const struct body *body, FILE *file, struct error *err)
{
	struct writer writer = {
		.body = body,
		.profile = body->source.profile,
		.dictionary = protobuf_new(MESSAGE_LIMIT),
		.resources = protobuf_new(MESSAGE_LIMIT),
	};
	bool ok = frames_open(&writer.frames, &body->source, "", err);

	if (ok) {
		ok = put_all(&writer) || error_set(err, "no memory, or the profile is too large");
		ok = ok && write_request(&writer, file, err);
		frames_close(&writer.frames);
	}
	strings_free(&writer.strings);
	strings_free(&writer.functions);
	strings_free(&writer.attributes);
	path_free(&writer.path);
	free(writer.ids);
	protobuf_free(&writer.dictionary);
	protobuf_free(&writer.resources);
	return ok;
}
