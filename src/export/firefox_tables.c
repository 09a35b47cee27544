/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * firefox_tables.c - the tables of a thread in Firefox Profiler's processed format.
 *
 * The table of stacks is a tree by prefixes, in which a prefix comes before what it is prefix of: frames_nodes() has that order. A node whose location has
 * inlined functions is several entries, the outermost function first.
 */
#include "export/firefox_tables.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { RESOURCE_LIBRARY = 1, BREAKPAD_ID_SIZE = 40 };

static const struct profile_location *location_of(const struct firefox_tables *tables,
						  uint32_t frame)
{
	return &tables->profile->locations[tables->frames.items[frame].location];
}

/* Of a frame; 0 = none, also for code outside of all files. */
static uint32_t module_of(const struct firefox_tables *tables, uint32_t frame)
{
	const struct profile_location *location = location_of(tables, frame);

	return location->special ? 0 : location->module;
}

static bool has_path(const struct firefox_tables *tables, uint32_t module)
{
	return module > 0 && tables->profile->modules[module].path[0];
}

static uint32_t number_function(struct firefox_tables *tables,
				const struct firefox_function *function)
{
	uint32_t known = tables->keys.count;
	uint32_t number = strings_add_key(&tables->keys, function->name, function->file,
					  function->module);

	if (tables->keys.count > known)
		tables->functions[number] = *function;
	return number;
}

static void number_functions(struct firefox_tables *tables)
{
	struct firefox_function none = {strings_add(&tables->strings, FRAMES_NONE), 0, 0};
	uint32_t i;

	for (i = 0; i < tables->frames.count; i++) {
		const struct frame *frame = &tables->frames.items[i];
		uint32_t module = module_of(tables, i);
		struct firefox_function function = {
			.name = strings_add(&tables->strings, frame->name),
			.file = frame->file ? strings_add(&tables->strings, frame->file) + 1 : 0,
			.module = has_path(tables, module) ? module : 0,
		};

		tables->function_of[i] = number_function(tables, &function);
	}
	tables->function_of[i] = number_function(tables, &none);
}

static void number_libraries(struct firefox_tables *tables)
{
	uint32_t i;

	for (i = 0; i < tables->profile->module_count; i++) {
		tables->library_of[i] = UINT32_MAX;
		if (!has_path(tables, i))
			continue;
		tables->library_names[tables->library_count] = strings_add(
			&tables->strings, frames_base_name(tables->frames.modules[i]));
		tables->library_of[i] = tables->library_count++;
	}
}

static uint32_t frame_count(const struct firefox_tables *tables, uint32_t location)
{
	return tables->frames.first[location + 1] - tables->frames.first[location];
}

/* Entry 0 has no frame of the profile. */
static bool number_stacks(struct firefox_tables *tables)
{
	uint64_t count = 1;
	uint32_t i;

	for (i = 0; i < tables->node_count; i++) {
		uint32_t node = tables->nodes[i];

		count += frame_count(tables, tables->profile->nodes[node].location);
		tables->stack_of[node] = (uint32_t)count - 1;
	}
	tables->stack_count = (uint32_t)count;
	return count < UINT32_MAX;
}

static bool allocate(struct firefox_tables *tables)
{
	size_t frame_count = (size_t)tables->frames.count + 1;

	tables->functions = calloc(frame_count, sizeof(*tables->functions));
	tables->function_of = calloc(frame_count, sizeof(*tables->function_of));
	tables->nodes = frames_nodes(tables->profile, &tables->node_count);
	tables->stack_of = calloc((size_t)tables->profile->node_count + 1, sizeof(uint32_t));
	tables->library_of = calloc((size_t)tables->profile->module_count + 1, sizeof(uint32_t));
	tables->library_names = calloc((size_t)tables->profile->module_count + 1, sizeof(uint32_t));
	return tables->functions && tables->function_of && tables->nodes && tables->stack_of &&
	       tables->library_of && tables->library_names;
}

bool firefox_tables_open(struct firefox_tables *tables, const struct export_source *source,
			 struct error *err)
{
	bool ok;

	*tables = (struct firefox_tables){.profile = source->profile};
	if (!frames_open(&tables->frames, source, "", err))
		return false;
	ok = allocate(tables);
	if (ok) {
		number_libraries(tables);
		number_functions(tables);
		ok = number_stacks(tables);
	}
	if (ok && !tables->strings.failed && !tables->keys.failed)
		return true;
	firefox_tables_close(tables);
	return error_set(err, "no memory for the call stacks");
}

void firefox_tables_close(struct firefox_tables *tables)
{
	frames_close(&tables->frames);
	strings_free(&tables->strings);
	strings_free(&tables->keys);
	free(tables->functions);
	free(tables->function_of);
	free(tables->nodes);
	free(tables->stack_of);
	free(tables->library_of);
	free(tables->library_names);
	*tables = (struct firefox_tables){0};
}

/* The build-id's first 16 bytes as a GUID, whose first three fields are little-endian, in capitals, and the age 0. */
static void breakpad_id(const struct profile_module *module, char text[BREAKPAD_ID_SIZE])
{
	static const unsigned char order[16] = {3, 2, 1,  0,  5,  4,  7,  6,
						8, 9, 10, 11, 12, 13, 14, 15};
	unsigned i;

	for (i = 0; i < sizeof(order); i++)
		snprintf(text + 2 * i, 3, "%02X",
			 order[i] < module->build_id_size ? module->build_id[order[i]] : 0u);
	strcpy(text + 2 * sizeof(order), "0");
}

static void put_code_id(const struct profile_module *module, struct json *json)
{
	char text[2 * FORMAT_BUILD_ID_MAX + 1] = "";
	size_t i;

	for (i = 0; i < module->build_id_size && i < FORMAT_BUILD_ID_MAX; i++)
		snprintf(text + 2 * i, 3, "%02x", module->build_id[i]);
	json_key_string(json, "codeId", text[0] ? text : NULL);
}

void firefox_tables_put_libraries(const struct firefox_tables *tables, struct json *json)
{
	uint32_t i;

	json_key(json, "libs");
	json_array(json);
	for (i = 0; i < tables->profile->module_count; i++) {
		const char *path = tables->frames.modules[i];
		char id[BREAKPAD_ID_SIZE];

		if (tables->library_of[i] == UINT32_MAX)
			continue;
		breakpad_id(&tables->profile->modules[i], id);
		json_object(json);
		json_key_string(json, "arch", "x86_64");
		json_key_string(json, "name", frames_base_name(path));
		json_key_string(json, "path", path);
		json_key_string(json, "debugName", frames_base_name(path));
		json_key_string(json, "debugPath", path);
		json_key_string(json, "breakpadId", id);
		put_code_id(&tables->profile->modules[i], json);
		json_end(json);
	}
	json_end(json);
}

/* A column of count numbers; UINT64_MAX is null. */
typedef uint64_t column(const struct firefox_tables *tables, uint32_t row);

static void put_column(const struct firefox_tables *tables, struct json *json, const char *name,
		       column *value, uint32_t count)
{
	uint32_t i;

	json_key(json, name);
	json_array(json);
	for (i = 0; i < count; i++) {
		uint64_t number = value(tables, i);

		if (number == UINT64_MAX)
			json_null(json);
		else
			json_uint(json, number);
	}
	json_end(json);
}

static uint64_t zero(const struct firefox_tables *tables, uint32_t row)
{
	(void)tables;
	(void)row;
	return 0;
}

static uint64_t null(const struct firefox_tables *tables, uint32_t row)
{
	(void)tables;
	(void)row;
	return UINT64_MAX;
}

static void put_constants(struct json *json, const char *name, int64_t value, uint32_t count)
{
	json_key(json, name);
	json_array(json);
	while (count--)
		json_int(json, value);
	json_end(json);
}

static void put_false(struct json *json, const char *name, uint32_t count)
{
	json_key(json, name);
	json_array(json);
	while (count--)
		json_bool(json, false);
	json_end(json);
}

static uint64_t function_name(const struct firefox_tables *tables, uint32_t row)
{
	return tables->functions[row].name;
}

static uint64_t function_file(const struct firefox_tables *tables, uint32_t row)
{
	return tables->functions[row].file ? tables->functions[row].file - 1 : UINT64_MAX;
}

static void put_resources_of_functions(const struct firefox_tables *tables, struct json *json)
{
	uint32_t i;

	json_key(json, "resource");
	json_array(json);
	for (i = 0; i < tables->keys.count; i++) {
		uint32_t module = tables->functions[i].module;

		json_int(json, module ? (int64_t)tables->library_of[module] : -1);
	}
	json_end(json);
}

static void put_functions(const struct firefox_tables *tables, struct json *json)
{
	uint32_t count = tables->keys.count;

	json_key(json, "funcTable");
	json_object(json);
	json_key_uint(json, "length", count);
	put_column(tables, json, "name", function_name, count);
	put_false(json, "isJS", count);
	put_false(json, "relevantForJS", count);
	put_resources_of_functions(tables, json);
	put_column(tables, json, "fileName", function_file, count);
	put_column(tables, json, "lineNumber", null, count);
	put_column(tables, json, "columnNumber", null, count);
	json_end(json);
}

static uint64_t frame_function(const struct firefox_tables *tables, uint32_t row)
{
	return tables->function_of[row];
}

static uint64_t frame_line(const struct firefox_tables *tables, uint32_t row)
{
	if (row == tables->frames.count || !tables->frames.items[row].line)
		return UINT64_MAX;
	return tables->frames.items[row].line;
}

/* 0 for the function that was not inlined. */
static uint64_t inline_depth(const struct firefox_tables *tables, uint32_t row)
{
	if (row == tables->frames.count)
		return 0;
	return tables->frames.first[tables->frames.items[row].location + 1] - 1 - row;
}

/* In the library's file, of the call; -1: no native code. */
static void put_addresses(const struct firefox_tables *tables, struct json *json)
{
	uint32_t i;

	json_key(json, "address");
	json_array(json);
	for (i = 0; i < tables->frames.count; i++) {
		const struct profile_location *location = location_of(tables, i);

		if (location->special || location->offset == 0)
			json_int(json, -1);
		else
			json_uint(json, location->offset - 1);
	}
	json_int(json, -1);
	json_end(json);
}

static void put_frames(const struct firefox_tables *tables, struct json *json)
{
	uint32_t count = tables->frames.count + 1;

	json_key(json, "frameTable");
	json_object(json);
	json_key_uint(json, "length", count);
	put_addresses(tables, json);
	put_column(tables, json, "inlineDepth", inline_depth, count);
	put_column(tables, json, "category", zero, count);
	put_column(tables, json, "subcategory", zero, count);
	put_column(tables, json, "func", frame_function, count);
	put_column(tables, json, "nativeSymbol", null, count);
	put_column(tables, json, "innerWindowID", null, count);
	put_column(tables, json, "implementation", null, count);
	put_column(tables, json, "line", frame_line, count);
	put_column(tables, json, "column", null, count);
	json_end(json);
}

static void put_stack_frames(const struct firefox_tables *tables, struct json *json)
{
	uint32_t i, at;

	json_key(json, "frame");
	json_array(json);
	json_uint(json, tables->frames.count);
	for (i = 0; i < tables->node_count; i++) {
		uint32_t location = tables->profile->nodes[tables->nodes[i]].location;

		for (at = tables->frames.first[location + 1]; at-- > tables->frames.first[location];)
			json_uint(json, at);
	}
	json_end(json);
}

static void put_prefixes(const struct firefox_tables *tables, struct json *json)
{
	uint32_t i, entry = 1, left;

	json_key(json, "prefix");
	json_array(json);
	json_null(json);
	for (i = 0; i < tables->node_count; i++) {
		const struct profile_node *node = &tables->profile->nodes[tables->nodes[i]];

		if (node->parent)
			json_uint(json, tables->stack_of[node->parent]);
		else
			json_null(json);
		for (left = frame_count(tables, node->location); left > 1; left--)
			json_uint(json, entry++);
		entry++;
	}
	json_end(json);
}

static void put_stacks(const struct firefox_tables *tables, struct json *json)
{
	json_key(json, "stackTable");
	json_object(json);
	json_key_uint(json, "length", tables->stack_count);
	put_stack_frames(tables, json);
	put_prefixes(tables, json);
	put_column(tables, json, "category", zero, tables->stack_count);
	put_column(tables, json, "subcategory", zero, tables->stack_count);
	json_end(json);
}

static uint64_t row_number(const struct firefox_tables *tables, uint32_t row)
{
	(void)tables;
	return row;
}

static uint64_t library_name(const struct firefox_tables *tables, uint32_t row)
{
	return tables->library_names[row];
}

/* One for each library, with the same number. */
static void put_resources(const struct firefox_tables *tables, struct json *json)
{
	uint32_t count = tables->library_count;

	json_key(json, "resourceTable");
	json_object(json);
	json_key_uint(json, "length", count);
	put_column(tables, json, "lib", row_number, count);
	put_column(tables, json, "name", library_name, count);
	put_column(tables, json, "host", null, count);
	put_constants(json, "type", RESOURCE_LIBRARY, count);
	json_end(json);
}

static void put_no_symbols(struct json *json)
{
	static const char *const columns[] = {"libIndex", "address", "name", "functionSize"};
	unsigned i;

	json_key(json, "nativeSymbols");
	json_object(json);
	json_key_uint(json, "length", 0);
	for (i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
		json_key(json, columns[i]);
		json_array(json);
		json_end(json);
	}
	json_end(json);
}

void firefox_tables_put(const struct firefox_tables *tables, struct json *json)
{
	put_stacks(tables, json);
	put_frames(tables, json);
	put_functions(tables, json);
	put_resources(tables, json);
	put_no_symbols(json);
}

void firefox_tables_put_strings(const struct firefox_tables *tables, struct json *json)
{
	uint32_t i;

	json_key(json, "stringArray");
	json_array(json);
	for (i = 0; i < tables->strings.count; i++)
		json_string(json, tables->strings.items[i]);
	json_end(json);
}
