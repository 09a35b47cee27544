/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * known.h - what stays known of a process from one answer to the next: the names in its call stacks, and what its resident set
 * consists of.
 *
 * Names rest meanwhile (names_rest()): neither files nor profiles are kept open for them.  Used by one thread.
 */
#ifndef PMEM_SERVE_KNOWN_H
#define PMEM_SERVE_KNOWN_H
#include <stddef.h>

#include "page/opened.h"

/* Of so many processes, and of no more memory in all: who was asked for longest ago goes. */
enum { KNOWN_MAX = 128, KNOWN_BYTES_MAX = 64 << 20 };

/* Measuring the resident set takes time of the kernel's, and holds the process up at its mappings: so often, and no more than this share of the
 * time. */
enum { KNOWN_RSS_S = 5, KNOWN_RSS_SHARE = 50 };

struct known;

/* Names come from symbols, which must outlive it.  NULL: no memory. */
struct known *known_new(const struct symbols_options *symbols);
void known_free(struct known *known);

/* Names of a profile, those of its last opening if they are there.  NULL: no memory. */
struct names *known_take(struct known *known, const struct profile *profile);

/* Keeps, or frees, names that were taken, and needs the profile no more. */
void known_give(struct known *known, struct names *names, const struct profile *profile);

/* Memory of names that nobody has taken. */
size_t known_bytes(const struct known *known);

/* The same for pages: names, and the resident set. */
struct opened_keeper *known_keeper(struct known *known);

#endif
