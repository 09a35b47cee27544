/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_report_cases.c - what must hold for every view: width and height, hostile names, warnings, filters, formats for
 * programs.
 */
#include "report_screen.h"

#include <unistd.h>

#include "report/filter.h"
#include "report/verdict_words.h"

/* Names of any length, all warnings at once, wide figures: nothing leaves 80 x 24, with a line for the prompt. */
static void test_first_page_always_fits(void **state)
{
	static char long_name[400];
	struct model *model = model_new();
	struct spot_names before = spots[REMEMBER];
	struct report_options options = {.view = "summary"};
	int key;

	(void)state;
	memset(long_name, 'x', sizeof(long_name) - 1);
	spots[REMEMBER].symbol.function = long_name;
	spots[REMEMBER].symbol.file = long_name;
	fake_problems[0] = "libx.so: replaced since";
	fake_problems[1] = "server: was replaced since";
	model->stacks[0].inexact = true;
	model->stacks[1].counts.alloc_bytes = 1023 * MIB + 1000 * UINT64_C(1024);
	model->stacks[1].counts.alloc_count = 999999;
	for (key = 0; key <= SITES_KEYS; key++) {
		options.key = (enum sites_key)key;
		assert_fits(model, &options, 23);
	}
	end_process(model);
	damage(model);
	model->profile.refused_setting = "PMEM_LOG_MAX=lots";
	for (key = 0; key <= SITES_KEYS; key++) {
		options.key = (enum sites_key)key;
		assert_fits(model, &options, 23);
	}
	spots[REMEMBER] = before;
	free(model);
}

static void test_views_hold_the_width(void **state)
{
	static char long_name[400];
	struct model *model = model_new();
	struct spot_names before = spots[REMEMBER];
	const struct report_view *view;

	(void)state;
	memset(long_name, 'x', sizeof(long_name) - 1);
	spots[REMEMBER].symbol.function = long_name;
	model->profile.is_live = false; /* there is no process to look at */
	for (view = report_views; view->name; view++) {
		struct report_options options = {.view = view->name, .key = SITES_KEYS};

		if (!view->is_data)
			assert_fits(model, &options, 40);
	}
	spots[REMEMBER] = before;
	free(model);
}

/* A name with an escape sequence does not reach the terminal. */
static void test_hostile_names(void **state)
{
	static const char *const views[] = {"summary", "tree", "callers", "leaks", "peak"};
	struct model *model = model_new();
	struct spot_names before = spots[REMEMBER];
	size_t i;

	(void)state;
	spots[REMEMBER].symbol.function = "\033[2Jevil\n\377";
	spots[REMEMBER].symbol.file = "\033[2Jevil.c";
	model->profile.program_name = "\033[1m";
	model->profile.path = "/tmp/\033[1m";
	model->profile.refused_setting = "\033[1m";
	strcpy(model->profile.damage, "\033[2J");
	fake_problems[0] = "\033[3m.so: replaced";
	for (i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		struct report_options options = {.view = views[i], .key = SITES_KEYS, .source = true};
		char *text = print_or_fail(model, &options);

		assert_null(strchr(text, '\033'));
		assert_non_null(strstr(text, "?[2Jevil?"));
		free(text);
	}
	spots[REMEMBER] = before;
	free(model);
}

static void test_no_allocation(void **state)
{
	struct model *model = model_new();
	struct report_options options = {.view = "summary", .key = SITES_KEYS};
	const struct report_view *view;

	(void)state;
	model->profile.stack_count = 0;
	model->profile.series_count = 0;
	model->profile.point_count = 0;
	memset(&model->profile.totals, 0, sizeof(model->profile.totals));
	assert_has(model, &options, "No allocation was recorded.");
	model->profile.is_live = false;
	for (view = report_views; view->name; view++) {
		options.view = view->name;
		free(print_or_fail(model, &options));
	}
	free(model);
}

/* At the end little is live: the page is about the peak. */
static void test_ended_below_its_peak(void **state)
{
	struct model *model = model_new();
	struct report_options options = {.view = "summary", .key = SITES_KEYS};

	(void)state;
	end_process(model);
	model->profile.point_count = 3;
	model->stacks[0].counts.free_bytes = 60 * MIB;
	model->stacks[0].counts.free_count = 60;
	model->profile.totals.free_bytes += 60 * MIB;
	model->profile.totals.free_count += 60;
	assert_has(model, &options, "Live heap at the end 12.0 MiB in 66 blocks.");
	assert_has(model, &options, "Peak 72.0 MiB after 1 min: 83 % Session::remember");
	assert_has(model, &options, "     peak  blocks  live now");
	assert_has(model, &options, "The heaviest call stack, 83 % of the peak (60.0 MiB):");
	free(model);
}

/* What grew is named, over the time in which it did, though a last buffer is all that grew until the end. */
static void test_grew_until_exit(void **state)
{
	struct model *model = model_new();
	struct report_options options = {.view = "summary", .key = SITES_KEYS};

	(void)state;
	end_process(model);
	atomic_init(&model->profile.header.state, FORMAT_STATE_ENDED);
	model->profile.duration_ns = 61 * SECOND;
	model->points[60] = (struct profile_point){.time_ns = 61 * SECOND, .live_bytes = 12 * MIB};
	model->profile.point_count = 61;
	model->stacks[0].counts.free_bytes = 60 * MIB;
	model->stacks[0].counts.free_count = 60;
	model->profile.totals.free_bytes += 60 * MIB;
	model->profile.totals.free_count += 60;
	assert_has(
		model, &options,
		"  Live heap at the end 12.0 MiB in 66 blocks, grew 60.0 MiB/min until 10:32:02,\n"
		"  then freed most of it.\n"
		"  Session::remember (session.cc:88) made 100 % of the growth and held 60.0 MiB,\n"
		"  steady (p < 0.001).\n"
		"  Peak 72.0 MiB after 1 min: 83 % Session::remember");
	options.key = SITES_GROWTH;
	assert_has(model, &options, "+60.0 MiB");
	free(model);
}

/* A time that is "2 s" when it is rounded is not too short for 2 s. */
static void test_too_short_for_growth(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} runs[] = {
		{SECOND * 3 / 2, "ran 1.5 s, too short for a verdict on growth: that takes 2 s"},
		{2 * SECOND - 1,
		 "ran nearly 2 s, too short for a verdict on growth: that takes 2 s"}};
	struct model *model = model_new();

	(void)state;
	end_process(model);
	for (unsigned i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
		char *text = NULL;
		size_t size;
		FILE *file = open_memstream(&text, &size);

		assert_non_null(file);
		model->profile.duration_ns = runs[i].ns;
		verdict_words_unknown(&model->profile, file);
		fclose(file);
		assert_int_equal(strncmp(text, runs[i].text, strlen(runs[i].text)), 0);
		free(text);
	}
	free(model);
}

/* 500 MiB of limit, 80 MiB of them resident, 60 MiB a minute. */
static void test_limit(void **state)
{
	struct model *model = model_new();
	struct report_options options = {.view = "summary", .key = SITES_KEYS};

	(void)state;
	model->profile.header.cgroup_limit = 500 * MIB;
	assert_has(model, &options,
		   "At this\n  rate the cgroup's limit of 500.0 MiB is reached in 7 min.");
	free(model);
}

/* Each reason why figures are not whole is named above them. */
static void test_warnings(void **state)
{
	struct model *model = model_new();
	struct report_options options = {.view = "threads", .key = SITES_KEYS};

	(void)state;
	model->profile.is_live = false;
	assert_has(model, &options, "\n  The process was killed or executed another program;");
	atomic_init(&model->profile.header.state, FORMAT_STATE_STOPPED);
	assert_has(model, &options, "\n  PARTIAL: recording stopped 1 min after the start,");
	atomic_init(&model->profile.header.memory_blocks, 7);
	assert_has(model, &options, "\n  PARTIAL: 7 blocks of the profile found no room");
	/* What is missing follows from that. */
	strcpy(model->profile.damage, "3 call stacks are missing");
	assert_has(
		model, &options,
		"are not here.\n  PARTIAL: the file could not grow: 3 call stacks are missing.\n");
	model->profile.damage[0] = '\0';
	model->profile.header.sample_bytes = 512 * 1024;
	assert_has(model, &options, "\n  SAMPLED: one byte in 512.0 KiB was drawn;");
	free(model);
}

/* Bare addresses are explained under the title, before all else. */
static void test_no_names(void **state)
{
	struct model *model = model_new();
	struct report_options options = {.view = "summary", .key = SITES_KEYS};
	const struct report_view *view;

	(void)state;
	fake_problems[0] = "libx.so: was replaced since";
	fake_problems[1] = "server: was replaced since";
	damage(model);
	model->profile.is_live = false;
	for (view = report_views; view->name; view++) {
		options.view = view->name;
		if (!view->is_data)
			assert_has(
				model, &options,
				"pmem.4711.prof\n"
				"  NO NAMES: server was replaced since. Keep the old file and pass "
				"--sysroot, or\n"
				"  run pmem bundle before you rebuild.\n"
				"  PARTIAL: ");
	}
	options.view = "summary";
	fake_problems[1] = "server2: was replaced since";
	assert_lacks(model, &options, "NO NAMES");
	fake_problems[1] = "server: is stripped: its symbols are in server.debug";
	assert_has(
		model, &options,
		"  NO NAMES: server is stripped: its symbols are in server.debug. Pass\n"
		"  --debug-dir with the folder of its debug file, or see doc/HOWTO-symbols.md.\n");
	fake_problems[1] = "server: is not there or cannot be read";
	assert_has(model, &options,
		   "  NO NAMES: server is not there or cannot be read. Pass --sysroot or\n"
		   "  --debug-dir, or see doc/HOWTO-symbols.md.\n");
	free(model);
}

/* The number of a line is whole where there is no room for the names. */
static void test_line_numbers_stay(void **state)
{
	static const char *const views[] = {"summary", "tree", "callers", "leaks", "peak", "sizes"};
	struct model *model = model_new();
	struct spot_names before[2] = {spots[REMEMBER], spots[PARSE]};
	size_t i;

	(void)state;
	spots[REMEMBER].symbol.function = "note_refused_login_of_a_user";
	spots[REMEMBER].symbol.file = "a/very_long_name_of_a_source_file.cc";
	spots[REMEMBER].symbol.line = 11888;
	spots[PARSE].symbol.function = "note_refused_login";
	spots[PARSE].symbol.file = "src/server.c";
	spots[PARSE].symbol.line = 118;
	spots[PARSE_AGAIN] = spots[PARSE];
	for (i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		struct report_options options = {.view = views[i], .key = SITES_KEYS};

		if (strcmp(views[i], "sizes") == 0)
			assert_has(model, &options, "note_re...gin  server.c:118\n");
		else
			assert_has(model, &options, ":11888");
	}
	spots[REMEMBER] = before[0];
	spots[PARSE] = before[1];
	spots[PARSE_AGAIN] = before[1];
	free(model);
}

/* No page without a word, and no two empty lines. */
static void test_nothing_to_show(void **state)
{
	struct model *model = model_new();
	struct report_options options = {
		.view = "summary", .key = SITES_KEYS, .focus = {"nomatch*"}, .focus_count = 1};

	(void)state;
	assert_has(model, &options, "\n\n  Selected: no call stack matches, of 6.\n\n  Seen: ");
	options.view = "tree";
	assert_has(model, &options, "  Selected: no call stack matches, of 6.\n");
	options.view = "summary";
	options.focus_count = 0;
	options.since = "59s";
	options.until = "59s";
	assert_has(model, &options, "changed by 0 B.");
	options.since = options.until = NULL;
	model->profile.stack_count = 0;
	model->profile.series_count = 0;
	model->profile.point_count = 0;
	memset(&model->profile.totals, 0, sizeof(model->profile.totals));
	assert_has(model, &options, "\n\n  No allocation was recorded.\n\n  Seen: ");
	free(model);
}

/* The timeline does not have block counts, sizes or the peak. */
static void test_views_without_a_timeline(void **state)
{
	static const char *const views[] = {"leaks", "peak", "sizes", "lifetimes", "threads"};
	struct model *model = model_new();
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		struct report_options options = {.view = views[i], .key = SITES_KEYS, .since = "10s"};
		struct error err;

		assert_null(print(model, &options, &err));
		assert_non_null(strstr(err.text, views[i]));
	}
	free(model);
}

static void test_bad_times(void **state)
{
	struct model *model = model_new();
	struct report_options options = {.view = "summary", .key = SITES_KEYS, .since = "soon"};
	struct error err;

	(void)state;
	assert_null(print(model, &options, &err));
	assert_string_equal(err.text, "--since soon: no time such as 90s, 10m, -10m or 10:42:13");
	options.since = "30s";
	options.until = "20s";
	assert_null(print(model, &options, &err));
	assert_string_equal(err.text, "--since 30s is later than --until 20s");
	options.until = "2m";
	assert_null(print(model, &options, &err));
	assert_string_equal(err.text, "--until 2m: the profile ends 1 min after its start");
	free(model);
}

static void test_patterns(void **state)
{
	(void)state;
	assert_true(filter_matches("member", "Session::remember"));
	assert_false(filter_matches("Member", "Session::remember"));
	assert_true(filter_matches("Session::*", "Session::remember"));
	assert_false(filter_matches("*::re", "Session::remember"));
	assert_true(filter_matches("libc.so.?", "libc.so.6"));
	assert_false(filter_matches("x", NULL));
}

/* A module's file name matches; --ignore wins over --focus; a function that is not the site matches too. */
static void test_selection(void **state)
{
	static const struct {
		const char *focus, *ignore, *wanted;
	} rows[] = {
		{"libc.so.*", NULL, "Selected: 5 call stacks of 6"},
		{"handle", NULL, "Selected: 3 call stacks of 6"},
		{"handle", "parse_*", "Selected: 1 call stack of 6"},
		{NULL, "main", "Selected: 1 call stack of 6"},
		{"_Z6handleRK7Request", NULL, "Selected: 3 call stacks of 6"},
		{"nobody", NULL, "Selected: no call stack matches, of 6."},
	};
	struct model *model = model_new();
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct report_options options = {.view = "summary", .key = SITES_KEYS};

		options.focus[0] = rows[i].focus;
		options.focus_count = rows[i].focus != NULL;
		options.ignore[0] = rows[i].ignore;
		options.ignore_count = rows[i].ignore != NULL;
		assert_has(model, &options, rows[i].wanted);
	}
	free(model);
}

static void test_source(void **state)
{
	char path[] = "/tmp/pmem-test-XXXXXX";
	struct model *model = model_new();
	struct spot_names before = spots[REMEMBER];
	struct report_options options = {.view = "summary", .key = SITES_KEYS, .source = true};
	int fd = mkstemp(path);
	char reason[128];

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "one\ntwo\n\tthree\nfour\nfive\nsix\n", 29), 29);
	close(fd);
	spots[REMEMBER].symbol.file = path;
	spots[REMEMBER].symbol.line = 3;
	assert_has(model, &options,
		   "       live  allocated\n"
		   "                             1 one\n"
		   "                             2 two\n"
		   "   60.0 MiB   60.0 MiB >     3     three\n"
		   "                             4 four\n"
		   "                             5 five\n\n");
	spots[REMEMBER].symbol.line = 7;
	snprintf(reason, sizeof(reason), "  No source lines: the file has fewer lines: %s\n", path);
	assert_has(model, &options, reason);
	unlink(path);
	snprintf(reason, sizeof(reason), "  No source lines: No such file or directory: %s\n", path);
	assert_has(model, &options, reason);
	spots[REMEMBER].symbol.file = "/dev/null";
	assert_has(model, &options, "  No source lines: Invalid argument: /dev/null\n");
	spots[REMEMBER].symbol.file = NULL;
	assert_has(model, &options, "No source lines: the line of this site is not known.\n");
	spots[REMEMBER] = before;
	free(model);
}

static void test_raw_names(void **state)
{
	struct model *model = model_new();
	struct report_options options = {.view = "summary", .key = SITES_KEYS, .raw_names = true};

	(void)state;
	assert_has(model, &options,
		   "    _ZN7Session8rememberEv  session.cc:88\n    _Z6handleRK7Request\n");
	free(model);
}

/* Quotes are doubled; a call stack that the timeline does not have has no growth. */
static void test_csv(void **state)
{
	struct model *model = model_new();
	struct spot_names before = spots[WALK];
	struct report_options options = {.view = "csv",
					 .key = SITES_LIVE,
					 .top = 2,
					 .ignore = {"handle", "load"},
					 .ignore_count = 2};

	(void)state;
	spots[WALK].symbol.function = "walk<\"a\", b>\r\n";
	assert_screen(model, &options,
		      "id,entry,function,module,file,line,live_bytes,live_blocks,alloc_bytes,"
		      "alloc_blocks,free_bytes,free_blocks,peak_bytes,peak_blocks,"
		      "temporary_blocks,growth_bytes,inexact,frames\r\n"
		      "879a4c9cd301a000,malloc,\"walk<\"\"a\"\", b>??\",\"/srv/bin/server\",\"\",,"
		      "300,3,300,3,0,0,300,3,0,,0,"
		      "\"walk<\"\"a\"\", b>??;walk<\"\"a\"\", b>??;walk<\"\"a\"\", b>??;main;"
		      "__libc_start_main\"\r\n"
		      "0b851d94205c6ff3,malloc,\"[truncated]\",\"\",\"\",,77,1,77,1,0,0,77,1,0,,0,"
		      "\"[truncated]\"\r\n");
	spots[WALK] = before;
	free(model);
}

/* The parts that are easily wrong; tests/test_report.py reads whole documents. */
static void test_json(void **state)
{
	static const char *const wanted[] = {
		"\"schema\": 1",
		"[\"server\", \"--port\", \"80\"]",
		"\"state\": \"running\"",
		"\"kind\": \"growing\"",
		"{\"class\": \"leak\", \"stack_id\": null, \"function\": null, "
		"\"rate_bytes_per_s\": 1048576, \"since_ns\": 1000000000, \"confidence\": ",
		"{\"class\": \"leak\", \"stack_id\": \"03191e04903bbc1e\", "
		"\"function\": \"Session::remember\", \"rate_bytes_per_s\": 1048576, "
		"\"since_ns\": 1000000000, \"confidence\": ",
		"\"text\": \"ready\"",
		"\"build_id\": \"deadbeef\"",
		"\"id\": \"03191e04903bbc1e\", \"entry\": \"malloc\", \"inexact\": false",
		"\"live_bytes\": 62914560, \"live_blocks\": 60",
		"\"growth_bytes\": null, \"growth_over_ns\": null, \"samples\": null",
		"\"site\": 1",
		"{\"function\": \"Session::remember\", \"raw_name\": \"_ZN7Session8rememberEv\", "
		"\"file\": \"src/session.cc\", \"line\": 88, \"module\": \"/srv/bin/server\", "
		"\"offset\": 288, \"address\": 4384, \"inlined\": false}",
		"{\"function\": \"[truncated]\", \"raw_name\": null, \"file\": null, \"line\": "
		"null, "
		"\"module\": null, \"offset\": null, \"address\": null, \"inlined\": false}",
		"\"complete\": true",
	};
	struct model *model = model_new();
	struct report_options options = {.view = "json", .key = SITES_KEYS};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		assert_has(model, &options, wanted[i]);
	free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_page_always_fits),
		cmocka_unit_test(test_views_hold_the_width),
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_no_allocation),
		cmocka_unit_test(test_ended_below_its_peak),
		cmocka_unit_test(test_grew_until_exit),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_warnings),
		cmocka_unit_test(test_no_names),
		cmocka_unit_test(test_line_numbers_stay),
		cmocka_unit_test(test_nothing_to_show),
		cmocka_unit_test(test_views_without_a_timeline),
		cmocka_unit_test(test_bad_times),
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_selection),
		cmocka_unit_test(test_source),
		cmocka_unit_test(test_raw_names),
		cmocka_unit_test(test_too_short_for_growth),
		cmocka_unit_test(test_csv),
		cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
