/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verify.c - compares captures with other walks, see verify.h.  Empty unless PMEM_VERIFY.
 *
 * Differences are counted, and the first few are printed on stderr: a verification build is not quiet.
 */
#include "libpmem/verify.h"

#if PMEM_VERIFY
#include <execinfo.h>
#include <stdatomic.h>

#include "libpmem/modules.h"
#include "libpmem/rules.h"
#include "libpmem/sys.h"
#include "libpmem/tree.h"

enum {
	DEPTH_MAX = 1 << 16,
	SAMPLE_EVERY = 16,
	PRINTED_MAX = 4,
	PRINTED_FRAMES = 40,
	BUFFER_SIZE = 3 * DEPTH_MAX * sizeof(uintptr_t),
};

/* Of one walk. */
struct frames {
	uintptr_t *ra;
	size_t count;
	bool truncated;
};

static _Atomic uint64_t captures, frames_seen, walk_differences, samples, sample_differences;
static _Atomic bool ready;

void verify_init(void)
{
	void *address[4];

	backtrace(address, 4);
	atomic_store_explicit(&ready, true, memory_order_release);
}

/* Code addresses of the call stack in the tree, innermost first. */
static struct frames tree_frames(uint32_t stack_id, uintptr_t *ra)
{
	struct frames frames = {.ra = ra};
	uint32_t node = tree_stack(stack_id)->node;
	struct modules_location location;

	for (; node != TREE_ROOT && node != tree_truncated_node(); node = tree_parent(node)) {
		modules_locate(tree_pc32(node), &location);
		if (frames.count < DEPTH_MAX)
			ra[frames.count++] = location.address;
	}
	frames.truncated = node == tree_truncated_node();
	return frames;
}

static void print(const char *what, const struct frames *ours, const struct frames *other)
{
	static _Atomic uint32_t printed;
	static char bytes[8192];
	struct text text = {.bytes = bytes, .room = sizeof(bytes)};
	size_t i, count = ours->count > other->count ? ours->count : other->count;

	if (atomic_fetch_add_explicit(&printed, 1, memory_order_relaxed) >= PRINTED_MAX)
		return;
	text_string(&text, "pmem verify: ");
	text_string(&text, what);
	text_string(&text, "\n");
	for (i = 0; i < count && i < PRINTED_FRAMES; i++) {
		text_hex(&text, i < ours->count ? ours->ra[i] : 0, 16);
		text_string(&text, "  ");
		text_hex(&text, i < other->count ? other->ra[i] : 0, 16);
		text_string(&text, "\n");
	}
	sys_write(2, text.bytes, text.size);
}

static void compare_walk(struct thread *thread, const uintptr_t *fp, const struct frames *ours)
{
	struct frames other = {.ra = ours->ra + DEPTH_MAX};
	bool same;
	size_t i;

	other.count = unwind_reference(&thread->unwind, fp, other.ra, DEPTH_MAX);
	same = other.count == ours->count;
	for (i = 0; same && i < other.count; i++)
		same = modules_encode(other.ra[i]) == modules_encode(ours->ra[i]);
	atomic_fetch_add_explicit(&captures, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&frames_seen, other.count, memory_order_relaxed);
	if (same)
		return;
	atomic_fetch_add_explicit(&walk_differences, 1, memory_order_relaxed);
	print("cached call stack | full walk", ours, &other);
}

/* backtrace() stops where there is no call frame information; there ours may go on by frame pointer. */
static bool may_end_at(uintptr_t ra)
{
	struct cfi_rule rule;

	return !rules_lookup_full(ra - 1, &rule);
}

/* In a handler that interrupted the recorder in the midst of modules.c the walk may have to end, and what module an
 * address is in may be unknown. */
static bool may_be_cut(const struct thread *thread)
{
	return modules_busy() && (thread->unwind.flags & UNWIND_TRUNCATED) != 0;
}

static bool same_address(uintptr_t a, uintptr_t b, bool signal)
{
	/* backtrace() says where interrupted code stands, we say one more. */
	return a == b || (signal && (a == b + 1 || b == a + 1)) || (!a && modules_busy());
}

static void compare_backtrace(const struct thread *thread, const uintptr_t *fp,
			      const struct frames *ours)
{
	struct frames other = {.ra = ours->ra + 2 * (size_t)DEPTH_MAX};
	int count = backtrace((void **)other.ra, DEPTH_MAX);
	/* Call stacks with a signal frame are never taken from a cache: the flags are theirs. */
	bool signal = (thread->unwind.flags & UNWIND_SIGNAL) != 0, same = false;
	size_t i;

	for (; count > 0 && *other.ra != fp[1]; count--)
		other.ra++;
	other.count = (size_t)count;
	same = count > 0 && (other.count == ours->count || ours->truncated ||
			     (other.count > ours->count && may_be_cut(thread)) ||
			     (other.count < ours->count && may_end_at(other.ra[count - 1])));
	for (i = 0; same && i < other.count && i < ours->count; i++)
		same = same_address(ours->ra[i], other.ra[i], signal);
	atomic_fetch_add_explicit(&samples, 1, memory_order_relaxed);
	if (same)
		return;
	atomic_fetch_add_explicit(&sample_differences, 1, memory_order_relaxed);
	print("call stack | backtrace()", ours, &other);
}

/* Room for BUFFER_SIZE bytes, the thread's own; NULL if there is no memory. */
static uintptr_t *buffer_of(struct thread *thread)
{
	if (!thread->verify_buffer)
		thread->verify_buffer = sys_map(BUFFER_SIZE);
	return thread->verify_buffer;
}

void verify_capture(struct thread *thread, const uintptr_t *fp, uint32_t stack_id)
{
	struct frames ours;
	uint32_t hook = tree_stack_hook(stack_id);
	uintptr_t *buffer = buffer_of(thread);

	if (!buffer || hook == FORMAT_NO_HOOK)
		return;
	ours = tree_frames(stack_id, buffer);
	compare_walk(thread, fp, &ours);
	if (atomic_load_explicit(&captures, memory_order_relaxed) % SAMPLE_EVERY == 0 &&
	    atomic_load_explicit(&ready, memory_order_acquire))
		compare_backtrace(thread, fp, &ours);
}

static void report_number(struct text *text, const char *name, _Atomic uint64_t *value)
{
	text_string(text, name);
	text_uint(text, atomic_load_explicit(value, memory_order_relaxed), 0);
}

void verify_report(struct text *text)
{
	report_number(text, "# verify captures=", &captures);
	report_number(text, " frames=", &frames_seen);
	report_number(text, " differences=", &walk_differences);
	report_number(text, " sampled=", &samples);
	report_number(text, " sample_differences=", &sample_differences);
	text_char(text, '\n');
}
#endif
