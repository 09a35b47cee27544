/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rules.h - cache of unwind rules: from a code address to how its caller's frame is found.
 *
 * One table for all threads, read and written without locks: an entry is one 8-byte word
 * {tag, generation, rule}, so it is never seen half-written.  Filled lazily from the module's call
 * frame information.
 */
#ifndef PMEM_LIBPMEM_RULES_H
#define PMEM_LIBPMEM_RULES_H
#include <stdbool.h>
#include <stdint.h>

#include "core/cfi.h"

/* A packed rule: kind 3 bits, cfa_offset / 8 16 bits signed, -fp_offset / 8 10 bits.  A rule that
 * does not fit is packed as RULE_LARGE: ask rules_lookup_full(). */
enum {
	RULE_BITS = 29,
	RULES_INDEX_BITS = 14,
	RULES_GENERATION_BITS = 2,
};

extern _Atomic uint64_t rules_cache[1 << RULES_INDEX_BITS] __attribute__((visibility("hidden")));
extern _Atomic uint64_t rules_generation
	__attribute__((visibility("hidden"))); /* in place: << RULE_BITS */

/* The slow path: fills the entry.  No information about pc (CFI_NONE) is not cached: a module may be
 * loaded there later. */
uint64_t rules_fill(uintptr_t pc);

/* The rule in force at pc, unpacked and uncached. */
bool rules_lookup_full(uintptr_t pc, struct cfi_rule *rule);

/* Empties the cache; rules computed meanwhile by other threads do not survive either. */
void rules_flush(void);

static inline uint32_t rules_index(uintptr_t pc)
{
	return (uint32_t)(pc ^ pc >> RULES_INDEX_BITS ^ pc >> (2 * RULES_INDEX_BITS - 5)) &
	       ((1u << RULES_INDEX_BITS) - 1);
}

/* Everything in an entry but the rule. */
static inline uint64_t rules_tag(uintptr_t pc)
{
	return (uint64_t)(pc >> RULES_INDEX_BITS) << (RULE_BITS + RULES_GENERATION_BITS) |
	       __atomic_load_n((uint64_t *)&rules_generation, __ATOMIC_RELAXED);
}

/* The packed rule in force at pc. */
static inline uint64_t rules_at(uintptr_t pc)
{
	uint64_t entry = __atomic_load_n((uint64_t *)&rules_cache[rules_index(pc)],
					 __ATOMIC_RELAXED);
	uint64_t diff = entry ^ rules_tag(pc);

	return __builtin_expect(diff >> RULE_BITS == 0, 1) ? diff : rules_fill(pc);
}

static inline enum cfi_kind rule_kind(uint64_t rule)
{
	return (enum cfi_kind)(rule & 7);
}

static inline intptr_t rule_cfa_offset(uint64_t rule)
{
	return (intptr_t)(int16_t)(rule >> 3) * 8;
}

/* Bytes below the CFA at which the frame pointer is saved; 0 = not saved. */
static inline uintptr_t rule_fp_depth(uint64_t rule)
{
	return (rule >> 19 & 0x3ff) * 8;
}

#endif
