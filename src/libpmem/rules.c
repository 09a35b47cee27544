/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rules.c - fills and flushes the rule cache, see rules.h.
 *
 * A flush clears the table and changes the generation.  A thread that computed a rule from tables
 * that are gone and stores it late carries the old generation, which matches again only after four
 * flushes, each of which cleared the table.
 */
#include "libpmem/rules.h"

#include <stdatomic.h>

#include "arch/arch.h"
#include "libpmem/modules.h"

_Atomic uint64_t rules_cache[1 << RULES_INDEX_BITS] __attribute__((aligned(64)));
_Atomic uint64_t rules_generation;

/* CFI_UNSUPPORTED also stands for a rule that is too large to be packed. */
static uint64_t pack(const struct cfi_rule *rule)
{
	int32_t cfa = rule->kind == CFI_PLT ? rule->cfa_offset : rule->cfa_offset / 8;
	int32_t fp = -rule->fp_offset / 8;

	if (cfa != (int16_t)cfa || fp < 0 || fp > 0x3ff)
		return CFI_UNSUPPORTED;
	return (uint64_t)rule->kind | (uint64_t)(uint16_t)cfa << 3 | (uint64_t)fp << 19;
}

bool rules_lookup_full(uintptr_t pc, struct cfi_rule *rule)
{
	struct cfi_section section;

	return modules_cfi(pc, &section) && cfi_rule_at(&section, pc, rule);
}

uint64_t rules_fill(uintptr_t pc)
{
	uint64_t tag, packed;
	struct cfi_rule rule;

	if (pc >> ARCH_ADDRESS_BITS)
		return CFI_NONE;
	tag = rules_tag(pc);
	if (!rules_lookup_full(pc, &rule))
		return CFI_NONE;
	packed = pack(&rule);
	atomic_store_explicit(&rules_cache[rules_index(pc)], tag | packed, memory_order_relaxed);
	return packed;
}

void rules_flush(void)
{
	uint64_t mask = (uint64_t)((1 << RULES_GENERATION_BITS) - 1) << RULE_BITS;
	uint64_t now = atomic_load_explicit(&rules_generation, memory_order_relaxed);
	unsigned i;

	atomic_store_explicit(&rules_generation, (now + (UINT64_C(1) << RULE_BITS)) & mask,
			      memory_order_release);
	for (i = 0; i < 1u << RULES_INDEX_BITS; i++)
		atomic_store_explicit(&rules_cache[i], 0, memory_order_relaxed);
}
