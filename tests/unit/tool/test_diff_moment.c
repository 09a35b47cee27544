/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_diff_moment.c - which profile and which time "FILE@TIME" means.
 */
#include "diff_fixture.h"

#include <unistd.h>

#include "profile/diff_moment.h"

static void assert_moment(const char *text, const char *path, const char *time)
{
	struct diff_moment moment;
	struct error err = {""};

	if (!diff_moment_find(text, &moment, &err))
		fail_msg("%s: %s", text, err.text);
	assert_string_equal(moment.path, path);
	if (time)
		assert_string_equal(moment.time, time);
	else
		assert_null(moment.time);
	diff_moment_free(&moment);
}

static void assert_no_moment(const char *text, const char *message)
{
	struct diff_moment moment;
	struct error err = {""};

	assert_false(diff_moment_find(text, &moment, &err));
	if (!strstr(err.text, message))
		fail_msg("%s: %s", text, err.text);
}

static void test_moment_of_a_file(void **state)
{
	char folder[] = "/tmp/pmem-diff-XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	fclose(fopen("a.prof", "w"));
	fclose(fopen("b@10m", "w"));
	assert_moment("a.prof", "a.prof", NULL);
	assert_moment("a.prof@10m", "a.prof", "10m");
	assert_moment("a.prof@-30s", "a.prof", "-30s");
	assert_moment("a.prof@end", "a.prof", "end");
	assert_moment("a.prof@soon", "a.prof", "soon"); /* what is wrong is the time */
	assert_moment("b@10m", "b@10m", NULL);
	assert_moment("b@10m@5m", "b@10m", "5m");
	assert_no_moment("box@example.prof", "box@example.prof: No such file");
	assert_no_moment("c.prof@10m", "c.prof: No such file");
	assert_no_moment("@10m", "no profile (*.prof) in this folder");
	assert_no_moment("", "No such file");
	unlink("a.prof");
	unlink("b@10m");
	assert_int_equal(chdir("/"), 0);
	rmdir(folder);
}

static void test_time_of_a_moment(void **state)
{
	struct twin *twin = twin_new("/tmp/a.prof");
	struct error err = {""};
	uint64_t time_ns = 0;

	(void)state;
	assert_true(diff_moment_time(&twin->profile, NULL, &time_ns, &err));
	assert_true(time_ns == DIFF_END);
	assert_true(diff_moment_time(&twin->profile, "end", &time_ns, &err));
	assert_true(time_ns == DIFF_END);
	assert_true(diff_moment_time(&twin->profile, "10s", &time_ns, &err));
	assert_int_equal(time_ns, 10 * SECOND);
	assert_true(diff_moment_time(&twin->profile, "-20s", &time_ns, &err));
	assert_int_equal(time_ns, 40 * SECOND);
	assert_true(diff_moment_time(&twin->profile, "10:31:12", &time_ns, &err));
	assert_int_equal(time_ns, 10 * SECOND);
	assert_false(diff_moment_time(&twin->profile, "2m", &time_ns, &err));
	assert_string_equal(err.text, "/tmp/a.prof@2m: the profile ends 1 min after its start");
	assert_false(diff_moment_time(&twin->profile, "soon", &time_ns, &err));
	assert_string_equal(err.text,
			    "/tmp/a.prof@soon: no time such as 90s, 10m, -10m or 10:42:13");
	twin_free(twin);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moment_of_a_file),
		cmocka_unit_test(test_time_of_a_moment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
