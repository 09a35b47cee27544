/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_sample_pages.c - while sampling, pages tell of the blocks that were recorded, and nothing else tells that one was not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "libpmem/sample_pages.h"
#include "libpmem/settings.h"
#include "tests/unit/live_fixture.h"

enum { PAGE = 1 << SAMPLE_PAGE_LOG2, MEAN = 512 * 1024 };

struct settings settings;

/* An allocator that is not glibc's: blocks are addresses only. */
static int start(void **state)
{
	settings.sample = MEAN;
	sample_pages_fork_child();
	return begin_two_cell(state);
}

static void put(uintptr_t addr, size_t size)
{
	const struct live_block block = {.addr = addr, .size = size, .stack_id = 3, .birth_ns = 7};
	struct live_block stale;

	assert_int_equal(sample_pages_put(&block, &stale), LIVE_PUT_OK);
}

static void take(uintptr_t addr)
{
	struct live_block block;

	assert_true(sample_pages_take(addr, &block));
}

static void a_page_holds_what_was_recorded_there(void **state)
{
	const uintptr_t addr = area + 5 * PAGE + 16, alias = addr + (uintptr_t)SAMPLE_PAGES * PAGE;
	struct live_block unknown;

	(void)state;
	assert_false(sample_pages_may_hold(addr));
	put(addr, 10);
	put(addr + 96, 10);
	assert_true(sample_pages_may_hold(addr));
	assert_true(sample_pages_may_hold(addr - 16)); /* the page's first byte */
	assert_true(sample_pages_may_hold(alias));
	assert_false(sample_pages_may_hold(addr - 17));
	assert_false(sample_pages_may_hold(addr - 16 + PAGE));
	take(addr);
	assert_true(sample_pages_may_hold(addr));
	assert_false(sample_pages_take(addr, &unknown));
	assert_true(sample_pages_may_hold(addr));
	take(addr + 96);
	assert_false(sample_pages_may_hold(addr));
	put(addr, 10);
	assert_true(sample_pages_may_hold(addr));
	take(addr);
}

/* More blocks than the number can tell: the page looks as if it had some for ever. */
static void a_full_page_stays_full(void **state)
{
	const uintptr_t page = area + 77 * PAGE;
	uint32_t i;

	(void)state;
	for (i = 0; i < SAMPLE_PAGE_FULL - 1; i++)
		put(page + 16 * i, 10);
	for (i = 0; i < SAMPLE_PAGE_FULL - 1; i++) {
		assert_true(sample_pages_may_hold(page));
		take(page + 16 * i);
	}
	assert_false(sample_pages_may_hold(page));
	for (i = 0; i < SAMPLE_PAGE_FULL + 1; i++)
		put(page + 16 * i, 10);
	for (i = 0; i < SAMPLE_PAGE_FULL + 1; i++)
		take(page + 16 * i);
	assert_true(sample_pages_may_hold(page));
}

static void what_is_not_to_be_asked_for_is_full(void **state)
{
	const uintptr_t boot = 0x600000123ff0, end = boot + 2 * PAGE, recorded = area + 99 * PAGE;

	(void)state;
	sample_pages_init(boot, end);
	assert_true(sample_pages_may_hold(0));
	assert_true(sample_pages_may_hold(boot));
	assert_true(sample_pages_may_hold(boot + PAGE));
	assert_true(sample_pages_may_hold(end - 1));
	assert_false(sample_pages_may_hold(boot - PAGE));
	assert_false(sample_pages_may_hold(end + PAGE));
	put(recorded, 10);
	sample_pages_fork_child();
	assert_false(sample_pages_may_hold(recorded));
	assert_true(sample_pages_may_hold(0));
	assert_true(sample_pages_may_hold(boot));
}

/* A block that was freed past the hooks begins where the new one goes on, in the next page. */
static void a_stale_block_goes_from_its_own_page(void **state)
{
	const uintptr_t stale_addr = area + 151 * PAGE, addr = stale_addr - 16;
	const struct live_block block = {.addr = addr, .size = 100, .stack_id = 4, .birth_ns = 8};
	struct live_block stale;

	(void)state;
	put(stale_addr, 10);
	assert_int_equal(sample_pages_put(&block, &stale), LIVE_PUT_STALE);
	assert_int_equal(stale.addr, stale_addr);
	assert_true(sample_pages_may_hold(addr));
	assert_false(sample_pages_may_hold(stale_addr));
	/* One at the same place. */
	assert_int_equal(sample_pages_put(&block, &stale), LIVE_PUT_STALE);
	assert_true(sample_pages_may_hold(addr));
	take(addr);
	assert_false(sample_pages_may_hold(addr));
}

static void in_a_child_none_is_recorded(void **state)
{
	const uintptr_t addr = area + 200 * PAGE;

	(void)state;
	put(addr, 10);
	sample_pages_fork_child();
	assert_false(sample_pages_may_hold(addr));
	take(addr); /* the table was not told that this is a child */
	assert_false(sample_pages_may_hold(addr));
	put(addr, 10);
	assert_true(sample_pages_may_hold(addr));
}

static void without_sampling_no_page_is_written(void **state)
{
	const uintptr_t boot = 0x601000020000, addr = area + 300 * PAGE;

	(void)state;
	settings.sample = 0;
	sample_pages_init(boot, boot + PAGE);
	assert_false(sample_pages_may_hold(boot));
	put(addr, 10);
	assert_false(sample_pages_may_hold(addr));
	take(addr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_page_holds_what_was_recorded_there, start),
		cmocka_unit_test_setup(a_full_page_stays_full, start),
		cmocka_unit_test_setup(what_is_not_to_be_asked_for_is_full, start),
		cmocka_unit_test_setup(a_stale_block_goes_from_its_own_page, start),
		cmocka_unit_test_setup(in_a_child_none_is_recorded, start),
		cmocka_unit_test_setup(without_sampling_no_page_is_written, start),
	};

	return cmocka_run_group_tests(tests, map_area, NULL);
}
