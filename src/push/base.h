/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * base.h - what of a process was pushed last, so that the next push has what was allocated since.
 *
 * Kept in the spool beside the profiles, so that another pusher can go on.  The file is this machine's own: numbers lie in it as
 * they do in memory.
 */
#ifndef PMEM_PUSH_BASE_H
#define PMEM_PUSH_BASE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/profile.h"

struct base_entry {
	uint32_t number; /* profile_stack.number */
	uint32_t reserved;
	uint64_t alloc_bytes;
	uint64_t alloc_count;
};

/* Zeroed: nothing was pushed. */
struct base {
	uint64_t time_ns; /* CLOCK_REALTIME of the state that was pushed */
	bool is_final;	  /* it was the process's last state */
	uint32_t count;
	struct base_entry *entries; /* by number */
};

void base_free(struct base *base);

/* What a profile holds now; without entries if no differences are wanted.  False: no memory. */
bool base_of(struct base *base, const struct profile *profile, bool with_entries);

/* NULL: nothing of this call stack was pushed. */
const struct base_entry *base_find(const struct base *base, uint32_t number);

/* A complete file, or none. */
bool base_write(const struct base *base, const char *path, struct error *err);

/* False: it cannot be read, or is damaged; base is empty then. */
bool base_read(struct base *base, const char *path, struct error *err);

/* The same of bytes; what base_read() does with the file's. */
bool base_parse(struct base *base, const void *bytes, size_t size);

#endif
