/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_fixture.h - a profile built by hand, with names that need no files, for tests of what stands on it.
 *
 * The functions of profile/names.h are defined here: the linker takes them instead of the library's.
 * The program: main() loads an index (12 MiB, steady), and handles requests, of which
 * each is remembered (grows by 1 MiB/s) and has its headers parsed (temporary).  walk() calls itself.
 */
#ifndef PMEM_TESTS_REPORT_FIXTURE_H
#define PMEM_TESTS_REPORT_FIXTURE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "profile/names.h"
#include "profile/profile.h"
#include "symbol/short_name.h"

#define MIB (UINT64_C(1024) * 1024)
#define SECOND UINT64_C(1000000000)

enum { SPOTS = 16, NODES = 32, STACKS = 8, POINTS = 64, SAMPLES = 64 };

enum spot {
	MAIN,
	HANDLE,
	REMEMBER,
	PUSH_BACK, /* libstdc++ */
	LOAD,
	PARSE,
	PARSE_AGAIN, /* another call in the same function */
	LIBC_START,
	WALK,
	CUT, /* [truncated] */
	NAMELESS,
	SPOT_COUNT
};

struct spot_names {
	struct symbol symbol;
	bool own;
};

static struct spot_names spots[SPOTS] = {
	[MAIN] = {{.function = "main", .raw_name = "main", .offset = 0x10}, true},
	[HANDLE] = {{.function = "handle(Request const&)", .raw_name = "_Z6handleRK7Request"}, true},
	[REMEMBER] = {{.function = "Session::remember",
		       .raw_name = "_ZN7Session8rememberEv",
		       .file = "src/session.cc",
		       .line = 88,
		       .offset = 0x21},
		      true},
	[PUSH_BACK] = {{.function = "std::vector<int>::push_back", .raw_name = "_ZNSt6vector"},
		       false},
	[LOAD] = {{.function = "load_index", .raw_name = "load_index"}, true},
	[PARSE] = {{.function = "parse_headers", .raw_name = "parse_headers"}, true},
	[PARSE_AGAIN] = {{.function = "parse_headers", .raw_name = "parse_headers"}, true},
	[LIBC_START] = {{.function = "__libc_start_main", .raw_name = "__libc_start_main"}, false},
	[WALK] = {{.function = "walk", .raw_name = "walk"}, true},
	[CUT] = {{.function = "[truncated]"}, false},
	[NAMELESS] = {{.offset = 0x1234}, true},
};

/* Functions inlined at a spot: all of its functions, innermost first, all as own as the spot; no function = only that of spots. */
static struct symbol fake_inlined[SPOTS][4];

struct model {
	struct profile profile;
	struct profile_module modules[4];
	struct profile_location locations[SPOTS];
	struct profile_node nodes[NODES];
	struct profile_stack stacks[STACKS];
	struct profile_point points[POINTS];
	struct profile_sample samples[2][SAMPLES];
	struct profile_series series[2];
	struct profile_thread threads[2];
	struct profile_mark marks[1];
	struct format_pin pins[3];
	struct format_histogram histograms[3];
};

struct names {
	const struct profile *profile;
};

static struct names fake_names;
static const char *fake_problems[3];

struct names *names_new(const struct profile *profile)
{
	fake_names.profile = profile;
	return &fake_names;
}

void names_free(struct names *names)
{
	(void)names;
}

size_t names_at(struct names *names, uint32_t location, const struct symbol **found)
{
	size_t count = 0;

	(void)names;
	*found = &spots[location].symbol;
	while (count < 4 && fake_inlined[location][count].function)
		count++;
	if (count)
		*found = fake_inlined[location];
	return count ? count : 1;
}

/* Symbol tables know no lines. */
const struct symbol *names_at_fast(struct names *names, uint32_t location)
{
	static struct symbol fast[SPOTS];

	(void)names;
	fast[location] = spots[location].symbol;
	fast[location].file = NULL;
	fast[location].line = 0;
	return &fast[location];
}

size_t names_shown(struct names *names, uint32_t location)
{
	(void)names;
	(void)location;
	return 0;
}

bool names_is_own(struct names *names, uint32_t location)
{
	(void)names;
	return spots[location].own;
}

bool names_is_own_fast(struct names *names, uint32_t location)
{
	return names_is_own(names, location);
}

bool names_is_own_function(struct names *names, uint32_t location, size_t index)
{
	return (index == 0 || fake_inlined[location][index].function) &&
	       names_is_own(names, location);
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

uint32_t names_site(struct names *names, const struct profile_stack *stack)
{
	const struct profile_node *nodes = names->profile->nodes;
	uint32_t node;

	for (node = stack->node; node != 0; node = nodes[node].parent)
		if (spots[nodes[node].location].own)
			return node;
	return stack->node;
}

uint32_t names_site_fast(struct names *names, const struct profile_stack *stack)
{
	return names_site(names, stack);
}

const char *names_short(struct names *names, uint32_t location, const struct symbol *symbol)
{
	static char texts[SPOTS][128];
	static unsigned next;
	char *text = texts[next++ % SPOTS];

	(void)names;
	(void)location;
	short_name(symbol->function, text, sizeof(texts[0]));
	return text;
}

const char *const *names_problems(struct names *names)
{
	(void)names;
	return fake_problems;
}

static inline uint32_t model_node(struct model *model, uint32_t parent, enum spot spot)
{
	model->nodes[model->profile.node_count] = (struct profile_node){parent, spot};
	return model->profile.node_count++;
}

static inline struct profile_stack *model_stack(struct model *model, uint32_t node,
						struct profile_counts counts)
{
	uint32_t index = model->profile.stack_count++;
	struct profile_counts *totals = &model->profile.totals;

	model->stacks[index] = (struct profile_stack){
		.node = node,
		.hook = FORMAT_HOOK_MALLOC,
		.number = index + 3,
		.counts = counts,
	};
	totals->alloc_bytes += counts.alloc_bytes;
	totals->alloc_count += counts.alloc_count;
	totals->free_bytes += counts.free_bytes;
	totals->free_count += counts.free_count;
	totals->temporary_count += counts.temporary_count;
	totals->peak_bytes += counts.peak_bytes;
	totals->peak_count += counts.peak_count;
	return &model->stacks[index];
}

static inline void model_modules(struct model *model)
{
	static const uint8_t build_id[4] = {0xde, 0xad, 0xbe, 0xef};
	uint32_t i;

	model->modules[0] = (struct profile_module){.path = ""};
	model->modules[1] = (struct profile_module){.path = "/srv/bin/server",
						    .build_id = build_id,
						    .build_id_size = 4,
						    .bias = 0x1000,
						    .start = 0x1000,
						    .end = 0x9000};
	model->modules[2] = (struct profile_module){.path = "/usr/lib/libc.so.6"};
	model->modules[3] = (struct profile_module){.path = "/opt/pmem/libpmem.so"};
	for (i = 0; i < SPOT_COUNT; i++)
		model->locations[i] = (struct profile_location){
			.module = i == PUSH_BACK || i == LIBC_START ? 2 : 1,
			.offset = 0x100 + i * 0x10,
			.address = 0x1100 + i * 0x10,
		};
	model->locations[CUT] = (struct profile_location){.special = "[truncated]"};
	model->profile.modules = model->modules;
	model->profile.module_count = 4;
	model->profile.locations = model->locations;
	model->profile.location_count = SPOT_COUNT;
}

static inline void model_stacks(struct model *model)
{
	uint32_t start, top, handle, node;

	model->profile.nodes = model->nodes;
	model->profile.node_count = 1;
	model->profile.stacks = model->stacks;
	start = model_node(model, 0, LIBC_START);
	top = model_node(model, start, MAIN);
	handle = model_node(model, top, HANDLE);
	node = model_node(model, model_node(model, handle, REMEMBER), PUSH_BACK);
	model_stack(model, node, (struct profile_counts){60 * MIB, 60, 0, 0, 0, 60 * MIB, 60, 0});
	model_stack(model, model_node(model, top, LOAD),
		    (struct profile_counts){12 * MIB, 12, 0, 0, 0, 12 * MIB, 12, 0});
	model_stack(model, model_node(model, handle, PARSE),
		    (struct profile_counts){1000, 100, 1000, 100, 97, 0, 0, 0});
	model_stack(model, model_node(model, handle, PARSE_AGAIN),
		    (struct profile_counts){2000, 100, 1000, 50, 50, 1000, 50, 0});
	node = model_node(model, model_node(model, top, WALK), WALK);
	model_stack(model, model_node(model, node, WALK),
		    (struct profile_counts){300, 3, 0, 0, 0, 300, 3, 0});
	model_stack(model, model_node(model, 0, CUT),
		    (struct profile_counts){77, 1, 0, 0, 0, 77, 1, 0});
}

/* 60 s: 12 MiB from the start, and 1 MiB more each second. */
static inline void model_timeline(struct model *model)
{
	uint32_t i;

	for (i = 0; i < 60; i++) {
		uint64_t time_ns = (i + 1) * SECOND;

		model->points[i] = (struct profile_point){.time_ns = time_ns,
							  .live_bytes = (12 + i + 1) * MIB,
							  .alloc_bytes = (12 + i + 1) * MIB,
							  .alloc_count = 13 + i,
							  .rss_bytes = (20 + i + 1) * MIB};
		model->samples[0][i] = (struct profile_sample){time_ns, (i + 1) * MIB,
							       (i + 1) * MIB, false};
	}
	model->samples[1][0] = (struct profile_sample){SECOND / 2, 12 * MIB, 12 * MIB, false};
	model->series[0] = (struct profile_series){0, 60, model->samples[0]};
	model->series[1] = (struct profile_series){1, 1, model->samples[1]};
	model->profile.points = model->points;
	model->profile.point_count = 60;
	model->profile.series = model->series;
	model->profile.series_count = 2;
}

/* Of a process that has ended: glibc's arenas keep most. */
static inline void add_rss(struct format_header *header)
{
	struct format_rss *rss = &header->rss;

	header->memory.allocator = FORMAT_ALLOCATOR_GLIBC;
	atomic_init(&rss->time_ns, 61 * SECOND);
	atomic_init(&rss->total, 200 * MIB);
	atomic_init(&rss->lines[FORMAT_RSS_LIVE], 60 * MIB);
	atomic_init(&rss->lines[FORMAT_RSS_ROUNDING], 2 * MIB);
	atomic_init(&rss->lines[FORMAT_RSS_FRAGMENTS], 3 * MIB);
	atomic_init(&rss->lines[FORMAT_RSS_KEPT], 110 * MIB);
	atomic_init(&rss->lines[FORMAT_RSS_STACKS], MIB);
	atomic_init(&rss->lines[FORMAT_RSS_OWN], 23 * MIB);
	atomic_init(&rss->arenas, 61);
	atomic_init(&rss->kept_arenas, 100 * MIB);
	atomic_init(&rss->stacks, 9);
	atomic_init(&rss->heap, 175 * MIB);
	atomic_init(&rss->examined, 8 * MIB);
}

/* Index + 3 is a call stack's number. */
static inline void model_pins(struct model *model)
{
	model->pins[0] = (struct format_pin){.stack_id = 4, .pages = 40, .bytes = 2 * MIB};
	model->pins[1] = (struct format_pin){.stack_id = 8, .pages = 8, .bytes = MIB / 2};
	model->pins[2] = (struct format_pin){
		.stack_id = FORMAT_PIN_OTHERS, .pages = 9, .bytes = MIB / 2};
	model->profile.pins = model->pins;
	model->profile.pin_count = 3;
}

static inline void model_facts(struct model *model)
{
	struct profile *profile = &model->profile;

	profile->path = "/home/me/pmem.4711.prof";
	profile->program = "/srv/bin/server";
	profile->program_name = "server";
	profile->command = "server\0--port\00080";
	profile->command_size = 17;
	profile->directory = "/home/me";
	profile->cgroup = "/user";
	profile->host = "box";
	profile->refused_setting = "";
	profile->own_malloc = "";
	profile->own_new = "";
	profile->duration_ns = 60 * SECOND;
	profile->is_live = true;
	profile->header.pid = 4711;
	profile->header.version = FORMAT_VERSION;
	profile->header.lifetime_sample = 64;
	profile->header.start_realtime_ns = UINT64_C(1795948262) * SECOND + 123000000;
	memcpy(profile->header.recorder, "0.1.0", 6);
	atomic_init(&profile->header.state, FORMAT_STATE_RECORDING);
	atomic_init(&profile->header.peak_bytes, 72 * MIB + 1377);
	atomic_init(&profile->header.peak_ns, 60 * SECOND);
	add_rss(&profile->header);
	model_pins(model);
}

static inline void model_details(struct model *model)
{
	model->threads[0] = (struct profile_thread){
		.tid = 4711, .owners = 1, .running = true, .name = "server"};
	model->threads[0].counts = (struct profile_counts){.alloc_bytes = 72 * MIB,
							   .alloc_count = 72};
	model->threads[1] = (struct profile_thread){.tid = 4712, .owners = 3, .name = "worker"};
	model->threads[1].counts = (struct profile_counts){.alloc_bytes = 1000,
							   .alloc_count = 100,
							   .free_bytes = 2000,
							   .free_count = 150,
							   .temporary_count = 97};
	model->marks[0] = (struct profile_mark){10 * SECOND, "ready"};
	model->histograms[1].counts[3] = 1;
	model->histograms[2].counts[0] = 3;
	model->histograms[2].counts[FORMAT_CLASSES - 1] = 1;
	model->profile.histograms = model->histograms;
	/* One in class 3, the others, and those of the next call stack, in class 1. */
	model->stacks[2].sizes = FORMAT_SIZES_MANY | 1u << 24 | 1;
	model->stacks[2].lifetimes = 2;
	model->stacks[3].sizes = 1 + 1;
	model->profile.threads = model->threads;
	model->profile.thread_count = 2;
	model->profile.marks = model->marks;
	model->profile.mark_count = 1;
}

/* To be freed. */
static inline struct model *model_new(void)
{
	struct model *model = calloc(1, sizeof(*model));

	assert_non_null(model);
	setenv("TZ", "UTC", 1);
	tzset();
	memset(fake_problems, 0, sizeof(fake_problems));
	memset(fake_inlined, 0, sizeof(fake_inlined));
	model_modules(model);
	model_stacks(model);
	model_timeline(model);
	model_facts(model);
	model_details(model);
	return model;
}

#endif
