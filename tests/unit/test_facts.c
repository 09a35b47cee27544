/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_facts.c - odd texts in /proc, and the facts of this very process.
 */
#include <elf.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "config.h"
#include "core/version.h"
#include "libpmem/facts.h"
#include "libpmem/settings.h"
#include "libpmem/store.h"

/* --- fakes ----------------------------------------------------------------------------------- */

struct settings settings = {.run_id = 0x1234abcd};
static const char *complaint;
static char text_bytes[1 << 20];
static uint32_t text_used = 1;

const char *settings_complaint(void)
{
	return complaint;
}

struct format_text store_text(const void *bytes, size_t size)
{
	struct format_text text = {.offset = text_used, .size = (uint32_t)size};

	assert_true(size < FORMAT_BLOCK_SIZE && text_used + size < sizeof(text_bytes));
	memcpy(text_bytes + text_used, bytes, size);
	text_used += (uint32_t)size + 1;
	return text;
}

static void expect_text(struct format_text text, const char *expected)
{
	assert_int_equal(text.size, strlen(expected));
	assert_memory_equal(text_bytes + text.offset, expected, text.size);
}

/* --- parsers --------------------------------------------------------------------------------- */

static uint64_t ticks(const char *text)
{
	return facts_start_ticks(text, strlen(text));
}

#define FIELDS_4_TO_21 "1 2 3 4 -1 6 7 8 9 10 11 12 13 14 15 16 17 0"

static void start_ticks_come_after_any_name(void **state)
{
	(void)state;
	assert_int_equal(ticks("1 (cat) R " FIELDS_4_TO_21 " 4711 99 98\n"), 4711);
	assert_int_equal(ticks("1 (a) R 5 5 ) (b c\n) S " FIELDS_4_TO_21 " 4711 99\n"), 4711);
	assert_int_equal(ticks("1 () S " FIELDS_4_TO_21 " 18446744073709551614 9"), UINT64_MAX - 1);
	assert_int_equal(ticks("1 () S " FIELDS_4_TO_21 " 18446744073709551616 9"), 0);
	assert_int_equal(ticks("1 () S " FIELDS_4_TO_21 " 12"), 12);
	assert_int_equal(ticks("1 () S " FIELDS_4_TO_21 " "), 0);
	assert_int_equal(ticks("1 () S " FIELDS_4_TO_21), 0);
	assert_int_equal(ticks("1 () S " FIELDS_4_TO_21 " x"), 0);
	assert_int_equal(ticks("1 (cat"), 0);
	assert_int_equal(ticks("cat)"), 0);
	assert_int_equal(ticks(""), 0);
}

static void expect_cgroup(const char *text, const char *path, bool is_v1)
{
	struct facts_cgroup found;

	assert_true(facts_find_cgroup(text, strlen(text), &found));
	assert_int_equal(found.size, strlen(path));
	assert_memory_equal(found.path, path, found.size);
	assert_int_equal(found.is_v1, is_v1);
}

static void expect_no_cgroup(const char *text)
{
	struct facts_cgroup found = {.size = 99};

	assert_false(facts_find_cgroup(text, strlen(text), &found));
	assert_int_equal(found.size, 99);
}

static void the_cgroup_of_the_memory_controller_is_found(void **state)
{
	(void)state;
	expect_cgroup("0::/user.slice/a:b\n", "/user.slice/a:b", false);
	expect_cgroup("0::/", "/", false);
	expect_cgroup("0::/../x\n", "/../x", false);
	expect_cgroup("4:cpu,memory:/m\n0::/u\n", "/m", true);
	expect_cgroup("0::/u\n4:memory:/m (deleted)\n", "/m (deleted)", true);
	expect_cgroup("4:memory,cpu:/m\n", "/m", true);
	expect_cgroup("12:memory_x,xmemory:/m\n1:name=memory:/n\n0::/u\n", "/u", false);
	expect_cgroup("\n::\n0:\nrubbish\n0::/u\n", "/u", false);
	expect_no_cgroup("");
	expect_no_cgroup("0::");
	expect_no_cgroup("0::relative\n");
	expect_no_cgroup("10::/x\n00::/x\n1:cpu:/x\n");
	expect_no_cgroup("0");
	expect_no_cgroup("4:memory\n");
}

static uint64_t limit_of(const char *text)
{
	return facts_limit(text, strlen(text));
}

static void limits_that_are_none_are_0(void **state)
{
	(void)state;
	assert_int_equal(limit_of("536870912\n"), 536870912);
	assert_int_equal(limit_of("max\n"), 0);
	assert_int_equal(limit_of("9223372036854771712\n"), 0); /* v1, pages of 4 KiB */
	assert_int_equal(limit_of("9223372036854710272\n"), 0); /* of 64 KiB */
	assert_int_equal(limit_of("99999999999999999999999999\n"), 0);
	assert_int_equal(limit_of(""), 0);
	assert_int_equal(limit_of("-1\n"), 0);
	assert_int_equal(limit_of("4096"), 4096);
}

/* --- this process ---------------------------------------------------------------------------- */

static struct format_header head;

static int begin(void **state)
{
	(void)state;
	memset((void *)&head, 0, sizeof(head));
	complaint = NULL;
	return 0;
}

static void numbers_are_this_processes(void **state)
{
	struct timespec now;
	uint64_t now_ns;

	(void)state;
	facts_fill(&head);
	assert_int_equal(head.pid, getpid());
	assert_int_equal(head.parent_pid, getppid());
	assert_int_equal(head.page_size, sysconf(_SC_PAGESIZE));
	assert_string_equal(head.recorder, PMEM_VERSION);
	assert_int_equal(head.run_id, 0x1234abcd);
	assert_int_equal(head.lifetime_sample, PMEM_LIFETIME_SAMPLE);
	assert_int_equal(head.sample_bytes, 0);
	assert_int_equal(head.forked, 0);
	clock_gettime(CLOCK_REALTIME, &now);
	now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	assert_in_range(head.start_realtime_ns, now_ns - UINT64_C(10000000000), now_ns);
	clock_gettime(CLOCK_MONOTONIC, &now);
	now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	assert_true(head.start_monotonic_ns <= now_ns);
	assert_true(head.start_monotonic_ns + UINT64_C(10000000000) > now_ns);
}

static void the_machine_is_that_of_the_programs_file(void **state)
{
	Elf64_Ehdr elf;
	FILE *file = fopen("/proc/self/exe", "rb");

	(void)state;
	assert_int_equal(fread(&elf, sizeof(elf), 1, file), 1);
	fclose(file);
	facts_fill(&head);
	assert_int_equal(head.machine, elf.e_machine);
}

static void texts_are_this_processes(void **state)
{
	static char expected[FORMAT_BLOCK_SIZE];
	FILE *file = fopen("/proc/self/cmdline", "rb");
	size_t size = fread(expected, 1, sizeof(expected) - 1, file);
	char path[PATH_MAX] = {0}, host[256] = {0};

	(void)state;
	fclose(file);
	complaint = "PMEM_LOG=x";
	facts_fill(&head);
	assert_int_equal(head.command.size, size);
	assert_memory_equal(text_bytes + head.command.offset, expected, size);
	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	expect_text(head.program, path);
	expect_text(head.directory, getcwd(path, sizeof(path)));
	gethostname(host, sizeof(host) - 1);
	expect_text(head.host, host);
	expect_text(head.refused_setting, "PMEM_LOG=x");
}

static void a_strange_name_does_not_change_the_start(void **state)
{
	char name[16] = {0};
	uint64_t before;

	(void)state;
	prctl(PR_GET_NAME, name);
	facts_fill(&head);
	before = head.start_ticks;
	assert_true(before > 0);
	assert_int_equal(prctl(PR_SET_NAME, "a) S 1 ) (b\n"), 0);
	facts_fill(&head);
	prctl(PR_SET_NAME, name);
	assert_int_equal(head.start_ticks, before);
}

static void expect_limit(int resource, const uint64_t *told)
{
	struct rlimit before, lower;

	getrlimit(resource, &before);
	if (before.rlim_cur != RLIM_INFINITY)
		skip();
	facts_fill(&head);
	assert_int_equal(*told, 0);
	lower = before;
	lower.rlim_cur = (rlim_t)1 << 45;
	setrlimit(resource, &lower);
	facts_fill(&head);
	setrlimit(resource, &before);
	assert_int_equal(*told, (uint64_t)1 << 45);
}

static void limits_are_told(void **state)
{
	(void)state;
	expect_limit(RLIMIT_AS, &head.address_limit);
	expect_limit(RLIMIT_DATA, &head.data_limit);
}

/* What the kernel says about one directory, or UINT64_MAX. */
static uint64_t read_limit(const char *directory, bool is_v1)
{
	char path[PATH_MAX + 64], text[64] = {0};
	FILE *file;

	snprintf(path, sizeof(path), "/sys/fs/cgroup%s%s/%s", is_v1 ? "/memory" : "", directory,
		 is_v1 ? "memory.limit_in_bytes" : "memory.max");
	file = fopen(path, "r");
	if (!file)
		return UINT64_MAX;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	return facts_limit(text, strlen(text)) ? strtoull(text, NULL, 10) : UINT64_MAX;
}

static void the_least_limit_of_all_levels_holds(void **state)
{
	char line[PATH_MAX + 64], path[PATH_MAX] = "";
	uint64_t least = UINT64_MAX, limit;
	FILE *file = fopen("/proc/self/cgroup", "r");
	bool is_v1 = false;

	(void)state;
	while (file && !is_v1 && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		is_v1 = strstr(line, ":memory:") != NULL;
		if (is_v1 || strncmp(line, "0::", 3) == 0)
			strcpy(path, strchr(strchr(line, ':') + 1, ':') + 1);
	}
	if (!path[0])
		skip();
	fclose(file);
	facts_fill(&head);
	expect_text(head.cgroup, path);
	for (;;) {
		limit = read_limit(path, is_v1);
		least = limit < least ? limit : least;
		if (!path[0])
			break;
		*strrchr(path, '/') = '\0';
	}
	assert_int_equal(head.cgroup_limit, least == UINT64_MAX ? 0 : least);
}

static void a_forked_child_says_so(void **state)
{
	int status = -1;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		facts_fork_child();
		facts_fill(&head);
		_exit(head.forked != 1 || head.pid != (uint32_t)getpid() ||
		      head.parent_pid != (uint32_t)getppid());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(start_ticks_come_after_any_name),
		cmocka_unit_test(the_cgroup_of_the_memory_controller_is_found),
		cmocka_unit_test(limits_that_are_none_are_0),
		cmocka_unit_test_setup(numbers_are_this_processes, begin),
		cmocka_unit_test_setup(the_machine_is_that_of_the_programs_file, begin),
		cmocka_unit_test_setup(texts_are_this_processes, begin),
		cmocka_unit_test_setup(a_strange_name_does_not_change_the_start, begin),
		cmocka_unit_test_setup(limits_are_told, begin),
		cmocka_unit_test_setup(the_least_limit_of_all_levels_holds, begin),
		cmocka_unit_test_setup(a_forked_child_says_so, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
