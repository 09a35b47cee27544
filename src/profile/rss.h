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

/* What it holds, or of a profile that is live what is measured now; the message says why there is neither. */
bool rss_of(const struct profile *profile, struct rss *rss, struct error *err);

/* The table of core/pins.h that a measurement fills; without slots none is. */
struct rss_pins {
	struct pin *slots; /* 1 << log2, zeroed */
	uint32_t log2;
};

/* As rss_of(), of a live profile with what its call stacks pin. */
bool rss_of_pins(const struct profile *profile, const struct rss_pins *pins, struct rss *rss,
		 struct error *err);

/* How much of what the program maps itself is resident now: resident[i] of call stack i of profile->mapped, zeroed before.  Of a live
 * profile, also of one that is a sample: it has all mappings.  The message says why not. */
bool rss_of_mappings(const struct profile *profile, uint64_t *resident, struct error *err);

/* The resident set of a process as statm has it; 0: not known. */
uint64_t rss_now(uint32_t pid);

/* The key of a line in JSON: "live". */
const char *rss_line_name(enum format_rss_line line);

/* "glibc" and so on; "unknown". */
const char *rss_allocator_name(uint32_t allocator);

#endif
