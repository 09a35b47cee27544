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
	.symtab_max = PMEM_SYMTAB_MAX,
	.snapshot_share = PMEM_SNAPSHOT_SHARE,
	.max_nodes = PMEM_MAX_NODES,
	.log = PMEM_LOG,
	.children = PMEM_CHILDREN,
	.only = PMEM_ONLY,
};

static char complaint[256];

enum { LOG_MIN = 4096, NODES_MIN = 1024, NODES_MAX = 1 << 26 };

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

static void read_entry(const char *entry, const struct number *numbers, size_t count)
{
	const char *only = value_of(entry, "PMEM_ONLY");
	size_t i;

	if (strncmp(entry, "PMEM_", 5) != 0)
		return;
	for (i = 0; i < count; i++)
		read_number(entry, &numbers[i]);
	if (only && strlen(only) < sizeof(settings.only))
		memcpy(settings.only, only, strlen(only) + 1);
	else if (only)
		complain(entry);
}

void settings_read(char *const *environment)
{
	uint64_t log = settings.log, children = settings.children, nodes = settings.max_nodes;
	const struct number numbers[] = {
		{"PMEM_CHURN_THRESH", &settings.churn_thresh, 1, INT64_MAX, false},
		{"PMEM_LOG_MAX", &settings.log_max, LOG_MIN, INT64_MAX, true},
		{"PMEM_LOG_SNAPSHOT_MAX", &settings.log_snapshot_max, 0, INT64_MAX, false},
		{"PMEM_SYMTAB_MAX", &settings.symtab_max, 0, UINT32_MAX, false},
		{"PMEM_SNAPSHOT_SHARE", &settings.snapshot_share, 0, 1000, false},
		{"PMEM_MAX_NODES", &nodes, NODES_MIN, NODES_MAX, false},
		{"PMEM_LOG", &log, 0, 1, false},
		{"PMEM_CHILDREN", &children, 0, 1, false},
	};

	for (; environment && *environment; environment++)
		read_entry(*environment, numbers, sizeof(numbers) / sizeof(*numbers));
	settings.log = log != 0;
	settings.children = children != 0;
	settings.max_nodes = (uint32_t)nodes;
}

const char *settings_complaint(void)
{
	return complaint[0] ? complaint : NULL;
}
