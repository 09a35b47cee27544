/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diff_fixture.h - two profiles built by hand, with names that need no files, for tests of comparisons.
 *
 * The functions of profile/names.h are defined here: the linker takes them instead of the library's.  A test says what a call
 * stack is: functions from the outermost in, each "function", "module:function", "module+offset" or "[special]"; a "|" before
 * a name: inlined into the one before; "name@line".
 */
#ifndef PMEM_TESTS_DIFF_FIXTURE_H
#define PMEM_TESTS_DIFF_FIXTURE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "profile/blame.h"
#include "profile/diff.h"

#define MIB (UINT64_C(1024) * 1024)
#define SECOND UINT64_C(1000000000)

enum { MODULES = 8, LOCATIONS = 128, NODES = 256, STACKS = 64, SERIES = 16, POINTS = 64 };
enum { FUNCTIONS = 4, TEXT = 64 };

struct location_names {
	struct symbol symbols[FUNCTIONS]; /* innermost first */
	size_t count;
	char texts[FUNCTIONS][TEXT];
};

struct names {
	const struct profile *profile;
	struct location_names *locations;
	const char *problems[2];
};

struct twin {
	struct profile profile;
	struct names names;
	struct places *places;
	struct profile_module modules[MODULES];
	char paths[MODULES][TEXT];
	struct profile_location locations[LOCATIONS];
	struct location_names location_names[LOCATIONS];
	struct profile_node nodes[NODES];
	struct profile_stack stacks[STACKS];
	struct profile_point points[POINTS];
	struct profile_sample samples[SERIES][POINTS];
	struct profile_series series[SERIES];
};

struct names *names_new(const struct profile *profile)
{
	(void)profile;
	return NULL;
}

void names_free(struct names *names)
{
	(void)names;
}

size_t names_at(struct names *names, uint32_t location, const struct symbol **found)
{
	*found = names->locations[location].symbols;
	return names->locations[location].count;
}

size_t names_shown(struct names *names, uint32_t location)
{
	(void)names;
	(void)location;
	return 0;
}

const struct symbol *names_at_fast(struct names *names, uint32_t location)
{
	return &names->locations[location].symbols[names->locations[location].count - 1];
}

bool names_is_own(struct names *names, uint32_t location)
{
	const struct profile_location *at = &names->profile->locations[location];
	const struct symbol *symbol = names->locations[location].symbols;

	return !at->special && blame_of(names->profile->modules[at->module].path, symbol->raw_name,
					symbol->function) == BLAME_OWN;
}

uint32_t names_site(struct names *names, const struct profile_stack *stack)
{
	const struct profile_node *nodes = names->profile->nodes;

	for (uint32_t node = stack->node; node != 0; node = nodes[node].parent)
		if (names_is_own(names, nodes[node].location))
			return node;
	return stack->node;
}

bool names_is_own_fast(struct names *names, uint32_t location)
{
	return names_is_own(names, location);
}

bool names_is_own_function(struct names *names, uint32_t location, size_t index)
{
	(void)index;
	return names_is_own(names, location);
}

bool names_is_unsettled(struct names *names, uint32_t location)
{
	(void)names;
	(void)location;
	return false;
}

void names_prepare(struct names *names, const bool *wanted)
{
	(void)names;
	(void)wanted;
}

uint32_t names_site_fast(struct names *names, const struct profile_stack *stack)
{
	return names_site(names, stack);
}

const char *names_short(struct names *names, uint32_t location, const struct symbol *symbol)
{
	(void)names;
	(void)location;
	return symbol->function;
}

const char *names_problem(struct names *names, uint32_t module)
{
	(void)names;
	(void)module;
	return NULL;
}

const char *const *names_problems(struct names *names)
{
	return names->problems;
}

/* The module with this file name, made if there is none: "server" is the program. */
static inline uint32_t twin_module(struct twin *twin, const char *name)
{
	struct profile *profile = &twin->profile;
	uint32_t i;

	for (i = 1; i < profile->module_count; i++)
		if (strcmp(strrchr(twin->paths[i], '/') + 1, name) == 0)
			return i;
	assert_true(profile->module_count < MODULES);
	snprintf(twin->paths[i], TEXT, "/srv/%.40s", name);
	twin->modules[i] = (struct profile_module){.path = twin->paths[i]};
	return profile->module_count++;
}

/* One more function, further in, of a location. */
static inline void twin_name(struct twin *twin, uint32_t location, const char *text)
{
	struct location_names *names = &twin->location_names[location];
	char *copy = names->texts[names->count];
	struct symbol symbol = {0};
	char *line;

	assert_true(names->count < FUNCTIONS);
	snprintf(copy, TEXT, "%s", text);
	line = strchr(copy, '@');
	if (line) {
		*line = '\0';
		symbol.line = (uint32_t)atoi(line + 1);
		symbol.file = "src/server.c";
	}
	symbol.function = symbol.raw_name = copy;
	symbol.inlined = names->count > 0;
	memmove(names->symbols + 1, names->symbols, names->count * sizeof(*names->symbols));
	names->symbols[0] = symbol;
	names->count++;
}

/* Of "libx.so:function" and so on.  Every call makes a new location: addresses never help a match. */
static inline uint32_t twin_location(struct twin *twin, const char *text)
{
	uint32_t location = twin->profile.location_count++;
	char module[TEXT] = "server";
	const char *plus = strchr(text, '+'), *colon = strchr(text, ':');

	assert_true(location < LOCATIONS);
	twin->locations[location].offset = 0x1000 + location * 0x10 + (uintptr_t)twin % 4096;
	twin->location_names[location].count = 0;
	if (text[0] == '[') {
		twin_name(twin, location, text);
		twin->locations[location].special = twin->location_names[location].texts[0];
		return location;
	}
	if (plus) {
		snprintf(module, sizeof(module), "%.*s", (int)(plus - text), text);
		twin->locations[location].offset = strtoul(plus + 1, NULL, 16);
		twin->location_names[location].count = 1;
		twin->location_names[location].symbols[0] = (struct symbol){.offset = 1};
	} else if (colon && colon[1] != ':') {
		snprintf(module, sizeof(module), "%.*s", (int)(colon - text), text);
		twin_name(twin, location, colon + 1);
	} else {
		twin_name(twin, location, text);
	}
	twin->locations[location].module = twin_module(twin, module);
	return location;
}

/* A call stack: names with blanks between them, from the outermost in.  Its counts are the caller's to change. */
static inline struct profile_stack *twin_stack(struct twin *twin, const char *frames,
					       struct profile_counts counts)
{
	struct profile *profile = &twin->profile;
	char copy[1024], *rest = copy, *word;
	struct profile_stack *stack = &twin->stacks[profile->stack_count];
	uint32_t node = 0;

	snprintf(copy, sizeof(copy), "%s", frames);
	while ((word = strsep(&rest, " "))) {
		if (word[0] == '|') {
			twin_name(twin, twin->nodes[node].location, word + 1);
			continue;
		}
		assert_true(profile->node_count < NODES);
		twin->nodes[profile->node_count] = (struct profile_node){node,
									 twin_location(twin, word)};
		node = profile->node_count++;
	}
	assert_true(profile->stack_count < STACKS);
	*stack = (struct profile_stack){.node = node, .hook = FORMAT_HOOK_MALLOC, .counts = counts};
	profile->stack_count++;
	profile->totals.alloc_bytes += counts.alloc_bytes;
	profile->totals.alloc_count += counts.alloc_count;
	profile->totals.free_bytes += counts.free_bytes;
	profile->totals.free_count += counts.free_count;
	profile->totals.temporary_count += counts.temporary_count;
	if (__builtin_add_overflow(profile->totals.peak_bytes, counts.peak_bytes,
				   &profile->totals.peak_bytes))
		profile->totals.peak_bytes = INT64_MAX;
	return stack;
}

/* What is never freed: count blocks of size bytes. */
static inline struct profile_counts blocks(uint64_t count, uint64_t size)
{
	return (struct profile_counts){.alloc_bytes = count * size,
				       .alloc_count = count,
				       .peak_bytes = (int64_t)(count * size),
				       .peak_count = (int64_t)count};
}

/* A sample of the last call stack. */
static inline void twin_sample(struct twin *twin, uint64_t time_ns, uint64_t live_bytes,
			       uint64_t alloc_bytes)
{
	struct profile *profile = &twin->profile;
	uint32_t stack = profile->stack_count - 1, last = profile->series_count;
	struct profile_series *series;

	if (last == 0 || twin->series[last - 1].stack != stack)
		twin->series[profile->series_count++] = (struct profile_series){
			stack, 0, twin->samples[last]};
	series = &twin->series[profile->series_count - 1];
	twin->samples[profile->series_count - 1][series->count++] = (struct profile_sample){
		time_ns, live_bytes, alloc_bytes, false};
}

static inline void twin_point(struct twin *twin, uint64_t time_ns, uint64_t live_bytes,
			      uint64_t alloc_bytes)
{
	twin->points[twin->profile.point_count++] = (struct profile_point){.time_ns = time_ns,
									   .live_bytes = live_bytes,
									   .alloc_bytes = alloc_bytes,
									   .alloc_count = 1};
}

/* To be freed by twin_free(). */
static inline struct twin *twin_new(const char *path)
{
	struct twin *twin = calloc(1, sizeof(*twin));
	struct profile *profile;

	assert_non_null(twin);
	setenv("TZ", "UTC", 1);
	tzset();
	profile = &twin->profile;
	profile->path = path;
	profile->program = "/srv/server";
	profile->program_name = "server";
	profile->host = "box";
	profile->duration_ns = 60 * SECOND;
	profile->modules = twin->modules;
	profile->module_count = 1;
	twin->modules[0].path = "";
	profile->locations = twin->locations;
	profile->nodes = twin->nodes;
	profile->node_count = 1;
	profile->stacks = twin->stacks;
	profile->points = twin->points;
	profile->series = twin->series;
	profile->header.pid = 4711;
	profile->header.start_realtime_ns = UINT64_C(1795948262) * SECOND;
	atomic_init(&profile->header.state, FORMAT_STATE_ENDED);
	twin->names.profile = profile;
	twin->names.locations = twin->location_names;
	return twin;
}

static inline void twin_free(struct twin *twin)
{
	places_free(twin->places);
	free(twin);
}

#endif
