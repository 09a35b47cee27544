/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_id.h - the ids of call stacks: the {hash} of the log, equal across runs and address layouts.
 *
 * An id takes as long as its call stack is deep, and most are never shown: so it is made when somebody asks for it.
 */
#ifndef PMEM_PROFILE_STACK_ID_H
#define PMEM_PROFILE_STACK_ID_H
#include <stdint.h>

#include "profile/profile.h"

/* One module's constant part of ids, which makes many of them faster. */
struct stack_id_prefix;

/* Room for those of count modules, for profile.id_prefixes; NULL: no memory.  They are made at their first use: one thread at a
 * time may ask for ids. */
struct stack_id_prefix **stack_id_prefixes_new(uint32_t count);
void stack_id_prefixes_free(struct stack_id_prefix **prefixes, uint32_t count);

uint64_t stack_id(const struct profile *profile, const struct profile_stack *stack);

/* The hash with one more frame. */
uint64_t stack_id_frame(const struct profile *profile, uint64_t value,
			const struct profile_location *location);

#endif
