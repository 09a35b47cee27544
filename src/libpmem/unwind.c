/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind.c - walks the stack by call frame information, and redoes only what changed.
 *
 * A frame's state is (pc, stack pointer, frame pointer); the rule for the step to its caller is a
 * function of pc alone (rules.h).
 *
 * Why the last call stack may be joined.  Rules of kind CFI_SP say CFA = sp + constant.  If two walks
 * agree in (pc, sp) at a frame, both find the return address at the same slot; if the slot still
 * holds the same value, both agree in (pc, sp) at the caller.  By induction, comparing the slots of a
 * remembered chain of such frames, from the inside out, reads exactly what a full walk would read
 * and proves that it would find the same frames.  No hash and no guess: memory is read anew.
 *
 * Rules that take the CFA from the frame pointer (alloca, variable arrays, -fno-omit-frame-pointer)
 * make it an input: same pc and sp do not suffice, since the old slot may lie in a hole of the new
 * frame and still hold the old value.  So where a frame's fp is needed further out before it is saved
 * again (needs_fp), the place it was restored from becomes a check too, or, while it is still in
 * the register, the register is compared.  A CFA that is read from memory (realigned frames) is one
 * more check.  needs_fp is known when a frame is stored, because its outer neighbours are.
 *
 * The end of a call stack is part of it: that a frame is the outermost one must follow from its pc (a rule
 * that says so).  Where the walk ended because of what it read, or could not read, nothing checks that
 * again, so such a call stack (UNWIND_OPEN) is never remembered.
 *
 * What else it takes: rules do not change (threads flush when modules_generation() moved); a walk stops
 * at the first mismatch, so that no address is read that a full walk would not read; signal frames
 * break the order of slots and are never remembered; each thread has its own memory; an event that
 * interrupts the recorder uses another struct (thread.h).  Stacks of coroutines are told apart by their
 * slot addresses.
 *
 * Reads.  CFI of sane code leads only to memory of live frames; garbage (JIT code without CFI, the
 * end of a fiber) can lead anywhere.  So a walk reads only in pages that are proved: the page of the
 * hook's own frame, pages proved earlier at the same range, or pages for which rt_sigprocmask(2) with an
 * invalid `how` does not answer EFAULT.  A frame pointer is believed only if all pages from the stack
 * pointer up to it are proved: then it is the same stack.  Proofs end when the program unmaps or protects memory. A
 * remembered stack that is UNCLEAN ends with them; one that is clean up to a frame marked as
 * outermost consists of live frames as long as its checks hold, and needs no proof.
 */
#include "libpmem/unwind.h"

#include <stdatomic.h>

#include "arch/arch.h"
#include "libpmem/loss.h"
#include "libpmem/modules.h"
#include "libpmem/rules.h"
#include "libpmem/sys.h"
#include "libpmem/tree.h"
#include "libpmem/unwind_pages.h"

enum {
	FP_STEP_MAX = 1 << 20,	/* bytes that a frame without CFI may have */
	SIGNAL_FRAMES_MAX = 32, /* in one walk */
};

/* Registers of the frame that the next step starts from. */
struct state {
	uintptr_t pc; /* inside the call instruction: return address - 1 */
	uintptr_t sp;
	uintptr_t fp;
	unsigned signals; /* signal frames passed */
};

enum step { STEP_OK, STEP_END, STEP_TRUNCATED };

/* --- memory ---------------------------------------------------------------------------------- */

/* Bytes of the arrays, in whole pages. */
static size_t arrays_size(uint32_t capacity)
{
	size_t one = 2 * sizeof(struct unwind_frame) +
		     3 * sizeof(struct stack_check_group) / STACK_CHECK_GROUP + 5 * sizeof(uint32_t);

	return (capacity * one + UNWIND_PAGE - 1) & ~(size_t)(UNWIND_PAGE - 1);
}

static bool alloc_arrays(struct unwind *u, uint32_t capacity)
{
	size_t n = capacity;
	char *p = sys_map(arrays_size(capacity));

	if (!p) {
		loss_add(FORMAT_LOSS_MEMORY, 1);
		return false;
	}
	u->checks = (void *)p;
	u->frames = (void *)(u->checks + 3 * n / STACK_CHECK_GROUP);
	u->fresh = u->frames + n;
	u->check_frames = (void *)(u->fresh + n);
	u->pc32 = u->check_frames + 3 * n;
	u->nodes = u->pc32 + n;
	u->capacity = capacity;
	return true;
}

bool unwind_init(struct unwind *u)
{
	u->count = 0;
	return alloc_arrays(u, UNWIND_CAPACITY_START);
}

void unwind_drop(struct unwind *u)
{
	if (u->checks)
		sys_unmap(u->checks, arrays_size(u->capacity));
}

void unwind_flush(struct unwind *u)
{
	u->count = 0;
	u->proved_start = u->proved_end = u->kept_start = u->kept_end = 0;
}

/* Four times the room; the walk in progress and the last call stack move. */
static bool grow(struct unwind *u)
{
	struct unwind old = *u;
	size_t checks = old.count ? old.frames[old.count - 1].check_end : 0;

	if (old.capacity >= UNWIND_CAPACITY_MAX || !alloc_arrays(u, old.capacity * 4))
		return false;
	memcpy(u->frames, old.frames, old.count * sizeof(*old.frames));
	memcpy(u->fresh, old.fresh, old.fresh_count * sizeof(*old.fresh));
	memcpy(u->checks, old.checks, (checks / STACK_CHECK_GROUP + 1) * sizeof(*old.checks));
	memcpy(u->check_frames, old.check_frames, checks * sizeof(*old.check_frames));
	sys_unmap(old.checks, arrays_size(old.capacity));
	return true;
}

/* --- one step -------------------------------------------------------------------------------- */

/* Takes the return address below cfa. */
static inline __attribute__((always_inline)) enum step finish_here(struct unwind *u, struct state *s,
								   struct unwind_frame *f,
								   uintptr_t cfa)
{
	if (cfa <= s->sp || !unwind_pages_load(u, cfa - sizeof(cfa), &f->ra))
		return STEP_TRUNCATED;
	f->slot = cfa - sizeof(cfa);
	if (f->save && !unwind_pages_load(u, f->save, &s->fp))
		return STEP_TRUNCATED;
	f->fp = s->fp;
	if (!f->ra) {
		f->own_flags |= UNWIND_UNCLEAN | UNWIND_OPEN;
		return STEP_END;
	}
	if (f->ra >> ARCH_ADDRESS_BITS)
		return STEP_TRUNCATED;
	s->pc = f->ra - 1;
	s->sp = cfa;
	return STEP_OK;
}

static __attribute__((noinline)) enum step finish(struct unwind *u, struct state *s,
						  struct unwind_frame *f, uintptr_t cfa)
{
	return finish_here(u, s, f, cfa);
}

static enum step step_deref(struct unwind *u, struct state *s, struct unwind_frame *f,
			    intptr_t offset)
{
	f->uses_fp = 1;
	f->deref = s->fp + (uintptr_t)offset;
	f->save = s->fp;
	if (!unwind_pages_load(u, f->deref, &f->deref_value))
		return STEP_TRUNCATED;
	return finish(u, s, f, f->deref_value);
}

/* The kernel's struct ucontext lies at the stack pointer of the signal trampoline. */
static enum step step_signal(struct unwind *u, struct state *s, struct unwind_frame *f)
{
	uintptr_t sp = s->sp, pc;

	if (s->signals++ == SIGNAL_FRAMES_MAX)
		return STEP_TRUNCATED;
	f->own_flags |= UNWIND_SIGNAL;
	f->slot = sp + ARCH_SIGNAL_PC_OFFSET;
	if (!unwind_pages_load(u, sp + ARCH_SIGNAL_FP_OFFSET, &s->fp) ||
	    !unwind_pages_load(u, f->slot, &pc) ||
	    !unwind_pages_load(u, sp + ARCH_SIGNAL_SP_OFFSET, &s->sp) || !pc ||
	    pc >> ARCH_ADDRESS_BITS)
		return STEP_TRUNCATED;
	f->fp = s->fp;
	f->ra = pc + 1;
	s->pc = pc;
	return STEP_OK;
}

/* Code without CFI: believe the frame pointer if it looks like one. */
static enum step step_frame_pointer(struct unwind *u, struct state *s, struct unwind_frame *f)
{
	uintptr_t outer, ra;

	/* It may have CFI that cannot be found now. */
	if (modules_busy())
		return STEP_TRUNCATED;
	/* A return address that is the first instruction of a function was made by hand, as makecontext() makes
	 * it: nothing called. */
	if (rule_kind(rules_at(s->pc + 1)) != CFI_NONE)
		return STEP_END;
	f->own_flags |= UNWIND_UNCLEAN;
	/* The loader's entry code, which ran the constructor that we are in: nothing called it. */
	if (s->pc - modules_loader_start < modules_loader_size)
		return STEP_END;
	f->uses_fp = 1;
	/* Only up the very stack that we are on: a page elsewhere may be unmapped while we look at it. */
	if (s->fp < s->sp || s->fp - s->sp > FP_STEP_MAX)
		return STEP_TRUNCATED;
	unwind_pages_prove_from(u, s->sp - sizeof(ra));
	if (!unwind_pages_prove_up_to(u, unwind_pages_of(s->fp + sizeof(ra))) ||
	    !unwind_pages_load(u, s->fp, &outer) ||
	    !unwind_pages_load(u, s->fp + sizeof(outer), &ra))
		return STEP_TRUNCATED;
	/* A frame pointer is above the inner one, unless the caller is code with CFI, which may use the register
	 * for anything. */
	if (outer <= s->fp && rule_kind(rules_at(ra - 1)) == CFI_NONE)
		return STEP_TRUNCATED;
	f->save = s->fp;
	return finish(u, s, f, s->fp + 2 * sizeof(uintptr_t));
}

/* A rule that does not fit the cache, or none. */
static __attribute__((noinline)) enum step step_full(struct unwind *u, struct state *s,
						     struct unwind_frame *f)
{
	struct cfi_rule rule;

	if (!rules_lookup_full(s->pc, &rule) || (rule.kind != CFI_SP && rule.kind != CFI_FP))
		return STEP_TRUNCATED;
	f->uses_fp = rule.kind == CFI_FP;
	uintptr_t cfa = (f->uses_fp ? s->fp : s->sp) + (uintptr_t)(intptr_t)rule.cfa_offset;
	f->save = rule.fp_offset ? cfa + (uintptr_t)(intptr_t)rule.fp_offset : 0;
	return finish(u, s, f, cfa);
}

static inline __attribute__((always_inline)) enum step step(struct unwind *u, struct state *s,
							    struct unwind_frame *f)
{
	uint64_t rule = rules_at(s->pc);
	uintptr_t cfa, depth = rule_fp_depth(rule);

	f->save = f->deref = 0;
	f->uses_fp = f->own_flags = 0;
	switch (rule_kind(rule)) {
	case CFI_SP:
		cfa = s->sp + (uintptr_t)rule_cfa_offset(rule);
		break;
	case CFI_FP:
		cfa = s->fp + (uintptr_t)rule_cfa_offset(rule);
		f->uses_fp = 1;
		break;
	case CFI_PLT:
		cfa = arch_cfi_plt_cfa(s->pc, s->sp, (int32_t)(rule >> 3 & 0xffff));
		break;
	case CFI_FP_DEREF:
		return step_deref(u, s, f, rule_cfa_offset(rule));
	case CFI_SIGNAL:
		return step_signal(u, s, f);
	case CFI_END:
		return STEP_END;
	case CFI_NONE:
		return step_frame_pointer(u, s, f);
	default:
		return step_full(u, s, f);
	}
	if (depth)
		f->save = cfa - depth;
	return finish_here(u, s, f, cfa);
}

/* --- the remembered call stack --------------------------------------------------------------- */

static inline void add_check(const struct unwind *u, uint32_t i, uint32_t frame, uintptr_t addr,
			     uintptr_t value)
{
	stack_check_set(u->checks, i, addr, value);
	u->check_frames[i] = frame;
}

/* Stores fresh frame f as the next inner one.  Its checks, in the order from the outside in: place of
 * the frame pointer, return address, place of the CFA. */
static inline void store_frame(struct unwind *u, const struct unwind_frame *f)
{
	uint32_t j = u->count++, check = 0;
	struct unwind_frame *to = &u->frames[j];
	const struct unwind_frame *outer = to - 1;

	*to = *f;
	to->needs_fp = 0;
	to->flags = f->own_flags;
	if (j) {
		to->needs_fp = outer->uses_fp ? 1 : outer->save ? 0 : outer->needs_fp;
		to->flags |= outer->flags;
		check = outer->check_end;
	}
	if (to->needs_fp && f->save)
		add_check(u, check++, j, f->save, f->fp);
	add_check(u, check++, j, f->slot, f->ra);
	if (f->deref)
		add_check(u, check++, j, f->deref, f->deref_value);
	to->check_end = check;
}

/* Interns fresh frames [0 .. inner] below parent; their nodes to u->nodes. */
static bool intern(struct unwind *u, uint32_t parent, uint32_t inner)
{
	struct tree_path path = {
		.parent = parent, .count = inner + 1, .pc32 = u->pc32, .hook = u->hook};
	uint32_t i;

	for (i = 0; i <= inner; i++)
		u->pc32[i] = modules_encode(u->fresh[inner - i].ra);
	return tree_insert(&path, u->nodes);
}

/* The node of fresh frame i below parent (0: no room there).  *interned is 0 until intern() makes the nodes of
 * all frames from some i inwards, then that i + 1. */
static uint32_t node_of(struct unwind *u, uint32_t parent, uint32_t i, uint32_t *interned)
{
	uint32_t node;

	if (*interned)
		return u->nodes[*interned - 1 - i];
	if (!parent && u->count)
		return 0;
	node = tree_find(parent, modules_encode(u->fresh[i].ra));
	if (node || !intern(u, parent, i))
		return node;
	*interned = i + 1;
	return u->nodes[0];
}

/* Appends the fresh frames, outermost first.  A node that join() gave is kept. */
static void store_fresh(struct unwind *u)
{
	uint32_t i, parent, interned = 0;
	struct unwind_frame *f;

	while (u->count + u->fresh_count > u->capacity && grow(u))
		;
	if (u->count + u->fresh_count > u->capacity) {
		u->count = 0;
		u->fresh[u->fresh_count - 1].own_flags |= UNWIND_UNCLEAN | UNWIND_OPEN |
							  UNWIND_TRUNCATED;
	}
	i = u->fresh_count;
	parent = u->count ? u->frames[u->count - 1].node : TREE_ROOT;
	if (!u->count && (u->fresh[i - 1].own_flags & UNWIND_TRUNCATED))
		parent = tree_truncated_node();
	for (f = &u->fresh[i]; i-- > 0;) {
		f--;
		if (!f->node)
			f->node = node_of(u, parent, i, &interned);
		parent = f->node;
		store_frame(u, f);
	}
}

static inline bool check_holds(const struct stack_check_group *group, uint32_t i)
{
	return __builtin_expect(
		*(const uintptr_t *)group->words[i] == group->words[STACK_CHECK_GROUP + i], 1);
}

/* Index + 1 of the innermost check in [0, end) that fails; 0: all hold.  Never four at once: what lies further out than a
 * mismatch may not be readable, and words just written are slow to read in one piece. */
static uint32_t first_mismatch(const struct unwind *u, uint32_t end)
{
	const struct stack_check_group *group;

	for (; end % STACK_CHECK_GROUP; end--)
		if (!check_holds(&u->checks[end / STACK_CHECK_GROUP], end % STACK_CHECK_GROUP - 1))
			return end;
	for (group = u->checks + end / STACK_CHECK_GROUP; group > u->checks;
	     end -= STACK_CHECK_GROUP) {
		group--;
		if (!check_holds(group, 3))
			return end;
		if (!check_holds(group, 2))
			return end - 1;
		if (!check_holds(group, 1))
			return end - 2;
		if (!check_holds(group, 0))
			return end - 3;
	}
	return 0;
}

/* The remembered frames [m + 1 .. k - 1] proved to be the same as the walk's next ones, and frame m did
 * not: takes them over, so that the walk goes on from there. */
static bool take_over(struct unwind *u, uint32_t k, uint32_t m, struct state *s)
{
	uint32_t i;

	for (i = k; i-- > m + 1;) {
		struct unwind_frame *f;

		if (u->fresh_count == u->capacity && !grow(u))
			return false;
		f = &u->fresh[u->fresh_count++];
		*f = u->frames[i];
		if (f->save && !unwind_pages_load(u, f->save, &s->fp))
			return false;
		f->fp = s->fp;
		f->node = 0;
		s->pc = f->ra - 1;
		s->sp = f->slot + sizeof(uintptr_t);
	}
	return true;
}

enum join { JOIN_NONE, JOIN_DONE, JOIN_FAILED };

/* Tries to join the walk's outermost frame to the remembered frames [0 .. *k). */
static enum join join(struct unwind *u, uint32_t *k, struct state *s)
{
	struct unwind_frame *last = &u->fresh[u->fresh_count - 1];
	const struct unwind_frame *old = &u->frames[*k];
	uintptr_t slot = last->slot;
	uint32_t bad;

	while (old > u->frames && old[-1].slot < slot)
		old--;
	*k = (uint32_t)(old - u->frames);
	if (!*k)
		return JOIN_NONE;
	old--;
	if (old->slot != slot || old->ra != last->ra || (old->needs_fp && old->fp != last->fp))
		return JOIN_NONE;
	bad = first_mismatch(u, *k > 1 ? old[-1].check_end : 0);
	if (!bad) {
		last->node = old->node;
		if (*k == 1)
			last->own_flags |= old->own_flags;
		u->count = *k - 1;
		return JOIN_DONE;
	}
	bad = u->check_frames[bad - 1];
	if (!take_over(u, *k - 1, bad, s))
		return JOIN_FAILED;
	*k = bad + 1;
	return JOIN_NONE;
}

/* --- the walk -------------------------------------------------------------------------------- */

static void start_walk(struct unwind *u, const uintptr_t *fp, struct state *s)
{
	u->fresh[0] = (struct unwind_frame){
		.slot = (uintptr_t)(fp + 1), .ra = fp[1], .fp = fp[0], .save = (uintptr_t)fp};
	u->fresh_count = 1;
	*s = (struct state){.pc = fp[1] - 1, .sp = (uintptr_t)(fp + 2), .fp = fp[0]};
}

/* Takes one more step into fresh.  The flags of the end of the stack go to its outermost frame. */
static enum step walk_step(struct unwind *u, struct state *s)
{
	struct unwind_frame *f, *inner;
	enum step result;

	if (u->fresh_count == u->capacity && !grow(u)) {
		result = STEP_TRUNCATED;
		inner = &u->fresh[u->fresh_count - 1];
	} else {
		inner = &u->fresh[u->fresh_count - 1];
		f = inner + 1;
		f->node = 0;
		result = step(u, s, f);
		if (result == STEP_OK) {
			u->fresh_count++;
			return STEP_OK;
		}
		inner->own_flags |= f->own_flags & (UNWIND_UNCLEAN | UNWIND_OPEN);
	}
	if (result == STEP_TRUNCATED)
		inner->own_flags |= UNWIND_UNCLEAN | UNWIND_OPEN | UNWIND_TRUNCATED;
	return result;
}

static void walk(struct unwind *u, const uintptr_t *fp)
{
	uint32_t k = u->count;
	enum join joined = JOIN_NONE;
	struct state s;

	start_walk(u, fp, &s);
	do {
		if (k)
			joined = join(u, &k, &s);
	} while (joined == JOIN_NONE && walk_step(u, &s) == STEP_OK);
	if (joined == JOIN_FAILED)
		u->fresh[u->fresh_count - 1].own_flags |= UNWIND_UNCLEAN | UNWIND_OPEN |
							  UNWIND_TRUNCATED;
	if (joined != JOIN_DONE)
		u->count = 0;
	store_fresh(u);
}

/* The call stack's frames did not all find room in the tree. */
static uint32_t short_id(struct unwind *u)
{
	struct tree_path path = {.pc32 = u->pc32, .hook = u->hook};
	uint32_t i, id;

	path.count = u->count < TREE_TRUNCATED_DEPTH ? u->count : TREE_TRUNCATED_DEPTH;
	for (i = 0; i < path.count; i++)
		u->pc32[i] = modules_encode(u->frames[u->count - path.count + i].ra);
	id = tree_truncated_id(&path);
	if (id == TREE_STACK_SIGNAL)
		u->count = 0;
	return id;
}

uint32_t unwind_capture(struct unwind *u, const uintptr_t *fp, uint32_t hook)
{
	uint32_t node, id;

	unwind_pages_begin(u, fp);
	u->hook = hook;
	walk(u, fp);
	u->flags = u->frames[u->count - 1].flags;
	if (u->flags & UNWIND_TRUNCATED)
		loss_add(FORMAT_LOSS_TRUNCATED, 1);
	node = u->frames[u->count - 1].node;
	id = node ? tree_stack_id(node, hook) : 0;
	if (!id)
		id = short_id(u);
	if (u->flags & UNWIND_FOREVER_NEW)
		u->count = 0;
	return id;
}

size_t unwind_reference(struct unwind *u, const uintptr_t *fp, uintptr_t *ra, size_t max)
{
	struct state s;
	size_t count;

	unwind_pages_begin(u, fp);
	start_walk(u, fp, &s);
	for (count = 0; count < max; count++) {
		ra[count] = u->fresh[0].ra;
		if (step(u, &s, &u->fresh[0]) != STEP_OK)
			return count + 1;
	}
	return count;
}
