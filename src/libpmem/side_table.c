/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * side_table.c - the lock-free hash behind side_table.h.
 *
 * A slot goes EMPTY -> address -> GONE -> address -> GONE ...; nothing moves.  An address is sought
 * in PROBES neighbouring slots of each table, newest table first: after growth nearly all entries
 * lie there.  A table is added when all those slots of all tables are taken.
 *
 * Why an entry may be written after its address was published: nobody but the owner of the block
 * looks for that address, and whoever owns it later got the block from that thread, by means that
 * order memory.  Others only see that the slot is taken.  In the other direction, a thread that reuses
 * a slot may write only after the last reader of the old entry: take releases GONE after it has read
 * the entry, and put acquires GONE when it claims the slot.
 *
 * A signal handler may interrupt any function here and call any other: every state in between is
 * one that another thread could show as well, and nobody waits for anybody.
 */
#include "libpmem/side_table.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "core/live_cells.h"
#include "libpmem/loss.h"
#include "libpmem/sys.h"

enum {
	FIRST_SLOTS_LOG2 = 8,
	TABLES_MAX = 24,
	PROBES = 32,
	PAGE_SIZE = 4096,
};

/* Keys that are no address. */
enum { EMPTY = 0, GONE = 1 };

struct slot {
	_Atomic uintptr_t key;
	struct side_entry entry; /* of the owner of key */
};

static_assert(FIRST_SLOTS_LOG2 == (int)LIVE_CELLS_SIDE_FIRST_LOG2 &&
		      TABLES_MAX == (int)LIVE_CELLS_SIDE_TABLES &&
		      PROBES == (int)LIVE_CELLS_SIDE_PROBES &&
		      sizeof(struct slot) == LIVE_CELLS_SIDE_SLOT &&
		      offsetof(struct slot, entry.size) == 8,
	      "core/live_cells.c reads it");

static _Atomic(struct slot *) tables[TABLES_MAX];
/* Tables in use, a prefix of tables[].  May lag behind by one while a table is added. */
static _Atomic uint32_t table_count;

static uint64_t slot_mask(uint32_t table)
{
	return ((uint64_t)1 << (FIRST_SLOTS_LOG2 + table)) - 1;
}

static size_t table_size(uint32_t table)
{
	size_t size = (slot_mask(table) + 1) * sizeof(struct slot);

	return (size + PAGE_SIZE - 1) & ~(size_t)(PAGE_SIZE - 1);
}

/* Multiplicative hashing: the upper bits of the product depend on all bits of the address. */
static uint64_t hash_of(uintptr_t addr)
{
	return (uint64_t)addr * 0x9e3779b97f4a7c15u >> 32;
}

static uint32_t count_tables(void)
{
	/* Acquire: pairs with the release in add_table(). */
	return atomic_load_explicit(&table_count, memory_order_acquire);
}

static struct slot *table_at(uint32_t table)
{
	return atomic_load_explicit(&tables[table], memory_order_acquire);
}

/* Makes table the newest if it is not yet there.  Returns false when memory is exhausted. */
static __attribute__((noinline, cold)) bool add_table(uint32_t table)
{
	struct slot *there = NULL;
	uint32_t before = table;

	if (table >= TABLES_MAX)
		return false;
	if (!table_at(table)) {
		struct slot *slots = sys_map(table_size(table));

		if (!slots)
			return false;
		if (!atomic_compare_exchange_strong_explicit(&tables[table], &there, slots,
							     memory_order_release,
							     memory_order_relaxed))
			sys_unmap(slots, table_size(table));
	}
	/* Whoever comes here first counts it: the thread that made it may be interrupted right now. */
	atomic_compare_exchange_strong_explicit(&table_count, &before, table + 1,
						memory_order_release, memory_order_relaxed);
	return true;
}

/* A free slot for addr, claimed; NULL if its neighbourhood in table is full. */
static struct slot *claim_slot(uint32_t table, uintptr_t addr)
{
	struct slot *slots = table_at(table);
	uint64_t mask = slot_mask(table);
	uint64_t hash = hash_of(addr);

	for (uint64_t i = 0; i < PROBES; i++) {
		struct slot *slot = &slots[(hash + i) & mask];
		uintptr_t key = atomic_load_explicit(&slot->key, memory_order_relaxed);

		/* Acquire: pairs with the release of GONE in side_table_take(). */
		if ((key == EMPTY || key == GONE) &&
		    atomic_compare_exchange_strong_explicit(
			    &slot->key, &key, addr, memory_order_acquire, memory_order_relaxed))
			return slot;
	}
	return NULL;
}

static struct slot *find_slot(uint32_t table, uintptr_t addr)
{
	struct slot *slots = table_at(table);
	uint64_t mask = slot_mask(table);
	uint64_t hash = hash_of(addr);

	for (uint64_t i = 0; i < PROBES; i++) {
		struct slot *slot = &slots[(hash + i) & mask];
		uintptr_t key = atomic_load_explicit(&slot->key, memory_order_relaxed);

		if (key == addr)
			return slot;
		if (key == EMPTY) /* addr would have been put here */
			return NULL;
	}
	return NULL;
}

bool side_table_put(uintptr_t addr, const struct side_entry *entry)
{
	for (;;) {
		uint32_t count = count_tables();

		for (uint32_t table = count; table-- > 0;) {
			struct slot *slot = claim_slot(table, addr);

			if (slot) {
				slot->entry = *entry;
				return true;
			}
		}
		if (!add_table(count)) {
			loss_add(FORMAT_LOSS_MEMORY, 1);
			return false;
		}
	}
}

bool side_table_take(uintptr_t addr, struct side_entry *entry)
{
	for (uint32_t table = count_tables(); table-- > 0;) {
		struct slot *slot = find_slot(table, addr);

		if (slot) {
			*entry = slot->entry;
			/* Release: pairs with the acquire in claim_slot(). */
			atomic_store_explicit(&slot->key, GONE, memory_order_release);
			return true;
		}
	}
	return false;
}

/* Counted on demand: a counter shared by all threads would cost more on every put. */
uint64_t side_table_count(void)
{
	uint64_t count = 0;

	for (uint32_t table = count_tables(); table-- > 0;) {
		struct slot *slots = table_at(table);

		for (uint64_t i = 0; i <= slot_mask(table); i++)
			count += atomic_load_explicit(&slots[i].key, memory_order_relaxed) > GONE;
	}
	return count;
}

size_t side_table_size(void)
{
	size_t size = 0;

	for (uint32_t table = count_tables(); table-- > 0;)
		size += table_size(table);
	return size;
}

const void *side_table_place(void)
{
	return tables;
}

/* The tables stay mapped, zeroed: the fork may have come from a signal handler that interrupted one
 * of the functions above, which will go on in the child. */
void side_table_fork_child(void)
{
	for (uint32_t table = count_tables(); table-- > 0;) {
		struct slot *slots = table_at(table);

		if (sys_call(SYS_madvise, (long)slots, (long)table_size(table), MADV_DONTNEED, 0) !=
		    0)
			memset((void *)slots, 0, table_size(table));
	}
}
