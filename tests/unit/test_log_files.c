/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_log_files.c - the log's file when the program or somebody else is in its way; rotation.
 */
#include "log_fixture.h"

static void taken_names(void)
{
	put_file(name_of(".log"));
	put_file(name_of(".2.log.1"));
	CHECK(symlink("elsewhere", name_of(".3.log")) == 0);
	begin_log();
	CHECK(write_line("ours\n"));
	CHECK(strcmp(body_of(name_of(".4.log")), "ours\n") == 0);
	CHECK(strcmp(content(name_of(".log")), "theirs\n") == 0);
	CHECK(access("elsewhere", F_OK) != 0 && access(name_of(".2.log"), F_OK) != 0);
}

static void closed_descriptors(void)
{
	struct stat st;
	int fd, high = -1;

	begin_log();
	close_all();
	CHECK(write_line("one\n"));
	close_all();
	CHECK(write_line("two\n"));
	/* The program's own file gets our number. */
	for (fd = 3; fd < 1200 && high < 0; fd++)
		if (fcntl(fd, F_GETFL) != -1 && (fcntl(fd, F_GETFL) & O_APPEND))
			high = fd;
	CHECK(high >= 512 && (fcntl(high, F_GETFD) & FD_CLOEXEC));
	fd = open("program", O_RDWR | O_CREAT, 0600);
	CHECK(dup2(fd, high) == high);
	CHECK(write_line("three\n"));
	CHECK(strcmp(body_of(name_of(".log")), "one\ntwo\nthree\n") == 0);
	CHECK(fstat(high, &st) == 0 && st.st_size == 0); /* still open, and untouched */
	CHECK(lost_bytes == 0 && !log_begun_anew());
}

/* True if one of our descriptors still holds a file without a name. */
static bool keeps_deleted(void)
{
	int fd;

	for (fd = 3; fd < 1200; fd++) {
		struct stat st;

		if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 0)
			return true;
	}
	return false;
}

/* The descriptor is lost as well, between two snapshots and inside one. */
static void replaced_file(void)
{
	begin_log();
	CHECK(write_line("one\n"));
	CHECK(unlink(name_of(".log")) == 0);
	put_file(name_of(".log"));
	close_all();
	log_make_room(10);
	CHECK(log_begun_anew() && !log_begun_anew());
	CHECK(write_line("two\n"));
	CHECK(strcmp(content(name_of(".log")), "theirs\n") == 0);
	CHECK(strcmp(body_of(name_of(".2.log")), "two\n") == 0);
	CHECK(unlink(name_of(".2.log")) == 0);
	close_all();
	CHECK(!write_line("no beginning\n") && lost_bytes == 13);
	log_make_room(10);
	CHECK(log_begun_anew() && write_line("three\n"));
	CHECK(strcmp(body_of(name_of(".2.log")), "\n# lost 13 bytes of log here\nthree\n") == 0);
}

static void deleted_file(void)
{
	begin_log();
	CHECK(write_line("one\n") && unlink(name_of(".log")) == 0);
	log_make_room(10);
	CHECK(log_begun_anew() && !keeps_deleted());
	CHECK(write_line("two\n"));
	CHECK(strncmp(content(name_of(".log")), "# pmem log of ", 14) == 0);
	CHECK(strcmp(body_of(name_of(".log")), "two\n") == 0);
	CHECK(count_files() == 1 && lost_bytes == 0);
	log_make_room(10);
	CHECK(!log_begun_anew());
}

/* In its place: a file, a link, nothing. */
static void moved_file(void)
{
	begin_log();
	CHECK(write_line("one\n") && rename(name_of(".log"), "first") == 0);
	put_file(name_of(".log"));
	log_make_room(10);
	CHECK(log_begun_anew() && write_line("two\n"));
	CHECK(strcmp(content(name_of(".log")), "theirs\n") == 0);
	CHECK(strcmp(body_of("first"), "one\n") == 0);
	CHECK(strcmp(body_of(name_of(".2.log")), "two\n") == 0);
	CHECK(rename(name_of(".2.log"), "second") == 0);
	CHECK(symlink("second", name_of(".2.log")) == 0);
	log_make_room(10);
	CHECK(log_begun_anew() && write_line("three\n"));
	CHECK(strcmp(body_of(name_of(".3.log")), "three\n") == 0);
	CHECK(rename(name_of(".3.log"), "third") == 0);
	settings.log_max = 100; /* nobody's file is renamed */
	log_make_room(100);
	CHECK(log_begun_anew() && write_line("four\n"));
	CHECK(strcmp(body_of(name_of(".3.log")), "four\n") == 0);
	CHECK(strcmp(body_of("third"), "three\n") == 0);
	CHECK(access(name_of(".3.log.1"), F_OK) != 0);
}

static void truncated_file(void)
{
	begin_log();
	CHECK(write_line("one\n"));
	log_make_room(10);
	CHECK(!log_begun_anew() && truncate(name_of(".log"), 0) == 0);
	log_make_room(10);
	CHECK(log_begun_anew() && write_line("two\n"));
	CHECK(strncmp(content(name_of(".log")), "# pmem log of ", 14) == 0);
	CHECK(strcmp(body_of(name_of(".log")), "two\n") == 0 && lost_bytes == 0);
	CHECK(truncate(name_of(".log"), 0) == 0);
	CHECK(!write_line("no beginning\n") && content(name_of(".log"))[0] == '\0');
	log_make_room(10);
	CHECK(log_begun_anew() && write_line("three\n"));
	CHECK(strcmp(body_of(name_of(".log")), "\n# lost 13 bytes of log here\nthree\n") == 0);
	CHECK(count_files() == 1);
}

static void rotation(void)
{
	char line[1000];
	unsigned i;

	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 1] = '\n';
	settings.log_max = 3000;
	begin_log();
	log_make_room(100000); /* no file yet */
	CHECK(log_write("first\n", 6));
	for (i = 0; i < 2; i++) {
		log_make_room(sizeof(line));
		CHECK(log_write(line, sizeof(line)) && !log_begun_anew());
	}
	log_make_room(sizeof(line));
	CHECK(log_begun_anew() && !log_begun_anew());
	CHECK(log_write("second\n", 7));
	CHECK(strcmp(body_of(name_of(".log")), "second\n") == 0);
	CHECK(strncmp(body_of(name_of(".log.1")), "first\nxxx", 9) == 0);
	log_make_room(3000);
	CHECK(log_begun_anew() && log_write("third\n", 6));
	CHECK(strcmp(body_of(name_of(".log")), "third\n") == 0);
	CHECK(strcmp(body_of(name_of(".log.1")), "second\n") == 0);
	CHECK(count_files() == 2);
	settings.log_max = 0;
	log_make_room(1 << 30);
	CHECK(log_write("fourth\n", 7));
	CHECK(strcmp(body_of(name_of(".log")), "third\nfourth\n") == 0);
}

/* The new generation has no room for its first lines: the old one stays, and waits. */
static void rotation_without_room(void)
{
	settings.log_max = 1000;
	begin_log();
	CHECK(write_line("one\n"));
	set_file_limit(10);
	log_make_room(1000);
	CHECK(!log_begun_anew() && !write_line("lost\n"));
	CHECK(count_files() == 1 && strcmp(body_of(name_of(".log")), "one\n") == 0);
	set_file_limit(RLIM_INFINITY);
	log_make_room(1000);
	CHECK(log_begun_anew() && write_line("two\n"));
	CHECK(strcmp(body_of(name_of(".log")), "two\n") == 0);
	CHECK(strcmp(body_of(name_of(".log.1")), "one\n\n# lost 5 bytes of log here\n") == 0);
}

static void forked(void)
{
	char parents[64];
	int status;
	pid_t child;

	begin_log();
	CHECK(write_line("parent\n"));
	snprintf(parents, sizeof(parents), "%s", name_of(".log"));
	child = fork();
	if (child == 0) {
		place_fork_child();
		log_fork_child();
		CHECK(log_path()[0] == '\0');
		log_note("# note\n", 7); /* no file: nothing happens */
		CHECK(chdir("/") == 0 && write_line("child\n") && chdir(home) == 0);
		CHECK(strcmp(body_of(name_of(".log")), "child\n") == 0);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	CHECK(write_line("again\n"));
	log_note("# note\n", 7);
	CHECK(strcmp(body_of(parents), "parent\nagain\n# note\n") == 0);
	CHECK(count_files() == 2);
}

TEST(taken_names)
TEST(closed_descriptors)
TEST(replaced_file)
TEST(deleted_file)
TEST(moved_file)
TEST(truncated_file)
TEST(rotation)
TEST(rotation_without_room)
TEST(forked)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_taken_names),   cmocka_unit_test(test_closed_descriptors),
		cmocka_unit_test(test_replaced_file), cmocka_unit_test(test_deleted_file),
		cmocka_unit_test(test_moved_file),    cmocka_unit_test(test_truncated_file),
		cmocka_unit_test(test_rotation),      cmocka_unit_test(test_rotation_without_room),
		cmocka_unit_test(test_forked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
