/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * leaks_parts.h - the parts of `pmem leaks`: what is asked for, how it is found, how it is shown.
 */
#ifndef PMEM_CMD_LEAKS_PARTS_H
#define PMEM_CMD_LEAKS_PARTS_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "cmd/symbol_options.h"
#include "leaks/leaks.h"
#include "leaks/suppress.h"
#include "profile/names.h"
#include "profile/profile.h"
#include "report/report.h"

struct leaks_request {
	struct report_options report;
	struct symbol_options symbols;
	struct suppress suppress;
	const char *output; /* NULL = standard output */
	bool at_exit;
	bool json;
	bool quiet;
	int error_code; /* --error-exitcode; 0 = not asked for */
};

/* What was found in one process. */
struct leaks_found {
	const char *name; /* leads to its profile: before leaks_found_search(), until that returns */
	struct profile *profile;
	struct names *names;
	struct leaks leaks;
	uint64_t paused_ns;
	uint64_t expected_ns;
};

/* Of the process that source's last three fields say; fills the others.  Ends with leaks_found_free(), also after a failure. */
bool leaks_found_search(struct leaks_request *request, struct leaks_source *source,
			struct leaks_found *found, struct error *err);
void leaks_found_free(struct leaks_found *found);

/* Prints, where the request says. */
bool leaks_found_show(const struct leaks_request *request, struct leaks_found *found,
		      struct error *err);

/* Whether they are an error for the caller: the request's code, or 0. */
int leaks_found_code(const struct leaks_request *request, const struct leaks_found *found);

/* A process that runs.  Returns the exit code. */
int leaks_live(struct leaks_request *request, const char *name);

/* A program that is run, at its end.  Returns the exit code. */
int leaks_at_exit(struct leaks_request *request, char **argv);

#endif
