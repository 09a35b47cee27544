/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind_step.c - the steps that are not everyday ones: signal frames, code without call frame information, realigned frames.
 */
#include "libpmem/unwind_step.h"

#include "libpmem/modules.h"

enum {
	FP_STEP_MAX = 1 << 20,	/* bytes that a frame without CFI may have */
	SIGNAL_FRAMES_MAX = 32, /* in one walk */
};

static __attribute__((noinline)) enum unwind_step_result finish(struct unwind *u,
								struct unwind_state *s,
								struct unwind_frame *f,
								uintptr_t cfa)
{
	return unwind_step_finish(u, s, f, cfa);
}

static enum unwind_step_result step_deref(struct unwind *u, struct unwind_state *s,
					  struct unwind_frame *f, intptr_t offset)
{
	f->own_flags |= UNWIND_USES_FP;
	f->deref = s->fp + (uintptr_t)offset;
	f->save = s->fp;
	if (!unwind_pages_load(u, f->deref, &f->deref_value))
		return UNWIND_STEP_TRUNCATED;
	return finish(u, s, f, f->deref_value);
}

/* The kernel's struct ucontext lies at the stack pointer of the signal trampoline. */
static enum unwind_step_result step_signal(struct unwind *u, struct unwind_state *s,
					   struct unwind_frame *f)
{
	uintptr_t sp = s->sp, pc;

	if (s->signals++ == SIGNAL_FRAMES_MAX)
		return UNWIND_STEP_TRUNCATED;
	f->own_flags |= UNWIND_SIGNAL;
	f->slot = sp + ARCH_SIGNAL_PC_OFFSET;
	if (!unwind_pages_load(u, sp + ARCH_SIGNAL_FP_OFFSET, &s->fp) ||
	    !unwind_pages_load(u, f->slot, &pc) ||
	    !unwind_pages_load(u, sp + ARCH_SIGNAL_SP_OFFSET, &s->sp) || !pc ||
	    pc >> ARCH_ADDRESS_BITS)
		return UNWIND_STEP_TRUNCATED;
	f->fp = s->fp;
	f->ra = pc + 1;
	s->pc = pc;
	return UNWIND_STEP_OK;
}

/* Code without CFI: believe the frame pointer if it looks like one. */
static enum unwind_step_result step_frame_pointer(struct unwind *u, struct unwind_state *s,
						  struct unwind_frame *f)
{
	uintptr_t outer, ra;

	/* It may have CFI that cannot be found now. */
	if (modules_busy())
		return UNWIND_STEP_TRUNCATED;
	/* A return address that is the first instruction of a function was made by hand, as makecontext() makes
	 * it: nothing called. */
	if (rule_kind(rules_at(s->pc + 1)) != CFI_NONE)
		return UNWIND_STEP_END;
	f->own_flags |= UNWIND_UNCLEAN;
	/* The loader's entry code, which ran the constructor that we are in: nothing called it. */
	if (s->pc - modules_loader_start < modules_loader_size)
		return UNWIND_STEP_END;
	f->own_flags |= UNWIND_USES_FP;
	/* Only up the very stack that we are on: a page elsewhere may be unmapped while we look at it. */
	if (s->fp < s->sp || s->fp - s->sp > FP_STEP_MAX)
		return UNWIND_STEP_TRUNCATED;
	unwind_pages_prove_from(u, s->sp - sizeof(ra));
	if (!unwind_pages_prove_up_to(u, unwind_pages_of(s->fp + sizeof(ra))) ||
	    !unwind_pages_load(u, s->fp, &outer) ||
	    !unwind_pages_load(u, s->fp + sizeof(outer), &ra))
		return UNWIND_STEP_TRUNCATED;
	/* A frame pointer is above the inner one, unless the caller is code with CFI, which may use the register
	 * for anything. */
	if (outer <= s->fp && rule_kind(rules_at(ra - 1)) == CFI_NONE)
		return UNWIND_STEP_TRUNCATED;
	f->save = s->fp;
	return finish(u, s, f, s->fp + 2 * sizeof(uintptr_t));
}

/* A rule that does not fit the cache, or none. */
static __attribute__((noinline)) enum unwind_step_result step_full(struct unwind *u,
								   struct unwind_state *s,
								   struct unwind_frame *f)
{
	struct cfi_rule rule;

	if (!rules_lookup_full(s->pc, &rule) || (rule.kind != CFI_SP && rule.kind != CFI_FP))
		return UNWIND_STEP_TRUNCATED;
	uintptr_t cfa = (rule.kind == CFI_FP ? s->fp : s->sp) + (uintptr_t)(intptr_t)rule.cfa_offset;
	f->own_flags |= rule.kind == CFI_FP ? UNWIND_USES_FP : 0;
	f->save = rule.fp_offset ? cfa + (uintptr_t)(intptr_t)rule.fp_offset : 0;
	return finish(u, s, f, cfa);
}

__attribute__((noinline)) enum unwind_step_result unwind_step_otherwise(struct unwind *u,
									struct unwind_state *s,
									struct unwind_frame *f,
									uint64_t rule)
{
	switch (rule_kind(rule)) {
	case CFI_PLT:
		return finish(u, s, f,
			      arch_cfi_plt_cfa(s->pc, s->sp, (int32_t)(rule >> 3 & 0xffff)));
	case CFI_FP_DEREF:
		return step_deref(u, s, f, rule_cfa_offset(rule));
	case CFI_SIGNAL:
		return step_signal(u, s, f);
	case CFI_END:
		return UNWIND_STEP_END;
	case CFI_NONE:
		return step_frame_pointer(u, s, f);
	default:
		return step_full(u, s, f);
	}
}
