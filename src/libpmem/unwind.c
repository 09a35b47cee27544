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

#include "libpmem/loss.h"
#include "libpmem/modules.h"
#include "libpmem/sys.h"
#include "libpmem/tree.h"
#include "libpmem/unwind_step.h"

/* --- memory ---------------------------------------------------------------------------------- */

/* Bytes of the arrays, in whole pages. */
static size_t arrays_size(uint32_t capacity)
{
	size_t one = 2 * sizeof(struct unwind_frame) +
		     3 * sizeof(struct stack_check_group) / STACK_CHECK_GROUP + 2 * sizeof(uint32_t);

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
	u->pc32 = (void *)(u->fresh + n);
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
	memcpy(u->fresh, old.fresh, old.capacity * sizeof(*old.fresh));
	memcpy(u->checks, old.checks, (checks / STACK_CHECK_GROUP + 1) * sizeof(*old.checks));
	sys_unmap(old.checks, arrays_size(old.capacity));
	return true;
}

/* --- the remembered call stack --------------------------------------------------------------- */

/* The end of the frames stored so far. */
struct end {
	struct unwind_frame *to;
	uint32_t check; /* how many */
	uint32_t flags; /* enum unwind_flag: of all of them */
	uint32_t node; /* of the innermost one, or of what it lies below; 0 beyond the first: no room */
	uint32_t needs_fp; /* whether they depend on the next one's fp */
};

static inline void add_check(const struct unwind *u, struct end *end, uintptr_t addr,
			     uintptr_t value)
{
	stack_check_set(u->checks, end->check++, addr, value);
}

/* Stores fresh frame f, whose node is end's, as the next inner one.  Its checks, in the order from the outside in: place
 * of the frame pointer, return address, place of the CFA. */
static inline void store_frame(const struct unwind *u, const struct unwind_frame *f, struct end *end)
{
	struct unwind_frame *to = end->to++;

	to->slot = f->slot;
	to->ra = f->ra;
	to->fp = f->fp;
	to->save = f->save;
	to->deref = f->deref;
	to->node = end->node;
	to->own_flags = f->own_flags;
	to->needs_fp = (uint8_t)end->needs_fp;
	end->flags |= f->own_flags;
	to->flags = (uint8_t)end->flags;
	if (end->needs_fp && f->save)
		add_check(u, end, f->save, f->fp);
	add_check(u, end, f->slot, f->ra);
	if (__builtin_expect(f->deref != 0, 0)) {
		to->deref_value = f->deref_value;
		add_check(u, end, f->deref, f->deref_value);
	}
	to->check_end = end->check;
	if (f->own_flags & UNWIND_USES_FP)
		end->needs_fp = 1;
	else if (f->save)
		end->needs_fp = 0;
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

/* Where the remembered frames end now: those that the walk was joined to. */
static inline struct end end_of(struct unwind *u)
{
	struct end end = {.to = u->frames + u->count, .node = TREE_ROOT};
	const struct unwind_frame *outer = end.to - 1;

	if (!u->count)
		return end;
	end.check = outer->check_end;
	end.flags = outer->flags;
	end.node = outer->node;
	end.needs_fp = outer->own_flags & UNWIND_USES_FP ? 1 : outer->save ? 0 : outer->needs_fp;
	return end;
}

/* Room for so many more frames.  Returns whether there is; if not, what is remembered is given up for them. */
static __attribute__((noinline)) bool make_room(struct unwind *u, uint32_t count)
{
	while (u->count + count > u->capacity && grow(u))
		;
	if (u->count + count <= u->capacity)
		return true;
	u->count = 0;
	u->fresh[count - 1].own_flags |= UNWIND_UNCLEAN | UNWIND_OPEN | UNWIND_TRUNCATED;
	return false;
}

/* A frame's node that the tree does not have, and those of all frames further in: makes them, or knows none of them. */
static __attribute__((noinline)) void store_new(struct unwind *u, const struct unwind_frame *f,
						struct end *end)
{
	const uint32_t *made = NULL;

	if ((end->node || end->to == u->frames) && intern(u, end->node, (uint32_t)(f - u->fresh)))
		made = u->nodes;
	for (f++; f-- > u->fresh; store_frame(u, f, end))
		end->node = made ? *made++ : 0;
}

/* Appends the fresh frames, count of them, outermost first.  node: of the outermost, 0 if not known. */
static void store_fresh(struct unwind *u, uint32_t count, uint32_t node)
{
	const struct unwind_frame *f;
	struct end end;

	if (__builtin_expect(u->count + count > u->capacity, 0) && !make_room(u, count))
		node = 0;
	end = end_of(u);
	if (!u->count && (u->fresh[count - 1].own_flags & UNWIND_TRUNCATED))
		end.node = tree_truncated_node();
	f = &u->fresh[count - 1];
	if (node) {
		end.node = node;
		store_frame(u, f--, &end);
	}
	for (; f >= u->fresh; f--) {
		node = end.node || !u->count ? tree_find(end.node, modules_encode(f->ra)) : 0;
		if (__builtin_expect(!node, 0)) {
			struct end copy = end;

			store_new(u, f, &copy);
			end = copy;
			break;
		}
		end.node = node;
		store_frame(u, f, &end);
	}
	u->count = (uint32_t)(end.to - u->frames);
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

/* --- the walk -------------------------------------------------------------------------------- */

/* A variable of walk(), whose parts stay in registers. */
struct walk {
	struct unwind_frame *last; /* the outermost fresh frame */
	struct unwind_frame *old; /* the remembered frames before it are to be compared with the walk's */
	struct unwind_state s;
};

/* More room for fresh frames. */
static __attribute__((noinline)) bool grow_in_walk(struct unwind *u, struct walk *w)
{
	size_t last = (size_t)(w->last - u->fresh), old = (size_t)(w->old - u->frames);

	if (!grow(u))
		return false;
	w->last = u->fresh + last;
	w->old = u->frames + old;
	return true;
}

static bool is_full(const struct unwind *u, const struct walk *w)
{
	return w->last + 1 == u->fresh + u->capacity;
}

/* The remembered frames between the walk's outermost one, which is the last of [0 .. w->old), and the one that check bad - 1
 * belongs to proved to be the same as the walk's next ones, and that one did not: takes them over, so that the walk goes
 * on from there. */
static __attribute__((noinline)) bool take_over(struct unwind *u, struct walk *w, uint32_t bad)
{
	const struct unwind_frame *f;
	struct unwind_frame *to;

	for (w->old--; w->old - 1 > u->frames && w->old[-2].check_end >= bad; w->old--) {
		if (is_full(u, w) && !grow_in_walk(u, w))
			return false;
		f = w->old - 1;
		to = ++w->last;
		*to = *f;
		if (f->save && !unwind_pages_load_word(u, f->save, &w->s.fp))
			return false;
		to->fp = w->s.fp;
		w->s.pc = f->ra - 1;
		w->s.sp = f->slot + sizeof(uintptr_t);
	}
	return true;
}

enum join { JOIN_NONE, JOIN_DONE, JOIN_FAILED };

/* The walk's outermost frame is the same as the last of the remembered ones [0 .. w->old): are those further out? */
static inline enum join join_at(struct unwind *u, struct walk *w)
{
	const struct unwind_frame *old = w->old - 1;
	uint32_t bad = first_mismatch(u, old > u->frames ? old[-1].check_end : 0);

	if (__builtin_expect(bad != 0, 0)) {
		struct walk copy = *w;
		bool done = take_over(u, &copy, bad);

		*w = copy;
		return done ? JOIN_NONE : JOIN_FAILED;
	}
	/* Those of the end; how it was reached differs. */
	if (old == u->frames)
		w->last->own_flags |= old->own_flags & ~UNWIND_USES_FP;
	u->count = (uint32_t)(old - u->frames);
	return JOIN_DONE;
}

/* Tries to join the walk's outermost frame to the remembered ones [0 .. w->old). */
static inline enum join join(struct unwind *u, struct walk *w)
{
	const struct unwind_frame *last = w->last, *start = u->frames;
	struct unwind_frame *old = w->old;
	uintptr_t slot = last->slot;

	while (old > start && old[-1].slot < slot)
		old--;
	w->old = old;
	if (old == start || old[-1].slot != slot || old[-1].ra != last->ra ||
	    (old[-1].needs_fp && old[-1].fp != last->fp))
		return JOIN_NONE;
	return join_at(u, w);
}

static inline struct unwind_state start_walk(const struct unwind *u, const uintptr_t *fp)
{
	struct unwind_frame *f = u->fresh;

	f->slot = (uintptr_t)(fp + 1);
	f->ra = fp[1];
	f->fp = fp[0];
	f->save = (uintptr_t)fp;
	f->deref = 0;
	f->own_flags = 0;
	return (struct unwind_state){.pc = fp[1] - 1, .sp = (uintptr_t)(fp + 2), .fp = fp[0]};
}

/* Takes one more step into fresh.  The flags of the end of the stack go to its outermost frame. */
static inline enum unwind_step_result walk_step(struct unwind *u, struct walk *w)
{
	enum unwind_step_result result;

	if (__builtin_expect(is_full(u, w), 0)) {
		struct walk copy = *w;
		bool done = grow_in_walk(u, &copy);

		*w = copy;
		if (!done) {
			w->last->own_flags |= UNWIND_UNCLEAN | UNWIND_OPEN | UNWIND_TRUNCATED;
			return UNWIND_STEP_TRUNCATED;
		}
	}
	result = unwind_step(u, &w->s, w->last + 1);
	if (__builtin_expect(result == UNWIND_STEP_OK, 1)) {
		w->last++;
		return UNWIND_STEP_OK;
	}
	w->last->own_flags |= w->last[1].own_flags & (UNWIND_UNCLEAN | UNWIND_OPEN);
	if (result == UNWIND_STEP_TRUNCATED)
		w->last->own_flags |= UNWIND_UNCLEAN | UNWIND_OPEN | UNWIND_TRUNCATED;
	return result;
}

static void walk(struct unwind *u, const uintptr_t *fp)
{
	struct walk w = {.last = u->fresh, .old = u->frames + u->count, .s = start_walk(u, fp)};
	enum join joined;
	uint32_t node = 0;

	do
		joined = join(u, &w);
	while (joined == JOIN_NONE && walk_step(u, &w) == UNWIND_STEP_OK);
	if (joined == JOIN_DONE)
		node = u->frames[u->count].node;
	else
		u->count = 0;
	if (joined == JOIN_FAILED)
		w.last->own_flags |= UNWIND_UNCLEAN | UNWIND_OPEN | UNWIND_TRUNCATED;
	store_fresh(u, (uint32_t)(w.last - u->fresh) + 1, node);
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
	u->flags = u->frames[u->count - 1].flags & ~(uint32_t)UNWIND_USES_FP;
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
	struct unwind_state s;
	size_t count;

	unwind_pages_begin(u, fp);
	s = start_walk(u, fp);
	for (count = 0; count < max; count++) {
		ra[count] = u->fresh[0].ra;
		if (unwind_step(u, &s, &u->fresh[0]) != UNWIND_STEP_OK)
			return count + 1;
	}
	return count;
}
