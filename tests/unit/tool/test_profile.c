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
#include "profile/stack_id.h"
#include "profile_open.h"
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
	assert_true(stack_id(profile, stack_of(profile, id)) == hash);
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
	assert_true(stack_id(profile, stack) ==
		    stack_hash_string(STACK_HASH_START, "[signal handler]"));
	assert_int_equal(profile_live_bytes(&stack->counts), 300);
	stack = stack_of(profile, 2);
	assert_string_equal(location_at(profile, stack->node)->special, "[beyond budget]");
	assert_true(stack_id(profile, stack) ==
		    stack_hash_string(STACK_HASH_START, "[beyond budget]"));
	profile_close(profile);
	fixture_end(&f);
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
	uint64_t classes[FORMAT_CLASSES];

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
	assert_true(profile_sizes(profile, stack, classes));
	assert_int_equal(classes[4], 11);
	assert_int_equal(classes[0], 0);
	assert_false(profile_lifetimes(profile, stack, classes));
	assert_false(stack->inexact);
	stack = stack_of(profile, many);
	assert_true(profile_sizes(profile, stack, classes));
	assert_int_equal(classes[2], 63);
	assert_int_equal(classes[5], 30);
	assert_int_equal(classes[23], 7);
	assert_true(profile_lifetimes(profile, stack, classes));
	assert_int_equal(classes[0], 4);
	assert_int_equal(classes[22], 1);
	assert_true(stack->inexact);
	assert_false(profile_sizes(profile, stack_of(profile, none), classes));
	profile_close(profile);
	fixture_end(&f);
}

static struct format_recent_sizes *take_recent(struct fixture *f)
{
	return fixture_take(f, FORMAT_RECENT_SIZES, sizeof(struct format_recent_sizes),
			    &f->first->header.recent_count);
}

static uint64_t recent(uint32_t id, uint32_t size_class, uint32_t blocks)
{
	return (uint64_t)id << FORMAT_RECENT_STACK_SHIFT |
	       (uint64_t)size_class << FORMAT_RECENT_CLASS_SHIFT | blocks;
}

static void recent_sizes(void **state)
{
	struct fixture f;
	struct profile *profile;
	struct format_histogram *histogram;
	struct format_recent_sizes *table;
	uint32_t one, many, first;
	uint64_t classes[FORMAT_CLASSES];

	(void)state;
	fixture_begin(&f);
	one = plain_stack(&f, 0);
	many = plain_stack(&f, 1);
	count(fixture_counter(&f, 0, one), 11, 0, 8);
	count(fixture_counter(&f, 0, many), 100, 0, 8);
	FIXTURE_ITEM(&f, FORMAT_STACKS, struct format_stack, one)->sizes = 1 + 4;
	first = fixture_histogram(&f, &histogram);
	FIXTURE_ITEM(&f, FORMAT_STACKS, struct format_stack, many)->sizes = FORMAT_SIZES_MANY |
									    2u << 24 | first;
	histogram->counts[5] = 30;
	table = take_recent(&f);
	table->counts[0] = recent(many, 5, 3);
	table->counts[1] = recent(many, 0, 0);
	/* What cannot be: of no histogram, of no call stack, of no class. */
	table->counts[2] = recent(one, 7, 5);
	table->counts[3] = recent(many + 1000, 5, 5);
	table->counts[4] = recent(many, FORMAT_CLASSES, 5);
	table = take_recent(&f);
	table->counts[FORMAT_RECENT - 1] = recent(many, 5, 4);
	table->counts[7] = recent(many, 23, 6);
	profile = open_undamaged(&f);
	assert_true(profile_sizes(profile, stack_of(profile, many), classes));
	assert_int_equal(classes[5], 37);
	assert_int_equal(classes[23], 6);
	assert_int_equal(classes[2], 57);
	assert_int_equal(classes[0], 0);
	assert_true(profile_sizes(profile, stack_of(profile, one), classes));
	assert_int_equal(classes[4], 11);
	assert_int_equal(classes[7], 0);
	profile_close(profile);
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
		cmocka_unit_test(recent_sizes),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
