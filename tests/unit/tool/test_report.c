/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_report.c - the screens of the views, to the letter, for a profile built by hand (report_fixture.h).
 */
#include "report_screen.h"

/* The one who grows is named, with the rate. */
static void test_summary_of_a_growing_process(void **state)
{
	struct model *model = model_new();
	struct report_options options = {.view = "summary", .key = SITES_KEYS};

	(void)state;
	assert_screen(
		model, &options,
		"server (pid 4711), 29 Nov 10:31:02, 1 min so far                  pmem.4711.prof\n"
		"\n"
		"  Live heap 72.0 MiB in 126 blocks, growing 60.0 MiB/min since 10:31:03.\n"
		"  Session::remember (session.cc:88) makes 100 % of the growth and holds\n"
		"  60.0 MiB, 83 %, steady (p < 0.001); none of its 60 blocks was freed.\n"
		"\n"
		"      live  blocks  growth/min  allocated  temp  site\n"
		"  60.0 MiB      60   +60.0 MiB   60.0 MiB   0 %  Session::...mber  session.cc:88\n"
		"  12.0 MiB      12           0   12.0 MiB   0 %  load_index\n"
		"    1000 B      50           0    2.9 KiB  74 %  parse_headers\n"
		"     300 B       3           0      300 B   0 %  walk\n"
		"      77 B       1           0       77 B   0 %  [truncated]\n"
		"\n"
		"  The heaviest call stack, 83 % of live (60.0 MiB):\n"
		"    Session::remember  session.cc:88\n"
		"    handle\n"
		"    main\n"
		"    ... 2 frames of the runtime hidden, --all-frames shows them\n"
		"\n"
		"  Seen: 276 allocations and their frees; nothing lost.\n"
		"  More: --by live|peak|alloc|count|temporary|growth --tree --callers --leaks\n"
		"  --peak --sizes --lifetimes --threads --rss --pinned --advice --json\n");
	free(model);
}

/* What is missing stands first; at the end it is the peak and the temporary allocations that matter. */
static void test_summary_of_a_partial_profile(void **state)
{
	struct model *model = model_new();
	struct report_options options = {.view = "summary", .key = SITES_KEYS};

	(void)state;
	end_process(model);
	damage(model);
	model->profile.point_count = 2;
	assert_screen(
		model, &options,
		"server (pid 4711), 29 Nov 10:31:02, 1 min                         pmem.4711.prof\n"
		"  PARTIAL: the file is damaged: block 7: index past the end, and 2 more.\n"
		"  INCOMPLETE: lost 12 allocations or frees, 0 B of the profile; 0 broken\n"
		"  assertions of pmem.\n"
		"\n"
		"  Live heap at the end 72.0 MiB in 126 blocks. It allocated and freed at too few\n"
		"  moments for a verdict on growth.\n"
		"  Session::remember (session.cc:88) holds 60.0 MiB, 83 %.\n"
		"  Peak 72.0 MiB after 1 min: 83 % Session::remember (session.cc:88), 17 %\n"
		"  load_index, <1 % parse_headers.\n"
		"  53 % of 276 calls were temporary: 147 parse_headers (2/s).\n"
		"\n"
		"      live  blocks  growth/min  allocated  temp  site\n"
		"  60.0 MiB      60           -   60.0 MiB   0 %  Session::...mber  session.cc:88\n"
		"  12.0 MiB      12           -   12.0 MiB   0 %  load_index\n"
		"    1000 B      50           -    2.9 KiB  74 %  parse_headers\n"
		"     377 B  in 2 other sites\n"
		"\n"
		"  Seen: 276 allocations and their frees; some are missing, see above.\n"
		"  More: --by live|peak|alloc|count|temporary|growth --tree --callers --leaks\n"
		"  --peak --sizes --lifetimes --threads --rss --pinned --advice --json\n");
	free(model);
}

/* --all-frames shows the runtime. */
static void test_summary_by_allocated(void **state)
{
	struct model *model = model_new();
	struct report_options options = {.view = "summary", .key = SITES_ALLOC, .all_frames = true};

	(void)state;
	assert_screen(
		model, &options,
		"server (pid 4711), 29 Nov 10:31:02, 1 min so far                  pmem.4711.prof\n"
		"\n"
		"  Live heap 72.0 MiB in 126 blocks, growing 60.0 MiB/min since 10:31:03.\n"
		"  Session::remember (session.cc:88) makes 100 % of the growth and holds\n"
		"  60.0 MiB, 83 %, steady (p < 0.001); none of its 60 blocks was freed.\n"
		"\n"
		" allocated   calls      mean       live  temp  site\n"
		"  60.0 MiB      60   1.0 MiB   60.0 MiB   0 %  Session::remember  session.cc:88\n"
		"  12.0 MiB      12   1.0 MiB   12.0 MiB   0 %  load_index\n"
		"   2.9 KiB     200      15 B     1000 B  74 %  parse_headers\n"
		"     300 B       3     100 B      300 B   0 %  walk\n"
		"      77 B       1      77 B       77 B   0 %  [truncated]\n"
		"\n"
		"  The heaviest call stack, 83 % of allocated bytes (60.0 MiB):\n"
		"    std::vector<...>::push_back  libc.so.6\n"
		"    Session::remember  session.cc:88\n"
		"    handle\n"
		"    main\n"
		"    __libc_start_main  libc.so.6\n"
		"\n"
		"  Seen: 276 allocations and their frees; nothing lost.\n"
		"  More: --by live|peak|alloc|count|temporary|growth --tree --callers --leaks\n"
		"  --peak --sizes --lifetimes --threads --rss --pinned --advice --json\n");
	free(model);
}

/* The timeline knows less: what it does not know is no column. */
static void test_summary_of_an_interval(void **state)
{
	struct model *model = model_new();
	struct report_options options = {
		.view = "summary", .key = SITES_KEYS, .since = "10s", .until = "30s"};

	(void)state;
	assert_screen(
		model, &options,
		"server (pid 4711), 29 Nov 10:31:02, 1 min so far                  pmem.4711.prof\n"
		"\n"
		"  From 10:31:12 to 10:31:32, in 20 s, the live bytes changed by +20.0 MiB. Not\n"
		"  on the timeline: 4 small call stacks, with 1.3 KiB at the end; their changes\n"
		"  are not in it.\n"
		"  The heap in that time: growing 60.0 MiB/min since 10:31:12.\n"
		"\n"
		" growth/min       over       live  allocated  site\n"
		"  +60.0 MiB       20 s   30.0 MiB   20.0 MiB  Session::remember  session.cc:88\n"
		"          0       20 s   12.0 MiB        0 B  load_index\n"
		"    unknown          -        0 B        0 B  parse_headers\n"
		"    unknown          -        0 B        0 B  walk\n"
		"    unknown          -        0 B        0 B  [truncated]\n"
		"\n"
		"  The heaviest call stack, 100 % of the growth per minute (+60.0 MiB):\n"
		"    Session::remember  session.cc:88\n"
		"    handle\n"
		"    main\n"
		"    ... 2 frames of the runtime hidden, --all-frames shows them\n"
		"\n"
		"  Seen: 276 allocations and their frees; nothing lost.\n"
		"  More: --by live|peak|alloc|count|temporary|growth --tree --callers --leaks\n"
		"  --peak --sizes --lifetimes --threads --rss --pinned --advice --json\n");
	free(model);
}

/* Samples were dropped: each figure says over how long it was measured, and its rate is that of this time. */
static void test_summary_where_samples_were_dropped(void **state)
{
	struct model *model = model_new();
	struct report_options options = {.view = "summary", .key = SITES_KEYS, .since = "10s"};

	(void)state;
	for (uint64_t i = 0; i < 15; i++) /* of 1, 5, 9, 13 s ... only */
		model->samples[0][i] = (struct profile_sample){
			(1 + 4 * i) * SECOND, (1 + 4 * i) * MIB, (1 + 4 * i) * MIB, i > 0};
	model->series[0].count = 15;
	assert_has(model, &options,
		   "  From 10:31:12 to 10:32:02, in the last 50 s, the live bytes changed by\n"
		   "  +51.0 MiB. Of some call stacks the nearest samples are of other moments:\n"
		   "  `over` is how long each figure was measured, 50 s to 51 s. Not on the\n");
	assert_has(
		model, &options,
		"  +60.0 MiB       51 s   60.0 MiB   51.0 MiB  Session::remember  session.cc:88\n");
	free(model);
}

/* Shares are of the whole. */
static void test_focus(void **state)
{
	struct model *model = model_new();
	struct report_options options = {
		.view = "summary", .key = SITES_KEYS, .focus = {"parse"}, .focus_count = 1};

	(void)state;
	assert_screen(
		model, &options,
		"server (pid 4711), 29 Nov 10:31:02, 1 min so far                  pmem.4711.prof\n"
		"\n"
		"  Selected: 2 call stacks of 6, with 1000 B (<1 %) of the live bytes.\n"
		"  Live heap 72.0 MiB in 126 blocks, growing 60.0 MiB/min since 10:31:03.\n"
		"  parse_headers holds 1000 B, <1 %.\n"
		"\n"
		"      live  blocks  growth/min  allocated  temp  site\n"
		"    1000 B      50           0    2.9 KiB  74 %  parse_headers\n"
		"\n"
		"  The heaviest call stack, 100 % of live (1000 B):\n"
		"    parse_headers\n"
		"    handle\n"
		"    main\n"
		"    ... 1 frame of the runtime hidden, --all-frames shows it\n"
		"\n"
		"  Seen: 276 allocations and their frees; nothing lost.\n"
		"  More: --by live|peak|alloc|count|temporary|growth --tree --callers --leaks\n"
		"  --peak --sizes --lifetimes --threads --rss --pinned --advice --json\n");
	free(model);
}

/* Small branches are left out, and counted. */
static void test_tree(void **state)
{
	struct model *model = model_new();
	struct report_options options = {.view = "tree", .key = SITES_KEYS};

	(void)state;
	assert_screen(
		model, &options,
		"server (pid 4711), 29 Nov 10:31:02, 1 min so far                  pmem.4711.prof\n"
		"\n"
		"  Callers above, callees below; share of live.\n"
		"\n"
		" >99 %    72.0 MiB  main\n"
		"  83 %    60.0 MiB   handle\n"
		"  83 %    60.0 MiB    Session::remember  session.cc:88\n"
		"  17 %    12.0 MiB   load_index\n"
		"... 3 more branches: below 1 %, or beyond --top 40\n");
	free(model);
}

/* By calls nothing is small; walk() calls itself and is one line. */
static void test_tree_by_count(void **state)
{
	struct model *model = model_new();
	struct report_options options = {.view = "tree", .key = SITES_COUNT};

	(void)state;
	assert_screen(
		model, &options,
		"server (pid 4711), 29 Nov 10:31:02, 1 min so far                  pmem.4711.prof\n"
		"\n"
		"  Callers above, callees below; share of calls.\n"
		"\n"
		" >99 %         275  main\n"
		"  94 %         260   handle\n"
		"  72 %         200    parse_headers\n"
		"  22 %          60    Session::remember  session.cc:88\n"
		"   4 %          12   load_index\n"
		"   1 %           3   walk\n"
		"... 1 more branch: below 1 %, or beyond --top 40\n");
	free(model);
}

/* The caller of walk(), which calls itself, is main(). */
static void test_callers(void **state)
{
	struct model *model = model_new();
	struct report_options options = {.view = "callers", .key = SITES_KEYS};

	(void)state;
	assert_screen(
		model, &options,
		"server (pid 4711), 29 Nov 10:31:02, 1 min so far                  pmem.4711.prof\n"
		"\n"
		"  The largest sites by live, and who called them: share of the site.\n"
		"\n"
		"60.0 MiB, 83 % of live: Session::remember (session.cc:88)\n"
		" 100 %    60.0 MiB  handle\n"
		" 100 %    60.0 MiB   main\n"
		"\n"
		"12.0 MiB, 17 % of live: load_index\n"
		" 100 %    12.0 MiB  main\n"
		"\n"
		"1000 B, <1 % of live: parse_headers\n"
		" 100 %      1000 B  handle\n"
		" 100 %      1000 B   main\n"
		"\n"
		"300 B, <1 % of live: walk\n"
		" 100 %       300 B  main\n"
		"\n"
		"77 B, <1 % of live: [truncated]\n");
	free(model);
}

/* All of a program inlined into main(): each function is a line, above what it calls; run() calls itself there. */
static void test_inlined(void **state)
{
	struct model *model = model_new();
	struct report_options options = {.view = "tree", .key = SITES_KEYS};

	(void)state;
	fake_inlined[LOAD][0] = (struct symbol){
		.function = "leaf", .file = "a.c", .line = 3, .inlined = true};
	fake_inlined[LOAD][1] = (struct symbol){
		.function = "run", .file = "a.c", .line = 7, .inlined = true};
	fake_inlined[LOAD][2] = (struct symbol){
		.function = "run", .file = "a.c", .line = 8, .inlined = true};
	fake_inlined[LOAD][3] = (struct symbol){.function = "main", .file = "a.c", .line = 9};
	fake_inlined[HANDLE][0] = (struct symbol){.function = "handle", .inlined = true};
	fake_inlined[HANDLE][1] = (struct symbol){.function = "serve"};
	assert_screen(
		model, &options,
		"server (pid 4711), 29 Nov 10:31:02, 1 min so far                  pmem.4711.prof\n"
		"\n"
		"  Callers above, callees below; share of live.\n"
		"\n"
		" >99 %    72.0 MiB  main\n"
		"  83 %    60.0 MiB   serve\n"
		"  83 %    60.0 MiB    handle\n"
		"  83 %    60.0 MiB     Session::remember  session.cc:88\n"
		"  17 %    12.0 MiB   run  a.c:8\n"
		"  17 %    12.0 MiB    leaf  a.c:3\n"
		"... 3 more branches: below 1 %, or beyond --top 40\n");
	options.view = "callers";
	options.top = 2;
	assert_screen(
		model, &options,
		"server (pid 4711), 29 Nov 10:31:02, 1 min so far                  pmem.4711.prof\n"
		"\n"
		"  The largest sites by live, and who called them: share of the site.\n"
		"\n"
		"60.0 MiB, 83 % of live: Session::remember (session.cc:88)\n"
		" 100 %    60.0 MiB  handle\n"
		" 100 %    60.0 MiB   serve\n"
		" 100 %    60.0 MiB    main\n"
		"\n"
		"12.0 MiB, 17 % of live: leaf (a.c:3)\n"
		" 100 %    12.0 MiB  run  a.c:7\n"
		" 100 %    12.0 MiB   main  a.c:9\n");
	memset(fake_inlined, 0, sizeof(fake_inlined));
	free(model);
}

/* Recursion is one line. */
static void test_leaks(void **state)
{
	struct model *model = model_new();
	struct report_options options = {.view = "leaks", .key = SITES_KEYS};

	(void)state;
	assert_screen(
		model, &options,
		"server (pid 4711), 29 Nov 10:31:02, 1 min so far                  pmem.4711.prof\n"
		"\n"
		"  Live now: 72.0 MiB in 126 blocks of 5 sites. That a block is live is not yet a\n"
		"  fault: what the program still uses, or never frees on purpose, is here too.\n"
		"\n"
		"60.0 MiB, 83 %, in 60 blocks: Session::remember (session.cc:88)\n"
		"  60.0 MiB in 60 blocks\n"
		"    Session::remember  session.cc:88\n"
		"    handle\n"
		"    main\n"
		"    ... 2 frames of the runtime hidden, --all-frames shows them\n"
		"\n"
		"12.0 MiB, 17 %, in 12 blocks: load_index\n"
		"  12.0 MiB in 12 blocks\n"
		"    load_index\n"
		"    main\n"
		"    ... 1 frame of the runtime hidden, --all-frames shows it\n"
		"\n"
		"1000 B, <1 %, in 50 blocks: parse_headers\n"
		"  1000 B in 50 blocks\n"
		"    parse_headers\n"
		"    handle\n"
		"    main\n"
		"    ... 1 frame of the runtime hidden, --all-frames shows it\n"
		"\n"
		"300 B, <1 %, in 3 blocks: walk\n"
		"  300 B in 3 blocks\n"
		"    walk  (3 times)\n"
		"    main\n"
		"    ... 1 frame of the runtime hidden, --all-frames shows it\n"
		"\n"
		"77 B, <1 %, in 1 block: [truncated]\n"
		"  77 B in 1 block\n"
		"    [truncated]\n");
	free(model);
}

static void test_peak(void **state)
{
	struct model *model = model_new();
	struct report_options options = {.view = "peak", .key = SITES_KEYS};

	(void)state;
	assert_screen(
		model, &options,
		"server (pid 4711), 29 Nov 10:31:02, 1 min so far                  pmem.4711.prof\n"
		"\n"
		"  Peak 72.0 MiB, 1 min after the start (10:32:02); live now 72.0 MiB, 100 % of\n"
		"  it.\n"
		"\n"
		"     peak  blocks  live now  allocated  temp  site\n"
		" 60.0 MiB      60  60.0 MiB   60.0 MiB   0 %  Session::remember  session.cc:88\n"
		" 12.0 MiB      12  12.0 MiB   12.0 MiB   0 %  load_index\n"
		"   1000 B      50    1000 B    2.9 KiB  74 %  parse_headers\n"
		"    300 B       3     300 B      300 B   0 %  walk\n"
		"     77 B       1      77 B       77 B   0 %  [truncated]\n"
		"\n"
		"  The heaviest call stack at the peak (60.0 MiB):\n"
		"    Session::remember  session.cc:88\n"
		"    handle\n"
		"    main\n"
		"    ... 2 frames of the runtime hidden, --all-frames shows them\n");
	free(model);
}

/* Empty classes in between are shown. */
static void test_sizes(void **state)
{
	struct model *model = model_new();
	struct report_options options = {.view = "sizes", .key = SITES_KEYS};

	(void)state;
	assert_screen(
		model, &options,
		"server (pid 4711), 29 Nov 10:31:02, 1 min so far                  pmem.4711.prof\n"
		"\n"
		"  Sizes of 200 blocks, all that were allocated; mean 267.1 KiB.\n"
		"\n"
		"                    blocks  share                    most from\n"
		"      up to 16 B       199  >99 %  ################  parse_headers\n"
		"      up to 32 B         0    0 %\n"
		"      up to 64 B         1   <1 %  #                 parse_headers\n");
	free(model);
}

static void test_lifetimes(void **state)
{
	struct model *model = model_new();
	struct report_options options = {.view = "lifetimes", .key = SITES_KEYS};

	(void)state;
	assert_has(model, &options, "Lifetimes of 4 freed blocks, a sample of one block in 64");
	assert_has(model, &options,
		   "      up to 1 us         3   75 %  ################  parse_headers\n");
	assert_has(model, &options,
		   "      over 4.3 s         1   25 %  #####             parse_headers\n");
	free(model);
}

/* A thread may free more than it allocated. */
static void test_threads(void **state)
{
	struct model *model = model_new();
	struct report_options options = {.view = "threads", .key = SITES_KEYS};

	(void)state;
	assert_screen(
		model, &options,
		"server (pid 4711), 29 Nov 10:31:02, 1 min so far                  pmem.4711.prof\n"
		"\n"
		"  What each thread allocated and freed. Blocks may be freed by another thread: a\n"
		"  net figure is not what the thread holds.\n"
		"\n"
		" allocated    calls      freed         net  temp      tid  thread\n"
		"  72.0 MiB       72        0 B   +72.0 MiB   0 %     4711  server\n"
		"    1000 B      100    2.0 KiB     -1000 B  97 %     4712  worker (3 threads)\n"
		"\n"
		"  (N threads): the sum of threads that ran one after another; each took over the\n"
		"  counters of one that had ended, and tid and name are the last one's.\n");
	free(model);
}

/* The lines add up, and what they do not explain is said. */
static void test_rss(void **state)
{
	struct model *model = model_new();
	struct report_options options = {.view = "rss", .key = SITES_KEYS};

	(void)state;
	model->profile.is_live = false;
	atomic_init(&model->profile.header.state, FORMAT_STATE_ENDED);
	assert_screen(
		model, &options,
		"server (pid 4711), 29 Nov 10:31:02, 1 min                         pmem.4711.prof\n"
		"\n"
		"  The resident set (RSS) was 200.0 MiB after 1 min 1 s; live blocks are 30 % of\n"
		"  it, 60.0 MiB. Not a leak: 110.0 MiB freed but kept by glibc in 61 arenas;\n"
		"  malloc_trim(0) would return about 110.0 MiB, MALLOC_ARENA_MAX=2 in the\n"
		"  environment keeps less from the start. Of 72.0 MiB of live blocks 12.0 MiB are\n"
		"  not resident: never touched, or swapped out.\n"
		"\n"
		"       bytes   share  what\n"
		"    60.0 MiB    30 %  live blocks, as the program requested them\n"
		"     2.0 MiB     1 %  rounding and headers of these blocks\n"
		"     3.0 MiB     2 %  free parts of pages with live blocks\n"
		"   110.0 MiB    55 %  pages without live blocks that the allocator keeps\n"
		"     1.0 MiB    <1 %  stacks of threads\n"
		"    23.0 MiB    12 %  pmem's own\n"
		"     1.0 MiB    <1 %  unexplained\n"
		"   200.0 MiB   100 %  resident set (RSS)\n"
		"\n"
		"  The first four are estimates from 8.0 MiB of 175.0 MiB of pages, here and\n"
		"  there. Who holds the live blocks: pmem report.\n");
	free(model);
}

static void test_pinned(void **state)
{
	struct model *model = model_new();
	struct report_options options = {.view = "pinned", .key = SITES_KEYS};

	(void)state;
	model->profile.is_live = false;
	atomic_init(&model->profile.header.state, FORMAT_STATE_ENDED);
	assert_screen(
		model, &options,
		"server (pid 4711), 29 Nov 10:31:02, 1 min                         pmem.4711.prof\n"
		"\n"
		"  Live blocks pin 3.0 MiB, 2 % of the resident set: free bytes in pages that\n"
		"  could go back to the kernel but for them. Nobody pins the 110.0 MiB in pages\n"
		"  without a live block, which the allocator keeps: --rss. load_index holds\n"
		"  12.0 MiB live and pins 2.0 MiB.\n"
		"\n"
		"      pins       live     pages  site\n"
		"   2.0 MiB   12.0 MiB        40  load_index\n"
		" 512.0 KiB       77 B         8  [truncated]\n"
		" 512.0 KiB                    9  other call stacks\n"
		"\n"
		"  The call stack that pins most, 67 % of it (2.0 MiB):\n"
		"    load_index\n"
		"    main\n"
		"    ... 1 frame of the runtime hidden, --all-frames shows it\n"
		"\n"
		"  The free bytes of a page are shared out by the bytes that blocks have in it.\n"
		"  pages: partly free ones with a block of that site; others may have some in\n"
		"  them too. Estimates from 8.0 MiB of 175.0 MiB of pages, here and there.\n");
	free(model);
}

/* Then there is no table for a note to explain. */
static void test_nothing_pinned(void **state)
{
	struct model *model = model_new();
	struct report_options options = {.view = "pinned", .key = SITES_KEYS};

	(void)state;
	model->profile.pin_count = 0;
	model->profile.header.rss.lines[FORMAT_RSS_FRAGMENTS] = 0;
	model->profile.header.rss.lines[FORMAT_RSS_KEPT] = 0;
	model->profile.header.rss.examined = model->profile.header.rss.heap;
	model->profile.is_live = false;
	atomic_init(&model->profile.header.state, FORMAT_STATE_ENDED);
	assert_screen(
		model, &options,
		"server (pid 4711), 29 Nov 10:31:02, 1 min                         pmem.4711.prof\n"
		"\n"
		"  Live blocks pin 0 B, 0 % of the resident set: free bytes in pages that could\n"
		"  go back to the kernel but for them.\n");
	free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_summary_of_a_growing_process),
		cmocka_unit_test(test_summary_of_a_partial_profile),
		cmocka_unit_test(test_summary_by_allocated),
		cmocka_unit_test(test_summary_of_an_interval),
		cmocka_unit_test(test_summary_where_samples_were_dropped),
		cmocka_unit_test(test_focus),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_tree_by_count),
		cmocka_unit_test(test_callers),
		cmocka_unit_test(test_inlined),
		cmocka_unit_test(test_leaks),
		cmocka_unit_test(test_peak),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_lifetimes),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_rss),
		cmocka_unit_test(test_pinned),
		cmocka_unit_test(test_nothing_pinned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
