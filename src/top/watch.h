/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * watch.h - one recorded process, whose profile is opened again and again.
 *
 * Nothing is written to the process or its profile.  The file stays open, so that its last state can be read also after it was deleted, or
 * when it can only be reached while the process runs.
 */
#ifndef PMEM_TOP_WATCH_H
#define PMEM_TOP_WATCH_H
#include "base/error.h"
#include "symbol/symbols.h"
#include "top/top.h"

struct watch {
	char *path;
	int fd;			 /* of the same file; -1 = none */
	struct profile *profile; /* the latest opening; NULL = none yet */
	struct names *names;	 /* of that */
	uint64_t time_ns;	 /* CLOCK_MONOTONIC, before it was read */
	uint64_t rss_bytes;
	struct symbols_options options;
};

/* Takes path, which is to be freed, over.  The texts of options must outlive it. */
void watch_begin(struct watch *watch, char *path, const struct symbols_options *options);
void watch_end(struct watch *watch);

/* Opens the profile and has top go over to it.  False: it cannot be read, or is that of another process by now. */
bool watch_read(struct watch *watch, struct top *top, struct error *err);

/* True if there is nothing to wait for: the process has ended, or records no longer. */
bool watch_is_over(const struct watch *watch);

#endif
