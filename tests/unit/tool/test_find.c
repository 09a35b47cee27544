/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_find.c - files, pids and folders.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "profile/bundle.h"
#include "profile/find.h"
#include "profile/running.h"
#include "profile_fixture.h"

static char folder[] = "/tmp/pmem_test_XXXXXX";
static char old_folder[4096];

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/pmem_test_XXXXXX");
	return mkdtemp(folder) && getcwd(old_folder, sizeof(old_folder)) && chdir(folder) == 0 ? 0
											       : -1;
}

static int remove_folder(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return chdir(old_folder) == 0 ? system(command) : -1;
}

/* A profile in the current folder, last changed some seconds after 2020 began. */
static void write_profile(const char *path, uint64_t run_id, unsigned second)
{
	struct timespec times[2] = {{.tv_sec = 1577836800 + second},
				    {.tv_sec = 1577836800 + second}};
	struct fixture f;

	fixture_begin(&f);
	f.first->header.run_id = run_id;
	f.first->header.start_realtime_ns = (1577836800 - 1000 + second) * UINT64_C(1000000000);
	fixture_save(&f, path);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	fixture_end(&f);
}

static void write_text(const char *path)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs("pmemPROF: no profile", file) >= 0);
	fclose(file);
}

static void expect(const char *name, const char *path)
{
	struct error err = {""};
	char *found = NULL;

	if (!find_profile(name, &found, &err))
		fail_msg("%s", err.text);
	assert_string_equal(found, path);
	free(found);
}

static void expect_error(const char *name, const char *words)
{
	struct error err = {""};
	char *found = NULL;

	assert_false(find_profile(name, &found, &err));
	assert_null(found);
	if (!strstr(err.text, words))
		fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

static void newest_in_a_folder(void **state)
{
	char path[64];

	(void)state;
	write_profile("a.prof", 0, 5);
	write_profile("b.prof", 0, 9);
	write_profile("stray_XXa", 0, 900); /* a folder means *.prof */
	write_profile(".prof", 0, 901);
	write_profile("d.prof.old", 0, 902);
	write_profile("c.prof", 0, 7);
	write_text("newer.prof");
	assert_int_equal(mkfifo("fifo.prof", 0600), 0);
	assert_int_equal(mkdir("folder.prof", 0700), 0);
	expect(NULL, "b.prof");
	snprintf(path, sizeof(path), "%s/b.prof", folder);
	expect(folder, path);
	expect("a.prof", "a.prof");
	expect("stray_XXa", "stray_XXa"); /* but who names one means it */
	/* Written through a mapping: the header knows better than the file system. */
	{
		struct format_header header;
		int fd = open("a.prof", O_RDWR);

		assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
		header.update_ns = UINT64_C(1100) * 1000000000;
		assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
		futimens(fd, (struct timespec[2]){{.tv_sec = 1577836800}, {.tv_sec = 1577836800}});
		close(fd);
	}
	expect(NULL, "a.prof");
}

static void nothing_there(void **state)
{
	(void)state;
	write_text("x");
	expect_error(NULL,
		     "no profile (*.prof) in this folder; make one with: pmem run -- PROGRAM");
	expect_error(folder,
		     "no profile (*.prof) in this folder; make one with: pmem run -- PROGRAM");
	expect_error("missing.prof", "missing.prof: No such file");
	expect_error("2000000000", "no such file and no such process");
	expect_error("12x", "12x: No such file");
}

static void write_bundle(const char *path, unsigned second)
{
	struct bundle_header header = {.frame = BUNDLE_FRAME, .magic = BUNDLE_MAGIC};
	struct timespec times[2] = {{.tv_sec = 1577836800 + second},
				    {.tv_sec = 1577836800 + second}};
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(&header, sizeof(header), 1, file), 1);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void expect_unbundled(const char *path)
{
	struct error err = {""};
	char *found = NULL;

	assert_true(find_unbundled(NULL, &found, &err));
	assert_string_equal(found, path);
	free(found);
}

static void the_newest_of_profiles_and_bundles(void **state)
{
	(void)state;
	write_text("text.bundle");
	assert_int_equal(mkfifo("fifo.bundle", 0600), 0);
	expect_error(NULL, "no profile (*.prof) in this folder");
	write_bundle("a.bundle", 20);
	write_bundle("b.bundle", 30);
	write_bundle("c", 40);
	expect(NULL, "b.bundle");
	write_profile("a.prof", 0, 10);
	expect(NULL, "b.bundle");
	expect_unbundled("a.prof"); /* for the next bundle */
	write_profile("b.prof", 0, 30);
	expect(NULL, "b.prof");
	write_profile("c.prof", 0, 40);
	write_bundle("d.bundle", 50);
	expect(NULL, "d.bundle");
	expect_unbundled("c.prof");
}

static void write_profile_of(const char *path, uint32_t pid, unsigned second)
{
	struct format_header header;
	int fd;

	write_profile(path, 0, second);
	fd = open(path, O_RDWR);
	assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
	header.pid = pid;
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(futimens(fd, (struct timespec[2]){{.tv_sec = 1577836800 + second},
							   {.tv_sec = 1577836800 + second}}),
			 0);
	close(fd);
}

/* Larger than any pid of Linux: such a process has always ended. */
static void of_a_process_that_has_ended(void **state)
{
	(void)state;
	write_profile_of("pmem.2000000000.prof", 2000000000, 10);
	write_profile_of("pmem.2000000000.2.prof", 2000000000, 20);
	write_profile_of("pmem.200000000.prof", 200000000, 30);
	write_profile_of("another", 2000000000, 40);
	expect("2000000000", "pmem.2000000000.2.prof");
	expect("200000000", "pmem.200000000.prof");
	write_bundle("pmem.200000000.bundle", 50);
	expect("200000000", "pmem.200000000.prof");
	write_bundle("pmem.300000000.bundle", 50);
	expect("300000000", "pmem.300000000.bundle");
	expect_error("20000000",
		     "20000000: there is no such file and no such process, and it left");
}

/* Needs a process of another user that may not be looked at: of root's that is init. */
static void of_a_process_of_another_user(void **state)
{
	(void)state;
	if (getuid() == 0)
		skip();
	expect_error("1", "process 1 is of another user (0): run pmem as that user or as root");
}

static void a_file_named_like_a_pid(void **state)
{
	char name[32];

	(void)state;
	snprintf(name, sizeof(name), "%d", getpid());
	expect_error(name, "is not recorded by pmem");
	write_profile(name, 0, 1);
	expect(name, name);
}

/* The profile of a process in the list of those that run, in order; "": it is not in it. */
static const char *running_path(uint32_t pid)
{
	static char path[4096];
	struct find_running *found;
	struct error err;
	unsigned count;

	assert_true(find_running(&found, &count, &err));
	path[0] = '\0';
	for (unsigned i = 0; i < count; i++) {
		assert_true(i == 0 || found[i - 1].pid < found[i].pid);
		if (found[i].pid == pid)
			snprintf(path, sizeof(path), "%s", found[i].path);
	}
	find_running_free(found, count);
	return path;
}

/* This process maps one; it is found by its path, and, when it is deleted, through the kernel (if that lets us). */
static void of_a_process(void **state)
{
	char name[32];
	char path[64];
	char *found = NULL;
	struct error err = {""};
	struct fixture f;
	void *mapping, *other;
	int fd;

	(void)state;
	snprintf(name, sizeof(name), "%d", getpid());
	snprintf(path, sizeof(path), "%s/mine.prof", folder);
	fixture_begin(&f);
	f.first->header.start_ticks = 1; /* that of another process: it has its parent's mapped */
	fixture_save(&f, "parents.prof");
	f.first->header.start_ticks = running_start_ticks((uint32_t)getpid());
	fixture_save(&f, "mine.prof");
	fd = open("parents.prof", O_RDONLY);
	other = mmap(NULL, fixture_size(&f), PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	fd = open("mine.prof", O_RDONLY);
	mapping = mmap(NULL, fixture_size(&f), PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	assert_true(mapping != MAP_FAILED && other != MAP_FAILED);
	expect(name, path);
	assert_string_equal(running_path((uint32_t)getpid()), path);
	unlink("mine.prof");
	if (find_profile(name, &found, &err)) {
		assert_non_null(strstr(found, "/map_files/"));
		free(found);
	} else {
		assert_non_null(strstr(err.text, "cannot be read"));
	}
	munmap(mapping, fixture_size(&f));
	munmap(other, fixture_size(&f));
	assert_string_equal(running_path((uint32_t)getpid()), "");
	fixture_end(&f);
}

static void all_of_a_run(void **state)
{
	struct error err = {""};
	struct find_paths paths = {NULL, 99};

	(void)state;
	write_profile("late", 7, 30);
	write_profile("early", 7, 10);
	write_profile("middle", 7, 20);
	write_profile("other", 8, 20);
	assert_true(find_run(".", 7, &paths, &err));
	assert_int_equal(paths.count, 3);
	assert_string_equal(paths.items[0], "./early");
	assert_string_equal(paths.items[1], "./middle");
	assert_string_equal(paths.items[2], "./late");
	for (unsigned i = 0; i < paths.count; i++)
		free(paths.items[i]);
	free(paths.items);
	assert_true(find_run(".", 9, &paths, &err));
	assert_int_equal(paths.count, 0);
	free(paths.items);
	assert_false(find_run("./missing", 7, &paths, &err));
	assert_non_null(strstr(err.text, "./missing"));
}

static void start_ticks(void **state)
{
	(void)state;
	assert_true(running_start_ticks((uint32_t)getpid()) > 0);
	assert_true(running_start_ticks((uint32_t)getppid()) > 0);
	assert_true(running_start_ticks(0x7ffffff0) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(newest_in_a_folder, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(nothing_there, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(the_newest_of_profiles_and_bundles, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(of_a_process_that_has_ended, make_folder,
						remove_folder),
		cmocka_unit_test(of_a_process_of_another_user),
		cmocka_unit_test_setup_teardown(a_file_named_like_a_pid, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(of_a_process, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(all_of_a_run, make_folder, remove_folder),
		cmocka_unit_test(start_ticks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
