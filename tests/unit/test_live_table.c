/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_live_table.c - the live table, both layouts.
 *
 * Blocks are addresses only: the two-cell layout never looks at their memory, and for the slack layout
 * the tests write chunk headers of glibc's form into memory of their own.  That the form is glibc's is
 * shown by real_glibc_blocks().
 */
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "libpmem/live_map.h"
#include "libpmem/live_table.h"
#include "libpmem/loss.h"
#include "libpmem/side_table.h"

enum { THREADS = 8, AREA_SIZE = 1 << 28, SLOTS = 4096 };

static uintptr_t area; /* AREA_SIZE bytes, aligned to LIVE_MAP_SPAN, lazily touched */
static enum live_layout layout;

static int begin(enum live_layout chosen)
{
	layout = chosen;
	side_table_fork_child();
	loss_fork_child();
	return live_table_init(chosen) ? 0 : -1;
}

static int begin_slack(void **state)
{
	(void)state;
	return begin(LIVE_SLACK);
}

static int begin_two_cell(void **state)
{
	(void)state;
	return begin(LIVE_TWO_CELL);
}

static int map_area(void **state)
{
	char *p = mmap(NULL, AREA_SIZE + LIVE_MAP_SPAN, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void)state;
	if (p == MAP_FAILED)
		return -1;
	area = ((uintptr_t)p + LIVE_MAP_SPAN - 1) & ~(LIVE_MAP_SPAN - 1);
	return 0;
}

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

/* Writes the header of a chunk in use with usable bytes at addr. */
static void write_header(uintptr_t addr, size_t usable)
{
	((size_t *)addr)[-1] = (usable + 8) | 1;
}

static void write_mmapped_header(uintptr_t addr, size_t usable)
{
	((size_t *)addr)[-1] = (usable + 16) | 2;
}

/* glibc's usable size for a request (malloc.c, request2size). */
static size_t glibc_usable(size_t size)
{
	size_t chunk = (size + 8 + 15) & ~(size_t)15;

	return (chunk < 32 ? 32 : chunk) - 8;
}

static struct live_block block_at(uintptr_t addr, size_t size, uint32_t id)
{
	return (struct live_block){.addr = addr, .size = size, .stack_id = id};
}

/* Puts a block where none may be. */
static void put_new(struct live_block block)
{
	struct live_block stale;

	assert_int_equal(live_table_put(&block, &stale), LIVE_PUT_OK);
}

static void assert_same(struct live_block found, struct live_block expected)
{
	assert_int_equal(found.addr, expected.addr);
	assert_int_equal(found.size, expected.size);
	assert_int_equal(found.stack_id, expected.stack_id);
	assert_int_equal(found.birth_ns, expected.birth_ns);
}

static void assert_unknown(uintptr_t addr)
{
	struct live_block found = block_at(1, 2, 3);

	assert_false(live_table_take(addr, &found));
	assert_same(found, block_at(1, 2, 3));
}

/* Takes the block and finds that it is gone. */
static void assert_takes(struct live_block expected)
{
	struct live_block found = {.birth_ns = 99};

	assert_true(live_table_take(expected.addr, &found));
	assert_same(found, expected);
	assert_unknown(expected.addr);
}

/* Cells of the area that are not 0. */
static uint64_t cells_in_use(void)
{
	uint64_t count = 0;
	size_t cells = LIVE_MAP_SPAN >> live_map.granule_log2;

	for (uintptr_t addr = area; addr < area + AREA_SIZE; addr += LIVE_MAP_SPAN) {
		struct live_cell *leaf = live_map_leaf(addr);

		for (size_t i = 0; leaf && i < cells + LIVE_MAP_TAIL; i++)
			count += atomic_load_explicit(&leaf[i].value, memory_order_relaxed) != 0;
	}
	return count;
}

static const size_t sizes[] = {
	0,
	1,
	7,
	8,
	9,
	15,
	16,
	17,
	24,
	25,
	31,
	32,
	33,
	40,
	41,
	100,
	4096,
	(1u << 31) - 2,
	(1u << 31) - 1,
	1u << 31,
	UINT32_MAX - 1,
	UINT32_MAX,
	(size_t)1 << 32,
	((size_t)1 << 32) + 1,
	(size_t)1 << 40,
	((size_t)1 << 46) + 12345,
};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

/* --- both layouts --- */

static void any_size(void **state)
{
	uint32_t largest_id = (1u << 26) - 1;

	(void)state;
	for (size_t i = 0; i < SIZES; i++) {
		uintptr_t addr = area + 16 + i * 4096;

		write_header(addr, glibc_usable(sizes[i]));
		assert_unknown(addr);
		put_new(block_at(addr, sizes[i], largest_id - (uint32_t)i));
	}
	for (size_t i = 0; i < SIZES; i++)
		assert_takes(block_at(area + 16 + i * 4096, sizes[i], largest_id - (uint32_t)i));
	assert_int_equal(cells_in_use(), 0);
	assert_int_equal(side_table_count(), 0);
	assert_int_equal(loss_total(), 0);
}

static void sampled_blocks_keep_their_birth(void **state)
{
	(void)state;
	for (size_t i = 0; i < SIZES; i++) {
		struct live_block block = block_at(area + 4096 * (i + 1), sizes[i], 5);

		block.birth_ns = i == 0 ? UINT64_MAX : i;
		write_header(block.addr, glibc_usable(sizes[i]));
		put_new(block);
		assert_int_equal(side_table_count(), 1);
		assert_takes(block);
		assert_int_equal(side_table_count(), 0);
	}
	assert_int_equal(cells_in_use(), 0);
}

static void addresses_out_of_bounds_are_lost(void **state)
{
	static const uintptr_t out[] = {(uintptr_t)1 << 47, ((uintptr_t)1 << 47) + 16,
					UINTPTR_MAX - 15};
	struct live_block stale;

	(void)state;
	for (size_t i = 0; i < sizeof(out) / sizeof(out[0]); i++) {
		struct live_block block = block_at(out[i], 100, 1);

		assert_int_equal(live_table_put(&block, &stale), LIVE_PUT_LOST);
		assert_unknown(out[i]);
		assert_false(live_table_take_inherited(out[i]));
		assert_int_equal(loss_count(LOSS_EVENTS), i + 1);
	}
	assert_unknown(0);
	assert_unknown(((uintptr_t)1 << 47) - 16);
	assert_int_equal(loss_count(LOSS_MEMORY), 0);
}

static struct rlimit memory_before;

static void exhaust_memory(void)
{
	struct rlimit none;

	assert_int_equal(getrlimit(RLIMIT_AS, &memory_before), 0);
	none = memory_before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
}

static void restore_memory(void)
{
	assert_int_equal(setrlimit(RLIMIT_AS, &memory_before), 0);
}

static void no_memory_for_a_leaf(void **state)
{
	struct live_block block = block_at(area + 64, 24, 1);
	struct live_block stale;
	enum live_put result;

	(void)state;
	write_header(block.addr, 24);
	exhaust_memory();
	result = live_table_put(&block, &stale);
	restore_memory();
	assert_int_equal(result, LIVE_PUT_LOST);
	assert_int_equal(loss_count(LOSS_EVENTS), 1);
	assert_int_equal(loss_count(LOSS_MEMORY), 1);
	assert_unknown(block.addr);
	put_new(block);
	assert_takes(block);
}

static void no_memory_for_samples(void **state)
{
	struct live_block block = {.size = 20, .stack_id = 9, .birth_ns = 1};
	struct live_block found;
	struct live_block stale;
	uint64_t put = 0;
	uint64_t sampled = 0;
	bool all_ok = true;

	(void)state;
	put_new(block_at(area + 16, 0, 1)); /* the leaf */
	exhaust_memory();
	for (; loss_count(LOSS_SAMPLES) == 0 && put < 1000000; put++) {
		block.addr = area + 64 * (put + 1);
		write_header(block.addr, 24);
		all_ok &= live_table_put(&block, &stale) == LIVE_PUT_OK;
	}
	/* Much slack and no memory: nothing can describe it in the slack layout. */
	block.addr = area + 64 * (put + 1);
	write_header(block.addr, 1000);
	assert_int_equal(live_table_put(&block, &stale),
			 layout == LIVE_SLACK ? LIVE_PUT_LOST : LIVE_PUT_OK);
	restore_memory();
	assert_true(all_ok);
	assert_int_equal(loss_count(LOSS_EVENTS), layout == LIVE_SLACK);
	assert_int_equal(live_table_take(block.addr, &found), layout != LIVE_SLACK);
	for (uint64_t i = 0; i < put; i++) {
		assert_true(live_table_take(area + 64 * (i + 1), &found));
		assert_true(found.size == 20 && found.stack_id == 9);
		sampled += found.birth_ns == 1;
	}
	assert_int_equal(sampled, put - 1);
}

static void inherited_blocks_are_cleared_once(void **state)
{
	struct live_block sampled = block_at(area + 256, 20, 3);

	(void)state;
	sampled.birth_ns = 77;
	write_header(area + 64, 104);
	write_header(area + 256, 24);
	put_new(block_at(area + 64, 100, 1));
	put_new(sampled);
	assert_false(live_table_take_inherited(area + 64));

	live_table_fork_child();
	side_table_fork_child();
	assert_unknown(area + 64);
	assert_unknown(area + 256);
	write_header(area + 512, 24);
	put_new(block_at(area + 512, 20, 2));
	assert_true(live_table_take_inherited(area + 64));
	assert_false(live_table_take_inherited(area + 64));
	assert_false(live_table_take_inherited(area + 64 + 16)); /* a size is no block */
	assert_true(live_table_take_inherited(area + 256));
	assert_false(live_table_take_inherited(area + 512));

	live_table_fork_child();
	assert_true(live_table_take_inherited(area + 512));
	assert_false(live_table_take_inherited(area + 512));
}

static void oldest_inherited_table_is_forgotten(void **state)
{
	(void)state;
	for (uintptr_t i = 0; i <= LIVE_INHERITED_MAX; i++) {
		write_header(area + 64 * (i + 1), 24);
		put_new(block_at(area + 64 * (i + 1), 20, 1));
		live_table_fork_child();
	}
	assert_false(live_table_take_inherited(area + 64));
	for (uintptr_t i = 1; i <= LIVE_INHERITED_MAX; i++)
		assert_true(live_table_take_inherited(area + 64 * (i + 1)));
}

static void no_memory_for_a_childs_table(void **state)
{
	struct live_block block = block_at(area + 64, 20, 1);
	struct live_block stale;

	(void)state;
	write_header(area + 64, 24);
	put_new(block);
	exhaust_memory();
	live_table_fork_child();
	restore_memory();
	assert_int_equal(live_table_put(&block, &stale), LIVE_PUT_LOST);
	assert_unknown(area + 64);
	assert_true(live_table_take_inherited(area + 64));
	live_table_fork_child();
	put_new(block);
	assert_takes(block);
}

static void real_fork(void **state)
{
	struct live_block block = block_at(area + 64, 20, 1);
	int status;
	pid_t child;

	(void)state;
	write_header(area + 64, 24);
	put_new(block);
	child = fork();
	if (child == 0) {
		struct live_block found;
		bool ok;

		live_table_fork_child();
		ok = !live_table_take(block.addr, &found) && live_table_take_inherited(block.addr) &&
		     live_table_put(&block, &found) == LIVE_PUT_OK &&
		     live_table_take(block.addr, &found) && found.size == 20;
		_exit(!ok);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_takes(block);
}

static void resident_size_follows_use(void **state)
{
	size_t empty = live_table_resident();
	size_t used;

	(void)state;
	for (uintptr_t addr = area + 64; addr < area + (4 << 20); addr += 64) {
		write_header(addr, 40);
		put_new(block_at(addr, 40, 1));
	}
	used = live_table_resident() - empty;
	/* 4 bytes per granule of 4 MiB; and a page each of the top and of the leaf's tail. */
	assert_in_range(used, (4 << 22) >> live_map.granule_log2,
			((4 << 22) >> live_map.granule_log2) + 4 * 4096);
}

/* --- slack layout --- */

static void slack_of_mmapped_chunks(void **state)
{
	uintptr_t addr = area + 4096 + 16;

	(void)state;
	for (size_t slack = 0; slack < 100; slack++) {
		write_mmapped_header(addr, 200 * 1024 - 16);
		put_new(block_at(addr, 200 * 1024 - 16 - slack, 4));
		assert_int_equal(side_table_count(), slack > 30);
		assert_takes(block_at(addr, 200 * 1024 - 16 - slack, 4));
	}
	assert_int_equal(side_table_count(), 0);
}

static void size_beyond_usable_is_kept(void **state)
{
	(void)state;
	write_header(area + 64, 24);
	put_new(block_at(area + 64, 25, 4));
	assert_int_equal(side_table_count(), 1);
	assert_takes(block_at(area + 64, 25, 4));
}

static void stale_slack(void **state)
{
	struct live_block block = block_at(area + 64, 20, 4);
	struct live_block stale;

	(void)state;
	write_header(area + 64, 40);
	put_new(block_at(area + 64, 30, 7)); /* slack 10, freed past the hooks; then: */
	write_header(area + 64, 24);
	assert_int_equal(live_table_put(&block, &stale), LIVE_PUT_STALE);
	assert_same(stale, block_at(area + 64, 14, 7)); /* the best that can be told */
	assert_int_equal(loss_count(LOSS_STALE_BLOCKS), 1);
	assert_takes(block);
	assert_int_equal(loss_count(LOSS_EVENTS), 0);
}

static void stale_slack_never_below_zero(void **state)
{
	struct live_block block = block_at(area + 64, 20, 4);
	struct live_block stale;

	(void)state;
	write_header(area + 64, 56);
	put_new(block_at(area + 64, 26, 7)); /* slack 30 */
	write_header(area + 64, 24);
	assert_int_equal(live_table_put(&block, &stale), LIVE_PUT_STALE);
	assert_same(stale, block_at(area + 64, 0, 7));

	write_header(area + 64, 2); /* usable less than the slack of 4 */
	((size_t *)(area + 64))[-1] = 8 | 1;
	assert_takes(block_at(area + 64, 0, 4));
	assert_int_equal(loss_count(LOSS_STALE_BLOCKS), 2);
}

static void stale_sample(void **state)
{
	struct live_block old = block_at(area + 64, 1000, 7);
	struct live_block block = block_at(area + 64 + 16, 20,
					   4); /* the same granule, slack layout */
	struct live_block stale;

	(void)state;
	if (layout == LIVE_TWO_CELL)
		block.addr = old.addr;
	old.birth_ns = 123;
	write_header(old.addr, 1000);
	put_new(old);
	block.birth_ns = 456;
	write_header(block.addr, 24);
	assert_int_equal(live_table_put(&block, &stale), LIVE_PUT_STALE);
	old.addr = block.addr;
	assert_same(stale, old);
	assert_int_equal(side_table_count(), 1);
	assert_takes(block);
	assert_int_equal(side_table_count(), 0);
}

/* A sanitizer brings an allocator of its own, without chunk headers. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MALLOC_IS_GLIBC = 0 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { MALLOC_IS_GLIBC = 0 };
#else
enum { MALLOC_IS_GLIBC = 1 };
#endif
#else
enum { MALLOC_IS_GLIBC = 1 };
#endif

/* Records the size bytes at p and finds them again. */
static void record_real(void *p, size_t size)
{
	struct live_block block = block_at((uintptr_t)p, size, 1);

	assert_non_null(p);
	put_new(block);
	assert_takes(block);
	block.birth_ns = 5;
	put_new(block);
	assert_takes(block);
}

static void record_aligned(size_t size)
{
	for (size_t alignment = 16; alignment <= 8192; alignment *= 2) {
		void *p = memalign(alignment, size);

		record_real(p, size);
		free(p);
		p = aligned_alloc(alignment, size);
		record_real(p, size);
		free(p);
		assert_int_equal(posix_memalign(&p, alignment, size), 0);
		record_real(p, size);
		free(p);
	}
}

static void record_all_ways(size_t size)
{
	void *plain = malloc(size);
	void *zeroed = calloc(1, size);
	void *again;

	record_real(plain, size);
	record_real(zeroed, size);
	again = realloc(plain, size / 2 + 1); /* in place, split, or by mremap */
	record_real(again, size / 2 + 1);
	again = realloc(again, size * 2 + 1);
	record_real(again, size * 2 + 1);
	record_aligned(size);
	free(again);
	free(zeroed);
}

static void real_glibc_blocks(void **state)
{
	size_t size = 0;

	(void)state;
	if (!MALLOC_IS_GLIBC)
		skip();
	for (; size < 300; size++)
		record_all_ways(size);
	for (; size < 4 << 20; size += size / 8 + 1) /* beyond the threshold of mmap */
		record_all_ways(size);
	assert_int_equal(loss_total(), 0);
	assert_int_equal(loss_count(LOSS_STALE_BLOCKS), 0);
	assert_int_equal(side_table_count(), 0);
}

static void real_glibc_block_beyond_32_bits(void **state)
{
	size_t size = ((size_t)1 << 32) + 3;
	void *p = malloc(size);

	(void)state;
	if (!MALLOC_IS_GLIBC || !p) /* little memory and no overcommit */
		skip();
	record_real(p, size);
	free(p);
}

/* A live block of glibc's nearly always fits its cell: the side table is for odd ones. */
static void real_glibc_blocks_rarely_need_the_side_table(void **state)
{
	uint64_t in_side = 0;

	(void)state;
	if (!MALLOC_IS_GLIBC)
		skip();
	for (size_t size = 0; size < 2000; size++) {
		struct live_block block = block_at((uintptr_t)malloc(size), size, 1);

		put_new(block);
		in_side += side_table_count();
		assert_takes(block);
		free((void *)block.addr);
	}
	assert_in_range(in_side, 0, 20);
}

/* --- two-cell layout --- */

static void neighbours_do_not_touch_each_other(void **state)
{
	(void)state;
	for (size_t size = 0; size <= 16; size++) {
		for (uintptr_t i = 0; i < 100; i++)
			put_new(block_at(area + 16 * i, size, (uint32_t)i + 1));
		put_new(block_at(area + 1600, 17, 500)); /* own next cell */
		put_new(block_at(area + 1632, 16, 501));
		assert_takes(block_at(area + 1600, 17, 500));
		for (uintptr_t i = 0; i < 100; i += 2)
			assert_takes(block_at(area + 16 * i, size, (uint32_t)i + 1));
		for (uintptr_t i = 1; i < 100; i += 2)
			assert_takes(block_at(area + 16 * i, size, (uint32_t)i + 1));
		assert_takes(block_at(area + 1632, 16, 501));
		assert_int_equal(cells_in_use(), 0);
	}
}

static void blocks_across_leaves(void **state)
{
	uintptr_t end = area + LIVE_MAP_SPAN;

	(void)state;
	for (uintptr_t before = 16; before <= 64; before += 16) {
		for (size_t i = 0; i < SIZES; i++) {
			if (sizes[i] <= before && before > 16)
				continue;
			put_new(block_at(end - before, sizes[i], 6));
			if (sizes[i] <= before)
				put_new(block_at(end, 100, 7));
			assert_takes(block_at(end - before, sizes[i], 6));
			if (sizes[i] <= before)
				assert_takes(block_at(end, 100, 7));
			assert_int_equal(cells_in_use(), 0);
		}
	}
}

/* Puts block over what is there, which must be reported as *expected. */
static void put_over(struct live_block block, struct live_block expected)
{
	uint64_t before = loss_count(LOSS_STALE_BLOCKS);
	struct live_block stale;

	assert_int_equal(live_table_put(&block, &stale), LIVE_PUT_STALE);
	assert_same(stale, expected);
	assert_true(loss_count(LOSS_STALE_BLOCKS) > before);
	assert_takes(block);
	assert_unknown(expected.addr);
	assert_int_equal(cells_in_use(), 0);
}

static void stale_two_cell(void **state)
{
	(void)state;
	for (size_t i = 0; i < SIZES; i++) {
		for (size_t j = 0; j < SIZES; j++) {
			struct live_block old = block_at(area + 640, sizes[i], 8);

			put_new(old);
			put_over(block_at(area + 640, sizes[j], 9), old);
			if (sizes[i] > 16) { /* into the middle of the old block's cells */
				put_new(old);
				put_over(block_at(area + 656, sizes[j], 9), old);
			}
			if (sizes[i] > UINT32_MAX) {
				put_new(old);
				put_over(block_at(area + 672, sizes[j], 9), old);
				put_new(old);
				put_over(block_at(area + 688, sizes[j], 9), old);
			}
			if (sizes[j] > 16) { /* the new block's size over the old one */
				put_new(old);
				put_over(block_at(area + 624, sizes[j], 9), old);
			}
		}
	}
	assert_int_equal(loss_count(LOSS_EVENTS), 0);
}

static void several_stale_blocks_at_once(void **state)
{
	struct live_block block = block_at(area + 64, 32, 3);
	struct live_block stale;

	(void)state;
	put_new(block_at(area + 64, 16, 1));
	put_new(block_at(area + 80, 16, 2));
	assert_int_equal(live_table_put(&block, &stale), LIVE_PUT_STALE);
	assert_same(stale, block_at(area + 64, 16, 1));
	assert_int_equal(loss_count(LOSS_STALE_BLOCKS), 2);
	assert_int_equal(loss_count(LOSS_EVENTS), 1); /* the free that cannot be told */
	assert_takes(block);
	assert_int_equal(cells_in_use(), 0);
}

/* Freed past the hooks at random, and put over in any overlap: what comes out must be what was put
 * last at that address, never a size taken for a block. */
static void random_stale_blocks(void **state)
{
	static struct live_block model[1024]; /* by granule: the last block put there */
	uint64_t random = 1;
	uint64_t wrong = 0;
	struct live_block found = {0};

	(void)state;
	for (uint32_t round = 1; round < 2000000; round++) {
		uintptr_t granule = next_random(&random) % 1020;
		struct live_block block = block_at(
			area + 16 * granule, sizes[next_random(&random) % SIZES], round & 0x3ffffff);
		bool got;

		block.birth_ns = next_random(&random) % 8 == 0 ? round : 0;
		if (next_random(&random) % 2 == 0) {
			got = live_table_take(block.addr, &found);
		} else {
			got = live_table_put(&block, &found) == LIVE_PUT_STALE;
			if (got) { /* of the old model, as the new block is not in it yet */
				struct live_block *old = &model[(found.addr - area) / 16];

				wrong += found.stack_id != old->stack_id || found.size != old->size;
				got = false;
			}
			model[granule] = block;
		}
		if (got) {
			struct live_block *old = &model[(found.addr - area) / 16];

			wrong += found.stack_id != old->stack_id || found.size != old->size ||
				 found.birth_ns != old->birth_ns;
		}
	}
	assert_int_equal(wrong, 0);
	for (uintptr_t granule = 0; granule < 1024; granule++)
		live_table_take(area + 16 * granule, &found);
	assert_int_equal(cells_in_use(), 0);
	assert_int_equal(side_table_count(), 0);
}

/* --- threads --- */

/* Slots of 64 bytes side by side; whoever exchanges an index out of owner[] owns that slot. */
static _Atomic uint32_t owners[SLOTS];
static _Atomic uint64_t wrong_blocks;

/* What is put into a slot depends on the slot and a round number, which the id carries. */
static struct live_block slot_block(uint32_t slot, uint32_t round)
{
	uint64_t random = round;
	struct live_block block = block_at(area + 64 + 64 * (uintptr_t)slot, 0, round);

	block.size = next_random(&random) % 57;
	if (next_random(&random) % 16 == 0)
		block.birth_ns = round;
	return block;
}

static bool take_as_put(uint32_t slot, uint32_t round)
{
	struct live_block expected = slot_block(slot, round);
	struct live_block found;

	return live_table_take(expected.addr, &found) && found.addr == expected.addr &&
	       found.size == expected.size && found.stack_id == expected.stack_id &&
	       found.birth_ns == expected.birth_ns;
}

enum { FREE_SLOT = 1, BUSY_SLOT = 0 }; /* else: the round of the block in it */

static void *hammer(void *index)
{
	uint64_t random = (uintptr_t)index + 1;
	uint64_t bad = 0;

	for (int i = 0; i < 200000; i++) {
		uint32_t slot = next_random(&random) % SLOTS;
		uint32_t round = 2 + next_random(&random) % 1000000;
		uint32_t now = atomic_exchange_explicit(&owners[slot], BUSY_SLOT,
							memory_order_acquire);
		struct live_block block = slot_block(slot, round);
		struct live_block stale;

		if (now == BUSY_SLOT)
			continue;
		if (now == FREE_SLOT) {
			bad += live_table_put(&block, &stale) != LIVE_PUT_OK;
			now = round;
		} else {
			bad += !take_as_put(slot, now);
			now = FREE_SLOT;
		}
		atomic_store_explicit(&owners[slot], now, memory_order_release);
	}
	atomic_fetch_add_explicit(&wrong_blocks, bad, memory_order_relaxed);
	return NULL;
}

static void threads_lose_nothing(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	atomic_store(&wrong_blocks, 0);
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		write_header(area + 64 + 64 * (uintptr_t)slot, 56);
		atomic_store(&owners[slot], FREE_SLOT);
	}
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, hammer, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		uint32_t round = atomic_load(&owners[slot]);

		if (round == FREE_SLOT)
			assert_unknown(area + 64 + 64 * (uintptr_t)slot);
		else
			assert_true(take_as_put(slot, round));
	}
	assert_int_equal(atomic_load(&wrong_blocks), 0);
	assert_int_equal(cells_in_use(), 0);
	assert_int_equal(side_table_count(), 0);
	assert_int_equal(loss_count(LOSS_STALE_BLOCKS) + loss_total(), 0);
}

static pthread_barrier_t barrier;

/* All threads need the same new leaf at once. */
static void *race_for_leaf(void *index)
{
	struct live_block stale;

	for (uintptr_t leaf = 0; leaf < AREA_SIZE / LIVE_MAP_SPAN; leaf++) {
		struct live_block block = block_at(area + leaf * LIVE_MAP_SPAN +
							   64 * ((uintptr_t)index + 1),
						   20, (uint32_t)(uintptr_t)index + 1);

		pthread_barrier_wait(&barrier);
		if (live_table_put(&block, &stale) != LIVE_PUT_OK)
			atomic_fetch_add_explicit(&wrong_blocks, 1, memory_order_relaxed);
	}
	return NULL;
}

static void threads_share_a_new_leaf(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	atomic_store(&wrong_blocks, 0);
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (uintptr_t leaf = 0; leaf < AREA_SIZE / LIVE_MAP_SPAN; leaf++) {
		for (uintptr_t i = 1; i <= THREADS; i++)
			write_header(area + leaf * LIVE_MAP_SPAN + 64 * i, 24);
	}
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, race_for_leaf, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	pthread_barrier_destroy(&barrier);
	assert_int_equal(atomic_load(&wrong_blocks), 0);
	for (uintptr_t leaf = 0; leaf < AREA_SIZE / LIVE_MAP_SPAN; leaf++) {
		for (uint32_t i = 1; i <= THREADS; i++)
			assert_takes(block_at(area + leaf * LIVE_MAP_SPAN + 64 * i, 20, i));
	}
	assert_int_equal(cells_in_use(), 0);
}

#define BOTH(test)                                                  \
	{#test " slack", test, begin_slack, NULL, NULL},            \
	{                                                           \
#test " two_cell", test, begin_two_cell, NULL, NULL \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(any_size),
		BOTH(sampled_blocks_keep_their_birth),
		BOTH(addresses_out_of_bounds_are_lost),
		BOTH(no_memory_for_a_leaf),
		BOTH(no_memory_for_samples),
		BOTH(inherited_blocks_are_cleared_once),
		BOTH(oldest_inherited_table_is_forgotten),
		BOTH(no_memory_for_a_childs_table),
		BOTH(real_fork),
		BOTH(resident_size_follows_use),
		BOTH(stale_sample),
		BOTH(threads_lose_nothing),
		BOTH(threads_share_a_new_leaf),
		cmocka_unit_test_setup(slack_of_mmapped_chunks, begin_slack),
		cmocka_unit_test_setup(size_beyond_usable_is_kept, begin_slack),
		cmocka_unit_test_setup(stale_slack, begin_slack),
		cmocka_unit_test_setup(stale_slack_never_below_zero, begin_slack),
		cmocka_unit_test_setup(real_glibc_blocks, begin_slack),
		cmocka_unit_test_setup(real_glibc_block_beyond_32_bits, begin_slack),
		cmocka_unit_test_setup(real_glibc_blocks_rarely_need_the_side_table, begin_slack),
		cmocka_unit_test_setup(neighbours_do_not_touch_each_other, begin_two_cell),
		cmocka_unit_test_setup(blocks_across_leaves, begin_two_cell),
		cmocka_unit_test_setup(stale_two_cell, begin_two_cell),
		cmocka_unit_test_setup(several_stale_blocks_at_once, begin_two_cell),
		cmocka_unit_test_setup(random_stale_blocks, begin_two_cell),
	};

	return cmocka_run_group_tests_name("live_table", tests, map_area, NULL);
}
