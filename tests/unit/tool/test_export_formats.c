/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_export_formats.c - a small profile in the formats that are text, to the letter; and profiles that are odd.
 */
#include "report_fixture.h"

#include "export/export.h"
#include "export/frames.h"
#include "export/order.h"

static char *export_as(struct model *model, const char *format, enum export_value value)
{
	struct export_source source = {
		.profile = &model->profile, .names = names_new(&model->profile), .value = value};
	struct error err = {""};
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	assert_non_null(file);
	assert_true(export_find(format)->write(&source, file, &err));
	fclose(file);
	assert_int_equal(strlen(text), size);
	return text;
}

static void check_collapsed(struct model *model, enum export_value value, const char *wanted)
{
	char *text = export_as(model, "collapsed", value);

	assert_string_equal(text, wanted);
	free(text);
}

static void test_collapsed(void **state)
{
	struct model *model = model_new();

	(void)state;
	check_collapsed(model, EXPORT_LIVE,
			"__libc_start_main;main;handle(Request const&);Session::remember;"
			"std::vector<int>::push_back 62914560\n"
			"__libc_start_main;main;load_index 12582912\n"
			"__libc_start_main;main;handle(Request const&);parse_headers 1000\n"
			"__libc_start_main;main;walk;walk;walk 300\n"
			"[truncated] 77\n");
	check_collapsed(model, EXPORT_TEMPORARY,
			"__libc_start_main;main;handle(Request const&);parse_headers 97\n"
			"__libc_start_main;main;handle(Request const&);parse_headers 50\n");
	model->profile.stack_count = 0;
	check_collapsed(model, EXPORT_ALLOC, "");
	free(model);
}

/* What separates frames is no part of a name; what has no name has its place. */
static void test_odd_names(void **state)
{
	struct model *model = model_new();
	struct symbol walk = spots[WALK].symbol;

	(void)state;
	spots[WALK].symbol.function = "a;b\n\xff c";
	model->stacks[4].node = 0;
	model->stacks[5].node = 1;
	model->nodes[1] = (struct profile_node){0, NAMELESS};
	model->nodes[2] = (struct profile_node){1, WALK};
	model->stacks[0].node = 2;
	model->profile.stack_count = 1;
	check_collapsed(model, EXPORT_LIVE, "server+0x1a0;a:b?? c 62914560\n");
	model->stacks[0] = model->stacks[4];
	check_collapsed(model, EXPORT_LIVE, "[unknown] 300\n");
	spots[WALK].symbol.function = ""; /* as none */
	model->stacks[0].node = 2;
	model->locations[WALK].module = 0;
	check_collapsed(model, EXPORT_LIVE, "server+0x1a0;[anonymous]+0x180 300\n");
	spots[WALK].symbol = walk;
	free(model);
}

/* A share of the peak may come out negative: threads are not read at one moment. */
static void test_values(void **state)
{
	struct profile_counts counts = {1000, 100, 400, 40, 30, -5, -1, 0};
	enum export_value value;

	(void)state;
	assert_int_equal(export_value_of(EXPORT_LIVE, &counts), 600);
	assert_int_equal(export_value_of(EXPORT_LIVE_BLOCKS, &counts), 60);
	assert_int_equal(export_value_of(EXPORT_ALLOC, &counts), 1000);
	assert_int_equal(export_value_of(EXPORT_ALLOC_BLOCKS, &counts), 100);
	assert_int_equal(export_value_of(EXPORT_TEMPORARY, &counts), 30);
	assert_int_equal(export_value_of(EXPORT_PEAK, &counts), 0);
	assert_true(export_value_find("peak", &value));
	assert_int_equal(value, EXPORT_PEAK);
	assert_false(export_value_find("peaks", &value));
	assert_null(export_value_name(EXPORT_VALUES));
}

static void test_massif(void **state)
{
	struct model *model = model_new();
	char *text = export_as(model, "massif", 0);
	const char *last = strstr(text, "heap_tree=");

	(void)state;
	assert_non_null(strstr(text,
			       "time_unit: ms\n#-----------\nsnapshot=0\n#-----------\ntime=0\n"
			       "mem_heap_B=0\nmem_heap_extra_B=0\nmem_stacks_B=0\n"
			       "heap_tree=empty\n"));
	while (strstr(last + 1, "heap_tree="))
		last = strstr(last + 1, "heap_tree=");
	assert_string_equal(
		last, "heap_tree=peak\n"
		      "n3: 75498849 (heap allocation functions) malloc/new/new[]\n"
		      " n1: 62914560 0x112F: std::vector<int>::push_back (in /usr/lib/libc.so.6)\n"
		      "  n1: 62914560 0x111F: Session::remember (session.cc:88)\n"
		      "   n1: 62914560 0x110F: handle(Request const&) (in /srv/bin/server)\n"
		      "    n1: 62914560 0x10FF: main (in /srv/bin/server)\n"
		      "     n0: 62914560 0x116F: __libc_start_main (in /usr/lib/libc.so.6)\n"
		      " n1: 12582912 0x113F: load_index (in /srv/bin/server)\n"
		      "  n1: 12582912 0x10FF: main (in /srv/bin/server)\n"
		      "   n0: 12582912 0x116F: __libc_start_main (in /usr/lib/libc.so.6)\n"
		      " n0: 1377 in 3 places, all below massif's threshold (75498 bytes)\n");
	free(text);
	free(model);
}

/* The peak was more than the sum of what is known of it, and in the end there is nothing. */
static void test_massif_peak(void **state)
{
	struct model *model = model_new();
	char *text;

	(void)state;
	model->profile.stack_count = 2;
	model->stacks[0].counts = (struct profile_counts){500, 5, 500, 5, 0, 400, 4, 0};
	model->stacks[1].counts = (struct profile_counts){500, 5, 500, 5, 0, -10, 0, 0};
	model->profile.totals = (struct profile_counts){1000, 10, 1000, 10, 0, 390, 4, 0};
	atomic_init(&model->profile.header.peak_bytes, 450);
	atomic_init(&model->profile.header.peak_ns, 30 * SECOND);
	text = export_as(model, "massif", 0);
	assert_non_null(strstr(text,
			       "time=30000\nmem_heap_B=450\nmem_heap_extra_B=0\nmem_stacks_B=0\n"
			       "heap_tree=peak\nn2: 450 (heap"));
	assert_non_null(strstr(text, "\n n0: 50 in call stacks that are not known\n"));
	assert_non_null(strstr(text, "heap_tree=detailed\nn0: 0 (heap"));
	free(text);
	free(model);
}

static void test_order(void **state)
{
	struct model *model = model_new();
	const struct profile *profile = &model->profile;
	uint32_t *order, i;

	(void)state;
	model->stacks[1].node = model->stacks[0].node;
	assert_int_equal(order_compare(profile, 0, 1), 0);
	assert_true(order_compare(profile, 0, 2) * order_compare(profile, 2, 0) < 0);
	model->stacks[2].node = profile->nodes[model->stacks[0].node].parent;
	model->nodes[20] = (struct profile_node){0, REMEMBER};
	model->stacks[3].node = 20; /* the innermost frame of stack 2, and nothing more */
	assert_true(order_compare(profile, 3, 2) < 0);
	order = order_stacks(profile);
	for (i = 1; i < profile->stack_count; i++)
		assert_true(order_compare(profile, order[i - 1], order[i]) <= 0);
	free(order);
	free(model);
}

/* Every node once, after its parent. */
static void test_nodes(void **state)
{
	struct model *model = model_new();
	bool seen[NODES] = {true};
	uint32_t count, *nodes, i;

	(void)state;
	nodes = frames_nodes(&model->profile, &count);
	assert_int_equal(count, model->profile.node_count - 1);
	for (i = 0; i < count; i++) {
		assert_true(seen[model->nodes[nodes[i]].parent]);
		assert_false(seen[nodes[i]]);
		seen[nodes[i]] = true;
	}
	free(nodes);
	free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_collapsed),   cmocka_unit_test(test_odd_names),
		cmocka_unit_test(test_values),	    cmocka_unit_test(test_massif),
		cmocka_unit_test(test_massif_peak), cmocka_unit_test(test_order),
		cmocka_unit_test(test_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
