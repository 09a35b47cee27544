/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rss.h - what the resident set of a profile's process consists of (core/waterfall.h): as it was recorded, or measured now.
 *
 * Of a process that runs the tool reads smaps, pagemap and memory itself; the process is neither stopped nor does it notice.
 */
#ifndef PMEM_PROFILE_RSS_H
#define PMEM_PROFILE_RSS_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "core/waterfall.h"
#include "profile/profile.h"

struct rss {
	uint64_t time_ns;
	bool is_now; /* measured, not recorded */
	struct waterfall_result lines;
	uint32_t allocator; /* enum format_allocator */
	uint64_t cost_ns;
};

/* What the profile holds.  False: nothing. */
bool rss_recorded(const struct profile *profile, struct rss *rss);

/* Measures the process of a profile that is live. */
bool rss_measure(const struct profile *profile, struct rss *rss, struct error *err);

/* The one if it is live, else the other; the message says why there is neither. */
bool rss_of(const struct profile *profile, struct rss *rss, struct error *err);

/* The key of a line in JSON: "live". */
const char *rss_line_name(enum format_rss_line line);

/* "glibc" and so on; "unknown". */
const char *rss_allocator_name(uint32_t allocator);

#endif
