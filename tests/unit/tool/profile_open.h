/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profile_open.h - opens what profile_fixture.h wrote, for the tests of single numbers.
 */
#ifndef PMEM_TESTS_UNIT_TOOL_PROFILE_OPEN_H
#define PMEM_TESTS_UNIT_TOOL_PROFILE_OPEN_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profile/profile.h"
#include "profile/read.h"
#include "profile_fixture.h"

static inline struct profile *open_fixture(const struct fixture *f)
{
	struct profile *profile = NULL;
	struct error err = {""};

	if (!profile_open_memory(f->first, fixture_size(f), &profile, &err))
		fail_msg("%s", err.text);
	return profile;
}

static inline struct profile *open_undamaged(const struct fixture *f)
{
	struct profile *profile = open_fixture(f);

	assert_string_equal(profile->damage, "");
	assert_int_equal(profile->damage_count, 0);
	return profile;
}

/* The stack with a call-stack id; fails if it is not there. */
static inline const struct profile_stack *stack_of(const struct profile *profile, uint32_t id)
{
	for (uint32_t i = 0; i < profile->stack_count; i++)
		if (profile->stacks[i].number == id)
			return &profile->stacks[i];
	fail_msg("call stack %u is not there", id);
	return NULL;
}

static inline const struct profile_location *location_at(const struct profile *profile,
							 uint32_t node)
{
	assert_true(node > 0 && node < profile->node_count);
	return &profile->locations[profile->nodes[node].location];
}

static inline void count(struct format_counter *counter, uint32_t allocs, uint32_t frees,
			 uint32_t size)
{
	counter->alloc_count = allocs;
	counter->alloc_bytes = allocs * size;
	counter->free_count = frees;
	counter->free_bytes = frees * size;
}

/* --- counters ---------------------------------------------------------------------------------- */

static inline uint32_t plain_stack(struct fixture *f, uint32_t offset)
{
	uint32_t module = f->first->header.module_count > 1 ? 1 : fixture_module(f, "/p", "");
	uint32_t frame = fixture_pc32(f, module, 0x1000 + offset);

	return fixture_stack(f, &frame, 1, FORMAT_HOOK_MALLOC);
}

#endif
