/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mappings.c - see mappings.h.
 *
 * All under a lock, which the kernel's own for the address space makes no slower.  A handler that interrupted its own thread inside
 * it cannot be recorded (FORMAT_LOSS_MAPPINGS): if that was a munmap(), what takes the place later puts it right.
 */
#include "libpmem/mappings.h"

#include <stdatomic.h>
#include <string.h>

#include "libpmem/failures.h"
#include "libpmem/find_object.h"
#include "libpmem/lock.h"
#include "libpmem/loss.h"
#include "libpmem/maps.h"
#include "libpmem/ranges.h"
#include "libpmem/real.h"
#include "libpmem/record.h"
#include "libpmem/silence.h"
#include "libpmem/snapshot.h"
#include "libpmem/store.h"
#include "libpmem/sys.h"
#include "libpmem/thread.h"
#include "libpmem/tree.h"

enum { SLOTS_START = 512, CALLERS_LOG2 = 8 };

/* Where a call stack's record is: open addressing. */
struct slot {
	uint32_t stack_id; /* 0 = free */
	uint32_t number;
};

/* The library itself (the ELF header of its first segment, and ld's symbol for its end). */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static uintptr_t allocator_start, allocator_size; /* immutable after mappings_init(); 0 = unknown */

static struct lock lock = {.rank = LOCK_MAPPINGS};
/* Under lock, but for what ranges.h lets be read without. */
static struct ranges ranges;
static struct slot *slots;
static uint32_t slot_count;	      /* a power of two */
static _Atomic uint64_t latest;	      /* number of the newest range; written under lock */
static _Atomic uint64_t mapped_bytes; /* now; written under lock */
static _Atomic uint64_t callers[1 << CALLERS_LOG2]; /* addresses << 2 | enum caller_kind; 0 = free */

static uint64_t get(const _Atomic uint64_t *from)
{
	return atomic_load_explicit(from, memory_order_relaxed);
}

static void set(_Atomic uint64_t *to, uint64_t value)
{
	/* Release: mappings_read(), and readers of the profile: what is unmapped was mapped before. */
	atomic_store_explicit(to, value, memory_order_release);
}

/* --- records --------------------------------------------------------------------------------- */

static struct format_mapping *record_at(uint32_t number)
{
	return store_item(FORMAT_MAPPINGS, sizeof(struct format_mapping), number);
}

static struct slot *slot_of(uint32_t stack_id)
{
	uint32_t at = stack_id * 0x9e3779b1u;

	while (slots[at & (slot_count - 1)].stack_id &&
	       slots[at & (slot_count - 1)].stack_id != stack_id)
		at++;
	return &slots[at & (slot_count - 1)];
}

/* Room for one more record in at most half of the slots. */
static bool make_slots(uint32_t records)
{
	uint32_t old_count = slot_count, count = old_count ? old_count * 2 : SLOTS_START;
	struct slot *old = slots, *made;

	if (records < old_count / 2)
		return true;
	made = sys_map(count * sizeof(*made));
	if (!made)
		return false;
	slots = made;
	slot_count = count;
	for (uint32_t i = 0; i < old_count; i++)
		if (old[i].stack_id)
			*slot_of(old[i].stack_id) = old[i];
	if (old)
		sys_unmap(old, old_count * sizeof(*old));
	return true;
}

/* The record's number; made at its first use.  False: no memory. */
static bool find_record(uint32_t stack_id, uint32_t *number)
{
	_Atomic uint32_t *count = &store_head()->mapping_count;
	struct format_mapping *record;
	struct slot *slot;

	if (!make_slots(atomic_load_explicit(count, memory_order_relaxed)))
		return false;
	slot = slot_of(stack_id);
	if (!slot->stack_id) {
		record = store_take(FORMAT_MAPPINGS, sizeof(*record), count, &slot->number);
		if (!record)
			return false;
		slot->stack_id = stack_id;
		/* Release: the call stack is complete. */
		atomic_store_explicit(&record->stack_id, stack_id, memory_order_release);
	}
	*number = slot->number;
	return true;
}

/* --- counting, under lock -------------------------------------------------------------------- */

static void raise_peak(_Atomic uint64_t *peak, uint64_t value)
{
	if (value > get(peak))
		atomic_store_explicit(peak, value, memory_order_relaxed);
}

static void count_unmapped(void *context, const struct range *part)
{
	uint64_t size = part->end - part->start;
	struct format_mapping *record;

	(void)context;
	if (part->birth <= ranges.inherited)
		return;
	record = record_at(part->owner);
	set(&record->unmapped_bytes, get(&record->unmapped_bytes) + size);
	set(&mapped_bytes, get(&mapped_bytes) - size);
}

static void unmap(uint64_t start, uint64_t end, uint64_t moment)
{
	const struct ranges_cut cut = {start, end, moment, count_unmapped, NULL};

	if (!ranges_cut(&ranges, &cut))
		loss_add(FORMAT_LOSS_MAPPINGS, 1);
}

static void count_mapped(struct format_mapping *record, uint64_t size)
{
	set(&record->call_count, get(&record->call_count) + 1);
	set(&record->mapped_bytes, get(&record->mapped_bytes) + size);
	raise_peak(&record->peak_bytes, get(&record->mapped_bytes) - get(&record->unmapped_bytes));
	set(&mapped_bytes, get(&mapped_bytes) + size);
	raise_peak(&store_head()->mapped_peak_bytes, get(&mapped_bytes));
}

static void map(const struct mappings_event *event, uint32_t stack_id)
{
	struct range range = {.start = event->start, .end = event->end, .birth = get(&latest) + 1};

	if (!find_record(stack_id, &range.owner) || !ranges_put(&ranges, &range)) {
		loss_add(FORMAT_LOSS_MAPPINGS, 1);
		return;
	}
	set(&latest, range.birth);
	count_mapped(record_at(range.owner), range.end - range.start);
}

/* --- calls ----------------------------------------------------------------------------------- */

static bool take_lock(void)
{
	if (lock_take(&lock))
		return true;
	loss_add(FORMAT_LOSS_MAPPINGS, 1);
	return false;
}

static bool is_empty(void)
{
	return atomic_load_explicit(&ranges.count, memory_order_relaxed) == 0;
}

static bool in_allocator(const struct mappings_event *event)
{
	return event->fp[1] - allocator_start < allocator_size;
}

/* A hook on the call stack that was just captured: the program called the allocator.  Not what a signal handler interrupted. */
static bool passes_hook(const struct unwind *unwind)
{
	const uintptr_t start = (uintptr_t)__ehdr_start, size = (uintptr_t)_end - start;
	uint32_t i = unwind->count;

	while (i-- > 0) {
		if (unwind->frames[i].own_flags & UNWIND_SIGNAL)
			return false;
		if (unwind->frames[i].ra - start < size)
			return true;
	}
	return false;
}

/* --- while the governor is on ----------------------------------------------------------------- */

/* Whose a mapping is shows on its call stack.  So one that is not taken must come from a caller of which it is known: where the walks so far
 * never passed a hook.  One that was seen both ways, or only so, keeps its place and is walked each time; so do those that find no place. */
enum caller_kind { CALLER_OWN = 1, CALLER_OTHER };

static _Atomic uint64_t *caller_place(uintptr_t caller)
{
	return &callers[(uint32_t)caller * 0x9e3779b1u >> (32 - CALLERS_LOG2)];
}

static bool is_own_caller(uintptr_t caller)
{
	return get(caller_place(caller)) == ((uint64_t)caller << 2 | CALLER_OWN);
}

static void note_caller(uintptr_t caller, enum caller_kind kind)
{
	_Atomic uint64_t *place = caller_place(caller);
	uint64_t entry = get(place);

	if (!entry || entry == ((uint64_t)caller << 2 | CALLER_OWN))
		atomic_store_explicit(place, (uint64_t)caller << 2 | kind, memory_order_relaxed);
}

/* 0: the memory is not the program's own. */
static uint32_t stack_of(struct thread *thread, const struct mappings_event *event)
{
	uintptr_t caller = event->fp[1];
	uint32_t id;
	bool passes;

	if (in_allocator(event))
		return 0;
	if (governor_is_on() && !governor_takes(&thread->governor) && is_own_caller(caller))
		return record_caller(thread, event->fp, event->hook);
	id = record_stack(thread, event->fp, event->hook);
	passes = passes_hook(&thread->unwind);
	if (governor_is_on())
		note_caller(caller, passes ? CALLER_OTHER : CALLER_OWN);
	return passes ? 0 : id;
}

/* --- events ----------------------------------------------------------------------------------- */

void mappings_made(const struct mappings_event *event)
{
	struct thread *thread = thread_enter();
	uint32_t id;

	if (!thread)
		return;
	id = stack_of(thread, event);
	silence_before(event->end - event->start);
	if (take_lock()) {
		unmap(event->start, event->end, UINT64_MAX);
		if (id)
			map(event, id);
		lock_drop(&lock);
	}
	/* There may be no other events. */
	snapshot_look();
	thread_leave(thread);
}

void mappings_failed(const struct mappings_event *event, uint64_t size)
{
	struct thread *thread = thread_enter();
	uint32_t id;

	if (!thread)
		return;
	id = stack_of(thread, event);
	if (id)
		failures_count(id, size);
	thread_leave(thread);
}

bool mappings_knows(uint64_t start, uint64_t end)
{
	struct thread *thread = is_empty() ? NULL : thread_enter();
	struct range range;
	bool known = false;

	if (!thread)
		return false;
	if (take_lock()) {
		known = ranges_next(&ranges, start, &range) &&
			range.start < (end > start ? end : start + 1);
		lock_drop(&lock);
	}
	thread_leave(thread);
	return known;
}

void mappings_moved(const struct mappings_event *event, const struct mappings_old *old)
{
	struct thread *thread = is_empty() && !old->known ? NULL : thread_enter();
	uint32_t id;

	if (!thread)
		return;
	id = stack_of(thread, event);
	silence_before(SILENCE_LARGE);
	if (take_lock()) {
		if (!old->stays)
			unmap(old->start, old->end, event->moment);
		unmap(event->start, event->end, UINT64_MAX);
		if (old->known && id)
			map(event, id);
		lock_drop(&lock);
	}
	snapshot_look();
	thread_leave(thread);
}

/* A child that has done nothing else yet does not begin to record for this. */
void mappings_gone(uint64_t start, uint64_t end, uint64_t moment)
{
	struct thread *thread = is_empty() || !process_records() ? NULL : thread_enter();

	if (!thread)
		return;
	silence_before(end - start);
	if (take_lock()) {
		unmap(start, end, moment);
		lock_drop(&lock);
	}
	thread_leave(thread);
}

uint64_t mappings_moment(void)
{
	return get(&latest);
}

/* --- reading --------------------------------------------------------------------------------- */

uint64_t mappings_bytes(void)
{
	return get(&mapped_bytes);
}

bool mappings_read(uint32_t number, struct mappings_counts *counts)
{
	const struct format_mapping *record;

	if (number >= atomic_load_explicit(&store_head()->mapping_count, memory_order_relaxed))
		return false;
	record = record_at(number);
	counts->stack_id = atomic_load_explicit(&record->stack_id, memory_order_acquire);
	/* Acquire: pairs with the release in set(). */
	counts->unmapped_bytes = atomic_load_explicit(&record->unmapped_bytes, memory_order_acquire);
	counts->mapped_bytes = get(&record->mapped_bytes);
	counts->call_count = get(&record->call_count);
	return true;
}

void mappings_sum(struct mappings_counts *sum)
{
	struct mappings_counts counts;

	*sum = (struct mappings_counts){0};
	for (uint32_t i = 0; mappings_read(i, &counts); i++) {
		sum->call_count += counts.call_count;
		sum->mapped_bytes += counts.mapped_bytes;
		sum->unmapped_bytes += counts.unmapped_bytes;
	}
}

/* Not what the parent mapped: whose that was is not known here. */
static bool find_own(uint64_t addr, struct range *found)
{
	bool any;

	while ((any = ranges_next(&ranges, addr, found)) && found->birth <= ranges.inherited)
		addr = found->end;
	return any;
}

bool mappings_next(uint64_t addr, struct waterfall_range *range)
{
	struct range found;
	bool any;

	if (is_empty() || !lock_take(&lock))
		return false;
	any = find_own(addr, &found);
	if (any)
		*range = (struct waterfall_range){found.start, found.end, found.owner};
	lock_drop(&lock);
	return any;
}

void mappings_clear_resident(void)
{
	uint32_t count = atomic_load_explicit(&store_head()->mapping_count, memory_order_relaxed);

	for (uint32_t i = 0; i < count; i++)
		set(&record_at(i)->resident_bytes, 0);
}

void mappings_add_resident(uint32_t owner, uint64_t bytes)
{
	_Atomic uint64_t *resident = &record_at(owner)->resident_bytes;

	set(resident, get(resident) + bytes);
}

const void *mappings_place(void)
{
	return &ranges;
}

size_t mappings_size(void)
{
	return atomic_load_explicit(&ranges.size, memory_order_relaxed);
}

/* --- start ----------------------------------------------------------------------------------- */

void mappings_init(void)
{
	static char path[MAPS_PATH_MAX];
	struct maps_object object = {.path = path};
	struct found_object found;

	if (find_object_of) {
		if (find_object_of(real.next_malloc, &found) != 0)
			return;
		object.start = (uintptr_t)found.map_start;
		object.end = (uintptr_t)found.map_end;
	} else if (!maps_find((uintptr_t)real.next_malloc, &object)) {
		return;
	}
	allocator_start = object.start;
	allocator_size = object.end - object.start;
}

void mappings_fork_child(void)
{
	/* Whoever had the lock does not exist here, and may have left anything: the place of the slots without their number. */
	if (!lock_try(&lock)) {
		memset((void *)&ranges, 0, sizeof(ranges));
		slots = NULL;
		slot_count = 0;
	}
	lock_reset(&lock);
	ranges.inherited = get(&latest);
	if (slots)
		memset(slots, 0, slot_count * sizeof(*slots));
	set(&mapped_bytes, 0);
}
