/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_place.c - names and folders of the files: patterns, suffixes, relative and lost folders, lengths.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>

#include <cmocka.h>

#include "libpmem/place.h"
#include "libpmem/settings.h"
#include "tests/unit/in_child.h"

static char home[64];
static char name[PLACE_NAME_SIZE];
static char path[PATH_MAX + PLACE_NAME_SIZE];

static int start_in_folder(void **state)
{
	(void)state;
	snprintf(home, sizeof(home), "/tmp/pmem-place-XXXXXX");
	unsetenv("TMPDIR");
	return !mkdtemp(home) || chdir(home) != 0 || mkdir("sub", 0700) != 0;
}

static int remove_folder(void **state)
{
	char command[sizeof(home) + 16];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", home);
	return chdir("/") != 0 || system(command) != 0;
}

static void begin(const char *out)
{
	place_start = place_out = place_tmp = (struct place){.dir = KEPT_NONE_INIT};
	memset(settings.out, 0, sizeof(settings.out));
	memcpy(settings.out, out, strlen(out));
	place_set_suffix(1);
	place_init();
}

static const char *name_with(unsigned suffix, const char *end)
{
	memset(name, '#', sizeof(name));
	place_name(suffix, end, name);
	return name;
}

/* Whether *place leads to what is at that path. */
static int leads_to(struct place *place, const char *folder)
{
	struct stat have, want;
	int fd = place_dir(place);

	return fd >= 0 && fstat(fd, &have) == 0 && stat(folder, &want) == 0 &&
	       have.st_ino == want.st_ino && have.st_dev == want.st_dev;
}

static const char *expand(const char *pattern)
{
	begin(pattern);
	return name_with(1, "");
}

static void default_name_has_the_pid(void **state)
{
	char want[64];

	(void)state;
	begin("");
	snprintf(want, sizeof(want), "pmem.%d.prof", (int)getpid());
	assert_string_equal(name_with(1, ".prof"), want);
	snprintf(want, sizeof(want), "pmem.%d.2.log.1", (int)getpid());
	assert_string_equal(name_with(2, ".log.1"), want);
	snprintf(want, sizeof(want), "pmem.%d.9999.prof", (int)getpid());
	assert_string_equal(name_with(PLACE_SUFFIX_MAX, ".prof"), want);
	assert_true(leads_to(&place_out, home));
	assert_string_equal(place_out.path, home);
	place_path(&place_out, "file", path);
	assert_memory_equal(path, home, strlen(home));
	assert_string_equal(path + strlen(home), "/file");
}

static void patterns_are_expanded(void **state)
{
	struct utsname system;
	char want[512];
	long before = time(NULL), then;

	(void)state;
	uname(&system);
	snprintf(want, sizeof(want), "a-%d-%s-b", (int)getpid(), system.nodename);
	assert_string_equal(expand("a-%p-%h-b"), want);
	assert_string_equal(expand("%e"), program_invocation_short_name);
	then = strtol(expand("%t"), NULL, 10);
	assert_true(then >= before && then <= time(NULL));
	assert_string_equal(expand("100%%"), "100%");
	assert_string_equal(expand("%%p"), "%p");
	assert_string_equal(expand("%x%"), "%x%");
	assert_string_equal(expand("%"), "%");
}

static void the_ending_is_not_doubled(void **state)
{
	(void)state;
	begin("web.prof");
	assert_string_equal(name_with(1, ".prof"), "web.prof");
	assert_string_equal(name_with(1, ".log"), "web.log");
	assert_string_equal(name_with(2, ".prof"), "web.2.prof");
	begin("web.profile");
	assert_string_equal(name_with(1, ".prof"), "web.profile.prof");
	begin(".prof");
	assert_string_equal(name_with(1, ".log"), ".prof.log");
	begin("..");
	assert_string_equal(name_with(1, ".prof"), "...prof");
}

static void folders_may_be_relative_or_absolute(void **state)
{
	char out[256], want[256];

	(void)state;
	snprintf(want, sizeof(want), "%s/sub", home);
	begin("sub/x.%p");
	assert_true(leads_to(&place_out, want));
	assert_string_equal(place_out.path, want);
	assert_true(leads_to(&place_start, home));
	/* A folder without a name: the default. */
	begin("sub/");
	assert_true(leads_to(&place_out, want));
	assert_memory_equal(name_with(1, ""), "pmem.", 5);
	snprintf(out, sizeof(out), "%s/sub/../sub/y", home);
	begin(out);
	assert_true(leads_to(&place_out, want));
	assert_string_equal(name_with(1, ""), "y");
	begin("/z");
	assert_true(leads_to(&place_out, "/"));
	assert_string_equal(place_out.path, "/");
	assert_string_equal(name_with(1, ""), "z");
	/* Only the last part is a pattern. */
	assert_int_equal(mkdir("%p", 0700), 0);
	begin("%p/%p");
	assert_true(leads_to(&place_out, "%p"));
	assert_int_equal(strtol(name_with(1, ""), NULL, 10), getpid());
}

static void the_folder_is_that_of_the_start(void **state)
{
	char want[256];

	(void)state;
	snprintf(want, sizeof(want), "%s/sub", home);
	setenv("TMPDIR", "sub", 1);
	begin("sub/x");
	assert_int_equal(chdir("/"), 0);
	assert_true(leads_to(&place_out, want));
	assert_true(leads_to(&place_start, home));
	assert_true(leads_to(&place_tmp, want));
	assert_string_equal(place_tmp.path, want);
	/* Closed by the program: found again by its path. */
	close(place_out.dir.fd);
	assert_true(leads_to(&place_out, want));
	assert_true(place_out.dir.fd > 2);
}

static void a_folder_in_its_place_is_not_it(void **state)
{
	char want[256], away[256];

	(void)state;
	snprintf(want, sizeof(want), "%s/sub", home);
	snprintf(away, sizeof(away), "%s/away", home);
	begin("sub/x");
	close(place_out.dir.fd);
	assert_int_equal(rename(want, away), 0);
	assert_int_equal(place_dir(&place_out), -ENOENT);
	assert_int_equal(mkdir(want, 0700), 0);
	assert_int_equal(place_dir(&place_out), -ESTALE);
	assert_true(rmdir(want) == 0 && rename(away, want) == 0);
	assert_true(leads_to(&place_out, want));
}

static void without_such_a_folder_there_is_none(void **state)
{
	(void)state;
	begin("no/such/x");
	assert_int_equal(place_dir(&place_out), -ENOENT);
	begin("sub/../none/x");
	assert_int_equal(place_dir(&place_out), -ENOENT);
	begin("");
	assert_string_equal(place_tmp.path, "");
	assert_int_equal(place_dir(&place_tmp), -ENOENT);
	setenv("TMPDIR", "", 1);
	begin("");
	assert_string_equal(place_tmp.path, "");
}

/* The start has no path any more, so nothing relative to it has one. */
static void a_deleted_folder_leads_nowhere_else(void **state)
{
	(void)state;
	assert_true(chdir("sub") == 0 && rmdir("../sub") == 0);
	setenv("TMPDIR", "tmp", 1);
	begin("tmp/x"); /* not /tmp */
	assert_string_equal(place_start.path, "");
	assert_string_equal(place_out.path, "");
	assert_true(place_dir(&place_out) < 0);
	assert_string_equal(place_tmp.path, "");
	assert_true(place_dir(&place_tmp) < 0);
	place_path(&place_out, "x.prof", path);
	assert_string_equal(path, "");
	/* What is absolute, or leads out, is found. */
	begin("/tmp/x");
	assert_true(leads_to(&place_out, "/tmp"));
}

static void long_names_are_cut(void **state)
{
	char out[2048], longest[PLACE_NAME_SIZE], other[PLACE_NAME_SIZE];

	(void)state;
	memset(out, 'n', sizeof(out));
	out[1000] = '\0';
	begin(out);
	memcpy(longest, name_with(PLACE_SUFFIX_MAX, ".log.1"), sizeof(longest));
	assert_true(strlen(longest) <= NAME_MAX);
	assert_string_equal(strrchr(longest, 'n') + 1, ".9999.log.1");
	memcpy(other, name_with(9998, ".log.1"), sizeof(other));
	assert_string_not_equal(longest, other);
	assert_true(openat(place_dir(&place_out), longest, O_WRONLY | O_CREAT | O_EXCL, 0600) >= 0);
	/* With the ending at the place where it is cut, and a field there. */
	for (size_t size = 200; size < 240; size++) {
		memset(out, 'n', size);
		memcpy(out + size, "%p.prof", 8);
		begin(out);
		assert_true(strlen(name_with(PLACE_SUFFIX_MAX, ".log.1")) <= NAME_MAX);
		assert_string_equal(name + strlen(name) - 11, ".9999.log.1");
	}
}

static void long_folders_are_none(void **state)
{
	char out[sizeof(settings.out)];

	(void)state;
	memset(out, 'd', sizeof(out));
	memcpy(out + sizeof(out) - 3, "/x", 3);
	begin(out);
	assert_true(place_dir(&place_out) < 0);
	out[0] = '/';
	begin(out);
	assert_true(place_dir(&place_out) < 0);
	assert_string_equal(name_with(1, ""), "x");
	place_path(&place_out, "x", path);
	assert_true(strlen(path) < sizeof(path));
	for (size_t i = 0; i + 3 < sizeof(out); i++)
		out[i] = i % 2 ? '/' : '.';
	setenv("TMPDIR", out, 1);
	begin(out);
	assert_string_equal(name_with(1, ""), "x");
}

static int be_a_child(void)
{
	char want[64];

	place_set_suffix(7);
	place_fork_child();
	snprintf(want, sizeof(want), "job.%d.prof", (int)getpid());
	CHECK(strcmp(name_with(1, ".prof"), want) == 0);
	CHECK(place_suffix() == 1);
	CHECK(leads_to(&place_out, home));
	return 0;
}

static void a_child_has_its_own_name_in_the_same_folder(void **state)
{
	(void)state;
	begin("job.%p");
	assert_int_equal(chdir("/"), 0);
	in_child(be_a_child);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, start_in_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		TEST(default_name_has_the_pid),
		TEST(patterns_are_expanded),
		TEST(the_ending_is_not_doubled),
		TEST(folders_may_be_relative_or_absolute),
		TEST(the_folder_is_that_of_the_start),
		TEST(a_folder_in_its_place_is_not_it),
		TEST(without_such_a_folder_there_is_none),
		TEST(a_deleted_folder_leads_nowhere_else),
		TEST(long_names_are_cut),
		TEST(long_folders_are_none),
		TEST(a_child_has_its_own_name_in_the_same_folder),
	};

	return cmocka_run_group_tests_name("place", tests, NULL, NULL);
}
