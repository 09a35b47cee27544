/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_top.c - `pmem top` without a terminal: what is on its screen after readings and keys.
 */
#include "top_fixture.h"

#define TABLE(...) assert_table((const char *const[]){__VA_ARGS__, NULL})

static void the_first_screen(void **state)
{
	struct model *model = top_start();

	(void)state;
	draw();
	assert_int_equal(screen.count, 24);
	assert_string_equal(
		screen.lines[0].text,
		"server (pid 4711), running for 1 min                                   every 2 s");
	assert_true(has_line("Live heap 72.0 MiB in 126 blocks, growing 60.0 MiB/min"));
	assert_true(has_line("Session::remember (session.cc:88) makes 100 % of the growth"));
	line_with("  live 72.0 MiB ");
	line_with("  rss 30.0 MiB ");
	line_with("  allocated 72.0 MiB in 276 calls since the start, 53 % temporary");
	TABLE("      LIVE  growth/min    alloc/s   blocks site",
	      "  60.0 MiB   +60.0 MiB          -       60 + Session::remember  session.cc:88",
	      "  12.0 MiB           0          -       12 + load_index",
	      "    1000 B           0          -       50 + parse_headers",
	      "     300 B           0          -        3 + walk",
	      "      77 B           0          -        1 + [truncated]");
	assert_true(strncmp(screen.lines[23].text, "h help", 6) == 0);
	top_stop(model);
}

/* Two seconds: 1 MiB and 4 blocks more in the one, 100 temporary ones of 10 bytes in the other. */
static void grow_a_little(struct model *model)
{
	grow_stack(model, 0, (struct profile_counts){.alloc_bytes = MIB, .alloc_count = 4});
	grow_stack(model, 2,
		   (struct profile_counts){.alloc_bytes = 1000,
					   .alloc_count = 100,
					   .free_bytes = 1000,
					   .free_count = 100,
					   .temporary_count = 100});
	read_again(model);
}

static void rates_between_two_readings(void **state)
{
	struct model *model = top_start();

	(void)state;
	grow_a_little(model);
	press("C");
	line_with("  alloc 512.5 KiB/s in 52 calls/s, free 500 B/s, churn 513.0 KiB/s");
	TABLE("      live  growth/min    ALLOC/S   blocks site",
	      "  61.0 MiB   +61.0 MiB  512.0 KiB       64 + Session::remember  session.cc:88",
	      "    1000 B           0      500 B       50 + parse_headers",
	      "  12.0 MiB           0        0 B       12 + load_index",
	      "     300 B           0        0 B        3 + walk",
	      "      77 B           0        0 B        1 + [truncated]");
	read_again(model);
	draw();
	line_with("  alloc 0 B/s in 0 calls/s, free 0 B/s, churn 0 B/s");
	top_stop(model);
}

static void sorting(void **state)
{
	struct model *model = top_start();

	(void)state;
	press("T");
	TABLE("      live  growth/min    alloc/s   TEMPORARY site",
	      "    1000 B           0          -         147 + parse_headers",
	      "  60.0 MiB   +60.0 MiB          -           0 + Session::remember  session.cc:88",
	      "  12.0 MiB           0          -           0 + load_index",
	      "     300 B           0          -           0 + walk",
	      "      77 B           0          -           0 + [truncated]");
	press("<");
	assert_true(has_line("ALLOCATED"));
	press("<r");
	TABLE("      live  growth/min    alloc/s  BLOCKS^ site",
	      "      77 B           0          -        1 + [truncated]",
	      "     300 B           0          -        3 + walk",
	      "  12.0 MiB           0          -       12 + load_index",
	      "    1000 B           0          -       50 + parse_headers",
	      "  60.0 MiB   +60.0 MiB          -       60 + Session::remember  session.cc:88");
	press("L");
	assert_true(has_line("      LIVE  growth/min"));
	press("<>>");
	assert_true(has_line("  GROWTH/MIN"));
	top_stop(model);
}

static void a_mark(void **state)
{
	struct model *model = top_start();

	(void)state;
	press("m");
	grow_a_little(model);
	draw();
	line_with("  since mark 2 s ago: live +1.0 MiB, blocks +4, alloc 1.0 MiB in 104 calls");
	TABLE("      LIVE       +live    alloc/s  +blocks site",
	      "  61.0 MiB    +1.0 MiB  512.0 KiB       +4 + Session::remember  session.cc:88",
	      "  12.0 MiB           0        0 B        0 + load_index",
	      "    1000 B           0      500 B        0 + parse_headers",
	      "     300 B           0        0 B        0 + walk",
	      "      77 B           0        0 B        0 + [truncated]");
	grow_stack(model, 1, (struct profile_counts){.free_bytes = 3 * MIB, .free_count = 3});
	read_again(model);
	press("Gr");
	TABLE("      live      +LIVE^    alloc/s  +blocks site",
	      "   9.0 MiB    -3.0 MiB        0 B       -3 + load_index",
	      "    1000 B           0        0 B        0 + parse_headers",
	      "     300 B           0        0 B        0 + walk",
	      "      77 B           0        0 B        0 + [truncated]",
	      "  61.0 MiB    +1.0 MiB        0 B       +4 + Session::remember  session.cc:88");
	press("M");
	assert_false(has_line("since mark"));
	assert_true(has_line("GROWTH/MIN^"));
	top_stop(model);
}

static void expanding(void **state)
{
	struct model *model = top_start();

	(void)state;
	draw();
	press_key(TOP_KEY_DOWN);
	press_key(TOP_KEY_DOWN);
	press_key(TOP_KEY_ENTER);
	/* Two calls of one function, of which only the second is live. */
	TABLE("      LIVE  growth/min    alloc/s   blocks site",
	      "  60.0 MiB   +60.0 MiB          -       60 + Session::remember  session.cc:88",
	      "  12.0 MiB           0          -       12 + load_index",
	      "    1000 B           0          -       50 - parse_headers",
	      "    1000 B           0          -       50   + malloc by handle, main",
	      "       0 B           0          -        0   + malloc by handle, main",
	      "     300 B           0          -        3 + walk",
	      "      77 B           0          -        1 + [truncated]");
	press_key(TOP_KEY_DOWN);
	press_key(TOP_KEY_RIGHT);
	assert_true(has_line("                    parse_headers"));
	assert_true(has_line("                    handle"));
	assert_true(has_line(
		"                    ... 1 frame of the runtime hidden, the key a shows it"));
	press("a");
	assert_true(has_line("                    __libc_start_main  libc.so.6"));
	assert_false(has_line("hidden"));
	/* Left closes the call stack, then the row. */
	press_key(TOP_KEY_LEFT);
	assert_false(has_line("                    handle"));
	press_key(TOP_KEY_LEFT);
	assert_false(has_line("malloc by"));
	assert_string_equal(strstr(screen.lines[line_with("parse_headers")].text, "+ "),
			    "+ parse_headers");
	press(" ");
	assert_true(has_line("malloc by"));
	press("x");
	assert_false(has_line("malloc by"));
	top_stop(model);
}

/* A function that calls itself is one line. */
static void recursion_is_folded(void **state)
{
	struct model *model = top_start();

	(void)state;
	press("/walk");
	press_key(TOP_KEY_ENTER);
	press_key(TOP_KEY_ENTER);
	press("j ");
	line_with("                    walk  (3 times)");
	top_stop(model);
}

static void selected_is(const char *text)
{
	for (unsigned i = 0; i < screen.count; i++) {
		if (screen.lines[i].style != VIEW_SELECTED)
			continue;
		if (!strstr(screen.lines[i].text, text))
			fail_msg("\"%s\" is selected", screen.lines[i].text);
		return;
	}
	fail_msg("nothing is selected");
}

/* What is selected and what is expanded stay so, wherever they move. */
static void the_selection_follows(void **state)
{
	struct model *model = top_start();

	(void)state;
	draw();
	selected_is("Session::remember");
	press("r");
	selected_is("[truncated]"); /* the first line, whatever stands there */
	press("j");
	selected_is("walk");
	press(" r");
	selected_is("walk");
	grow_stack(model, 4, (struct profile_counts){.alloc_bytes = 100 * MIB, .alloc_count = 1});
	read_again(model);
	draw();
	selected_is("walk");
	assert_int_equal(line_with("- walk"), line_with("LIVE  ") + 1);
	press_key(TOP_KEY_HOME);
	selected_is("walk");
	press_key(TOP_KEY_END);
	selected_is("[truncated]");
	press_key(TOP_KEY_PAGE_UP);
	selected_is("walk");
	press_key(TOP_KEY_PAGE_DOWN);
	selected_is("[truncated]");
	press("k");
	selected_is("parse_headers");
	top_stop(model);
}

static void filtering(void **state)
{
	struct model *model = top_start();

	(void)state;
	press("/HANDLE");
	/* Two sites are called by it. */
	TABLE("      LIVE  growth/min    alloc/s   blocks site",
	      "  60.0 MiB   +60.0 MiB          -       60 + Session::remember  session.cc:88",
	      "    1000 B           0          -       50 + parse_headers");
	assert_string_equal(screen.lines[23].text,
			    "filter: HANDLE_  (Enter keeps it, Esc drops it)");
	press_key(TOP_KEY_BACKSPACE);
	press("q");
	assert_true(has_line("filter: HANDLq_"));
	assert_true(has_line("  Nothing matches the filter."));
	press_key(TOP_KEY_ESCAPE);
	assert_false(has_line("filter:"));
	/* The site's source file; kept by Enter, gone by Esc. */
	press("fsession.");
	press_key(TOP_KEY_ENTER);
	assert_string_equal(screen.lines[23].text,
			    "filter: session.  (60.0 MiB live, 83 %; Esc drops it)");
	press_key(TOP_KEY_ESCAPE);
	assert_true(has_line("load_index"));
	/* A module. */
	press("/LIBC.so");
	assert_true(has_line("walk"));
	assert_false(has_line("[truncated]"));
	top_stop(model);
}

static void a_character_of_several_bytes_is_one(void **state)
{
	struct model *model = top_start();

	(void)state;
	press("/a\303\251\033");
	press_key(TOP_KEY_BACKSPACE);
	assert_true(has_line("filter: a_"));
	for (unsigned i = 0; i < 2 * TOP_FILTER_SIZE; i++)
		press("b");
	assert_int_equal(strlen(top->filter), TOP_FILTER_SIZE - 1);
	top_stop(model);
}

static void groups(void **state)
{
	struct model *model = top_start();

	(void)state;
	spots[PARSE_AGAIN].symbol.file = spots[PARSE].symbol.file = "src/parse.cc";
	spots[PARSE].symbol.line = 10;
	spots[PARSE_AGAIN].symbol.line = 20;
	read_again(model);
	draw();
	assert_true(has_line("+ parse_headers  parse.cc:20"));
	assert_true(has_line("+ parse_headers  parse.cc:10"));
	press("g");
	TABLE("      LIVE  growth/min    alloc/s   blocks function",
	      "  60.0 MiB   +60.0 MiB        0 B       60 + Session::remember",
	      "  12.0 MiB           0        0 B       12 + load_index",
	      "    1000 B           0        0 B       50 + parse_headers",
	      "     300 B           0        0 B        3 + walk",
	      "      77 B           0        0 B        1 + [truncated]");
	press("g");
	TABLE("      LIVE  growth/min    alloc/s   blocks module",
	      "  72.0 MiB   +60.0 MiB        0 B      125 + server",
	      "      77 B           0        0 B        1 + [no module]");
	press(" ");
	assert_true(has_line(
		"  12.0 MiB           0        0 B       12   + malloc by load_index, main"));
	press("g");
	assert_true(has_line("blocks site"));
	spots[PARSE_AGAIN].symbol.file = spots[PARSE].symbol.file = NULL;
	spots[PARSE_AGAIN].symbol.line = spots[PARSE].symbol.line = 0;
	top_stop(model);
}

static void pause_and_interval(void **state)
{
	struct model *model = top_start();

	(void)state;
	press("p");
	assert_true(strstr(screen.lines[0].text, "  paused") != NULL);
	assert_true(top->is_paused);
	assert_int_equal(top_key(top, 'u'), TOP_READ_NOW);
	assert_int_equal(top_key(top, 'p'), TOP_READ_NOW);
	assert_false(top->is_paused);
	press("+");
	assert_true(strstr(screen.lines[0].text, "every 5 s") != NULL);
	press("----");
	assert_true(strstr(screen.lines[0].text, "every 250 ms") != NULL);
	press("------");
	assert_true(strstr(screen.lines[0].text, "every 100 ms") != NULL);
	press("++++++++++");
	assert_true(strstr(screen.lines[0].text, "every 1 min") != NULL);
	assert_int_equal(top_key(top, 'q'), TOP_QUIT);
	top_stop(model);
}

static void help(void **state)
{
	struct model *model = top_start();

	(void)state;
	press("h");
	assert_string_equal(screen.lines[0].text, "pmem top: keys");
	assert_true(screen.count <= 24);
	assert_string_equal(screen.lines[screen.count - 1].text, "Any key goes back.");
	press("q");
	assert_true(has_line("Session::remember"));
	top_stop(model);
}

static void the_process_ends(void **state)
{
	struct model *model = top_start();

	(void)state;
	/* The words come anew, however long those before took. */
	top->words_due_ns = UINT64_MAX;
	model->profile.is_live = false;
	atomic_init(&model->profile.header.state, FORMAT_STATE_ENDED);
	read_again(model);
	draw();
	assert_string_equal(
		screen.lines[0].text,
		"server (pid 4711), ended after 1 min                                       ended");
	line_with("  The process has ended: this is its final state.");
	assert_true(has_line("Live heap at the end 72.0 MiB"));
	assert_true(has_line("+ Session::remember"));
	atomic_init(&model->profile.header.state, FORMAT_STATE_RECORDING);
	read_again(model);
	draw();
	line_with("The process was killed or executed another program");
	assert_true(strstr(screen.lines[0].text, "  gone") != NULL);
	top_stop(model);
}

/* What makes figures wrong stands above them. */
static void losses(void **state)
{
	struct model *model = top_start();

	(void)state;
	atomic_init(&model->profile.header.losses[FORMAT_LOSS_EVENTS], 12);
	top->words_due_ns = 0;
	read_again(model);
	draw();
	assert_int_equal(line_with("INCOMPLETE: lost 12 allocations or frees"), 1);
	assert_int_equal(screen.lines[1].style, VIEW_WARNING);
	top_stop(model);
}

/* Every size: no more lines than there are, none too wide; the process and a row are there, if anything is. */
static void every_size(void **state)
{
	struct model *model = top_start();

	(void)state;
	press("m/handle");
	press_key(TOP_KEY_ENTER);
	press(" j ");
	for (unsigned width = 1; width <= 120; width++) {
		for (unsigned height = 1; height <= 40; height++) {
			screen.width = width;
			screen.height = height;
			draw();
			assert_true(screen.count <= height || height < 2);
			for (unsigned i = 0; i < screen.count; i++)
				assert_true(output_columns(screen.lines[i].text) <= width);
		}
	}
	screen.width = 20;
	screen.height = 5;
	press("x");
	press_key(TOP_KEY_ESCAPE);
	press_key(TOP_KEY_HOME);
	assert_string_equal(screen.lines[0].text, "server (pid ...1 min");
	TABLE("      LIVE site", "  60.0 MiB + rem...r", "h help  / filter  <");
	press("h");
	assert_int_equal(screen.count, 5);
	top_stop(model);
}

static void a_wide_screen_has_all_columns(void **state)
{
	struct model *model = top_start();

	(void)state;
	screen.width = 130;
	draw();
	line_with("      LIVE  growth/min    alloc/s   blocks   allocated   temporary site");
	line_with("    1000 B           0          -       50     2.9 KiB         147 + "
		  "parse_headers");
	top_stop(model);
}

static void names_that_would_steer_the_terminal(void **state)
{
	struct model *model = top_start();

	(void)state;
	spots[LOAD].symbol.function = "load\033[2J\n\302\233x\xff";
	model->profile.program_name = "ser\033]0;x\007ver";
	read_again(model);
	press(" j ");
	assert_true(strncmp(screen.lines[0].text, "ser?]0;x?ver (pid 4711)", 23) == 0);
	line_with("- load?[2J??x?");
	press("/\x9b");
	assert_true(has_line("filter: ?_"));
	for (unsigned i = 0; i < screen.count; i++)
		for (const char *at = screen.lines[i].text; *at; at++)
			assert_false(output_is_control(at));
	spots[LOAD].symbol.function = "load_index";
	top_stop(model);
}

/* One line is looked up for each row that is visible, and no other. */
static void lines_of_what_is_visible_only(void **state)
{
	struct model *model = top_start();
	uint32_t place;

	(void)state;
	draw();
	place = places_find_fast(top->report.places, REMEMBER);
	for (unsigned stack = 0; stack < 2; stack++) {
		top->report.sites->is_rough[stack] = true;
		top->report.sites->of_stack[stack] = stack ? places_find_fast(top->report.places,
									      LOAD)
							   : place;
	}
	assert_true(top_arrange(top, 1));
	assert_false(top->report.sites->is_rough[0]);
	assert_true(top->report.sites->is_rough[1]);
	top->selected = 1;
	assert_true(top_arrange(top, 1));
	assert_false(top->report.sites->is_rough[1]);
	top_stop(model);
}

static void plain_text(void **state)
{
	struct model *model = top_start();

	(void)state;
	view_end(&screen);
	screen = (struct view){.width = 80, .height = 2};
	assert_true(view_batch(&screen, top));
	TABLE("      LIVE  growth/min    alloc/s   blocks site",
	      "  60.0 MiB   +60.0 MiB          -       60   Session::remember  session.cc:88",
	      "  12.0 MiB           0          -       12   load_index",
	      "   1.3 KiB           0          -       54   in 3 other sites");
	assert_string_equal(screen.lines[screen.count - 1].text, "");
	top_stop(model);
}

static void nothing_was_allocated(void **state)
{
	struct model *model = top_start();

	(void)state;
	model->profile.stack_count = 0;
	model->profile.series_count = 0;
	model->profile.totals = (struct profile_counts){0};
	top->words_due_ns = 0;
	read_again(model);
	press(" j\n");
	press_key(TOP_KEY_LEFT);
	press_key(TOP_KEY_END);
	line_with("  No allocation was recorded.");
	top_stop(model);
}

/* A second profile, of two call stacks that map memory, beside the heap. */
static struct profile *add_mapped(struct model *model)
{
	static struct profile mapped;
	static const uint64_t resident[2];
	static struct profile_stack stacks[2];

	mapped = model->profile;
	mapped.is_mapped = true;
	mapped.stacks = stacks;
	mapped.stack_count = 2;
	mapped.resident = resident;
	mapped.series_count = 0;
	stacks[0] = model->stacks[0];
	stacks[0].counts = (struct profile_counts){
		.alloc_bytes = 7 * MIB, .alloc_count = 9, .free_bytes = 2 * MIB};
	stacks[1] = model->stacks[1];
	stacks[1].counts = (struct profile_counts){.alloc_bytes = MIB, .alloc_count = 1};
	mapped.totals = (struct profile_counts){
		.alloc_bytes = 8 * MIB, .alloc_count = 10, .free_bytes = 2 * MIB};
	model->profile.mapped = &mapped;
	return &mapped;
}

static void read_switched(struct model *model)
{
	assert_int_equal(top_key(top, 'v'), TOP_READ_NOW);
	read_again(model);
	draw();
}

/* What the program maps itself is a line beside the heap, and a table of its own. */
static void mappings_apart(void **state)
{
	struct model *model = top_start();
	struct profile *mapped;

	(void)state;
	draw();
	assert_false(has_line("by the program itself"));
	mapped = add_mapped(model);
	read_again(model);
	draw();
	line_with("  mapped 6.0 MiB by the program itself (mmap), no part of the heap: key v");
	line_with("live 72.0 MiB");
	press("m");
	assert_true(has_line("since mark"));
	read_switched(model);
	assert_false(has_line("since mark"));
	assert_false(has_line("live 72.0 MiB"));
	line_with("Now mapped: anonymous memory that the program mapped itself");
	line_with("  mapped 6.0 MiB ");
	line_with("  mapped 8.0 MiB in 10 calls since the start");
	line_with("    MAPPED  growth/min   mapped/s    calls site");
	line_with("   5.0 MiB ");
	line_with("       9 + Session::remember");
	line_with("v heap");
	mapped->stacks[1].counts.alloc_bytes += 4 * MIB;
	mapped->totals.alloc_bytes += 4 * MIB;
	mapped->stacks[1].counts.alloc_count += 2;
	mapped->totals.alloc_count += 2;
	read_again(model);
	draw();
	line_with("  mapped 2.0 MiB/s in 1 calls/s, unmapped 0 B/s, churn 2.0 MiB/s");
	press("m");
	line_with(" ago: mapped 0, in all 0 B in 0 calls");
	read_switched(model);
	line_with("live 72.0 MiB");
	assert_false(has_line("since mark"));
	top_stop(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_screen),
		cmocka_unit_test(rates_between_two_readings),
		cmocka_unit_test(sorting),
		cmocka_unit_test(a_mark),
		cmocka_unit_test(mappings_apart),
		cmocka_unit_test(expanding),
		cmocka_unit_test(recursion_is_folded),
		cmocka_unit_test(the_selection_follows),
		cmocka_unit_test(filtering),
		cmocka_unit_test(a_character_of_several_bytes_is_one),
		cmocka_unit_test(groups),
		cmocka_unit_test(pause_and_interval),
		cmocka_unit_test(help),
		cmocka_unit_test(the_process_ends),
		cmocka_unit_test(losses),
		cmocka_unit_test(every_size),
		cmocka_unit_test(a_wide_screen_has_all_columns),
		cmocka_unit_test(names_that_would_steer_the_terminal),
		cmocka_unit_test(lines_of_what_is_visible_only),
		cmocka_unit_test(plain_text),
		cmocka_unit_test(nothing_was_allocated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
