/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_mark.c - marks: their text, their time, and where there is none.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "include/pmemprof.h"
#include "libpmem/loss.h"
#include "libpmem/mark.h"
#include "libpmem/process.h"
#include "libpmem/store.h"
#include "libpmem/sys.h"
#include "libpmem/thread.h"
#include "timeline_fakes.h"

enum { START_NS = 1000, MARK = 7 };

union process_page process_page = {.mark = MARK};
static struct thread own, nested;
__thread struct thread *thread_current = &own;
static bool records;
static uint64_t clock_ns;

struct thread *thread_enter_slow(void)
{
	if (!records)
		return NULL;
	nested = (struct thread){.ready = THREAD_BUSY, .mark = MARK, .idle = MARK, .borrowed = 1};
	return &nested;
}

void thread_leave_slow(struct thread *thread)
{
	thread->ready = thread->mark;
}

uint64_t sys_monotonic_ns(void)
{
	return clock_ns;
}

static int begin(void **state)
{
	(void)state;
	fakes_clear_store();
	store_head()->start_monotonic_ns = START_NS;
	clock_ns = START_NS + 5;
	own.ready = own.mark = own.idle = MARK;
	records = true;
	process_page.mark = MARK;
	return 0;
}

static struct format_mark *mark_at(uint32_t index)
{
	return store_item(FORMAT_MARKS, sizeof(struct format_mark), index);
}

static void expect_text(const char *given, const char *kept)
{
	uint32_t index = store_head()->mark_count;

	pmemprof_mark(given);
	assert_int_equal(store_head()->mark_count, index + 1);
	assert_string_equal(mark_at(index)->text, kept);
}

static void a_mark_has_text_and_time(void **state)
{
	(void)state;
	assert_true(pmemprof_mark != NULL);
	errno = 77;
	pmemprof_mark("loaded");
	assert_int_equal(errno, 77);
	clock_ns += 10;
	pmemprof_mark("");
	assert_int_equal(store_head()->mark_count, 2);
	assert_string_equal(mark_at(0)->text, "loaded");
	assert_int_equal(mark_at(0)->time_ns, 5);
	assert_string_equal(mark_at(1)->text, "");
	assert_int_equal(mark_at(1)->time_ns, 15);
	assert_int_equal(own.ready, MARK);
}

static void a_mark_at_the_start_has_a_time_too(void **state)
{
	(void)state;
	clock_ns = START_NS;
	pmemprof_mark("x");
	assert_int_equal(mark_at(0)->time_ns, 1);
}

#define TEN "0123456789"
#define FIFTY TEN TEN TEN TEN TEN

static void long_text_is_cut_between_characters(void **state)
{
	(void)state;
	expect_text(FIFTY "12345", FIFTY "12345");
	expect_text(FIFTY "123456", FIFTY "12345");
	expect_text(FIFTY "123\xc3\xa9", FIFTY "123\xc3\xa9"); /* é: 55 bytes in all */
	expect_text(FIFTY "1234\xc3\xa9", FIFTY "1234");
	expect_text(FIFTY "123\xe2\x82\xac", FIFTY "123"); /* € */
	expect_text(FIFTY "12\xe2\x82\xac", FIFTY "12\xe2\x82\xac");
	expect_text(FIFTY "12\xe2\x82\xac more", FIFTY "12\xe2\x82\xac");
	expect_text(FIFTY "12\xf0\x9f\x90\x98", FIFTY "12"); /* an elephant */
	expect_text(FIFTY "1234\xf0\x9f\x90\x98", FIFTY "1234");
	expect_text(FIFTY "1\xf0\x9f\x90\x98 more", FIFTY "1\xf0\x9f\x90\x98");
	/* No UTF-8. */
	expect_text(FIFTY "\x80\x80\x80\x80\x80\x80\x80\x80", FIFTY "\x80\x80\x80\x80\x80");
	expect_text(FIFTY "1234\xff\xff", FIFTY "1234\xff");
}

static void nothing_is_marked_where_nothing_is_recorded(void **state)
{
	(void)state;
	pmemprof_mark(NULL);
	records = false;
	process_page.mark = 0;
	pmemprof_mark("x");
	assert_int_equal(store_head()->mark_count, 0);
}

static void a_handler_inside_the_recorder_may_mark(void **state)
{
	(void)state;
	own.ready = THREAD_BUSY;
	pmemprof_mark("x");
	assert_string_equal(mark_at(0)->text, "x");
	assert_int_equal(own.ready, THREAD_BUSY);
	assert_int_equal(nested.ready, MARK);
}

static void marks_beyond_the_limit_and_the_memory_are_counted(void **state)
{
	(void)state;
	for (int i = 0; i < MARK_COUNT_MAX + 3; i++)
		pmemprof_mark("x");
	assert_int_equal(store_head()->mark_count, MARK_COUNT_MAX);
	assert_int_equal(loss_count(FORMAT_LOSS_TIMELINE), 3);
	begin(NULL);
	fakes_block_limit[FORMAT_MARKS] = 0;
	pmemprof_mark("x");
	assert_int_equal(store_head()->mark_count, 0);
	assert_int_equal(loss_count(FORMAT_LOSS_TIMELINE), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_mark_has_text_and_time, begin),
		cmocka_unit_test_setup(a_mark_at_the_start_has_a_time_too, begin),
		cmocka_unit_test_setup(long_text_is_cut_between_characters, begin),
		cmocka_unit_test_setup(nothing_is_marked_where_nothing_is_recorded, begin),
		cmocka_unit_test_setup(a_handler_inside_the_recorder_may_mark, begin),
		cmocka_unit_test_setup(marks_beyond_the_limit_and_the_memory_are_counted, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
