/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_profile.c - every number of a profile, as written by profile_fixture.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "core/stack_hash.h"
#include "profile/profile.h"
#include "profile/read.h"
#include "profile/running.h"
#include "profile_fixture.h"

static struct profile *open_fixture(const struct fixture *f)
{
	struct profile *profile = NULL;
	struct error err = {""};

	if (!profile_open_memory(f->first, fixture_size(f), &profile, &err))
		fail_msg("%s", err.text);
	return profile;
}

static struct profile *open_undamaged(const struct fixture *f)
{
	struct profile *profile = open_fixture(f);

	assert_string_equal(profile->damage, "");
	assert_int_equal(profile->damage_count, 0);
	return profile;
}

/* The stack with a call-stack id; fails if it is not there. */
static const struct profile_stack *stack_of(const struct profile *profile, uint32_t id)
{
	for (uint32_t i = 0; i < profile->stack_count; i++)
		if (profile->stacks[i].number == id)
			return &profile->stacks[i];
	fail_msg("call stack %u is not there", id);
	return NULL;
}

static const struct profile_location *location_at(const struct profile *profile, uint32_t node)
{
	assert_true(node > 0 && node < profile->node_count);
	return &profile->locations[profile->nodes[node].location];
}

static void count(struct format_counter *counter, uint32_t allocs, uint32_t frees, uint32_t size)
{
	counter->alloc_count = allocs;
	counter->alloc_bytes = allocs * size;
	counter->free_count = frees;
	counter->free_bytes = frees * size;
}

/* --- header, modules, frames ------------------------------------------------------------------ */

static void empty_profile(void **state)
{
	struct fixture f;
	struct profile *profile;

	(void)state;
	fixture_begin(&f);
	profile = open_undamaged(&f);
	assert_int_equal(profile->stack_count, 0);
	assert_int_equal(profile->node_count, 1);
	assert_int_equal(profile->module_count, 1);
	assert_string_equal(profile->modules[0].path, "");
	assert_int_equal(profile->thread_count, 0);
	assert_int_equal(profile->duration_ns, 0);
	assert_string_equal(profile->program, "");
	assert_string_equal(profile->program_name, "");
	assert_false(profile->is_live);
	assert_int_equal(profile->file_bytes, FORMAT_BLOCK_SIZE);
	profile_close(profile);
	fixture_end(&f);
}

static void header_and_texts(void **state)
{
	static const char command[] = "server\0--port\0\00080\0";
	struct fixture f;
	struct format_header *header;
	struct profile *profile;

	(void)state;
	fixture_begin(&f);
	header = &f.first->header;
	header->program = fixture_text(&f, "/usr/bin/server", 15);
	header->command = fixture_text(&f, command, sizeof(command) - 1);
	header->directory = fixture_text(&f, "/srv", 4);
	header->cgroup = fixture_text(&f, "/system.slice", 13);
	header->host = fixture_text(&f, "box", 3);
	header->refused_setting = fixture_text(&f, "PMEM_X=1", 8);
	header->pid = 4711;
	header->losses[FORMAT_LOSS_EVENTS] = 3;
	header->losses[FORMAT_LOSS_INTERNAL] = 4;
	header->losses[FORMAT_LOSS_PROFILE_BYTES] = 5;
	header->losses[FORMAT_LOSS_TRUNCATED] = 600;
	header->update_ns = 70;
	profile = open_undamaged(&f);
	assert_string_equal(profile->program, "/usr/bin/server");
	assert_string_equal(profile->program_name, "server");
	assert_int_equal(profile->command_size, sizeof(command) - 1);
	assert_memory_equal(profile->command, command, sizeof(command) - 1);
	assert_string_equal(profile->directory, "/srv");
	assert_string_equal(profile->cgroup, "/system.slice");
	assert_string_equal(profile->host, "box");
	assert_string_equal(profile->refused_setting, "PMEM_X=1");
	assert_int_equal(profile->header.pid, 4711);
	assert_string_equal(profile->header.recorder, "0.0.test");
	assert_int_equal(profile_losses(profile), 12);
	assert_int_equal(profile->duration_ns, 70);
	profile_close(profile);
	header->end_ns = 90;
	profile = open_undamaged(&f);
	assert_int_equal(profile->duration_ns, 90);
	profile_close(profile);
	fixture_end(&f);
}

static void modules_and_locations(void **state)
{
	struct fixture f;
	struct format_module *module;
	struct profile *profile;
	const struct profile_stack *stack;
	const struct profile_location *place;
	uint32_t frames[3];
	uint32_t program, id;

	(void)state;
	fixture_begin(&f);
	program = fixture_module(&f, "/usr/bin/server", "build-id-of-it");
	module = FIXTURE_ITEM(&f, FORMAT_MODULES, struct format_module, program);
	module->first_vaddr = 0x400000;
	module->bias = 0x7000000000;
	module->start = 0x7000400000;
	module->end = 0x7000900000;
	module->load_ns = 5;
	module->unload_ns = 6;
	module->instance = 2;
	frames[0] = fixture_pc32(&f, program, 0x400124);
	frames[1] = fixture_pc32(&f, program, 0x733345); /* in another MiB */
	frames[2] = fixture_pc32(&f, 0, 0x123456789);	 /* JIT */
	id = fixture_stack(&f, frames, 3, FORMAT_HOOK_CALLOC);
	count(fixture_counter(&f, 0, id), 1, 0, 10);
	profile = open_undamaged(&f);
	assert_int_equal(profile->module_count, 2);
	assert_string_equal(profile->modules[1].path, "/usr/bin/server");
	assert_int_equal(profile->modules[1].build_id_size, 14);
	assert_memory_equal(profile->modules[1].build_id, "build-id-of-it", 14);
	assert_int_equal(profile->modules[1].bias, 0x7000000000);
	assert_int_equal(profile->modules[1].start, 0x7000400000);
	assert_int_equal(profile->modules[1].end, 0x7000900000);
	assert_int_equal(profile->modules[1].load_ns, 5);
	assert_int_equal(profile->modules[1].unload_ns, 6);
	assert_int_equal(profile->modules[1].instance, 2);
	stack = stack_of(profile, id);
	assert_int_equal(stack->hook, FORMAT_HOOK_CALLOC);
	place = location_at(profile, stack->node);
	assert_null(place->special);
	assert_int_equal(place->module, 0);
	assert_int_equal(place->offset, 0x123456789);
	assert_int_equal(place->address, 0x123456789);
	place = location_at(profile, profile->nodes[stack->node].parent);
	assert_int_equal(place->module, 1);
	assert_int_equal(place->offset, 0x733345);
	assert_int_equal(place->address, 0x7000733345);
	place = location_at(profile, profile->nodes[profile->nodes[stack->node].parent].parent);
	assert_int_equal(place->offset, 0x400124);
	assert_int_equal(profile->node_count, 4);
	profile_close(profile);
	fixture_end(&f);
}

/* As doc/LOG.md says, from the innermost frame on. */
static void id_is_the_logs_hash(void **state)
{
	static const uint8_t build_id[] = "build-id";
	struct stack_hash_frame code = {
		.build_id = build_id, .build_id_size = 8, .path = "/p", .offset = 0x1234};
	struct stack_hash_frame jit = {.path = "", .offset = 0x9999};
	struct fixture f;
	struct profile *profile;
	uint32_t frames[3];
	uint32_t id;
	uint64_t hash;

	(void)state;
	fixture_begin(&f);
	frames[0] = FORMAT_SPECIAL_TRUNCATED;
	frames[1] = fixture_pc32(&f, 0, 0x9999);
	frames[2] = fixture_pc32(&f, fixture_module(&f, "/p", "build-id"), 0x1234);
	id = fixture_stack(&f, frames, 3, FORMAT_HOOK_REALLOC);
	count(fixture_counter(&f, 0, id), 1, 0, 10);
	profile = open_undamaged(&f);
	hash = stack_hash_string(STACK_HASH_START, "realloc");
	hash = stack_hash_code(hash, &code);
	hash = stack_hash_code(hash, &jit);
	hash = stack_hash_string(hash, "[truncated]");
	assert_true(stack_of(profile, id)->id == hash);
	profile_close(profile);
	fixture_end(&f);
}

/* Several call stacks through one node, lists of several entries, two entry points at one node. */
static void tree_of_siblings(void **state)
{
	struct fixture f;
	struct profile *profile;
	uint32_t ids[40];
	uint32_t frames[3];
	uint32_t base;

	(void)state;
	fixture_begin(&f);
	base = fixture_pc32(&f, fixture_module(&f, "/p", ""), 0x100);
	for (uint32_t i = 0; i < 40; i++) {
		frames[0] = base;
		frames[1] = base + 1 + i / 2 % 10;
		frames[2] = base + 20 + i / 20;
		ids[i] = fixture_stack(&f, frames, 3,
				       i % 2 ? FORMAT_HOOK_MALLOC : FORMAT_HOOK_VALLOC);
		count(fixture_counter(&f, 0, ids[i]), i + 1, i, 8);
	}
	profile = open_undamaged(&f);
	assert_int_equal(profile->stack_count, 40);
	assert_int_equal(profile->node_count, 1 + 1 + 10 + 20);
	assert_int_equal(profile->location_count, 1 + 10 + 2);
	for (uint32_t i = 0; i < 40; i++) {
		const struct profile_stack *stack = stack_of(profile, ids[i]);
		uint32_t middle = profile->nodes[stack->node].parent;
		uint32_t outer = profile->nodes[middle].parent;

		assert_int_equal(stack->hook, i % 2 ? FORMAT_HOOK_MALLOC : FORMAT_HOOK_VALLOC);
		assert_int_equal(location_at(profile, stack->node)->offset, 0x100 + 20 + i / 20);
		assert_int_equal(location_at(profile, middle)->offset, 0x101 + i / 2 % 10);
		assert_int_equal(location_at(profile, outer)->offset, 0x100);
		assert_int_equal(profile->nodes[outer].parent, 0);
		assert_int_equal(stack->node, stack_of(profile, ids[i ^ 1])->node);
		assert_int_equal(profile_live_count(&stack->counts), 1);
	}
	profile_close(profile);
	fixture_end(&f);
}

/* A list may lead beyond node_count, to an entry that is complete. */
static void list_goes_on_beyond_the_count(void **state)
{
	struct fixture f;
	struct profile *profile;
	uint32_t frames[2];
	uint32_t id;

	(void)state;
	fixture_begin(&f);
	frames[0] = fixture_pc32(&f, fixture_module(&f, "/p", ""), 0x100);
	frames[1] = frames[0] + 1;
	id = fixture_stack(&f, frames, 2, FORMAT_HOOK_MALLOC);
	frames[1] = frames[0] + 2;
	count(fixture_counter(&f, 0, id), 1, 0, 10);
	fixture_stack(&f, frames, 2, FORMAT_HOOK_MALLOC);
	f.first->header.node_count -= 2;
	f.first->header.stack_limit -= 1;
	profile = open_undamaged(&f);
	assert_int_equal(
		location_at(profile, profile->nodes[stack_of(profile, id)->node].parent)->offset,
		0x100);
	profile_close(profile);
	fixture_end(&f);
}

static void fixed_ids(void **state)
{
	struct fixture f;
	struct profile *profile;
	const struct profile_stack *stack;

	(void)state;
	fixture_begin(&f);
	FIXTURE_ITEM(&f, FORMAT_STACKS, struct format_stack, 2)->flags = FORMAT_NO_HOOK
									 << FORMAT_HOOK_SHIFT;
	count(fixture_counter(&f, 0, 1), 5, 2, 100);
	count(fixture_counter(&f, 0, 2), 3, 3, 100);
	profile = open_undamaged(&f);
	assert_int_equal(profile->stack_count, 2);
	stack = stack_of(profile, 1);
	assert_int_equal(stack->hook, FORMAT_NO_HOOK);
	assert_string_equal(location_at(profile, stack->node)->special, "[signal handler]");
	assert_true(stack->id == stack_hash_string(STACK_HASH_START, "[signal handler]"));
	assert_int_equal(profile_live_bytes(&stack->counts), 300);
	stack = stack_of(profile, 2);
	assert_string_equal(location_at(profile, stack->node)->special, "[beyond budget]");
	assert_true(stack->id == stack_hash_string(STACK_HASH_START, "[beyond budget]"));
	profile_close(profile);
	fixture_end(&f);
}

/* --- counters ---------------------------------------------------------------------------------- */

static uint32_t plain_stack(struct fixture *f, uint32_t offset)
{
	uint32_t module = f->first->header.module_count > 1 ? 1 : fixture_module(f, "/p", "");
	uint32_t frame = fixture_pc32(f, module, 0x1000 + offset);

	return fixture_stack(f, &frame, 1, FORMAT_HOOK_MALLOC);
}

static void counters_of_threads_add_up(void **state)
{
	struct fixture f;
	struct profile *profile;
	const struct profile_stack *stack;
	uint32_t id = 0, other = 0;

	(void)state;
	fixture_begin(&f);
	for (uint32_t i = 0; i < 100; i++) /* more than one chunk */
		id = plain_stack(&f, i);
	other = plain_stack(&f, 200);
	count(fixture_counter(&f, 0, id), 10, 0, 16);
	count(fixture_counter(&f, 1, id), 0, 4, 16); /* frees what 0 allocated */
	fixture_counter(&f, 1, id)->temporary_count = 2;
	count(fixture_counter(&f, 2, other), 7, 7, 3);
	fixture_thread(&f, 1)->tid = 12;
	fixture_thread(&f, 1)->owners = 3;
	fixture_thread(&f, 1)->level = 1;
	fixture_thread(&f, 1)->running = 1;
	memcpy(fixture_thread(&f, 1)->name, "worker", 7);
	memset(fixture_thread(&f, 2)->name, 'x', 16); /* not terminated */
	profile = open_undamaged(&f);
	assert_int_equal(profile->stack_count, 2);
	stack = stack_of(profile, id);
	assert_int_equal(stack->counts.alloc_count, 10);
	assert_int_equal(stack->counts.alloc_bytes, 160);
	assert_int_equal(stack->counts.free_count, 4);
	assert_int_equal(stack->counts.free_bytes, 64);
	assert_int_equal(stack->counts.temporary_count, 2);
	assert_int_equal(profile_live_bytes(&stack->counts), 96);
	assert_int_equal(profile_live_count(&stack->counts), 6);
	assert_int_equal(profile_live_bytes(&stack_of(profile, other)->counts), 0);
	assert_int_equal(profile->totals.alloc_count, 17);
	assert_int_equal(profile->totals.alloc_bytes, 181);
	assert_int_equal(profile->totals.free_count, 11);
	assert_int_equal(profile->totals.free_bytes, 85);
	assert_int_equal(profile->totals.temporary_count, 2);
	assert_int_equal(profile->thread_count, 3);
	assert_int_equal(profile->threads[0].counts.alloc_bytes, 160);
	assert_int_equal(profile->threads[1].counts.free_bytes, 64);
	assert_int_equal(profile->threads[1].counts.alloc_bytes, 0);
	assert_int_equal(profile->threads[1].tid, 12);
	assert_int_equal(profile->threads[1].owners, 3);
	assert_int_equal(profile->threads[1].level, 1);
	assert_true(profile->threads[1].running);
	assert_string_equal(profile->threads[1].name, "worker");
	assert_string_equal(profile->threads[2].name, "xxxxxxxxxxxxxxx");
	profile_close(profile);
	fixture_end(&f);
}

static void shares_of_the_peak(void **state)
{
	struct fixture f;
	struct profile *profile;
	struct format_counter *counter;
	uint32_t changed, untouched, changing;

	(void)state;
	fixture_begin(&f);
	f.first->header.peak_epoch = 7;
	f.first->header.peak_bytes = 4000 + 50 + 20;
	changed = plain_stack(&f, 0);
	untouched = plain_stack(&f, 1);
	changing = plain_stack(&f, 2);
	counter = fixture_counter(&f, 0, changed);
	count(counter, 10, 9, 100);
	counter->epoch = 7;
	counter->peak_bytes = 5000;
	counter->peak_count = 50;
	counter = fixture_counter(&f, 1, changed); /* freed more than it allocated */
	count(counter, 0, 1, 100);
	counter->epoch = 7;
	counter->peak_bytes = -1000;
	counter->peak_count = -10;
	counter = fixture_counter(&f, 0, untouched);
	count(counter, 6, 1, 10);
	counter->epoch = 6; /* the share that it saved is of an older peak */
	counter->peak_bytes = 12345;
	counter->peak_count = 99;
	counter = fixture_counter(&f, 0, changing);
	count(counter, 2, 0, 10);
	counter->epoch = FORMAT_EPOCH_CHANGING;
	counter->peak_bytes = 777;
	profile = open_undamaged(&f);
	assert_int_equal(stack_of(profile, changed)->counts.peak_bytes, 4000);
	assert_int_equal(stack_of(profile, changed)->counts.peak_count, 40);
	assert_int_equal(stack_of(profile, untouched)->counts.peak_bytes, 50);
	assert_int_equal(stack_of(profile, untouched)->counts.peak_count, 5);
	assert_int_equal(stack_of(profile, changing)->counts.peak_bytes, 20);
	assert_int_equal(stack_of(profile, changing)->counts.peak_count, 2);
	assert_int_equal(profile->totals.peak_bytes, profile->header.peak_bytes);
	assert_int_equal(profile->totals.peak_count, 47);
	assert_int_equal(profile->threads[1].counts.peak_bytes, -1000);
	profile_close(profile);
	fixture_end(&f);
}

static void wide_counters(void **state)
{
	struct fixture f;
	struct profile *profile;
	struct format_counter *counter;
	struct format_counter_wide *wide;
	const struct profile_stack *stack;
	uint32_t id, first;

	(void)state;
	fixture_begin(&f);
	f.first->header.peak_epoch = 3;
	id = plain_stack(&f, 0);
	first = plain_stack(&f, 1);
	counter = fixture_counter(&f, 0, id);
	count(counter, 1000, 500, 100); /* where it was when it became wide: not looked at */
	wide = fixture_widen(&f, counter);
	wide->alloc_count = UINT64_C(5000000000);
	wide->alloc_bytes = UINT64_C(80000000000);
	wide->free_count = UINT64_C(4999999999);
	wide->free_bytes = UINT64_C(79999999984);
	wide->temporary_count = UINT64_C(4300000000);
	wide->peak_bytes = INT64_C(6000000000);
	wide->peak_count = 60;
	wide->epoch = 3;
	/* A first block of more than 4 GiB: the narrow fields are still 0. */
	wide = fixture_widen(&f, fixture_counter(&f, 0, first));
	wide->alloc_count = 1;
	wide->alloc_bytes = UINT64_C(5000000000);
	wide->epoch = 2;
	profile = open_undamaged(&f);
	stack = stack_of(profile, id);
	assert_true(stack->counts.alloc_count == UINT64_C(5000000000));
	assert_true(stack->counts.alloc_bytes == UINT64_C(80000000000));
	assert_true(stack->counts.free_count == UINT64_C(4999999999));
	assert_true(stack->counts.free_bytes == UINT64_C(79999999984));
	assert_true(stack->counts.temporary_count == UINT64_C(4300000000));
	assert_true(stack->counts.peak_bytes == INT64_C(6000000000));
	assert_true(stack->counts.peak_count == 60);
	assert_int_equal(profile_live_bytes(&stack->counts), 16);
	stack = stack_of(profile, first);
	assert_true(profile_live_bytes(&stack->counts) == UINT64_C(5000000000));
	assert_true(stack->counts.peak_bytes == INT64_C(5000000000));
	profile_close(profile);
	fixture_end(&f);
}

static void histograms(void **state)
{
	struct fixture f;
	struct profile *profile;
	struct format_histogram *histogram;
	struct format_stack *raw;
	const struct profile_stack *stack;
	uint32_t one, many, none;

	(void)state;
	fixture_begin(&f);
	one = plain_stack(&f, 0);
	many = plain_stack(&f, 1);
	none = plain_stack(&f, 2);
	count(fixture_counter(&f, 0, one), 11, 0, 8);
	count(fixture_counter(&f, 0, many), 100, 0, 8);
	count(fixture_counter(&f, 0, none), 1, 0, 8);
	FIXTURE_ITEM(&f, FORMAT_STACKS, struct format_stack, one)->sizes = 1 + 4;
	raw = FIXTURE_ITEM(&f, FORMAT_STACKS, struct format_stack, many);
	raw->flags |= FORMAT_STACK_INEXACT;
	raw->sizes = FORMAT_SIZES_MANY | 2u << 24 | fixture_histogram(&f, &histogram);
	histogram->counts[5] = 30;
	histogram->counts[23] = 7;
	raw->lifetimes = fixture_histogram(&f, &histogram);
	histogram->counts[0] = 4;
	histogram->counts[22] = 1;
	profile = open_undamaged(&f);
	stack = stack_of(profile, one);
	assert_int_equal(stack->sizes[4], 11);
	assert_int_equal(stack->sizes[0], 0);
	assert_null(stack->lifetimes);
	assert_false(stack->inexact);
	stack = stack_of(profile, many);
	assert_int_equal(stack->sizes[2], 63);
	assert_int_equal(stack->sizes[5], 30);
	assert_int_equal(stack->sizes[23], 7);
	assert_int_equal(stack->lifetimes[0], 4);
	assert_int_equal(stack->lifetimes[22], 1);
	assert_true(stack->inexact);
	assert_null(stack_of(profile, none)->sizes);
	profile_close(profile);
	fixture_end(&f);
}

/* --- timeline ---------------------------------------------------------------------------------- */

static void points_by_time(void **state)
{
	static const uint64_t times[] = {300, 0, 100, 200};
	struct fixture f;
	struct profile *profile;

	(void)state;
	fixture_begin(&f);
	for (uint32_t i = 0; i < 4; i++) {
		struct format_point *point = fixture_take(&f, FORMAT_POINTS, sizeof(*point),
							  &f.first->header.point_count);

		point->time_ns = times[i];
		point->live_bytes = times[i] + 1;
		point->alloc_bytes = times[i] + 2;
		point->alloc_count = times[i] + 3;
		point->rss_bytes = times[i] + 4;
		point->lost_events = times[i] + 5;
	}
	f.first->header.update_ns = 250;
	profile = open_undamaged(&f);
	assert_int_equal(profile->point_count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		const struct profile_point *point = &profile->points[i];

		assert_int_equal(point->time_ns, 100 * (i + 1));
		assert_int_equal(point->live_bytes, point->time_ns + 1);
		assert_int_equal(point->alloc_bytes, point->time_ns + 2);
		assert_int_equal(point->alloc_count, point->time_ns + 3);
		assert_int_equal(point->rss_bytes, point->time_ns + 4);
		assert_int_equal(point->lost_events, point->time_ns + 5);
	}
	assert_int_equal(profile->duration_ns, 300); /* the latest sign of life */
	profile_close(profile);
	fixture_end(&f);
}

static struct format_series *add_series(struct fixture *f, uint32_t id)
{
	struct format_series *series = fixture_take(f, FORMAT_SERIES, sizeof(*series),
						    &f->first->header.series_count);

	series->stack_id = id;
	return series;
}

static void set_sample(struct format_series *series, unsigned slot, uint64_t time_ns)
{
	series->samples[slot].time_ns = time_ns;
	series->samples[slot].live_bytes = time_ns * 2;
	series->samples[slot].alloc_bytes = time_ns * 3;
}

static void series_by_time_without_duplicates(void **state)
{
	struct fixture f;
	struct format_series *series;
	struct profile *profile;
	uint32_t a, b, silent;

	(void)state;
	fixture_begin(&f);
	a = plain_stack(&f, 0);
	silent = plain_stack(&f, 1);
	b = plain_stack(&f, 2);
	count(fixture_counter(&f, 0, a), 1, 0, 8);
	count(fixture_counter(&f, 0, b), 1, 0, 8);
	series = add_series(&f, b);
	set_sample(series, 4, 50);
	series = add_series(&f, a);
	set_sample(series, 0, 40);
	set_sample(series, 1, 10);
	set_sample(series, 3, 30);
	add_series(&f, 0);
	set_sample(add_series(&f, silent), 0, 5); /* without events: not there */
	series = add_series(&f, a);
	set_sample(series, 0, 10); /* again */
	set_sample(series, 1, 20);
	profile = open_undamaged(&f);
	assert_int_equal(profile->series_count, 2);
	assert_int_equal(profile->stacks[profile->series[0].stack].number, a);
	assert_int_equal(profile->series[0].count, 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(profile->series[0].samples[i].time_ns, 10 * (i + 1));
		assert_int_equal(profile->series[0].samples[i].live_bytes, 20 * (i + 1));
		assert_int_equal(profile->series[0].samples[i].alloc_bytes, 30 * (i + 1));
	}
	assert_int_equal(profile->stacks[profile->series[1].stack].number, b);
	assert_int_equal(profile->series[1].count, 1);
	assert_int_equal(profile->series[1].samples[0].time_ns, 50);
	profile_close(profile);
	fixture_end(&f);
}

static void marks_by_time(void **state)
{
	struct fixture f;
	struct format_mark *mark;
	struct profile *profile;
	char longest[56];

	(void)state;
	fixture_begin(&f);
	mark = fixture_take(&f, FORMAT_MARKS, sizeof(*mark), &f.first->header.mark_count);
	mark->time_ns = 20;
	memcpy(mark->text, "loaded", 7);
	mark = fixture_take(&f, FORMAT_MARKS, sizeof(*mark), &f.first->header.mark_count);
	memcpy(mark->text, "being written", 14);
	mark = fixture_take(&f, FORMAT_MARKS, sizeof(*mark), &f.first->header.mark_count);
	mark->time_ns = 10;
	memset(mark->text, 'y', sizeof(mark->text)); /* not terminated */
	profile = open_undamaged(&f);
	assert_int_equal(profile->mark_count, 2);
	assert_int_equal(profile->marks[0].time_ns, 10);
	memset(longest, 'y', 55);
	longest[55] = '\0';
	assert_string_equal(profile->marks[0].text, longest);
	assert_int_equal(profile->marks[1].time_ns, 20);
	assert_string_equal(profile->marks[1].text, "loaded");
	profile_close(profile);
	fixture_end(&f);
}

/* --- size, and a process that runs ------------------------------------------------------------- */

/* More blocks than block 0 has entries for. */
static void directory_goes_on(void **state)
{
	struct fixture f;
	struct profile *profile;
	uint64_t expected = 0;
	uint32_t frames[2];
	uint32_t base, id;

	(void)state;
	fixture_begin(&f);
	base = fixture_pc32(&f, fixture_module(&f, "/p", ""), 0x1000);
	for (uint32_t i = 0; i < 64 * 500; i++) {
		frames[0] = base + i / 200;
		frames[1] = base + i % 200;
		id = fixture_stack(&f, frames, 2, FORMAT_HOOK_MALLOC);
		if (i % 64 != 0)
			continue;
		for (uint32_t thread = 0; thread < 60; thread++) {
			count(fixture_counter(&f, thread, id), 2, 1, i + thread);
			expected += i + thread;
		}
	}
	assert_true(f.block_count > FORMAT_FIRST_ENTRIES);
	assert_true(f.first->header.directories[0] != 0);
	profile = open_undamaged(&f);
	assert_true(profile_live_bytes(&profile->totals) == expected);
	assert_int_equal(profile->stack_count, 500);
	profile_close(profile);
	fixture_end(&f);
}

/* This process is the one that is recorded, and has the profile mapped. */
static void running_process(void **state)
{
	char path[] = "/tmp/pmem_test_XXXXXX";
	struct fixture f;
	struct profile *profile;
	struct error err = {""};
	struct timespec now;
	void *mapping;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	fixture_begin(&f);
	count(fixture_counter(&f, 0, plain_stack(&f, 0)), 2, 1, 8);
	clock_gettime(CLOCK_MONOTONIC, &now);
	f.first->header.pid = (uint32_t)getpid();
	f.first->header.start_ticks = running_start_ticks((uint32_t)getpid());
	f.first->header.start_monotonic_ns = (uint64_t)(now.tv_sec - 100) * 1000000000;
	f.first->header.state = FORMAT_STATE_RECORDING;
	assert_true(f.first->header.start_ticks > 0);
	fixture_save(&f, path);
	assert_true(profile_open(path, &profile, &err));
	assert_false(profile->is_live); /* not mapped: another image of this process */
	profile_close(profile);
	mapping = mmap(NULL, fixture_size(&f), PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(mapping, MAP_FAILED);
	assert_true(profile_open(path, &profile, &err));
	assert_true(profile->is_live);
	assert_true(profile->duration_ns >= UINT64_C(100000000000));
	assert_true(profile->duration_ns < UINT64_C(1000000000000));
	assert_int_equal(profile_live_bytes(&profile->totals), 8);
	assert_string_equal(profile->damage, "");
	profile_close(profile);
	f.first->header.start_ticks++; /* the pid is another process's now */
	fixture_save(&f, path);
	assert_true(profile_open(path, &profile, &err));
	assert_false(profile->is_live);
	profile_close(profile);
	munmap(mapping, fixture_size(&f));
	close(fd);
	unlink(path);
	fixture_end(&f);
}

static void names(void **state)
{
	(void)state;
	assert_string_equal(profile_hook_name(FORMAT_HOOK_MALLOC), "malloc");
	assert_string_equal(profile_hook_name(FORMAT_HOOK_PVALLOC), "pvalloc");
	assert_string_equal(profile_hook_name(FORMAT_NO_HOOK), "unknown");
	assert_string_equal(profile_loss_name(FORMAT_LOSS_EVENTS), "events");
	assert_string_equal(profile_loss_name(FORMAT_LOSS_TIMELINE), "timeline");
	for (uint32_t i = 0; i < FORMAT_LOSS_KINDS; i++)
		assert_non_null(profile_loss_name(i));
	for (uint32_t i = 0; i < FORMAT_HOOK_COUNT; i++)
		assert_non_null(profile_hook_name(i));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_profile),
		cmocka_unit_test(header_and_texts),
		cmocka_unit_test(modules_and_locations),
		cmocka_unit_test(id_is_the_logs_hash),
		cmocka_unit_test(tree_of_siblings),
		cmocka_unit_test(list_goes_on_beyond_the_count),
		cmocka_unit_test(fixed_ids),
		cmocka_unit_test(counters_of_threads_add_up),
		cmocka_unit_test(shares_of_the_peak),
		cmocka_unit_test(wide_counters),
		cmocka_unit_test(histograms),
		cmocka_unit_test(points_by_time),
		cmocka_unit_test(series_by_time_without_duplicates),
		cmocka_unit_test(marks_by_time),
		cmocka_unit_test(directory_goes_on),
		cmocka_unit_test(running_process),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
