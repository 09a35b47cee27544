/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * leaks.c - see leaks.h.
 */
#include "leaks/leaks.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "core/version.h"
#include "leaks/areas.h"
#include "leaks/blocks.h"
#include "leaks/flight.h"
#include "leaks/mark.h"
#include "leaks/memory.h"

/* All of one search. */
struct search {
	const struct leaks_source *source;
	struct leaks *leaks;
	struct memory *memory;
	struct areas areas;
	struct blocks blocks;
	struct mark mark;
	uint32_t *stack_of; /* index in the profile's stacks, plus 1, by call-stack id; 0 = none */
	uint32_t limit;	    /* of those ids */
	struct suppress_rule **rules; /* by index in the profile's stacks; NULL = none */
};

bool leaks_can(const struct profile *profile, struct error *err)
{
	const struct format_header *header = &profile->header;

	if (header->sample_bytes)
		return error_set(err, "%s: recorded with --sample: it does not know all live blocks",
				 profile->path);
	if (strncmp(header->recorder, PMEM_VERSION, sizeof(header->recorder)) == 0 &&
	    header->memory.table &&
	    (header->memory.granule_log2 == 4 || header->memory.granule_log2 == 5))
		return true;
	return error_set(
		err,
		"process %u is recorded by another version of pmem (%.*s), whose memory this "
		"one (%s) cannot read",
		header->pid, (int)strnlen(header->recorder, sizeof(header->recorder)),
		header->recorder, PMEM_VERSION);
}

/* --- call stacks ----------------------------------------------------------------------------- */

static bool number_stacks(struct search *search)
{
	const struct profile *profile = search->source->profile;

	for (uint32_t i = 0; i < profile->stack_count; i++)
		if (profile->stacks[i].number >= search->limit)
			search->limit = profile->stacks[i].number + 1;
	search->stack_of = calloc(search->limit + 1, sizeof(*search->stack_of));
	search->rules = calloc(profile->stack_count + 1, sizeof(*search->rules));
	search->leaks->stacks = calloc(profile->stack_count + 1, sizeof(*search->leaks->stacks));
	if (!search->stack_of || !search->rules || !search->leaks->stacks)
		return false;
	for (uint32_t i = 0; i < profile->stack_count; i++)
		search->stack_of[profile->stacks[i].number] = i + 1;
	return true;
}

/* Index in the profile's stacks; UINT32_MAX: it is not there. */
static uint32_t stack_of(const struct search *search, const struct block *block)
{
	return block->stack < search->limit ? search->stack_of[block->stack] - 1 : UINT32_MAX;
}

/* The file name of the module that a frame is in; "" = none. */
static const char *module_of(const struct profile *profile, uint32_t node)
{
	const struct profile_location *location = &profile->locations[profile->nodes[node].location];

	if (!node || location->special)
		return "";
	return path_last_part(profile->modules[location->module].path);
}

/* True if the loader allocated, or the allocator for itself: they keep some addresses where nobody finds them, as that of the table of a
 * thread's variables, whose stack is kept for another thread. */
static bool is_of_loader(const struct profile *profile, uint32_t index)
{
	uint32_t node = profile->stacks[index].node;
	const char *name = module_of(profile, node);

	if (strncmp(name, "libstdc++", 9) == 0)
		name = module_of(profile, profile->nodes[node].parent);
	return strncmp(name, "ld-linux", 8) == 0 || strncmp(name, "ld-2.", 5) == 0 ||
	       strncmp(name, "libtcmalloc", 11) == 0 || strncmp(name, "libjemalloc", 11) == 0 ||
	       strncmp(name, "libmimalloc", 11) == 0;
}

static bool keep_loaders(struct search *search)
{
	const struct profile *profile = search->source->profile;
	bool *of_loader = calloc(profile->stack_count + 1, sizeof(*of_loader));

	for (uint32_t i = 0; of_loader && i < profile->stack_count; i++)
		of_loader[i] = is_of_loader(profile, i);
	for (uint32_t i = 0; of_loader && i < search->blocks.count; i++) {
		uint32_t stack = stack_of(search, &search->blocks.items[i]);

		if (stack != UINT32_MAX && of_loader[stack])
			mark_from(&search->mark, i, BLOCKS_REACHED);
	}
	free(of_loader);
	return of_loader != NULL;
}

static bool is_lost(const struct block *block)
{
	return !(block->flags & (BLOCKS_REACHED | BLOCKS_IGNORED));
}

/* --- suppressions ---------------------------------------------------------------------------- */

/* The rules of call stacks that lost something. */
static bool find_rules(struct search *search)
{
	const struct leaks_source *source = search->source;
	bool *asked = calloc(source->profile->stack_count + 1, sizeof(*asked));

	for (uint32_t i = 0; asked && i < search->blocks.count; i++) {
		const struct block *block = &search->blocks.items[i];
		uint32_t stack = is_lost(block) ? stack_of(search, block) : UINT32_MAX;

		if (stack == UINT32_MAX || asked[stack])
			continue;
		asked[stack] = true;
		search->rules[stack] = suppress_find(source->suppress, source->names,
						     source->profile, stack);
	}
	free(asked);
	return asked != NULL;
}

/* A block that was lost, if a rule knows it; with all that it reaches. */
static void suppress_block(struct search *search, uint32_t number)
{
	const struct block *block = &search->blocks.items[number];
	uint32_t stack = stack_of(search, block);
	struct suppress_rule *rule = stack == UINT32_MAX ? NULL : search->rules[stack];

	if (!rule || block->flags & BLOCKS_REACHED)
		return;
	rule->bytes += block_size(block);
	rule->blocks++;
	if (is_lost(block))
		mark_from(&search->mark, number, BLOCKS_IGNORED);
}

static bool suppress_all(struct search *search)
{
	if (!search->source->suppress->count)
		return true;
	if (!find_rules(search))
		return false;
	for (uint32_t i = 0; i < search->blocks.count; i++)
		suppress_block(search, i);
	return true;
}

/* --- sums ------------------------------------------------------------------------------------ */

static void add(struct leaks_counts *counts, const struct block *block)
{
	if (block->flags & BLOCKS_INDIRECT) {
		counts->indirect_bytes += block_size(block);
		counts->indirect_blocks++;
	} else {
		counts->direct_bytes += block_size(block);
		counts->direct_blocks++;
	}
}

static void sum(struct search *search)
{
	struct leaks *leaks = search->leaks;

	for (uint32_t i = 0; i < search->blocks.count; i++) {
		const struct block *block = &search->blocks.items[i];
		uint32_t stack = stack_of(search, block);

		if (block->flags & BLOCKS_FOREIGN)
			continue;
		leaks->live_bytes += block_size(block);
		leaks->live_blocks++;
		if (block->flags & BLOCKS_IGNORED) {
			leaks->suppressed_bytes += block_size(block);
			leaks->suppressed_blocks++;
		}
		if (!is_lost(block))
			continue;
		add(&leaks->totals, block);
		if (stack != UINT32_MAX)
			add(&leaks->stacks[stack], block);
	}
}

/* --- the search ------------------------------------------------------------------------------ */

static bool find(struct search *search, struct error *err)
{
	const struct leaks_source *source = search->source;
	const struct flight flight = {&search->mark, &search->areas, source->stop,
				      &source->profile->header};
	const struct areas_source where = {
		.pid = source->pid,
		.memory = search->memory,
		.location = &source->profile->header.memory,
		.profile_name = path_last_part(source->profile->path),
		.stop = source->stop,
	};

	if (!areas_find(&where, &search->areas, &search->blocks, err) ||
	    !mark_begin(&search->mark, search->memory, &search->blocks, err))
		return false;
	flight_begin(&flight);
	mark_roots(&search->mark, &search->areas, source->stop);
	flight_mark(&flight);
	if (!number_stacks(search) || !keep_loaders(search) || !suppress_all(search))
		return error_set(err, "no memory for %u call stacks", source->profile->stack_count);
	mark_indirect(&search->mark);
	sum(search);
	return true;
}

bool leaks_find(const struct leaks_source *source, struct leaks *leaks, struct error *err)
{
	struct search search = {.source = source, .leaks = leaks};
	uint64_t began_ns = stop_now_ns();
	bool ok;

	*leaks = (struct leaks){.thread_count = source->stop->count};
	if (!leaks_can(source->profile, err))
		return false;
	search.memory = memory_open(source->pid, source->original, err);
	ok = search.memory && find(&search, err);
	leaks->scanned = search.mark.scanned;
	leaks->took_ns = stop_now_ns() - began_ns;
	mark_end(&search.mark);
	areas_free(&search.areas);
	blocks_free(&search.blocks);
	memory_close(search.memory);
	free(search.stack_of);
	free(search.rules);
	return ok;
}

void leaks_free(struct leaks *leaks)
{
	free(leaks->stacks);
	*leaks = (struct leaks){0};
}

void leaks_apply(const struct leaks *leaks, struct profile *profile)
{
	profile->totals = (struct profile_counts){.alloc_bytes = leaks_bytes(&leaks->totals),
						  .alloc_count = leaks_blocks(&leaks->totals)};
	for (uint32_t i = 0; i < profile->stack_count; i++)
		profile->stacks[i].counts = (struct profile_counts){
			.alloc_bytes = leaks_bytes(&leaks->stacks[i]),
			.alloc_count = leaks_blocks(&leaks->stacks[i]),
		};
}
