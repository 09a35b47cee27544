/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * firefox.c - Firefox Profiler's processed profile, version 48, from which its importer upgrades to the newest.
 *
 * One thread has: samples whose weights are live bytes; native allocations, one of all that is live and one of all that was freed for each call
 * stack, the latter with its deallocation, so that the viewer's "retained memory" is what is live; the
 * program's marks.  Call stacks have no times: theirs are spread over the run.  Counters have the timeline.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "core/version.h"
#include "export/clean.h"
#include "export/firefox_tables.h"

enum { VERSION = 48, GECKO_VERSION = 29 };

#define NS_IN_MS 1e6

struct writer {
	const struct profile *profile;
	struct firefox_tables tables;
	uint32_t mark_name; /* a string */
	char *name;	    /* of the program */
	struct json json;
};

static void put_empty(struct json *json, const char *key)
{
	json_key(json, key);
	json_array(json);
	json_end(json);
}

static void put_key_real(struct json *json, const char *key, double value)
{
	json_key(json, key);
	json_real(json, value);
}

static void put_categories(struct json *json)
{
	json_key(json, "categories");
	json_array(json);
	json_object(json);
	json_key_string(json, "name", "Other");
	json_key_string(json, "color", "grey");
	json_key(json, "subcategories");
	json_array(json);
	json_string(json, "Other");
	json_end(json);
	json_end(json);
	json_end(json);
}

/* How marks are shown. */
static void put_marker_schema(struct json *json)
{
	json_key(json, "markerSchema");
	json_array(json);
	json_object(json);
	json_key_string(json, "name", "Text");
	json_key_string(json, "tableLabel", "{marker.data.name}");
	json_key_string(json, "chartLabel", "{marker.data.name}");
	json_key(json, "display");
	json_array(json);
	json_string(json, "marker-chart");
	json_string(json, "marker-table");
	json_string(json, "timeline-overview");
	json_end(json);
	json_key(json, "data");
	json_array(json);
	json_object(json);
	json_key_string(json, "key", "name");
	json_key_string(json, "label", "Mark");
	json_key_string(json, "format", "string");
	json_end(json);
	json_end(json);
	json_end(json);
	json_end(json);
}

static void put_units(struct json *json)
{
	json_key(json, "sampleUnits");
	json_object(json);
	json_key_string(json, "time", "ms");
	json_key_string(json, "eventDelay", "ms");
	json_key_string(json, "threadCPUDelta", "ns");
	json_end(json);
}

static void put_meta(struct writer *writer)
{
	const struct profile *profile = writer->profile;
	struct json *json = &writer->json;

	json_key(json, "meta");
	json_object(json);
	json_key_uint(json, "preprocessedProfileVersion", VERSION);
	json_key_uint(json, "version", GECKO_VERSION);
	json_key_string(json, "product", writer->name);
	json_key_string(json, "importedFrom", "pmem " PMEM_VERSION);
	put_key_real(json, "startTime", (double)profile->header.start_realtime_ns / NS_IN_MS);
	put_key_real(json, "interval",
		     (double)export_header(&profile->header.interval_ns) / NS_IN_MS);
	json_key_uint(json, "processType", 0);
	json_key_uint(json, "stackwalk", 1);
	json_key_bool(json, "debug", false);
	json_key_bool(json, "symbolicated", true);
	json_key_bool(json, "symbolicationNotSupported", true);
	json_key_bool(json, "usesOnlyOneStackType", true);
	json_key_bool(json, "doesNotUseFrameImplementation", true);
	json_key_bool(json, "sourceCodeIsNotOnSearchfox", true);
	put_categories(json);
	put_marker_schema(json);
	put_units(json);
	json_end(json);
}

/* Rows spread over the run: the viewer wants times that do not go back. */
static void put_times(struct writer *writer, uint64_t count)
{
	double end = (double)writer->profile->duration_ns / NS_IN_MS;
	uint64_t i;

	json_key(&writer->json, "time");
	json_array(&writer->json);
	for (i = 0; i < count; i++)
		json_real(&writer->json, end * (double)i / (double)count);
	json_end(&writer->json);
}

static uint64_t live_of(const struct writer *writer, uint32_t stack)
{
	return profile_live_bytes(&writer->profile->stacks[stack].counts);
}

static uint64_t freed_of(const struct writer *writer, uint32_t stack)
{
	return writer->profile->stacks[stack].counts.free_bytes;
}

static uint64_t entry_of(const struct writer *writer, uint32_t stack)
{
	return writer->tables.stack_of[writer->profile->stacks[stack].node];
}

static void put_samples(struct writer *writer)
{
	struct json *json = &writer->json;
	uint32_t stacks = writer->profile->stack_count, i;
	uint64_t count = 0;

	json_key(json, "samples");
	json_object(json);
	json_key_string(json, "weightType", "bytes");
	json_key(json, "weight");
	json_array(json);
	for (i = 0; i < stacks; i++)
		if (live_of(writer, i)) {
			json_uint(json, live_of(writer, i));
			count++;
		}
	json_end(json);
	json_key(json, "stack");
	json_array(json);
	for (i = 0; i < stacks; i++)
		if (live_of(writer, i))
			json_uint(json, entry_of(writer, i));
	json_end(json);
	put_times(writer, count);
	json_key_uint(json, "length", count);
	json_end(json);
}

/* Rows of a call stack: what is live, what was freed, and that it was. */
enum row { ROW_LIVE, ROW_BORN, ROW_FREED, ROWS };

static bool has_row(const struct writer *writer, uint32_t stack, enum row row)
{
	return row == ROW_LIVE ? live_of(writer, stack) > 0 : freed_of(writer, stack) > 0;
}

/* Writes one column of one row. */
typedef void put_cell(struct writer *writer, uint32_t stack, enum row row);

static void put_weight(struct writer *writer, uint32_t stack, enum row row)
{
	if (row == ROW_LIVE)
		json_uint(&writer->json, live_of(writer, stack));
	else
		json_int(&writer->json, row == ROW_BORN ? (int64_t)freed_of(writer, stack)
							: -(int64_t)freed_of(writer, stack));
}

static void put_stack(struct writer *writer, uint32_t stack, enum row row)
{
	(void)row;
	json_uint(&writer->json, entry_of(writer, stack));
}

/* The same number for an allocation and its deallocation, and for no others. */
static void put_address(struct writer *writer, uint32_t stack, enum row row)
{
	json_uint(&writer->json, (uint64_t)stack * 2 + (row == ROW_LIVE ? 1 : 2));
}

static void put_thread_id(struct writer *writer, uint32_t stack, enum row row)
{
	(void)stack;
	(void)row;
	json_uint(&writer->json, writer->profile->header.pid);
}

/* Returns the number of rows. */
static uint64_t put_allocation_column(struct writer *writer, const char *name, put_cell *put)
{
	uint64_t count = 0;
	uint32_t i;
	unsigned row;

	json_key(&writer->json, name);
	json_array(&writer->json);
	for (i = 0; i < writer->profile->stack_count; i++)
		for (row = 0; row < ROWS; row++)
			if (has_row(writer, i, row)) {
				put(writer, i, row);
				count++;
			}
	json_end(&writer->json);
	return count;
}

static void put_allocations(struct writer *writer)
{
	uint64_t count;

	json_key(&writer->json, "nativeAllocations");
	json_object(&writer->json);
	json_key_string(&writer->json, "weightType", "bytes");
	count = put_allocation_column(writer, "weight", put_weight);
	put_allocation_column(writer, "stack", put_stack);
	put_allocation_column(writer, "memoryAddress", put_address);
	put_allocation_column(writer, "threadId", put_thread_id);
	put_times(writer, count);
	json_key_uint(&writer->json, "length", count);
	json_end(&writer->json);
}

static void put_mark_texts(struct writer *writer)
{
	uint32_t i;

	json_key(&writer->json, "data");
	json_array(&writer->json);
	for (i = 0; i < writer->profile->mark_count; i++) {
		char *text = clean_text(writer->profile->marks[i].text, "");

		json_object(&writer->json);
		json_key_string(&writer->json, "type", "Text");
		json_key_string(&writer->json, "name", text ? text : "?");
		json_end(&writer->json);
		free(text);
	}
	json_end(&writer->json);
}

static void put_marks(struct writer *writer)
{
	static const char *const constants[] = {"phase", "category"}; /* phase 0: a moment */
	const struct profile *profile = writer->profile;
	struct json *json = &writer->json;
	uint32_t i, column;

	json_key(json, "markers");
	json_object(json);
	json_key_uint(json, "length", profile->mark_count);
	put_mark_texts(writer);
	json_key(json, "name");
	json_array(json);
	for (i = 0; i < profile->mark_count; i++)
		json_uint(json, writer->mark_name);
	json_end(json);
	json_key(json, "startTime");
	json_array(json);
	for (i = 0; i < profile->mark_count; i++)
		json_real(json, (double)profile->marks[i].time_ns / NS_IN_MS);
	json_end(json);
	json_key(json, "endTime");
	json_array(json);
	for (i = 0; i < profile->mark_count; i++)
		json_null(json);
	json_end(json);
	for (column = 0; column < sizeof(constants) / sizeof(*constants); column++) {
		json_key(json, constants[column]);
		json_array(json);
		for (i = 0; i < profile->mark_count; i++)
			json_uint(json, 0);
		json_end(json);
	}
	json_end(json);
}

static void put_pid(struct writer *writer)
{
	char text[16];

	snprintf(text, sizeof(text), "%" PRIu32, writer->profile->header.pid);
	json_key_string(&writer->json, "pid", text);
}

static void put_thread(struct writer *writer)
{
	double end = (double)writer->profile->duration_ns / NS_IN_MS;
	struct json *json = &writer->json;

	json_object(json);
	json_key_string(json, "name", writer->name);
	json_key_string(json, "processName", writer->name);
	json_key_string(json, "processType", "default");
	json_key_bool(json, "isMainThread", true);
	put_pid(writer);
	json_key_uint(json, "tid", writer->profile->header.pid);
	json_key_uint(json, "processStartupTime", 0);
	put_key_real(json, "processShutdownTime", end);
	json_key_uint(json, "registerTime", 0);
	put_key_real(json, "unregisterTime", end);
	put_empty(json, "pausedRanges");
	put_samples(writer);
	put_allocations(writer);
	put_marks(writer);
	firefox_tables_put(&writer->tables, json);
	firefox_tables_put_strings(&writer->tables, json);
	json_end(json);
}

/* Changes of a value of the timeline. */
static void put_counts(struct writer *writer, uint64_t (*value)(const struct profile_point *point))
{
	const struct profile *profile = writer->profile;
	uint64_t before = 0;
	uint32_t i;

	json_key(&writer->json, "count");
	json_array(&writer->json);
	for (i = 0; i < profile->point_count; i++) {
		uint64_t now = value(&profile->points[i]);

		json_int(&writer->json, (int64_t)(now - before));
		before = now;
	}
	json_end(&writer->json);
}

static uint64_t point_live(const struct profile_point *point)
{
	return point->live_bytes;
}

static uint64_t point_mapped(const struct profile_point *point)
{
	return point->mapped_bytes;
}

static uint64_t point_rss(const struct profile_point *point)
{
	return point->rss_bytes;
}

static void put_counter(struct writer *writer, const char *name, const char *description,
			uint64_t (*value)(const struct profile_point *point))
{
	const struct profile *profile = writer->profile;
	struct json *json = &writer->json;
	uint32_t i;

	json_object(json);
	json_key_string(json, "name", name);
	json_key_string(json, "category", "Memory");
	json_key_string(json, "description", description);
	put_pid(writer);
	json_key_uint(json, "mainThreadIndex", 0);
	json_key(json, "samples");
	json_object(json);
	json_key_uint(json, "length", profile->point_count);
	json_key(json, "time");
	json_array(json);
	for (i = 0; i < profile->point_count; i++)
		json_real(json, (double)profile->points[i].time_ns / NS_IN_MS);
	json_end(json);
	put_counts(writer, value);
	json_end(json);
	json_end(json);
}

static void put_counters(struct writer *writer)
{
	const struct profile *profile = writer->profile;

	json_key(&writer->json, "counters");
	json_array(&writer->json);
	if (profile->point_count) {
		if (!profile->is_mapped)
			put_counter(writer, "malloc", "Live bytes of the heap", point_live);
		put_counter(writer, "RSS", "Resident set of the process", point_rss);
		if (profile->is_mapped || profile_maps(profile))
			put_counter(writer, "mmap", "Mapped by the program itself, past malloc",
				    point_mapped);
	}
	json_end(&writer->json);
}

static void put_all(struct writer *writer, FILE *file)
{
	struct json *json = &writer->json;

	json_begin(json, file);
	json_object(json);
	put_meta(writer);
	firefox_tables_put_libraries(&writer->tables, json);
	put_empty(json, "pages");
	put_counters(writer);
	put_empty(json, "profilerOverhead");
	json_key(json, "threads");
	json_array(json);
	put_thread(writer);
	json_end(json);
	json_end(json);
}

bool export_firefox(const struct export_source *source, FILE *file, struct error *err)
{
	const char *name = source->profile->program_name;
	struct writer writer = {.profile = source->profile};
	bool ok;

	if (!firefox_tables_open(&writer.tables, source, err))
		return false;
	writer.mark_name = strings_add(&writer.tables.strings, "mark");
	writer.name = clean_text(name[0] ? name : "heap", "");
	ok = writer.name && !writer.tables.strings.failed;
	if (ok)
		put_all(&writer, file);
	else
		error_set(err, "no memory for the strings");
	free(writer.name);
	firefox_tables_close(&writer.tables);
	return ok;
}
