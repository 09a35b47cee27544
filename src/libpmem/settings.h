/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * settings.h - config.h's defaults, overridden by PMEM_* environment variables, read once at start.
 */
#ifndef PMEM_LIBPMEM_SETTINGS_H
#define PMEM_LIBPMEM_SETTINGS_H
#include <stdbool.h>
#include <stdint.h>

/* Immutable after settings_read().  Meaning and units: config.h. */
struct settings {
	uint64_t churn_thresh;
	uint64_t log_max;
	uint64_t log_snapshot_max;
	uint64_t log_rate; /* bytes in a second; 0 = no bound */
	uint64_t symtab_max;
	uint64_t snapshot_share; /* tenths of a percent */
	uint64_t timeline_ms;	 /* 0 = no timeline */
	uint64_t last_words;	 /* percent; 0 = none */
	uint64_t run_id;       /* PMEM_RUN_ID, 1 to 16 hex digits, as the tool gives it; 0 = none */
	uint64_t max_overhead; /* of captures, tenths of a percent of the CPU time; 0 = no bound */
	uint64_t sample;       /* mean bytes between recorded allocations; 0 = every one is */
	uint64_t sample_seed;  /* PMEM_SAMPLE_SEED, for tests; 0 = another in each run */
	uint32_t max_nodes;
	bool log;
	bool profile;
	bool children;
	char only[256];
	char out[4096]; /* PMEM_OUT; "" = the default name in the current directory */
};

extern struct settings settings;

/* Reads environment, a NULL-terminated array of NAME=value or NULL.  A value that is no number, or out of range,
 * leaves the default and is reported by settings_complaint(). */
void settings_read(char *const *environment);

/* The first NAME=value that was refused, for the log's header; NULL = none. */
const char *settings_complaint(void);

#endif
