/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flight.c - see flight.h.
 */
#include "leaks/flight.h"

#include "arch/registers.h"

enum {
	WORD = sizeof(uint64_t),
	BELOW = 8192, /* of the frames that realloc() called, and of a signal frame on them */
	ABOVE = 512,  /* of the hook's own */
	SIZE_MAX_UNKNOWN = 1024 * 1024, /* of a block whose size is not known */
	CHUNK_HEADER = 8,
	CHUNK_FLAGS = 7,
	CHUNK_MIN = 32,
};

static const struct areas_range *heap_of(const struct areas *areas, uint64_t addr)
{
	for (uint32_t i = 0; i < areas->heaps.count; i++)
		if (addr - areas->heaps.items[i].start <
		    areas->heaps.items[i].end - areas->heaps.items[i].start)
			return &areas->heaps.items[i];
	return NULL;
}

/* Of glibc's chunk at addr, else as much as there may be.  0: there can be no block. */
static uint64_t size_at(const struct flight *flight, const struct areas_range *heap, uint64_t addr)
{
	uint64_t header, size = SIZE_MAX_UNKNOWN;

	if (flight->header->memory.allocator == FORMAT_ALLOCATOR_GLIBC) {
		if (addr - CHUNK_HEADER < heap->start ||
		    !memory_read(flight->mark->memory, addr - CHUNK_HEADER, &header, sizeof(header)))
			return 0;
		size = header & ~(uint64_t)CHUNK_FLAGS;
		if (size < CHUNK_MIN || size % (2 * WORD))
			return 0;
	}
	return size < heap->end - addr ? size : heap->end - addr;
}

static void take(const struct flight *flight, uint64_t addr)
{
	const struct areas_range *heap = heap_of(flight->areas, addr);

	if (heap && addr % (2 * WORD) == 0 && blocks_find(flight->mark->blocks, addr) == BLOCKS_NONE)
		mark_range(flight->mark, addr, addr + size_at(flight, heap, addr));
}

static void take_part(const struct flight *flight, uint64_t addr, size_t size)
{
	uint64_t words[MEMORY_PAGE / WORD];

	if (!memory_read(flight->mark->memory, addr, words, size))
		return;
	for (size_t i = 0; i < size / WORD; i++)
		take(flight, words[i]);
}

/* All words from addr on, of pages that can be read. */
static void take_words(const struct flight *flight, uint64_t addr, uint64_t size)
{
	uint64_t at = addr & ~(uint64_t)(WORD - 1), end = at + size, next;

	for (; at < end; at = next) {
		next = (at | (MEMORY_PAGE - 1)) + 1;
		take_part(flight, at, (next < end ? next : end) - at);
	}
}

static bool is_inside(const struct flight *flight, const struct stop_thread *thread)
{
	return arch_registers_pc(&thread->registers) - flight->header->realloc_start <
	       flight->header->realloc_end - flight->header->realloc_start;
}

static void take_thread(const struct flight *flight, const struct stop_thread *thread)
{
	const uint64_t *general = (const uint64_t *)(const void *)&thread->registers;

	for (size_t i = 0; i < sizeof(thread->registers) / WORD; i++)
		take(flight, general[i]);
	take_words(flight, arch_registers_sp(&thread->registers), BELOW);
}

void flight_begin(const struct flight *flight)
{
	flight->mark->watch.start = flight->header->realloc_start;
	flight->mark->watch.size = flight->header->realloc_end - flight->header->realloc_start;
}

void flight_mark(const struct flight *flight)
{
	const struct mark_watch *watch = &flight->mark->watch;

	for (uint32_t i = 0; i < flight->stop->count; i++) {
		const struct stop_thread *thread = &flight->stop->threads[i];

		/* Which thread a stack is of is not asked. */
		if (watch->count || is_inside(flight, thread))
			take_thread(flight, thread);
	}
	for (uint32_t i = 0; i < watch->count; i++)
		take_words(flight, watch->places[i] - BELOW, BELOW + ABOVE);
}
