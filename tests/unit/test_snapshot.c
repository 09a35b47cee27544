/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_snapshot.c - what snapshots say of thousands of call stacks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/stack_hash.h"
#include "libpmem/hook.h"
#include "libpmem/loss.h"
#include "libpmem/modules.h"
#include "libpmem/snapshot.h"
#include "libpmem/store.h"
#include "libpmem/tree.h"
#include "snapshot_fakes.h"

static void test_exact_text(void **state)
{
	(void)state;
	fakes_event(0, 4, 12000, 6564);
	fakes_event(1, 7, 100, 100);
	fakes_event(0, 1, 7, 0);
	fakes_event(0, 63, 50, 43);
	loss_add(FORMAT_LOSS_EVENTS, 2);
	loss_add(FORMAT_LOSS_TRUNCATED, 3);
	fakes.clock_ns += 12345678901;
	fakes_check(1049);
	assert_string_equal(fakes.log_text,
			    "# time=1970-01-01T00:00:01.000Z uptime_s=12.345 live=5450 peak=5450 "
			    "rss=4096 own=1230 "
			    "lost=2 events=2 truncated=3\n"
			    "[  0]=========================================================\n"
			    "churn=1049/1000\n\n"
			    "{b73339be235ec440} live:5436, alloc:12000/12000, free:6564/6564\n"
			    "  {0} /lib/libpmem.so(malloc+0x0) [0x7000]\n"
			    "  {1} ./prog?ram(+0x40) [0x10040]\n\n"
			    "{8aa5e2c603b0a159} live:7, alloc:50/50, free:43/43\n"
			    "  {0} /lib/libpmem.so(calloc+0x0) [0x7010]\n"
			    "  {1} ./prog?ram(odd+0x4) [0x103f0]\n"
			    "  {2} [anonymous](+0x70) [0x10070]\n\n"
			    "{5d42172d4ced023b} live:7, alloc:7/7, free:0/0\n"
			    "  {0} [signal handler]\n\n"
			    "{b4c125f332bb508b} live:0, alloc:100/100, free:100/100\n"
			    "  {0} /lib/libpmem.so(calloc+0x0) [0x7010]\n"
			    "  {1} [anonymous](+0x70) [0x10070]\n\n"
			    "# end [  0]\n");
}

static void test_what_the_program_maps_has_a_line(void **state)
{
	(void)state;
	fakes_event(0, 1, 7, 0);
	fakes.mapped = (struct mappings_counts){0, 3, 12288, 4096};
	fakes_check(1049);
	assert_non_null(strstr(fakes.log_text,
			       " lost=0\n"
			       "# mappings: 8192 mapped now, 12288 in all, 4096 unmapped, calls 3\n"
			       "[  0]=========================================================\n"));
}

static void test_what_failed_has_a_line(void **state)
{
	(void)state;
	fakes_event(0, 1, 7, 0);
	fakes.failed = (struct failures_sum){3, 9000, 1, 12345678901, 4000};
	fakes_check(1049);
	assert_non_null(
		strstr(fakes.log_text,
		       " lost=0\n"
		       "# failed: 3 allocations, bytes 9000, first 4000 at uptime_s=12.345 {"));
	assert_non_null(strstr(fakes.log_text, "} parse < main\n"
					       "[  0]====="));
}

/* Without blocks it is a snapshot all the same. */
static void test_a_program_that_only_maps_has_snapshots(void **state)
{
	(void)state;
	fakes.mapped = (struct mappings_counts){0, 1, 4096, 0};
	store_head()->mapping_count = 1;
	fakes_check(1049);
	assert_non_null(strstr(fakes.log_text, "churn=1049/1000\n\n"
					       "# end [  0]\n"));
}

static void test_thousands_without_limit(void **state)
{
	uint64_t all_alloc = 0, all_free = 0;
	unsigned round;

	(void)state;
	for (round = 0; round < 6; round++) {
		uint64_t churn = 1000 + fakes_work(round == 4 ? 0 : 3000);
		struct reading reading;
		uint32_t id;

		fakes.clock_ns += 1000000000;
		fakes_check(churn);
		reading = fakes_read_one();
		assert_int_equal(reading.sequence, round);
		assert_int_equal(reading.churn, churn);
		assert_int_equal(reading.threshold, 1000);
		assert_int_equal(reading.rest.live, 0);
		fakes_expect_totals(&reading, &all_alloc, &all_free);
		for (id = 1; id < fakes.id_limit; id++) {
			assert_true(fakes.shown[id] ||
				    fakes_sum(fakes.alloc, id) == fakes_sum(fakes.freed, id));
			assert_int_equal(fakes.shown_alloc[id], fakes_sum(fakes.alloc, id));
			assert_int_equal(fakes.shown_free[id], fakes_sum(fakes.freed, id));
		}
	}
	assert_int_equal(loss_total(), 0);
}

static void test_thousands_with_limit(void **state)
{
	uint64_t all_alloc = 0, all_free = 0;
	unsigned round;

	(void)state;
	settings.log_snapshot_max = 50000;
	for (round = 0; round < 20; round++) {
		struct reading reading;
		uint64_t least = UINT64_MAX;
		uint32_t id;

		fakes_check(1000 + fakes_work(500));
		reading = fakes_read_one();
		assert_true(reading.size <= settings.log_snapshot_max);
		assert_true(reading.entries > 100);
		fakes_expect_totals(&reading, &all_alloc, &all_free);
		for (id = 1; id < fakes.id_limit; id++)
			if (fakes.shown[id] &&
			    fakes_sum(fakes.alloc, id) - fakes_sum(fakes.freed, id) < least)
				least = fakes_sum(fakes.alloc, id) - fakes_sum(fakes.freed, id);
		for (id = 1; id < fakes.id_limit; id++) {
			uint64_t live = fakes_sum(fakes.alloc, id) - fakes_sum(fakes.freed, id);

			assert_true(fakes.shown[id] || live <= least);
		}
	}
	assert_true(all_alloc > 0);
	settings.log_snapshot_max = 0;
	fakes_check(1000);
	fakes_read_one();
	for (fakes.id_limit = 1; fakes.id_limit < IDS;
	     fakes.id_limit++) /* what waited in the rest comes with its final state */
		assert_int_equal(fakes.shown_free[fakes.id_limit],
				 fakes_sum(fakes.freed, fakes.id_limit));
	settings.log_snapshot_max = 1;
	fakes_check(1000);
	assert_int_equal(fakes_read_one().entries, 0);
	settings = (struct settings){.log = true,
				     .churn_thresh = 1000,
				     .snapshot_share = 1000,
				     .log_snapshot_max = 1 << 20,
				     .log_max = 20000};
	fakes_check(1000);
	assert_true(fakes_read_one().size <= 10000);
}

/* A dead, unchanged call stack has no entry, until the log begins anew or lost something. */
static void test_complete_after_rotation_and_loss(void **state)
{
	struct reading reading;

	(void)state;
	fakes_event(0, 9, 10, 10);
	fakes_event(0, 10, 10, 0);
	fakes_check(1000);
	assert_int_equal(fakes_read_one().entries, 2);
	fakes_check(1000);
	assert_int_equal(fakes_read_one().entries, 1);
	memset(fakes.shown_alloc, 0, sizeof(fakes.shown_alloc)); /* of the new file */
	fakes.rotated = true;
	fakes_check(1000);
	assert_int_equal(fakes_read_one().entries, 2);
	fakes.log_fails = true;
	fakes_check(1000);
	assert_int_equal(fakes.log_size, 0);
	fakes.log_fails = false;
	memset(fakes.shown_alloc, 0, sizeof(fakes.shown_alloc));
	fakes_check(1000);
	reading = fakes_read_one();
	assert_int_equal(reading.entries, 2);
	assert_int_equal(reading.sequence, 3); /* the lost one's number comes again */
	assert_int_equal(reading.churn, 2000);
	fakes_check(1000);
	assert_int_equal(fakes_read_one().entries, 1);
}

static uint64_t plain_hash(uint32_t id)
{
	uint32_t node = tree_stack(id)->node, hook = tree_stack_hook(id);
	uint64_t hash = STACK_HASH_START;

	if (hook != FORMAT_NO_HOOK)
		hash = stack_hash_string(hash, hook_name((enum format_hook)hook));
	for (; node; node = tree_parent(node)) {
		struct modules_location at;

		modules_locate(tree_pc32(node), &at);
		if (!at.module)
			hash = stack_hash_string(hash, node == 1 ? "[signal handler]" : "[unknown]");
		else
			hash = stack_hash_code(
				hash, &(struct stack_hash_frame){
					      at.module->build_id.bytes, at.module->build_id.size,
					      at.module->path, at.offset, at.module->instance});
	}
	return hash;
}

/* What is remembered of modules for the hash, made by one call stack and used by another, changes nothing. */
static void test_the_hash_is_that_of_its_definition(void **state)
{
	uint32_t id, round;

	(void)state;
	for (round = 0; round < 2; round++)
		for (id = 1; id < IDS; id++)
			assert_int_equal(snapshot_entry_hash(id), plain_hash(id));
	fakes_make_deep(3000);
	assert_int_equal(snapshot_entry_hash(DEEP_ID), plain_hash(DEEP_ID));
}

/* It has an entry, once. */
static void test_blocks_of_0_bytes(void **state)
{
	struct reading reading;

	(void)state;
	fakes_event(0, 10, 10, 0);
	fakes_event(0, 9, 0, 0);
	fakes.zero_id = 9;
	fakes_check(1000);
	assert_int_equal(fakes_read_one().entries, 2);
	assert_true(fakes.shown[9]);
	fakes_check(1000);
	reading = fakes_read_one();
	assert_int_equal(reading.entries, 1);
	assert_int_equal(reading.rest_stacks, 1);
}

/* An entry larger than the buffer. */
static void test_deep_stack(void **state)
{
	struct reading reading;

	(void)state;
	fakes_make_deep(12000);
	fakes_hash(DEEP_ID);
	fakes_event(0, DEEP_ID, 10, 0);
	fakes_event(0, 9, 5, 0);
	settings.log_snapshot_max = 1000;
	fakes_check(1000);
	reading = fakes_read_one();
	assert_true(fakes.write_count > 1 && reading.size > 256 * 1024);
	assert_int_equal(reading.entries, 1);
	assert_int_equal(reading.rest.live, 5);
	fakes_make_deep(1000); /* fits into the buffer, but not under the limit */
	snapshot_fork_child();
	memset(fakes.shown_alloc, 0, sizeof(fakes.shown_alloc));
	fakes_check(1000);
	reading = fakes_read_one();
	assert_true(reading.size <= 1000);
	assert_int_equal(reading.entries, 0);
	assert_int_equal(reading.rest.live, 15);
}

/* At once in the log, and a snapshot after them that churn does not ask for. */
static void test_last_words(void **state)
{
	static char said[] = "# last words: a\n# last words: b\n";
	struct text words = {.bytes = said, .size = sizeof(said) - 1};
	const char *after;

	(void)state;
	fakes_event(0, 9, 5, 0);
	fakes.last_words = &words;
	fakes_check(1);
	assert_int_equal(memcmp(fakes.log_text, said, words.size), 0);
	after = fakes.log_text + words.size;
	assert_non_null(strstr(after, " last_words=1\n"));
	fakes.log_size -= words.size;
	memmove(fakes.log_text, after, fakes.log_size);
	assert_int_equal(fakes_read_one().live, 5);
	fakes_event(0, 9, 5, 0);
	fakes_check(1);
	assert_int_equal(fakes.log_size, 0);
	fakes_check(1000);
	assert_null(strstr(fakes.log_text, "last_words"));
	fakes_read_one();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_exact_text, fakes_begin),
		cmocka_unit_test_setup(test_what_the_program_maps_has_a_line, fakes_begin),
		cmocka_unit_test_setup(test_what_failed_has_a_line, fakes_begin),
		cmocka_unit_test_setup(test_a_program_that_only_maps_has_snapshots, fakes_begin),
		cmocka_unit_test_setup(test_thousands_without_limit, fakes_begin),
		cmocka_unit_test_setup(test_thousands_with_limit, fakes_begin),
		cmocka_unit_test_setup(test_complete_after_rotation_and_loss, fakes_begin),
		cmocka_unit_test_setup(test_the_hash_is_that_of_its_definition, fakes_begin),
		cmocka_unit_test_setup(test_blocks_of_0_bytes, fakes_begin),
		cmocka_unit_test_setup(test_deep_stack, fakes_begin),
		cmocka_unit_test_setup(test_last_words, fakes_begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
