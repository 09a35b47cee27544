/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_variables.c - see run_variables.h.
 */
#include "cmd/run_variables.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "cmd/run_say.h"

enum { NAME_MAX_SIZE = 64, PREFIX_SIZE = 5 };

static const char prefix[] = "PMEM_";

const char *const run_variables[] = {
	"PMEM_BLAME",
	"PMEM_CHILDREN",
	"PMEM_CHURN_THRESH",
	"PMEM_LIB",
	"PMEM_LOG",
	"PMEM_LOG_MAX",
	"PMEM_LOG_RATE",
	"PMEM_MAX_NODES",
	"PMEM_MAX_OVERHEAD",
	"PMEM_ONLY",
	"PMEM_LOG_SNAPSHOT_MAX",
	"PMEM_OUT",
	"PMEM_PAGER",
	"PMEM_SNAPSHOT_SHARE",
	"PMEM_PROFILE",
	"PMEM_PUSH_KEY_PASSWORD",
	"PMEM_PUSH_PASSWORD",
	"PMEM_PUSH_TOKEN",
	"PMEM_RUN_ID",
	"PMEM_SAMPLE",
	"PMEM_SAMPLE_SEED",
	"PMEM_SYMTAB_MAX",
	"PMEM_TIMELINE_MS",
	"PMEM_LAST_WORDS",
	NULL,
};

/* Of the project's scripts and tests.  With a "_" at the end: all that begin so. */
static const char *const others[] = {"PMEM_BUILD_DIR", "PMEM_TARGETS", "PMEM_TEST_", NULL};

static bool is_known(const char *name)
{
	for (size_t i = 0; run_variables[i]; i++)
		if (strcmp(name, run_variables[i]) == 0)
			return true;
	for (size_t i = 0; others[i]; i++) {
		size_t size = strlen(others[i]);

		if (strncmp(name, others[i], size) == 0 &&
		    (name[size] == '\0' || others[i][size - 1] == '_'))
			return true;
	}
	return false;
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static bool is_same(char a, char b)
{
	return toupper((unsigned char)a) == toupper((unsigned char)b);
}

/* How many letters must be put in, left out, changed or swapped with the next one, whatever their case.  Both are shorter than
 * NAME_MAX_SIZE. */
static unsigned distance(const char *a, const char *b)
{
	unsigned steps[NAME_MAX_SIZE][NAME_MAX_SIZE];
	size_t rows = strlen(a), columns = strlen(b);

	for (size_t i = 0; i <= rows; i++) {
		for (size_t j = 0; j <= columns; j++) {
			unsigned *best = &steps[i][j];

			*best = (unsigned)(i + j);
			if (i > 0 && j > 0)
				*best = least(least(steps[i - 1][j], steps[i][j - 1]) + 1,
					      steps[i - 1][j - 1] + !is_same(a[i - 1], b[j - 1]));
			if (i > 1 && j > 1 && is_same(a[i - 1], b[j - 2]) &&
			    is_same(a[i - 2], b[j - 1]))
				*best = least(*best, steps[i - 2][j - 2] + 1);
		}
	}
	return steps[rows][columns];
}

/* A name that was cut short, or has too much at its end, is nearer than one with two letters wrong. */
static unsigned difference(const char *name, const char *known)
{
	size_t size = least((unsigned)strlen(name), (unsigned)strlen(known));

	return size > PREFIX_SIZE && strncasecmp(name, known, size) == 0
		       ? least(2, distance(name, known))
		       : distance(name, known);
}

const char *run_variables_nearest(const char *name)
{
	size_t size = strlen(name);
	const char *nearest = NULL;
	unsigned limit;

	if (size >= NAME_MAX_SIZE)
		return NULL;
	/* Every third letter behind PMEM_ may be wrong. */
	limit = size > PREFIX_SIZE ? 2 + (unsigned)(size - PREFIX_SIZE) / 3 : 0;
	for (size_t i = 0; run_variables[i]; i++) {
		unsigned found = difference(name, run_variables[i]);

		if (found < limit) {
			limit = found;
			nearest = run_variables[i];
		}
	}
	return nearest;
}

static void warn(const char *name, FILE *file)
{
	const char *nearest = run_variables_nearest(name);
	char text[2 * NAME_MAX_SIZE + 128];

	snprintf(text, sizeof(text), "%s means nothing to pmem%s%s%s", name,
		 nearest ? "; did you mean " : ".", nearest ? nearest : "", nearest ? "?" : "");
	run_say(file, text);
}

void run_variables_warn(char *const *environment, FILE *file)
{
	for (; environment && *environment; environment++) {
		char name[NAME_MAX_SIZE];
		size_t size = strcspn(*environment, "=");

		if (strncmp(*environment, prefix, PREFIX_SIZE) != 0)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)size, *environment);
		if (!is_known(name))
			warn(name, file);
	}
}
