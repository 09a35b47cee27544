/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * read_hash.h - the ids of many call stacks: stack_hash.h's, a module's constant part in one step.
 */
#ifndef PMEM_PROFILE_READ_HASH_H
#define PMEM_PROFILE_READ_HASH_H
#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

struct read_hash_prefix;

struct read_hash {
	const struct profile_module *modules;
	uint32_t module_count;
	struct read_hash_prefix **prefixes; /* by module; NULL = not used yet */
};

/* False: no memory. */
bool read_hash_begin(struct read_hash *hash, const struct profile *profile);
void read_hash_end(struct read_hash *hash);

/* The hash with one more frame. */
uint64_t read_hash_frame(struct read_hash *hash, uint64_t value,
			 const struct profile_location *location);

#endif
