/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_diff_page.c - what `pmem diff` prints for profiles built by hand.
 */
#include "diff_fixture.h"

#include <inttypes.h>

#include "profile/stack_id.h"
#include "report/diff.h"

struct scene {
	struct twin *a;
	struct twin *b; /* may be a */
	struct diff_options options;
	uint64_t times_ns[DIFF_SIDES];
	const char *times[DIFF_SIDES];
	void (*print)(const struct diff_page *page);
};

static void print_json(const struct diff_page *page)
{
	struct error err;

	assert_true(diff_page_json(page, &err));
}

static struct scene new_scene(const char *a, const char *b)
{
	return (struct scene){.a = twin_new(a),
			      .b = twin_new(b),
			      .options.report.key = SITES_LIVE,
			      .times_ns = {DIFF_END, DIFF_END},
			      .print = diff_page_print};
}

static void free_scene(struct scene *scene)
{
	if (scene->b != scene->a)
		twin_free(scene->b);
	twin_free(scene->a);
}

/* The profiles of most tests: two call stacks of one site grow by 90 blocks of 64 bytes, one is new, one is gone. */
static struct scene new_usual(void)
{
	struct scene scene = new_scene("/tmp/before.prof", "/tmp/after.prof");

	twin_stack(scene.a, "_start main add_edge@12", blocks(10, 64));
	twin_stack(scene.a, "_start main parse@77", blocks(1, 4096));
	twin_stack(scene.a, "_start main old", blocks(3, 100));
	twin_stack(scene.b, "_start main add_edge@13", blocks(70, 64));
	twin_stack(scene.b, "_start main more add_edge@13", blocks(30, 64));
	twin_stack(scene.b, "_start main parse@78", blocks(1, 4096));
	twin_stack(scene.b, "_start main libx.so:cache", blocks(2, 1000));
	return scene;
}

/* To be freed. */
static char *print(const struct scene *scene)
{
	char *text = NULL;
	size_t size;
	struct output out = {.file = open_memstream(&text, &size), .width = 80};
	struct diff_page page = {.options = &scene->options, .out = &out};
	struct twin *twins[DIFF_SIDES] = {scene->a, scene->b};
	struct error err = {""};

	assert_non_null(out.file);
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		page.sides[side].profile = &twins[side]->profile;
		page.sides[side].names = &twins[side]->names;
		page.times_ns[side] = scene->times_ns[side];
		page.times[side] = scene->times[side];
	}
	if (!diff_page_open(&page, &err))
		fail_msg("%s", err.text);
	scene->print(&page);
	diff_page_close(&page);
	fclose(out.file);
	return text;
}

static void assert_page(const struct scene *scene, const char *wanted)
{
	char *text = print(scene);

	assert_string_equal(text, wanted);
	free(text);
}

static void assert_has(const struct scene *scene, const char *wanted)
{
	char *text = print(scene);

	if (!strstr(text, wanted))
		fail_msg("no \"%s\" in:\n%s", wanted, text);
	free(text);
}

static void assert_has_not(const struct scene *scene, const char *unwanted)
{
	char *text = print(scene);

	if (strstr(text, unwanted))
		fail_msg("\"%s\" in:\n%s", unwanted, text);
	free(text);
}

static void test_usual(void **state)
{
	struct scene scene = new_usual();

	(void)state;
	assert_page(
		&scene,
		"live  +7.3 KiB (4.9 -> 12.2)    allocated +148 %    calls +635 %\n"
		"   +5.6 KiB   64 B x 90 more  add_edge  server.c:13\n"
		"   +2.0 KiB  1000 B x 2 more  cache     libx.so      new in `after`\n"
		"     -300 B  100 B x 3 fewer  old                    gone from `before`\n"
		"  unchanged  in 1 other site\n"
		"\n"
		"  Compared: `before` (server, pid 4711, 29 Nov 10:31:02, 1 min) with `after`\n"
		"  (server, pid 4711, 29 Nov 10:31:02, 1 min). 2 call stacks are in both (69 % of\n"
		"  the bytes that `after` allocated), 2 (3.8 KiB) are new, 1 (300 B) is gone.\n"
		"  More: --by live|alloc|count|peak|temporary   --stacks   --top N\n");
	free_scene(&scene);
}

static void test_call_stacks(void **state)
{
	struct scene scene = new_usual();

	(void)state;
	scene.options.stacks = true;
	scene.options.report.top = 2;
	assert_has(&scene, "   +3.8 KiB  64 B x 60 more\n"
			   "    add_edge  server.c:13\n"
			   "    main\n"
			   "    ... 1 frame of the runtime hidden, --all-frames shows it\n"
			   "   +2.0 KiB  1000 B x 2 more  new in `after`\n"
			   "    cache  libx.so\n"
			   "    main\n"
			   "    ... 1 frame of the runtime hidden, --all-frames shows it\n"
			   "   +1.9 KiB  in 1 other call stack that grew\n"
			   "     -300 B  in 1 other call stack that shrank\n"
			   "  unchanged  in 1 other call stack\n");
	free_scene(&scene);
}

static void test_top(void **state)
{
	struct scene scene = new_usual();

	(void)state;
	scene.options.report.top = 1;
	assert_has(&scene, "   +5.6 KiB  64 B x 90 more  add_edge  server.c:13\n"
			   "   +2.0 KiB  in 1 other site that grew\n"
			   "     -300 B  in 1 other site that shrank\n"
			   "  unchanged  in 1 other site\n");
	free_scene(&scene);
}

static void test_nothing_changed(void **state)
{
	struct scene scene = new_scene("/tmp/before.prof", "/tmp/after.prof");

	(void)state;
	twin_stack(scene.a, "main f", blocks(1, 100));
	twin_stack(scene.b, "main f", blocks(1, 100));
	assert_has(&scene, "live  unchanged (100 B)    allocated unchanged    calls unchanged\n"
			   "  Nothing changed.\n\n");
	assert_has(&scene, "The only call stack is in both.");
	scene.options.report.focus[0] = "nowhere";
	scene.options.report.focus_count = 1;
	assert_has(&scene, "No call stack matches --focus and --ignore.");
	free_scene(&scene);
}

static void test_selection(void **state)
{
	struct scene scene = new_usual();

	(void)state;
	scene.options.report.focus[0] = "add_edge";
	scene.options.report.focus_count = 1;
	scene.options.report.ignore[0] = "more";
	scene.options.report.ignore_count = 1;
	assert_has(&scene, "live  +3.8 KiB (640 B -> 4.4 KiB)    allocated +600 %    calls +600 %\n"
			   "   +3.8 KiB  64 B x 60 more  add_edge  server.c:13\n\n");
	free_scene(&scene);
}

static void test_keys(void **state)
{
	struct scene scene = new_scene("/tmp/before.prof", "/tmp/after.prof");

	(void)state;
	twin_stack(scene.a, "main f", (struct profile_counts){1000, 100, 1000, 100, 90, 10, 1, 0});
	twin_stack(scene.b, "main f", (struct profile_counts){3001, 300, 3001, 300, 20, 40, 2, 0});
	scene.options.report.key = SITES_COUNT;
	assert_has(&scene, "       +200  +2.0 KiB  f\n");
	scene.options.report.key = SITES_ALLOC;
	assert_has(&scene, "   +2.0 KiB  ~10 B x 200 more  f\n");
	scene.options.report.key = SITES_TEMPORARY;
	assert_has(&scene, "calls +200 %    temporary -77 %\n        -70  f\n");
	scene.options.report.key = SITES_PEAK;
	assert_has(&scene, "calls +200 %    peak +300 %\n      +30 B  30 B x 1 more  f\n");
	free_scene(&scene);
}

/* Shares only where there is something to have a share of. */
static void test_from_nothing(void **state)
{
	struct scene scene = new_scene("/tmp/before.prof", "/tmp/after.prof");

	(void)state;
	twin_stack(scene.b, "main f", blocks(20, 100));
	assert_has(&scene,
		   "live  +2.0 KiB (0 B -> 2.0 KiB)    allocated 0 -> 2.0 KiB    calls 0 -> 20\n");
	free_scene(&scene);
}

static void test_shares(void **state)
{
	struct scene scene = new_scene("/tmp/before.prof", "/tmp/after.prof");

	(void)state;
	twin_stack(scene.a, "main f", blocks(1000, 1000));
	twin_stack(scene.b, "main f", blocks(1001, 1100));
	assert_has(&scene, "allocated +10 %    calls +<1 %\n");
	scene.b->stacks[0].counts = blocks(999, 1);
	scene.b->profile.totals = blocks(999, 1);
	assert_has(&scene, "allocated -99 %    calls -<1 %\n");
	scene.b->profile.totals = blocks(25000, 1001);
	assert_has(&scene, "allocated x 25    calls x 25\n");
	free_scene(&scene);
}

/* Recordings of different length are compared per minute too. */
static void test_rates(void **state)
{
	struct scene scene = new_usual();

	(void)state;
	scene.a->profile.duration_ns = 120 * SECOND;
	assert_has(
		&scene,
		"calls +635 %\n"
		"  Recorded for 2 min and 1 min. Per minute: live 2.5 KiB -> 12.2 KiB (+396 %),\n"
		"  allocated 2.5 KiB -> 12.2 KiB (+396 %), calls 7 -> 103 (x 14).\n"
		"   +5.6 KiB");
	scene.a->profile.duration_ns = 61 * SECOND;
	assert_has_not(&scene, "Per minute");
	scene.b->profile.duration_ns = SECOND / 2;
	assert_has_not(&scene, "Per minute");
	free_scene(&scene);
}

static void test_labels(void **state)
{
	struct scene scene = new_usual();

	(void)state;
	scene.a->profile.path = "/home/me/one/pmem.4711.prof";
	scene.b->profile.path = "/home/me/two/pmem.4711.prof";
	assert_has(&scene, "new in `B`\n");
	assert_has(&scene, "Compared: `A` (");
	scene.b->profile.path = "a-name-that-is-very-long-indeed.prof";
	assert_has(&scene, " new\n");
	scene.b->profile.path = "/tmp/\033[1mx.prof";
	assert_has(&scene, "new in `?[1mx`\n");
	free_scene(&scene);
}

/* What makes the comparison doubtful comes first. */
static void test_warnings(void **state)
{
	struct scene scene = new_usual();

	(void)state;
	scene.b->profile.program_name = "client\n";
	strcpy(scene.a->profile.damage, "block 7: index past the end");
	scene.a->profile.damage_count = 3;
	scene.a->profile.damage_unlisted = 2;
	atomic_init(&scene.a->profile.header.losses[FORMAT_LOSS_EVENTS], 12);
	scene.b->profile.header.sample_bytes = 524288;
	atomic_init(&scene.b->profile.header.state, FORMAT_STATE_STOPPED);
	assert_has(
		&scene,
		"  DIFFERENT PROGRAMS: server and client?. What matches has the same function\n"
		"  names, no more.\n"
		"  INCOMPLETE: in `before` the file is damaged: block 7: index past the end, and\n"
		"  2 more; 12 allocations or frees are lost. What differs may be due to that.\n"
		"  INCOMPLETE: in `after` recording stopped before the process ended. What\n"
		"  differs may be due to that.\n"
		"  SAMPLED: of `after` one allocation in 512.0 KiB was recorded; all its figures\n"
		"  are estimates.\n"
		"\n"
		"live  +7.3 KiB");
	free_scene(&scene);
}

static void test_no_names(void **state)
{
	struct scene scene = new_usual();

	(void)state;
	scene.a->names.problems[0] = "server: was replaced since";
	assert_has(
		&scene,
		"  NO NAMES: the program of `before` was replaced since. Its call stacks match\n"
		"  only those of the very same file. Name its bundle instead, or pass --sysroot\n"
		"  or --debug-dir.\n\n"
		"live ");
	scene.a->names.problems[0] = "libx.so: was replaced since";
	assert_has_not(&scene, "NO NAMES");
	assert_has(&scene, "In\n  `before` no names for libx.so: was replaced since.");
	free_scene(&scene);
}

static void test_inexact(void **state)
{
	struct scene scene = new_usual();

	(void)state;
	scene.b->stacks[0].inexact = true;
	assert_has(&scene, "add_edge  server.c:13 ~\n");
	free_scene(&scene);
}

/* 1 MiB every second; 30 bytes that the series do not have. */
static struct scene new_timed(void)
{
	struct scene scene = new_scene("/tmp/timed.prof", "");

	twin_free(scene.b);
	scene.b = scene.a;
	twin_stack(scene.a, "main grows", blocks(60, MIB));
	for (uint64_t i = 1; i <= 59; i++) {
		twin_sample(scene.a, i * SECOND, i * MIB, i * MIB);
		twin_point(scene.a, i * SECOND, i * MIB + i, i * MIB + i);
	}
	twin_stack(scene.a, "main small", blocks(3, 10));
	return scene;
}

static void test_moments(void **state)
{
	struct scene scene = new_timed();

	(void)state;
	scene.times_ns[DIFF_A] = 10 * SECOND;
	scene.times[DIFF_A] = "10s";
	assert_page(
		&scene,
		"live  +50.0 MiB (10.0 -> 60.0)    allocated +499 %\n"
		"  In 50 s, per minute: live +60.0 MiB, allocated +60.0 MiB.\n"
		"  +50.0 MiB  in 50 s  grows\n"
		"      +20 B  in small call stacks, which have no samples\n"
		"\n"
		"  Compared: `timed@10s` (server, pid 4711, 29 Nov 10:31:02, 10 s after its\n"
		"  start) with `timed` (server, pid 4711, 29 Nov 10:31:02, 1 min). The only call\n"
		"  stack is in both. Of a moment only live and allocated bytes are known, and\n"
		"  small call stacks are not in the series: 1 of them, with 30 B at the end, is\n"
		"  left out.\n"
		"  More: --by live|alloc   --stacks   --top N\n");
	free_scene(&scene);
}

/* Where samples were dropped each change says over how long it was, and what does not add up is not put down to anybody. */
static void test_moments_where_samples_were_dropped(void **state)
{
	struct scene scene = new_timed();

	(void)state;
	/* Of 1, 5, 9, 13 s ... only. */
	scene.a->series[0].count = 15;
	for (uint64_t i = 0; i < 15; i++)
		scene.a->samples[0][i] = (struct profile_sample){
			(1 + 4 * i) * SECOND, (1 + 4 * i) * MIB, (1 + 4 * i) * MIB, i > 0};
	scene.times_ns[DIFF_A] = 10 * SECOND;
	scene.times_ns[DIFF_B] = 30 * SECOND;
	scene.times[DIFF_A] = "10s";
	scene.times[DIFF_B] = "30s";
	assert_has(&scene,
		   "  In 20 s, per minute: live +60.0 MiB, allocated +60.0 MiB.\n"
		   "  +20.0 MiB  in 20 s  grows\n"
		   "      +20 B  unknown where: small call stacks have no samples, and others not "
		   "of these moments\n");
	assert_has(&scene, "Where older samples were dropped");
	scene.times_ns[DIFF_B] = 32 * SECOND;
	scene.times[DIFF_B] = "32s";
	assert_has(&scene, "  +24.0 MiB  in 24 s  grows\n"
			   "   -2.0 MiB  unknown where");
	free_scene(&scene);
}

static void test_csv(void **state)
{
	struct scene scene = new_usual();
	static const char head[] =
		"state,function,module,file,line,live_bytes_a,live_bytes_b,alloc_bytes_a,"
		"alloc_bytes_b,live_blocks_a,alloc_blocks_a,temporary_blocks_a,peak_bytes_a,"
		"live_blocks_b,alloc_blocks_b,temporary_blocks_b,peak_bytes_b,inexact,frames\r\n";

	(void)state;
	scene.print = diff_page_csv;
	assert_has(&scene, head);
	assert_has(&scene, "matched,\"add_edge\",\"/srv/server\",\"src/server.c\",13,640,6400,640,"
			   "6400,10,10,0,640,100,100,0,6400,0,\r\n");
	assert_has(&scene,
		   "gone,\"old\",\"/srv/server\",\"\",,300,0,300,0,3,3,0,300,0,0,0,0,0,\r\n");
	scene.options.stacks = true;
	scene.options.report.top = 1;
	assert_has(&scene, "13,640,4480,640,4480,10,10,0,640,70,70,0,4480,0,"
			   "\"add_edge;main;_start\"\r\n");
	assert_has_not(&scene, "\"old");
	free_scene(&scene);
	scene = new_timed();
	scene.print = diff_page_csv;
	scene.times_ns[DIFF_A] = 10 * SECOND;
	assert_has(&scene, "10485760,62914560,10485760,62914560,,,,,,,,,0,\r\n");
	free_scene(&scene);
}

static void test_json(void **state)
{
	struct scene scene = new_usual();
	char new_one[96];

	(void)state;
	scene.print = print_json;
	assert_has(&scene, "{\n \"schema\": 1,\n \"sorted_by\": \"live\",\n \"a\": {\n"
			   "  \"path\": \"/tmp/before.prof\",");
	assert_has(&scene, "{\"function\": \"old\", \"file\": null, \"line\": null, "
			   "\"module\": \"/srv/server\", \"state\": \"gone\", \"inexact\": false, "
			   "\"live_change\": -300, \"alloc_change\": -300,");
	snprintf(new_one, sizeof(new_one),
		 "{\"id_a\": null, \"id_b\": \"%016" PRIx64 "\", \"state\": \"new\",",
		 stack_id(&scene.b->profile, &scene.b->profile.stacks[3]));
	assert_has(&scene, new_one);
	free_scene(&scene);
	scene = new_timed();
	scene.print = print_json;
	scene.times_ns[DIFF_A] = 10 * SECOND;
	assert_has(&scene, "\"time_ns\": 10000000000,");
	assert_has(&scene, "\"alloc_bytes\": 10485760, \"live_blocks\": null,");
	free_scene(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usual),
		cmocka_unit_test(test_call_stacks),
		cmocka_unit_test(test_top),
		cmocka_unit_test(test_nothing_changed),
		cmocka_unit_test(test_selection),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_from_nothing),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_warnings),
		cmocka_unit_test(test_no_names),
		cmocka_unit_test(test_inexact),
		cmocka_unit_test(test_moments),
		cmocka_unit_test(test_moments_where_samples_were_dropped),
		cmocka_unit_test(test_csv),
		cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
