/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_settings.c - defaults, overrides, and refusal of what is no number or out of range.
 *
 * Settings are read once in a process: each reading here has a process of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "config.h"
#include "libpmem/settings.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)
#define GIB (MIB * 1024)

/* What a process found in its environment. */
static struct result {
	struct settings settings;
	bool complained;
	char complaint[1024];
} * result; /* shared with it */

static void read_all(const char *const *environment)
{
	pid_t pid = fork();
	const char *complaint;
	int status = -1;

	if (pid == 0) {
		settings_read((char *const *)environment);
		complaint = settings_complaint();
		result->settings = settings;
		result->complained = complaint != NULL;
		strncpy(result->complaint, complaint ? complaint : "",
			sizeof(result->complaint) - 1);
		_exit(0);
	}
	assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
	assert_int_equal(status, 0);
}

static void read_one(const char *entry)
{
	const char *environment[] = {"HOME=/", entry, "PATH=/bin", NULL};

	read_all(environment);
}

static void expect_defaults(void)
{
	const struct settings *s = &result->settings;

	assert_int_equal(s->churn_thresh, PMEM_CHURN_THRESH);
	assert_int_equal(s->log_max, PMEM_LOG_MAX);
	assert_int_equal(s->log_snapshot_max, PMEM_LOG_SNAPSHOT_MAX);
	assert_int_equal(s->log_rate, PMEM_LOG_RATE);
	assert_int_equal(s->symtab_max, PMEM_SYMTAB_MAX);
	assert_int_equal(s->snapshot_share, PMEM_SNAPSHOT_SHARE);
	assert_int_equal(s->timeline_ms, PMEM_TIMELINE_MS);
	assert_int_equal(s->last_words, PMEM_LAST_WORDS);
	assert_int_equal(s->run_id, 0);
	assert_int_equal(s->max_nodes, PMEM_MAX_NODES);
	assert_int_equal(s->log, PMEM_LOG);
	assert_int_equal(s->children, PMEM_CHILDREN);
	assert_string_equal(s->only, PMEM_ONLY);
}

static void defaults(void **state)
{
	static const char *const none[] = {NULL};
	/* Of other names, however much alike. */
	static const char *const others[] = {"PMEM_LOG_MA=1",
					     "PMEM_LOG_MAXI=1",
					     "XPMEM_LOG_MAX=1",
					     "PMEM_LOG_MAX",
					     "PMEM_=1",
					     "PMEM_",
					     "pmem_log_max=1",
					     "=1",
					     "",
					     "PMEM_LOG_MAX =1",
					     "PMEM_VERIFY=1",
					     NULL};
	const char *const *const environments[] = {NULL, none, others};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(environments) / sizeof(*environments); i++) {
		read_all(environments[i]);
		expect_defaults();
		assert_false(result->complained);
	}
}

static void every_setting(void **state)
{
	static const char *const environment[] = {
		"PMEM_CHURN_THRESH=11",	    "PMEM_LOG_MAX=8k",
		"PMEM_LOG_SNAPSHOT_MAX=13", "PMEM_LOG_RATE=18k",
		"PMEM_SYMTAB_MAX=14",	    "PMEM_LOG=0",
		"PMEM_SNAPSHOT_SHARE=15",   "PMEM_TIMELINE_MS=16",
		"PMEM_LAST_WORDS=17",	    "PMEM_RUN_ID=00Fedcba98765432",
		"PMEM_MAX_NODES=4096",	    "PMEM_CHILDREN=0",
		"PMEM_ONLY=cc1*",	    NULL};
	const struct settings *s = &result->settings;

	(void)state;
	read_all(environment);
	assert_false(result->complained);
	assert_int_equal(s->churn_thresh, 11);
	assert_int_equal(s->log_max, 8192);
	assert_int_equal(s->log_snapshot_max, 13);
	assert_int_equal(s->log_rate, 18432);
	assert_int_equal(s->symtab_max, 14);
	assert_int_equal(s->snapshot_share, 15);
	assert_int_equal(s->timeline_ms, 16);
	assert_int_equal(s->last_words, 17);
	assert_int_equal(s->run_id, 0xfedcba98765432);
	assert_int_equal(s->max_nodes, 4096);
	assert_false(s->log);
	assert_false(s->children);
	assert_string_equal(s->only, "cc1*");
}

/* Values of PMEM_LOG_SNAPSHOT_MAX, which takes any number up to INT64_MAX. */
static void numbers(void **state)
{
	static const struct {
		const char *entry;
		uint64_t value;
	} good[] = {
		{"PMEM_LOG_SNAPSHOT_MAX=0", 0},
		{"PMEM_LOG_SNAPSHOT_MAX=7", 7},
		{"PMEM_LOG_SNAPSHOT_MAX=0000000000000000000000000012", 12},
		{"PMEM_LOG_SNAPSHOT_MAX=1234567890", 1234567890},
		{"PMEM_LOG_SNAPSHOT_MAX=5000000000000000000", 5000000000000000000},
		{"PMEM_LOG_SNAPSHOT_MAX=3k", 3 * KIB},
		{"PMEM_LOG_SNAPSHOT_MAX=3K", 3 * KIB},
		{"PMEM_LOG_SNAPSHOT_MAX=64m", 64 * MIB},
		{"PMEM_LOG_SNAPSHOT_MAX=64M", 64 * MIB},
		{"PMEM_LOG_SNAPSHOT_MAX=5g", 5 * GIB},
		{"PMEM_LOG_SNAPSHOT_MAX=5G", 5 * GIB},
		{"PMEM_LOG_SNAPSHOT_MAX=0g", 0},
		{"PMEM_LOG_SNAPSHOT_MAX=9007199254740991k", 9007199254740991 * KIB},
		{"PMEM_LOG_SNAPSHOT_MAX=8796093022207m", 8796093022207 * MIB},
		{"PMEM_LOG_SNAPSHOT_MAX=8589934591g", 8589934591 * GIB},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(*good); i++) {
		read_one(good[i].entry);
		assert_int_equal(result->settings.log_snapshot_max, good[i].value);
		assert_false(result->complained);
	}
}

static void refused(void **state)
{
	static const char *const bad[] = {
		"PMEM_LOG_SNAPSHOT_MAX=",
		"PMEM_LOG_SNAPSHOT_MAX= 5",
		"PMEM_LOG_SNAPSHOT_MAX=5 ",
		"PMEM_LOG_SNAPSHOT_MAX=+5",
		"PMEM_LOG_SNAPSHOT_MAX=-5",
		"PMEM_LOG_SNAPSHOT_MAX=k",
		"PMEM_LOG_SNAPSHOT_MAX=5kb",
		"PMEM_LOG_SNAPSHOT_MAX=5kk",
		"PMEM_LOG_SNAPSHOT_MAX=5t",
		"PMEM_LOG_SNAPSHOT_MAX=5\x1f", /* no letter, whatever its bit of case */
		"PMEM_LOG_SNAPSHOT_MAX=5+",
		"PMEM_LOG_SNAPSHOT_MAX=0x10",
		"PMEM_LOG_SNAPSHOT_MAX=1.5m",
		"PMEM_LOG_SNAPSHOT_MAX=5\n",
		"PMEM_LOG_SNAPSHOT_MAX=many",
		"PMEM_LOG_SNAPSHOT_MAX=9223372036854775808",
		"PMEM_LOG_SNAPSHOT_MAX=18446744073709551615",
		"PMEM_LOG_SNAPSHOT_MAX=18446744073709551621", /* 2^64 + 5 */
		"PMEM_LOG_SNAPSHOT_MAX=99999999999999999999999999999999",
		"PMEM_LOG_SNAPSHOT_MAX=9007199254740992k",
		"PMEM_LOG_SNAPSHOT_MAX=8796093022208m",
		"PMEM_LOG_SNAPSHOT_MAX=8589934592g",
		"PMEM_LOG_SNAPSHOT_MAX=18014398509481985k", /* 2^64 + 1 KiB */
		"PMEM_CHURN_THRESH=0",
		"PMEM_TIMELINE_MS=86400001",
		"PMEM_LAST_WORDS=101",
		"PMEM_RUN_ID=",
		"PMEM_RUN_ID=12345678901234567",
		"PMEM_RUN_ID=0x12",
		"PMEM_RUN_ID=12g",
		"PMEM_RUN_ID=\x11",
		"PMEM_RUN_ID=12 ",
		"PMEM_LOG=2",
		"PMEM_LOG=yes",
		"PMEM_CHILDREN=2",
		"PMEM_SNAPSHOT_SHARE=1001",
		"PMEM_LOG_RATE=4g",
		"PMEM_MAX_NODES=1023",
		"PMEM_LOG_MAX=4095",
		"PMEM_MAX_NODES=67108865",
		"PMEM_MAX_NODES=4g",
		"PMEM_MAX_NODES=4294968320", /* 2^32 + 1024 */
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		read_one(bad[i]);
		expect_defaults();
		assert_true(result->complained);
		assert_string_equal(result->complaint, bad[i]);
	}
}

static void bounds(void **state)
{
	static const char *const good[] = {
		"PMEM_CHURN_THRESH=1",	    "PMEM_LOG=1",
		"PMEM_CHILDREN=1",	    "PMEM_SNAPSHOT_SHARE=0",
		"PMEM_SYMTAB_MAX=0",	    "PMEM_LOG_SNAPSHOT_MAX=0",
		"PMEM_LOG_MAX=0",	    "PMEM_LOG_MAX=4096",
		"PMEM_SNAPSHOT_SHARE=1000", "PMEM_LOG_RATE=0",
		"PMEM_LOG_RATE=4294967295", "PMEM_MAX_NODES=1024",
		"PMEM_MAX_NODES=64m",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(*good); i++) {
		read_one(good[i]);
		assert_false(result->complained);
	}
	assert_int_equal(result->settings.max_nodes, 64 * MIB);
}

static void the_first_refusal_is_reported(void **state)
{
	static const char *const environment[] = {"PMEM_LOG_SNAPSHOT_MAX=5", "PMEM_LOG=maybe",
						  "PMEM_CHURN_THRESH=-", "PMEM_SYMTAB_MAX=6", NULL};

	(void)state;
	read_all(environment);
	assert_string_equal(result->complaint, "PMEM_LOG=maybe");
	/* The others are in force. */
	assert_int_equal(result->settings.log_snapshot_max, 5);
	assert_int_equal(result->settings.symtab_max, 6);
	assert_int_equal(result->settings.churn_thresh, PMEM_CHURN_THRESH);
}

/* As from env(1): the last of several counts, as far as it is valid. */
static void repeated_names(void **state)
{
	static const char *const environment[] = {"PMEM_LOG_SNAPSHOT_MAX=5",
						  "PMEM_LOG_SNAPSHOT_MAX=6",
						  "PMEM_LOG_SNAPSHOT_MAX=x",
						  "PMEM_ONLY=abcdef",
						  "PMEM_ONLY=x",
						  NULL};

	(void)state;
	read_all(environment);
	assert_int_equal(result->settings.log_snapshot_max, 6);
	assert_string_equal(result->settings.only, "x");
	assert_string_equal(result->complaint, "PMEM_LOG_SNAPSHOT_MAX=x");
}

static void only(void **state)
{
	enum { ROOM = sizeof(((struct settings *)0)->only) };
	static char entry[1024] = "PMEM_ONLY=";
	size_t head = strlen(entry);

	(void)state;
	read_one("PMEM_ONLY=");
	assert_string_equal(result->settings.only, "");
	assert_false(result->complained);
	memset(entry + head, 'a', ROOM - 1);
	read_one(entry);
	assert_string_equal(result->settings.only, entry + head);
	assert_false(result->complained);
	entry[head + ROOM - 1] = 'a';
	read_one(entry);
	expect_defaults();
	/* Cut: it ends up in a line of the log. */
	assert_true(result->complained);
	assert_int_equal(strlen(result->complaint), 255);
	assert_memory_equal(result->complaint, entry, 255);
}

static int share_result(void **state)
{
	(void)state;
	result = mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	return result == MAP_FAILED;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),	  cmocka_unit_test(every_setting),
		cmocka_unit_test(numbers),	  cmocka_unit_test(refused),
		cmocka_unit_test(bounds),	  cmocka_unit_test(the_first_refusal_is_reported),
		cmocka_unit_test(repeated_names), cmocka_unit_test(only),
	};

	return cmocka_run_group_tests_name("settings", tests, share_result, NULL);
}
