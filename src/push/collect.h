/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * collect.h - puts the states of processes into the spool.
 *
 * A process is one that recorded into one profile, known by its pid, its start and its image.  Each time it is asked for, its state
 * goes into the spool, and when it has ended once more, its last one.  What of it was pushed already stands in the spool too (base.h), so
 * that this holds across pushers.
 */
#ifndef PMEM_PUSH_COLLECT_H
#define PMEM_PUSH_COLLECT_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "push/labels.h"
#include "push/spool.h"
#include "symbol/symbols.h"

struct collect_options {
	const char *name;    /* a file, a pid or a folder; NULL = the newest profile */
	bool all;	     /* all profiles of the folder, instead of its newest */
	bool now;	     /* the profile's time is that of the push, not that of the state */
	uint32_t stacks_max; /* 0 = any number */
	const struct labels *labels;
	const struct symbols_options *symbols;
};

struct collect_process {
	char key[SPOOL_KEY_SIZE];
	char *path;
	uint32_t pid;
	uint64_t start_ticks; /* 0 = it has ended, or its end cannot be seen from outside */
	bool is_done;	      /* its last state is in the spool, or was not wanted */
	bool is_seen;	      /* in this round */
};

struct collect {
	const struct collect_options *options;
	struct spool *spool;
	struct collect_process *processes;
	uint32_t count;
	bool only_ended; /* in this round: those that run on are left alone */
	uint64_t added;	 /* profiles that went into the spool so far */
	uint64_t folded; /* the most call stacks that were put together in one of them */
	/* Called for what goes wrong with one process, and does not end the rest. */
	void (*problem)(const struct error *err, void *context);
	void *context;
};

/* One round over all processes.  False: there is none at all, or the folder cannot be read. */
bool collect_round(struct collect *collect, struct error *err);

/* The same for those that have ended since the last round only.  True if there was one. */
bool collect_ended(struct collect *collect);

/* True if there is nothing more to come: no folder is watched, and all processes have ended. */
bool collect_is_over(const struct collect *collect);

void collect_free(struct collect *collect);

#endif
