/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_push.c - the parts of `pmem push` that need neither server nor process: states, bases, first lines, labels, URLs, waiting.
 */
#include "report_fixture.h"

#include <unistd.h>

#include "push/backoff.h"
#include "push/base.h"
#include "push/labels.h"
#include "push/secrets.h"
#include "push/spool.h"
#include "push/state.h"
#include "push/target.h"

/* --- states ---------------------------------------------------------------------------------- */

static struct profile_counts sum_of(const struct profile *profile)
{
	struct profile_counts sum = {0};
	uint32_t i;

	for (i = 0; i < profile->stack_count; i++) {
		sum.alloc_bytes += profile->stacks[i].counts.alloc_bytes;
		sum.alloc_count += profile->stacks[i].counts.alloc_count;
		sum.free_bytes += profile->stacks[i].counts.free_bytes;
		sum.free_count += profile->stacks[i].counts.free_count;
	}
	return sum;
}

static void check_sums(const struct profile_counts *left, const struct profile_counts *right)
{
	assert_int_equal(left->alloc_bytes, right->alloc_bytes);
	assert_int_equal(left->alloc_count, right->alloc_count);
	assert_int_equal(profile_live_bytes(left), profile_live_bytes(right));
	assert_int_equal(profile_live_count(left), profile_live_count(right));
}

/* Each location and parent of a call stack is the same one. */
static void check_stack(const struct profile *left, const struct profile *right, uint32_t node)
{
	uint32_t other = node;

	for (; node != 0; node = left->nodes[node].parent, other = right->nodes[other].parent) {
		const struct profile_location *a = &left->locations[left->nodes[node].location];

		assert_true(right->nodes[other].location < right->location_count);
		assert_memory_equal(a, &right->locations[right->nodes[other].location], sizeof(*a));
	}
	assert_int_equal(other, 0);
}

static void test_a_state_has_all_that_shows(void **state)
{
	struct model *model = model_new();
	struct profile_counts sum = sum_of(&model->profile);
	struct state_view view = {.from_ns = 10, .until_ns = 30};
	struct state made;
	struct error err = {""};
	uint32_t i;

	(void)state;
	assert_true(state_make(&made, &model->profile, &view, &err));
	check_sums(&made.profile.totals, &sum);
	assert_true(made.profile.location_count <= model->profile.location_count);
	for (i = 0; i < made.profile.stack_count; i++)
		check_stack(&model->profile, &made.profile, made.profile.stacks[i].node);
	assert_int_equal(made.profile.header.start_realtime_ns, 30);
	assert_int_equal(made.profile.duration_ns, 0); /* sums since the start */
	state_free(&made);
	free(model);
}

static void test_a_state_leaves_out_what_has_nothing_to_show(void **state)
{
	struct model *model = model_new();
	struct state_view view = {.until_ns = 30};
	struct state made;
	struct error err = {""};
	uint32_t i;

	(void)state;
	for (i = 1; i < model->profile.stack_count; i++)
		model->stacks[i].counts = (struct profile_counts){0};
	assert_true(state_make(&made, &model->profile, &view, &err));
	assert_int_equal(made.profile.stack_count, 1);
	check_stack(&model->profile, &made.profile, made.profile.stacks[0].node);
	assert_true(made.profile.location_count < model->profile.location_count);
	state_free(&made);
	free(model);
}

static void test_a_state_folds_the_smallest(void **state)
{
	struct model *model = model_new();
	struct profile_counts sum = sum_of(&model->profile);
	struct state_view view = {.stacks_max = 2, .until_ns = 30};
	struct state made;
	struct error err = {""};

	(void)state;
	assert_true(state_make(&made, &model->profile, &view, &err));
	assert_int_equal(made.profile.stack_count, 2);
	assert_int_equal(made.folded, model->profile.stack_count - 1);
	check_sums(&made.profile.totals, &sum);
	assert_int_equal(profile_live_bytes(&made.profile.stacks[0].counts), 62914560);
	assert_int_equal(made.profile.stacks[1].node, 0);
	assert_int_equal(made.profile.stacks[1].hook, FORMAT_NO_HOOK);
	state_free(&made);
	free(model);
}

static void test_differences(void **state)
{
	struct model *model = model_new();
	struct profile_counts before = sum_of(&model->profile), sum;
	struct state_view view = {.from_ns = 10, .until_ns = 30};
	struct base base;
	struct state made;
	struct error err = {""};

	(void)state;
	assert_true(base_of(&base, &model->profile, true));
	model->stacks[2].counts.alloc_bytes += 500;
	model->stacks[2].counts.alloc_count += 5;
	model->stacks[2].counts.free_bytes += 100;
	model->stacks[2].counts.free_count += 1;
	view.base = &base;
	assert_true(state_make(&made, &model->profile, &view, &err));
	sum = sum_of(&made.profile);
	assert_int_equal(sum.alloc_bytes, 500);
	assert_int_equal(sum.alloc_count, 5);
	assert_int_equal(profile_live_bytes(&sum), profile_live_bytes(&before) + 400);
	assert_int_equal(profile_live_count(&sum), profile_live_count(&before) + 4);
	assert_int_equal(made.profile.duration_ns, 20);
	state_free(&made);
	base_free(&base);
	free(model);
}

/* --- files of the spool ---------------------------------------------------------------------- */

static void test_bases_come_back(void **state)
{
	struct base_entry entries[] = {{.number = 3, .alloc_bytes = 9, .alloc_count = 1},
				       {.number = 7, .alloc_bytes = 1, .alloc_count = 1}};
	struct base base = {.time_ns = 5, .is_final = true, .count = 2, .entries = entries}, back;
	char path[] = "/tmp/pmem-test-XXXXXX";
	struct error err = {""};
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0 && base_write(&base, path, &err) && base_read(&back, path, &err));
	assert_int_equal(back.time_ns, 5);
	assert_true(back.is_final);
	assert_int_equal(base_find(&back, 7)->alloc_bytes, 1);
	assert_int_equal(base_find(&back, 3)->alloc_bytes, 9);
	assert_null(base_find(&back, 4));
	base_free(&back);
	assert_int_equal(truncate(path, 30), 0);
	assert_false(base_read(&back, path, &err));
	assert_null(back.entries);
	entries[1].number = 3; /* not in order */
	assert_true(base_write(&base, path, &err));
	assert_false(base_read(&back, path, &err));
	unlink(path);
	close(fd);
}

static size_t parse_head(const char *text, struct spool_head *head)
{
	static char copy[256];

	snprintf(copy, sizeof(copy), "%s", text);
	return spool_head_parse(copy, strlen(copy), head);
}

static void test_first_lines(void **state)
{
	struct spool_head head;

	(void)state;
	assert_int_equal(parse_head("pmem-push 1\ta/b\tgzip\tx=y\nbody\n", &head), 25);
	assert_string_equal(head.type, "a/b");
	assert_string_equal(head.encoding, "gzip");
	assert_string_equal(head.query, "x=y");
	assert_int_equal(parse_head("pmem-push 1\ta/b\t\t\n", &head), 18);
	assert_string_equal(head.encoding, "");
	assert_string_equal(head.query, "");
	assert_int_equal(parse_head("pmem-push 1\ta/b\t\t", &head), 0);
	assert_int_equal(parse_head("pmem-push 1\ta/b\t\t\t\n", &head), 0);
	assert_int_equal(parse_head("pmem-push 1\t\t\t\n", &head), 0);
	assert_int_equal(parse_head("pmem-push 2\ta/b\t\t\n", &head), 0);
	assert_int_equal(parse_head("pmem-push 1\ta/b\r\t\t\n", &head), 0);
	assert_int_equal(parse_head("\n", &head), 0);
	assert_int_equal(parse_head("", &head), 0);
}

/* --- the server ------------------------------------------------------------------------------ */

static void check_url(const char *text, const char *to, const char *wanted,
		      enum target_protocol protocol)
{
	struct target target;
	struct error err = {""};

	assert_true(target_parse(&target, text, to, &err));
	assert_string_equal(target.url, wanted);
	assert_int_equal(target.protocol, protocol);
	target_free(&target);
}

static void test_urls(void **state)
{
	struct target target;
	struct error err = {""};

	(void)state;
	check_url("http://h:4040", NULL, "http://h:4040/push.v1.PusherService/Push",
		  TARGET_PYROSCOPE);
	check_url("https://h/a/", "parca",
		  "https://h/a/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw",
		  TARGET_PARCA);
	check_url("http://[::1]:4318", NULL, "http://[::1]:4318/v1development/profiles",
		  TARGET_OTLP);
	check_url("http://h/api/v1/profiles", "otlp", "http://h/api/v1/profiles", TARGET_OTLP);
	check_url("http://h/x/ingest", NULL, "http://h/x/ingest", TARGET_PYROSCOPE_INGEST);
	assert_false(target_parse(&target, "http://a:secret@h:4040", NULL, &err));
	assert_null(strstr(err.text, "secret"));
	target_free(&target);
	assert_true(target_parse(&target, "http://127.0.0.9:4040", NULL, &err));
	assert_true(target.is_local && !target.is_encrypted);
	target_free(&target);
	assert_true(target_parse(&target, "https://127.example:4040", NULL, &err));
	assert_true(!target.is_local && target.is_encrypted);
	target_free(&target);
}

static void test_labels(void **state)
{
	char host[LABELS_VALUE_MAX + 100] = "x";
	struct labels given = {0}, all;
	struct model *model = model_new();
	struct error err = {""};

	(void)state;
	model->profile.program_name = "a\nb";
	model->profile.host = "";
	assert_true(labels_parse(&given, "zone=1=2", &err));
	assert_true(labels_parse(&given, "pid=", &err));
	assert_false(labels_parse(&given, "pid=7", &err));
	assert_false(labels_parse(&given, "=7", &err));
	assert_true(labels_of(&all, &given, &model->profile, &err));
	assert_int_equal(all.count, 2);
	assert_string_equal(all.items[0].name, "service_name");
	assert_string_equal(all.items[0].value, "a?b");
	assert_string_equal(labels_find(&all, "zone"), "1=2");
	assert_null(labels_find(&all, "pid"));
	labels_free(&all);
	/* Cut between two characters of two bytes. */
	for (size_t i = 0; i + 2 < sizeof(host); i += 2)
		memcpy(host + 1 + i, "\xc3\xa9", 2);
	model->profile.host = host;
	assert_true(labels_of(&all, &given, &model->profile, &err));
	assert_int_equal(strlen(labels_find(&all, "host")), LABELS_VALUE_MAX - 1);
	assert_memory_equal(labels_find(&all, "host"), host, LABELS_VALUE_MAX - 1);
	labels_free(&all);
	labels_free(&given);
	free(model);
}

static void test_waiting_doubles_and_has_limits(void **state)
{
	struct backoff backoff = {0};
	uint64_t longest = BACKOFF_FIRST_MS;
	int i;

	(void)state;
	for (i = 0; i < 12; i++, longest = longest < 32000 ? longest * 2 : BACKOFF_MAX_MS) {
		struct backoff other = backoff;

		assert_int_equal(backoff_next(&other, 0, 0), longest / 2);
		other = backoff;
		assert_int_equal(backoff_next(&other, longest / 2, 0), longest);
		backoff_next(&backoff, 7, 0);
	}
	assert_int_equal(backoff_next(&backoff, 0, 90000), 90000);
	assert_int_equal(backoff_next(&backoff, 9000, 90000), 99000);
	assert_int_equal(backoff_next(&backoff, 9001, 90000), 90000);
}

static void test_secrets_are_hidden(void **state)
{
	struct secrets secrets = {0};
	char text[] = "a hunter2 and hunter2hunter2, x";

	(void)state;
	assert_true(secrets_keep(&secrets, "hunter2"));
	assert_true(secrets_keep(&secrets, "x"));
	secrets_hide(&secrets, text);
	assert_string_equal(text, "a *** and ******, *");
	secrets_free(&secrets);
}

static bool is_hidden(const struct secrets *secrets, const char *secret)
{
	char text[64];

	snprintf(text, sizeof(text), "%s", secret);
	secrets_hide(secrets, text);
	return strcmp(text, "***") == 0;
}

/* However many there are, what is still used is never forgotten; of tokens that were renewed the oldest are. */
static void test_secrets_in_use_stay_hidden(void **state)
{
	struct secrets secrets = {0};
	char name[SECRETS_FORMER / 64 + 1], token[16];
	unsigned i;

	(void)state;
	assert_true(secrets_renew(&secrets, "first-token"));
	for (i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "header-%u-end", i);
		assert_true(secrets_keep(&secrets, name));
	}
	for (i = 0; i < 1000; i++) {
		snprintf(token, sizeof(token), "token-%u-end", i);
		assert_true(secrets_renew(&secrets, token) && secrets_renew(&secrets, token));
	}
	assert_int_equal(secrets.count, 1101);
	assert_true(is_hidden(&secrets, "first-token") && is_hidden(&secrets, "token-0-end"));
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (i = 0; i < 100; i++) {
		memcpy(name, i % 2 ? "odd" : "even", 3);
		name[4] = (char)('!' + i / 2);
		assert_true(secrets_renew(&secrets, name));
		assert_true(secrets.former <= SECRETS_FORMER);
	}
	assert_false(is_hidden(&secrets, "first-token") || is_hidden(&secrets, "token-999-end"));
	assert_true(is_hidden(&secrets, "header-0-end") && is_hidden(&secrets, "header-99-end"));
	assert_int_equal(secrets.count, 100 + 64);
	/* One that came again is the newest. */
	assert_true(secrets_renew(&secrets, secrets.items[100].text));
	memcpy(name, "end", 3);
	assert_true(secrets_renew(&secrets, name));
	assert_int_equal(secrets.count, 100 + 64);
	assert_int_equal(secrets.items[162].text[0], 'e');
	secrets_free(&secrets);
}

static void test_secrets_that_were_cut_off_are_hidden(void **state)
{
	struct secrets secrets = {0};
	char cut[] = "invalid token: eyJhbGciOi", least[] = "eyJh", less[] = "a key",
	     all[] = "eyJhbGciOiJIUzI1NiJ9";

	(void)state;
	assert_true(secrets_keep(&secrets, "eyJhbGciOiJIUzI1NiJ9"));
	secrets_hide(&secrets, cut);
	assert_string_equal(cut, "invalid token: ***");
	secrets_hide(&secrets, least);
	assert_string_equal(least, "***");
	secrets_hide(&secrets, less);
	assert_string_equal(less, "a key");
	secrets_hide(&secrets, all);
	assert_string_equal(all, "***");
	secrets_free(&secrets);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_state_has_all_that_shows),
		cmocka_unit_test(test_a_state_leaves_out_what_has_nothing_to_show),
		cmocka_unit_test(test_a_state_folds_the_smallest),
		cmocka_unit_test(test_differences),
		cmocka_unit_test(test_bases_come_back),
		cmocka_unit_test(test_first_lines),
		cmocka_unit_test(test_urls),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_waiting_doubles_and_has_limits),
		cmocka_unit_test(test_secrets_are_hidden),
		cmocka_unit_test(test_secrets_in_use_stay_hidden),
		cmocka_unit_test(test_secrets_that_were_cut_off_are_hidden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
