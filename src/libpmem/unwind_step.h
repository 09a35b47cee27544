/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind_step.h - one step of a walk, from a frame to its caller's, by the rule in force there.  For unwind.c; why a step may
 * be believed: see there.
 */
#ifndef PMEM_LIBPMEM_UNWIND_STEP_H
#define PMEM_LIBPMEM_UNWIND_STEP_H
#include <stdint.h>

#include "arch/arch.h"
#include "libpmem/rules.h"
#include "libpmem/unwind_pages.h"

/* Registers of the frame that the next step starts from. */
struct unwind_state {
	uintptr_t pc; /* inside the call instruction: return address - 1 */
	uintptr_t sp;
	uintptr_t fp;
	unsigned signals; /* signal frames passed */
};

enum unwind_step_result { UNWIND_STEP_OK, UNWIND_STEP_END, UNWIND_STEP_TRUNCATED };

/* What is not as simple as in unwind_step(). */
enum unwind_step_result unwind_step_otherwise(struct unwind *u, struct unwind_state *s,
					      struct unwind_frame *f, uint64_t rule);

/* Takes the return address below cfa. */
static inline __attribute__((always_inline)) enum unwind_step_result unwind_step_finish(
	struct unwind *u, struct unwind_state *s, struct unwind_frame *f, uintptr_t cfa)
{
	uintptr_t ra;

	if (cfa <= s->sp || (cfa & (sizeof(cfa) - 1)) ||
	    !unwind_pages_load_word(u, cfa - sizeof(cfa), &ra))
		return UNWIND_STEP_TRUNCATED;
	f->slot = cfa - sizeof(cfa);
	if (f->save && !unwind_pages_load_word(u, f->save, &s->fp))
		return UNWIND_STEP_TRUNCATED;
	f->fp = s->fp;
	f->ra = ra;
	/* Most return addresses are neither 0 nor beyond what there is. */
	if (__builtin_expect((ra - 1) >> ARCH_ADDRESS_BITS != 0, 0)) {
		if (ra)
			return UNWIND_STEP_TRUNCATED;
		f->own_flags |= UNWIND_UNCLEAN | UNWIND_OPEN;
		return UNWIND_STEP_END;
	}
	s->pc = ra - 1;
	s->sp = cfa;
	return UNWIND_STEP_OK;
}

/* s is a variable that this is inlined into, and stays in registers. */
static inline __attribute__((always_inline)) enum unwind_step_result unwind_step(
	struct unwind *u, struct unwind_state *s, struct unwind_frame *f)
{
	uint64_t rule = rules_at(s->pc);
	enum cfi_kind kind = rule_kind(rule);
	uintptr_t cfa, depth = rule_fp_depth(rule);

	f->save = f->deref = 0;
	f->own_flags = kind == CFI_FP ? UNWIND_USES_FP : 0;
	if (__builtin_expect(kind != CFI_SP && kind != CFI_FP, 0)) {
		struct unwind_state copy = *s;
		enum unwind_step_result result = unwind_step_otherwise(u, &copy, f, rule);

		*s = copy;
		return result;
	}
	cfa = (kind == CFI_SP ? s->sp : s->fp) + (uintptr_t)rule_cfa_offset(rule);
	if (depth)
		f->save = cfa - depth;
	return unwind_step_finish(u, s, f, cfa);
}

#endif
