/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_profile.c - fuzzes the reader of profiles, and follows every index of what it returns.
 *
 * Input: struct format_header, then for each block of the file: its entry in the directory (4 bytes), where its content
 * begins (2), the content's length (2), the content.  The rest of a block is zero.  The file is cut off at
 * a place that the first bytes of run_id say, if they are not 0.  seed_profile.py makes seeds.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/cursor.h"
#include "core/format.h"
#include "profile/pinned.h"
#include "profile/read.h"
#include "profile/stack_id.h"

enum { BLOCKS = 24 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

static void add_block(struct cursor *c, uint8_t *image, uint32_t number)
{
	uint32_t entry = cursor_u32(c);
	size_t at = cursor_u16(c) % FORMAT_BLOCK_SIZE;
	size_t length = cursor_u16(c);
	const uint8_t *content;

	if (length > cursor_left(c))
		length = cursor_left(c);
	content = cursor_bytes(c, length);
	if (!content)
		return;
	if (length > FORMAT_BLOCK_SIZE - at)
		length = FORMAT_BLOCK_SIZE - at;
	memcpy(image + (size_t)number * FORMAT_BLOCK_SIZE + at, content, length);
	atomic_init(&((struct format_first_block *)image)->blocks[number], entry);
}

/* Number of blocks, with the first; BLOCKS at most. */
static uint32_t count_blocks(struct cursor c)
{
	uint32_t number = 1;

	while (number < BLOCKS && cursor_left(&c) > 0) {
		cursor_bytes(&c, 6);
		cursor_bytes(&c, cursor_u16(&c));
		if (c.failed)
			c.at = c.end;
		number++;
	}
	return number;
}

/* The file, in memory that ends where it does.  NULL: no memory. */
static uint8_t *lay_out(const uint8_t *data, size_t size, size_t *image_size)
{
	struct cursor c = cursor_make(data, size);
	size_t header_size = size < sizeof(struct format_header) ? size
								 : sizeof(struct format_header);
	const uint8_t *header = cursor_bytes(&c, header_size);
	uint32_t count = count_blocks(c);
	uint8_t *image = calloc(count, FORMAT_BLOCK_SIZE);
	uint64_t cut;

	if (!image)
		return NULL;
	if (header_size > 0)
		memcpy(image, header, header_size);
	for (uint32_t number = 1; number < count; number++)
		add_block(&c, image, number);
	cut = ((struct format_header *)image)->run_id;
	*image_size = (size_t)count * FORMAT_BLOCK_SIZE;
	if (cut == 0)
		return image;
	*image_size = (size_t)(cut % *image_size);
	return realloc(image, *image_size ? *image_size : 1);
}

static void check_tree(const struct profile *profile)
{
	require(profile->node_count > 0 && profile->module_count > 0);
	for (uint32_t i = 1; i < profile->node_count; i++)
		require(profile->nodes[i].parent < profile->node_count &&
			profile->nodes[i].location < profile->location_count);
	for (uint32_t i = 0; i < profile->location_count; i++)
		require(profile->locations[i].special != NULL ||
			profile->locations[i].module < profile->module_count);
	for (uint32_t i = 0; i < profile->module_count; i++)
		require(profile->modules[i].build_id_size <= FORMAT_BUILD_ID_MAX &&
			strlen(profile->modules[i].path) < BLOCKS * FORMAT_BLOCK_SIZE);
	require(profile->command_size < BLOCKS * FORMAT_BLOCK_SIZE &&
		profile->command[profile->command_size] == '\0');
}

static void check_stack(const struct profile *profile, const struct profile_stack *stack)
{
	uint32_t steps = 0;
	uint64_t classes[FORMAT_CLASSES], sum = 0;

	require(stack->counts.free_bytes <= stack->counts.alloc_bytes);
	require(stack->counts.free_count <= stack->counts.alloc_count);
	require(stack->counts.temporary_count <= stack->counts.free_count);
	require(stack->hook < FORMAT_HOOK_COUNT || stack->hook == FORMAT_NO_HOOK);
	require(stack->node > 0 && stack->node < profile->node_count);
	for (uint32_t node = stack->node; node != 0; node = profile->nodes[node].parent)
		require(++steps < profile->node_count);
	if (profile_sizes(profile, stack, classes))
		for (unsigned i = 0; i < FORMAT_CLASSES; i++) {
			require(classes[i] <= INT64_MAX);
			add_limited(&sum, classes[i]);
		}
	/* More only if a histogram's own sum is no number. */
	require(!stack->sizes || sum == stack->counts.alloc_count ||
		(stack->sizes & FORMAT_SIZES_MANY && sum > stack->counts.alloc_count));
	if (profile_lifetimes(profile, stack, classes))
		for (unsigned i = 0; i < FORMAT_CLASSES; i++)
			require(classes[i] <= INT64_MAX);
	stack_id(profile, stack);
}

/* A second profile on the same nodes; what it has beside is the first one's. */
static void check_mapped(const struct profile *profile)
{
	const struct profile *mapped = profile->mapped;

	require(mapped && mapped->is_mapped && !mapped->mapped);
	require(mapped->stacks == profile->stacks + profile->stack_count);
	for (uint32_t i = 0; i < mapped->stack_count; i++)
		require(mapped->stacks[i].counts.peak_bytes >= 0);
}

static void check_timeline(const struct profile *profile)
{
	for (uint32_t i = 1; i < profile->point_count; i++)
		require(profile->points[i - 1].time_ns <= profile->points[i].time_ns);
	for (uint32_t i = 0; i < profile->mark_count; i++)
		require(strlen(profile->marks[i].text) < sizeof(struct format_mark));
	for (uint32_t i = 0; i < profile->series_count; i++) {
		const struct profile_series *series = &profile->series[i];

		require(series->stack < profile->stack_count && series->count > 0);
		for (uint32_t j = 1; j < series->count; j++)
			require(series->samples[j - 1].time_ns < series->samples[j].time_ns);
	}
}

/* Hostile numbers may be any, and stay numbers. */
static void check_pins(const struct profile *profile)
{
	struct pinned *pinned = pinned_recorded(profile);

	require(!pinned || pinned->all.bytes <= INT64_MAX);
	for (uint32_t i = 0; pinned && i < profile->stack_count; i++)
		require(pinned->stacks[i].bytes <= pinned->all.bytes);
	pinned_free(pinned);
}

static void check(const struct profile *profile)
{
	check_tree(profile);
	for (uint32_t i = 0; i < profile->stack_count; i++)
		check_stack(profile, &profile->stacks[i]);
	for (uint32_t i = 0; i < profile->thread_count; i++)
		require(strlen(profile->threads[i].name) < sizeof(profile->threads[i].name));
	check_timeline(profile);
	if (!profile->is_mapped) {
		check_mapped(profile);
		check(profile->mapped);
	}
	check_pins(profile);
	require(profile->totals.free_bytes <= profile->totals.alloc_bytes);
	require(strlen(profile->damage) < sizeof(profile->damage));
	require((profile->damage_count > 0) == (profile->damage[0] != '\0'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *profile = NULL;
	struct error err = {""};
	size_t image_size = 0;
	uint8_t *image = lay_out(data, size, &image_size);

	if (!image)
		return 0;
	if (profile_open_memory(image, image_size, &profile, &err))
		check(profile);
	else
		require(err.text[0] != '\0');
	profile_close(profile);
	free(image);
	return 0;
}
