/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profile_fixture.h - writes profiles for tests, as the recorder lays them out (doc/FORMAT.md).
 *
 * The image lies in memory that does not move, so every pointer into it stays good; tests change what they like through
 * these and hand image and size on, or save them as a file.
 */
#ifndef PMEM_TESTS_PROFILE_FIXTURE_H
#define PMEM_TESTS_PROFILE_FIXTURE_H
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/format.h"

enum { FIXTURE_BLOCKS = 16 * 1024 };

struct fixture {
	struct format_first_block *first; /* the image */
	uint32_t block_count;
	uint32_t *blocks[FORMAT_KINDS]; /* by index: number of the block; 0 = none */
	uint32_t *chunks[64];		/* by thread, then slot: number of the chunk + 1 */
};

static inline void fixture_require(bool condition)
{
	if (!condition)
		abort();
}

static inline void fixture_begin(struct fixture *f)
{
	static const char version[] = "0.0.test";
	struct format_header *header;
	size_t size = (size_t)FIXTURE_BLOCKS * FORMAT_BLOCK_SIZE;

	memset(f, 0, sizeof(*f));
	f->first = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	fixture_require(f->first != MAP_FAILED);
	f->block_count = 1;
	for (int kind = 0; kind < FORMAT_KINDS; kind++) {
		f->blocks[kind] = calloc(FIXTURE_BLOCKS, sizeof(uint32_t));
		fixture_require(f->blocks[kind] != NULL);
	}
	atomic_init(&f->first->blocks[0], (uint32_t)FORMAT_HEADER << FORMAT_INDEX_BITS);
	header = &f->first->header;
	memcpy(header->magic, FORMAT_MAGIC, sizeof(header->magic));
	header->version = FORMAT_VERSION;
	header->byte_order = FORMAT_BYTE_ORDER;
	header->header_size = FORMAT_HEADER_SIZE;
	header->block_size = FORMAT_BLOCK_SIZE;
	header->blocks_max = FORMAT_BLOCKS_MAX;
	memcpy(header->recorder, version, sizeof(version));
	atomic_init(&header->peak_epoch, 1);
	atomic_init(&header->state, FORMAT_STATE_ENDED);
	atomic_init(&header->stack_limit, FORMAT_STACK_FIRST);
	atomic_init(&header->node_count, 1);
	atomic_init(&header->region_count, 1);
	atomic_init(&header->module_count, 1);
	atomic_init(&header->histogram_count, 1);
}

static inline void fixture_end(struct fixture *f)
{
	munmap(f->first, (size_t)FIXTURE_BLOCKS * FORMAT_BLOCK_SIZE);
	for (int kind = 0; kind < FORMAT_KINDS; kind++)
		free(f->blocks[kind]);
	for (size_t i = 0; i < sizeof(f->chunks) / sizeof(*f->chunks); i++)
		free(f->chunks[i]);
}

static inline size_t fixture_size(const struct fixture *f)
{
	return (size_t)f->block_count * FORMAT_BLOCK_SIZE;
}

static inline char *fixture_block(struct fixture *f, uint32_t number)
{
	return (char *)f->first + (size_t)number * FORMAT_BLOCK_SIZE;
}

/* The directory's entry for a block of the file; makes the further part of the directory that it lies in. */
static inline _Atomic uint32_t *fixture_entry(struct fixture *f, uint32_t number)
{
	uint32_t part, block;

	if (number < FORMAT_FIRST_ENTRIES)
		return &f->first->blocks[number];
	part = (number - FORMAT_FIRST_ENTRIES) / FORMAT_ENTRIES;
	block = atomic_load(&f->first->header.directories[part]);
	if (block == 0) {
		block = f->block_count++;
		atomic_init(&f->first->header.directories[part], block);
		atomic_init(fixture_entry(f, block),
			    (uint32_t)FORMAT_DIRECTORY << FORMAT_INDEX_BITS | part);
	}
	return (_Atomic uint32_t *)fixture_block(f, block) +
	       (number - FORMAT_FIRST_ENTRIES) % FORMAT_ENTRIES;
}

/* Item index of a kind; makes its block. */
static inline void *fixture_item(struct fixture *f, enum format_kind kind, size_t size,
				 uint32_t index)
{
	uint32_t per_block = (uint32_t)(FORMAT_BLOCK_SIZE / size);
	uint32_t *block = &f->blocks[kind][index / per_block];

	if (*block == 0) {
		*block = f->block_count++;
		fixture_require(f->block_count < FIXTURE_BLOCKS);
		atomic_init(fixture_entry(f, *block),
			    (uint32_t)kind << FORMAT_INDEX_BITS | index / per_block);
	}
	return fixture_block(f, *block) + index % per_block * size;
}

#define FIXTURE_ITEM(f, kind, type, index) \
	((type *)fixture_item((f), (kind), sizeof(type), (index)))

/* Takes the next item of an array that *count counts. */
static inline void *fixture_take(struct fixture *f, enum format_kind kind, size_t size,
				 _Atomic uint32_t *count)
{
	uint32_t index = atomic_fetch_add(count, 1);

	return fixture_item(f, kind, size, index);
}

static inline struct format_text fixture_text(struct fixture *f, const char *bytes, uint32_t size)
{
	_Atomic uint32_t *used = &f->first->header.text_size;
	uint32_t room = FORMAT_BLOCK_SIZE - atomic_load(used) % FORMAT_BLOCK_SIZE;
	uint32_t at = atomic_load(used) + (size + 1 > room ? room : 0);

	memcpy(fixture_item(f, FORMAT_TEXT, 1, at), bytes, size);
	atomic_store(used, at + size + 1);
	return (struct format_text){.offset = at, .size = size};
}

/* The index of a new module. */
static inline uint32_t fixture_module(struct fixture *f, const char *path, const char *build_id)
{
	_Atomic uint32_t *count = &f->first->header.module_count;
	uint32_t index = atomic_load(count);
	struct format_module *module;

	fixture_item(f, FORMAT_MODULES, sizeof(*module), 0);
	module = fixture_take(f, FORMAT_MODULES, sizeof(*module), count);
	module->path = fixture_text(f, path, (uint32_t)strlen(path));
	module->build_id_size = (uint32_t)strlen(build_id);
	memcpy(module->build_id, build_id, module->build_id_size);
	return index;
}

/* The pc32 of the call that returns to an address of module's file (or to an address, module 0), in a new region. */
static inline uint32_t fixture_pc32(struct fixture *f, uint32_t module, uint64_t return_address)
{
	_Atomic uint32_t *count = &f->first->header.region_count;
	uint64_t call = return_address - 1;
	struct format_region *region;
	uint32_t index;

	if (module != 0)
		call -= FIXTURE_ITEM(f, FORMAT_MODULES, struct format_module, module)->first_vaddr;
	for (index = 1; index < atomic_load(count); index++) {
		region = FIXTURE_ITEM(f, FORMAT_REGIONS, struct format_region, index);
		if (region->module_id == module && region->chunk == call >> FORMAT_REGION_BITS)
			break;
	}
	if (index == atomic_load(count)) {
		region = fixture_take(f, FORMAT_REGIONS, sizeof(*region), count);
		region->module_id = module;
		region->chunk = (uint32_t)(call >> FORMAT_REGION_BITS);
	}
	return index << FORMAT_REGION_BITS | (uint32_t)(call & ((1u << FORMAT_REGION_BITS) - 1));
}

static inline struct format_node *fixture_node(struct fixture *f, uint32_t index)
{
	return FIXTURE_ITEM(f, FORMAT_NODES, struct format_node, index);
}

/* The child of parent with pc32; 0 = none.  *last: the last entry of the list; 0 = there is no list. */
static inline uint32_t fixture_find(struct fixture *f, uint32_t parent, uint32_t pc32,
				    uint32_t *last)
{
	uint32_t at = parent + 1;

	*last = 0;
	while (at < atomic_load(&f->first->header.node_count)) {
		uint32_t link = atomic_load(&fixture_node(f, at)->link);

		if (fixture_node(f, at)->pc32 == pc32 && !(link & FORMAT_LINK_STACK))
			return at;
		*last = at;
		if (link & FORMAT_LINK_PARENT)
			break;
		at = link & FORMAT_LINK_INDEX;
	}
	return 0;
}

static inline uint32_t fixture_add_node(struct fixture *f, uint32_t pc32, uint32_t link)
{
	uint32_t index = atomic_fetch_add(&f->first->header.node_count, 1);

	fixture_node(f, index)->pc32 = pc32;
	atomic_store(&fixture_node(f, index)->link, link);
	return index;
}

/* Makes the entry at index the last one of a list. */
static inline void fixture_append(struct fixture *f, uint32_t last, uint32_t index)
{
	uint32_t flag = atomic_load(&fixture_node(f, last)->link) & FORMAT_LINK_STACK;

	if (last != 0 && last != index)
		atomic_store(&fixture_node(f, last)->link, flag | index);
}

/* The id of a new call stack: count frames, the outermost first.  Calling it twice with the same frames and different
 * hooks gives two call stacks at one node. */
static inline uint32_t fixture_stack(struct fixture *f, const uint32_t *frames, uint32_t count,
				     uint32_t hook)
{
	uint32_t id = atomic_fetch_add(&f->first->header.stack_limit, 1);
	struct format_stack *stack = FIXTURE_ITEM(f, FORMAT_STACKS, struct format_stack, id);
	uint32_t node = 0;
	uint32_t first = 0;
	uint32_t last = 0;
	uint32_t tail = 0;

	fixture_node(f, 0)->link = FORMAT_LINK_PARENT;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t child = first ? 0 : fixture_find(f, node, frames[i], &last);

		if (child == 0) {
			child = fixture_add_node(f, frames[i], FORMAT_LINK_PARENT | node);
			if (first == 0) {
				first = child;
				tail = last;
			}
		}
		node = child;
	}
	if (first == 0) { /* all frames are there: only the record is new */
		fixture_find(f, node, UINT32_MAX, &tail);
	}
	last = fixture_add_node(f, id, FORMAT_LINK_PARENT | FORMAT_LINK_STACK | node);
	fixture_append(f, tail, first ? first : last);
	stack->node = node;
	atomic_store(&stack->flags, hook << FORMAT_HOOK_SHIFT);
	return id;
}

/* A new record of what a call stack maps itself. */
static inline struct format_mapping *fixture_mapping(struct fixture *f, uint32_t id)
{
	struct format_mapping *mapping = fixture_take(f, FORMAT_MAPPINGS, sizeof(*mapping),
						      &f->first->header.mapping_count);

	atomic_store(&mapping->stack_id, id);
	return mapping;
}

/* Thread index (made with all before it). */
static inline struct format_thread *fixture_thread(struct fixture *f, uint32_t index)
{
	_Atomic uint32_t *count = &f->first->header.thread_count;

	if (atomic_load(count) <= index)
		atomic_store(count, index + 1);
	return FIXTURE_ITEM(f, FORMAT_THREADS, struct format_thread, index);
}

/* The counter of a thread (< 64) at a call stack. */
static inline struct format_counter *fixture_counter(struct fixture *f, uint32_t thread, uint32_t id)
{
	uint32_t **slots = &f->chunks[thread];
	uint32_t slot = id / FORMAT_CHUNK;
	struct format_chunk *chunk;

	if (!*slots)
		*slots = calloc(1 << 16, sizeof(**slots));
	fixture_require(*slots && slot < 1 << 16);
	fixture_thread(f, thread);
	if ((*slots)[slot] == 0) {
		(*slots)[slot] = atomic_load(&f->first->header.chunk_count) + 1;
		chunk = fixture_take(f, FORMAT_CHUNKS, sizeof(*chunk),
				     &f->first->header.chunk_count);
		atomic_store(&chunk->owner, (uint64_t)(thread + 1) << 32 | slot);
	}
	return FIXTURE_ITEM(f, FORMAT_COUNTERS, struct format_counter,
			    ((*slots)[slot] - 1) * FORMAT_CHUNK + id % FORMAT_CHUNK);
}

/* Makes a counter wide. */
static inline struct format_counter_wide *fixture_widen(struct fixture *f,
							struct format_counter *counter)
{
	_Atomic uint32_t *count = &f->first->header.wide_count;
	uint32_t index = atomic_load(count);

	atomic_store(&counter->epoch, FORMAT_EPOCH_WIDE);
	atomic_store(&counter->peak_bytes, (int32_t)index);
	return fixture_take(f, FORMAT_WIDE, sizeof(struct format_counter_wide), count);
}

static inline uint32_t fixture_histogram(struct fixture *f, struct format_histogram **histogram)
{
	_Atomic uint32_t *count = &f->first->header.histogram_count;
	uint32_t index = atomic_load(count);

	*histogram = fixture_take(f, FORMAT_HISTOGRAMS, sizeof(**histogram), count);
	return index;
}

static inline void fixture_save(const struct fixture *f, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	size_t size = fixture_size(f);
	size_t done = 0;

	fixture_require(fd >= 0);
	while (done < size) {
		ssize_t part = write(fd, (const char *)f->first + done, size - done);

		fixture_require(part > 0);
		done += (size_t)part;
	}
	close(fd);
}

#endif
