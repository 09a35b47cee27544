/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_env.h - what the recorder gets by the environment: which library, and how it shall record.
 */
#ifndef PMEM_CMD_RUN_ENV_H
#define PMEM_CMD_RUN_ENV_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* The absolute path of libpmem.so, to be freed: $PMEM_LIB, else the one beside the program pmem, else the installed one.  False: there
 * is none, or LD_PRELOAD cannot name it (man 8 ld.so: blanks and colons separate, $ expands). */
bool run_env_library(char **path, struct error *err);

struct run_env {
	const char *library;
	const char *output; /* absolute pattern */
	uint64_t run_id;
	const char *only;     /* NULL = all programs */
	const char *sample;   /* PMEM_SAMPLE; NULL = as it is */
	const char *overhead; /* PMEM_MAX_OVERHEAD; the same */
	bool no_log;
	bool no_children;
	bool libstdcxx; /* preload it right behind the recorder */
};

/* Changes the environment of this process.  False: no memory. */
bool run_env_set(const struct run_env *env, struct error *err);

/* A number that is not 0, and that no other run has. */
bool run_env_new_id(uint64_t *run_id, struct error *err);

#endif
