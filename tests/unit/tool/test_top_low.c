/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_top_low.c - `pmem top` where there are few lines: what goes, and what stays.
 */
#include "top_fixture.h"

/* Who grows is named, and the table has rows, with a mark too. */
static void a_low_screen_says_who_grows(void **state)
{
	static const struct {
		unsigned width, height, rows;
	} sizes[] = {{60, 8, 1}, {60, 9, 2}, {60, 12, 4}, {70, 13, 5}, {60, 16, 6}};
	struct model *model = top_start();

	(void)state;
	press("mL");
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		screen.width = sizes[i].width;
		screen.height = sizes[i].height;
		draw();
		line_with("  Live heap 72.0 MiB in 126 blocks, growing 60.0 MiB/min");
		line_with("  Session::remember (session.cc:88) makes 100 % of the");
		line_with("  since mark ");
		assert_int_equal(screen.count, sizes[i].height);
		assert_true(screen.lines[sizes[i].height - 2 - sizes[i].rows].style == VIEW_HEAD);
		assert_int_equal(has_line("276 calls since the start"), sizes[i].height >= 14);
	}
	top_stop(model);
}

/* A sentence that goes on ends behind a whole word, unless that is as wide as the screen. */
static void what_is_cut_ends_with_a_word(void **state)
{
	static const struct {
		unsigned width;
		const char *line;
	} sizes[] = {
		{78, "  Session::remember (session.cc:88) makes 100 % of the growth and holds ..."},
		{71, "  Session::remember (session.cc:88) makes 100 % of the growth and ..."},
		{60, "  Session::remember (session.cc:88) makes 100 % of the ..."},
		{40, "  Session::remember (session.cc:88) ..."},
		{38, "  Session::remember ..."},
	};
	struct model *model = top_start();

	(void)state;
	screen.height = 9;
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		screen.width = sizes[i].width;
		draw();
		assert_string_equal(screen.lines[2].text, sizes[i].line);
	}
	top_stop(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_low_screen_says_who_grows),
		cmocka_unit_test(what_is_cut_ends_with_a_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
