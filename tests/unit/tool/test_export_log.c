/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_export_log.c - a profile in the log's format, to the letter.
 */
#include "report_fixture.h"

#include "export/export.h"

static char *export_text(struct model *model)
{
	struct export_source source = {.profile = &model->profile,
				       .names = names_new(&model->profile)};
	struct error err = {""};
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	assert_non_null(file);
	assert_true(export_find("log")->write(&source, file, &err));
	fclose(file);
	return text;
}

static void keep_stacks(struct model *model, uint32_t count)
{
	uint32_t i;

	memset(&model->profile.totals, 0, sizeof(model->profile.totals));
	model->profile.stack_count = 0;
	for (i = 0; i < count; i++) {
		uint32_t hook = model->stacks[i].hook;

		model_stack(model, model->stacks[i].node, model->stacks[i].counts)->hook = hook;
	}
}

static void test_log(void **state)
{
	struct model *model = model_new();
	char *text;

	(void)state;
	keep_stacks(model, 3);
	model->stacks[1].hook = FORMAT_HOOK_CALLOC;
	text = export_text(model);
	assert_string_equal(
		text,
		"# pmem log of /srv/bin/server, pid 4711, start 2026-11-29T10:31:02.123Z, version "
		"0.1.0\n"
		"# time=2026-11-29T10:32:02.123Z uptime_s=60.000 live=75497472 peak=75498849 "
		"rss=83886080 own=0 lost=0\n"
		"[  0]=========================================================\n"
		"churn=75499472/0\n"
		"\n"
		"{03191e04903bbc1e} live:62914560, alloc:62914560/62914560, free:0/0\n"
		"  {0} /opt/pmem/libpmem.so(malloc+0x0) [0x0]\n"
		"  {1} /usr/lib/libc.so.6(_ZNSt6vector+0x0) [0x1130]\n"
		"  {2} /srv/bin/server(_ZN7Session8rememberEv+0x21) [0x1120]\n"
		"  {3} /srv/bin/server(_Z6handleRK7Request+0x0) [0x1110]\n"
		"  {4} /srv/bin/server(main+0x10) [0x1100]\n"
		"  {5} /usr/lib/libc.so.6(__libc_start_main+0x0) [0x1170]\n"
		"\n"
		"{ffb85e40db12221a} live:12582912, alloc:12582912/12582912, free:0/0\n"
		"  {0} /opt/pmem/libpmem.so(calloc+0x0) [0x0]\n"
		"  {1} /srv/bin/server(load_index+0x0) [0x1140]\n"
		"  {2} /srv/bin/server(main+0x10) [0x1100]\n"
		"  {3} /usr/lib/libc.so.6(__libc_start_main+0x0) [0x1170]\n"
		"\n"
		"{ac69c6980d12764b} live:0, alloc:1000/1000, free:1000/1000\n"
		"  {0} /opt/pmem/libpmem.so(malloc+0x0) [0x0]\n"
		"  {1} /srv/bin/server(parse_headers+0x0) [0x1150]\n"
		"  {2} /srv/bin/server(_Z6handleRK7Request+0x0) [0x1110]\n"
		"  {3} /srv/bin/server(main+0x10) [0x1100]\n"
		"  {4} /usr/lib/libc.so.6(__libc_start_main+0x0) [0x1170]\n"
		"\n"
		"# end [  0]\n");
	free(text);
	free(model);
}

/* No name, no module, no code, no entry point. */
static void test_odd_frames(void **state)
{
	struct model *model = model_new();
	char *text;

	(void)state;
	model->nodes[1] = (struct profile_node){0, CUT};
	model->nodes[2] = (struct profile_node){1, MAIN};
	model->nodes[3] = (struct profile_node){2, NAMELESS};
	model->locations[MAIN].module = 0;
	model->stacks[0].node = 3;
	keep_stacks(model, 1);
	model->stacks[0].hook = FORMAT_NO_HOOK;
	text = export_text(model);
	assert_non_null(strstr(text, "free:0/0\n"
				     "  {0} /srv/bin/server(+0x1a0) [0x11a0]\n"
				     "  {1} [anonymous](+0x100) [0x1100]\n"
				     "  {2} [truncated]\n"
				     "\n"));
	free(text);
	free(model);
}

/* Losses are in the line of figures; what came from files breaks no line. */
static void test_losses_and_hostile_text(void **state)
{
	struct model *model = model_new();
	char *text;

	(void)state;
	model->profile.program = "/srv/a\nb";
	model->profile.refused_setting = "PMEM_X=\n{";
	strcpy(model->profile.damage, "block\n7");
	atomic_init(&model->profile.header.losses[FORMAT_LOSS_EVENTS], 3);
	atomic_init(&model->profile.header.losses[FORMAT_LOSS_TRUNCATED], 5);
	atomic_init(&model->profile.header.unknown_freed, 2);
	text = export_text(model);
	assert_non_null(strstr(text, "# pmem log of /srv/a?b, pid 4711,"));
	assert_non_null(strstr(text, "\n# refused setting, default used: PMEM_X=?{\n"
				     "# partial profile: block?7\n# time="));
	assert_non_null(strstr(text, " lost=3 events=3 truncated=5 unknown_freed=2\n"));
	free(text);
	free(model);
}

static void test_table(void **state)
{
	(void)state;
	assert_ptr_equal(export_find("log"), &export_formats[0]);
	assert_null(export_find("pdf"));
	assert_null(export_find(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_log),
		cmocka_unit_test(test_odd_frames),
		cmocka_unit_test(test_losses_and_hostile_text),
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
