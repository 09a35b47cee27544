/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * settings.c - see settings.h.  Called before libc may be ready: no libc but memory and string functions.
 */
#include "libpmem/settings.h"

#include <string.h>

#include "config.h"

struct settings settings = {
	.churn_thresh = PMEM_CHURN_THRESH,
	.log_max = PMEM_LOG_MAX,
	.log_snapshot_max = PMEM_LOG_SNAPSHOT_MAX,
	.log_rate = PMEM_LOG_RATE,
	.symtab_max = PMEM_SYMTAB_MAX,
	.snapshot_share = PMEM_SNAPSHOT_SHARE,
	.timeline_ms = PMEM_TIMELINE_MS,
	.max_overhead = PMEM_MAX_OVERHEAD,
	.last_words = PMEM_LAST_WORDS,
	.sample = PMEM_SAMPLE,
	.max_nodes = PMEM_MAX_NODES,
	.log = PMEM_LOG,
	.profile = PMEM_PROFILE,
	.children = PMEM_CHILDREN,
	.only = PMEM_ONLY,
};

static char complaint[256];

enum { SAMPLE_MIN = 1024, SAMPLE_MAX = 1 << 30 };
enum { LOG_MIN = 4096, NODES_MIN = 1024, NODES_MAX = 1 << 26, DAY_MS = 86400 * 1000 };

/* A decimal number with an optional suffix k, m or g.  False: malformed or over 2^63. */
static bool parse_size(const char *text, uint64_t *size)
{
	static const char suffixes[] = "kmg";
	uint64_t value = 0;
	const char *suffix;

	if (*text < '0' || *text > '9')
		return false;
	for (; *text >= '0' && *text <= '9'; text++) {
		if (value > INT64_MAX / 10)
			return false;
		value = value * 10 + (uint64_t)(*text - '0');
	}
	if (*text) {
		suffix = strchr(suffixes, *text | 0x20);
		if (!suffix || text[1] || value >> (63 - 10 * (suffix - suffixes + 1)))
			return false;
		value <<= 10 * (suffix - suffixes + 1);
	}
	*size = value;
	return value <= INT64_MAX;
}

/* 1 to 16 hexadecimal digits. */
static bool parse_hex(const char *text, uint64_t *number)
{
	static const char digits[] = "0123456789abcdef";
	uint64_t value = 0;
	size_t size = strlen(text), i;

	if (size < 1 || size > 16)
		return false;
	for (i = 0; i < size; i++) {
		bool is_letter = text[i] > '9';
		const char *digit = strchr(digits, is_letter ? text[i] | 0x20 : text[i]);

		if (!digit)
			return false;
		value = value << 4 | (uint64_t)(digit - digits);
	}
	*number = value;
	return true;
}

/* The value in NAME=value, or NULL if entry is of another name. */
static const char *value_of(const char *entry, const char *name)
{
	size_t size = strlen(name);

	return strncmp(entry, name, size) == 0 && entry[size] == '=' ? entry + size + 1 : NULL;
}

static void complain(const char *entry)
{
	size_t size = strnlen(entry, sizeof(complaint) - 1);

	if (!complaint[0])
		memcpy(complaint, entry, size);
}

struct number {
	const char *name;
	uint64_t *value;
	uint64_t min;
	uint64_t max;
	bool zero; /* is good too: no limit */
};

static void read_number(const char *entry, const struct number *number)
{
	const char *text = value_of(entry, number->name);
	uint64_t value;

	if (!text)
		return;
	if (parse_size(text, &value) && (value >= number->min || (!value && number->zero)) &&
	    value <= number->max)
		*number->value = value;
	else
		complain(entry);
}

static void read_string(const char *entry, const char *name, char *value, size_t room)
{
	const char *text = value_of(entry, name);

	if (text && strlen(text) < room)
		memcpy(value, text, strlen(text) + 1);
	else if (text)
		complain(entry);
}

static void read_entry(const char *entry, const struct number *numbers, size_t count)
{
	const char *run_id = value_of(entry, "PMEM_RUN_ID");
	size_t i;

	if (strncmp(entry, "PMEM_", 5) != 0)
		return;
	for (i = 0; i < count; i++)
		read_number(entry, &numbers[i]);
	read_string(entry, "PMEM_ONLY", settings.only, sizeof(settings.only));
	read_string(entry, "PMEM_OUT", settings.out, sizeof(settings.out));
	if (run_id && !parse_hex(run_id, &settings.run_id))
		complain(entry);
}

/* Values of other types on their way into settings. */
static struct {
	uint64_t nodes, log, profile, children;
} raw;

static const struct number numbers[] = {
	{"PMEM_CHURN_THRESH", &settings.churn_thresh, 1, INT64_MAX, false},
	{"PMEM_LOG_MAX", &settings.log_max, LOG_MIN, INT64_MAX, true},
	{"PMEM_LOG_SNAPSHOT_MAX", &settings.log_snapshot_max, 0, INT64_MAX, false},
	{"PMEM_LOG_RATE", &settings.log_rate, 0, UINT32_MAX, false},
	{"PMEM_SYMTAB_MAX", &settings.symtab_max, 0, UINT32_MAX, false},
	{"PMEM_SNAPSHOT_SHARE", &settings.snapshot_share, 0, 1000, false},
	{"PMEM_TIMELINE_MS", &settings.timeline_ms, 0, DAY_MS, false},
	{"PMEM_MAX_OVERHEAD", &settings.max_overhead, 0, 1000, false},
	{"PMEM_LAST_WORDS", &settings.last_words, 1, 100, true},
	{"PMEM_SAMPLE", &settings.sample, SAMPLE_MIN, SAMPLE_MAX, true},
	{"PMEM_SAMPLE_SEED", &settings.sample_seed, 0, INT64_MAX, false},
	{"PMEM_MAX_NODES", &raw.nodes, NODES_MIN, NODES_MAX, false},
	{"PMEM_LOG", &raw.log, 0, 1, false},
	{"PMEM_PROFILE", &raw.profile, 0, 1, false},
	{"PMEM_CHILDREN", &raw.children, 0, 1, false},
};

void settings_read(char *const *environment)
{
	raw.nodes = settings.max_nodes;
	raw.log = settings.log;
	raw.profile = settings.profile;
	raw.children = settings.children;
	for (; environment && *environment; environment++)
		read_entry(*environment, numbers, sizeof(numbers) / sizeof(*numbers));
	settings.max_nodes = (uint32_t)raw.nodes;
	settings.log = raw.log != 0;
	settings.profile = raw.profile != 0;
	settings.children = raw.children != 0;
}

const char *settings_complaint(void)
{
	return complaint[0] ? complaint : NULL;
}
