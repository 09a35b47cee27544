/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_stack_cache.c - whole call stacks are found again while every word that proves them holds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "libpmem/histogram.h"
#include "libpmem/loss.h"
#include "tests/unit/memory_limit.h"
#include "tests/unit/stack_cache_fixture.h"

enum {
	LENGTH_MAX = STACK_CACHE_CHECKS_MAX - 32, /* of a call stack that fits, on a few pages */
	PAGE = 4096,
};

/* The sets of places first, first + step ...: each gets the number of the first one in its set. */
static void number_sets(uint32_t *numbers, uint32_t count, uint32_t first, uint32_t step)
{
	uint32_t i, j;

	for (i = 0; i < count; i++) {
		for (j = 0; !share_a_set(first + j * step, first + i * step); j++)
			;
		numbers[i] = j;
	}
	stack_cache_flush(&cache);
}

static void every_length(void **state)
{
	uint32_t count;

	(void)state;
	for (count = 0; count <= LENGTH_MAX; count++) {
		uint32_t at = 1 + count * 8;

		assert_int_equal(find(at, 3), 0);
		put(at, count, 3, count + 1);
		assert_int_equal(find(at, 3), count + 1);
	}
	put(1, STACK_CACHE_CHECKS_MAX + 1, 3, 1); /* too long */
	assert_int_equal(find(1, 3), 0);
}

static void every_check_counts(void **state)
{
	static const uint32_t counts[] = {1,  2,  3,  4,  5,  6,   7,	8,   9,
					  15, 16, 17, 31, 64, 127, 128, 500, LENGTH_MAX};
	uint32_t c, i;

	(void)state;
	for (c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
		put(50, counts[c], 1, 100 + c);
		for (i = 1; i <= counts[c]; i++) {
			stack_words[50 + i]++;
			assert_int_equal(find(50, 1), 0);
			stack_words[50 + i]--;
			assert_int_equal(find(50, 1), 100 + c);
		}
		stack_words[50 + counts[c] + 1]++; /* beyond it */
		assert_int_equal(find(50, 1), 100 + c);
		stack_cache_flush(&cache);
		assert_int_equal(find(50, 1), 0);
	}
}

static void the_key_counts(void **state)
{
	uintptr_t i;

	(void)state;
	put(10, 5, 2, 7);
	for (i = 1; i < 200; i++) { /* some of them in the same set */
		stack_words[10] += i;
		assert_int_equal(find(10, 2), 0);
		stack_words[10] -= i;
		assert_int_equal(find(10, 2 + (uint32_t)i % 50 + 1), 0);
	}
	assert_int_equal(find(10, 2), 7);
	assert_int_equal(find(10, 3), 0); /* another entry point */
	assert_int_equal(find(11, 2), 0);
	stack_words[10] += 16; /* another call */
	assert_int_equal(find(10, 2), 0);
	put(10, 5, 2, 8);
	assert_int_equal(find(10, 2), 8);
	stack_words[10] -= 16;
	assert_int_equal(find(10, 2), 7);
	/* The same call from two callers. */
	stack_words[12]++;
	put(10, 5, 2, 9);
	assert_int_equal(find(10, 2), 9);
	stack_words[12]--;
	assert_int_equal(find(10, 2), 7);
}

/* What lies further out than a mismatch may be gone: a fiber's stack, unmapped. */
static void nothing_is_read_beyond_a_mismatch(void **state)
{
	uintptr_t *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);
	uint32_t inner, i;

	(void)state;
	for (inner = 1; inner < 12; inner++) {
		stack_cache_flush(&cache);
		describe(100, inner + 3, 0);
		for (i = 0; i < 3; i++) /* the outermost three */
			stack_check_set(checks, i, (uintptr_t)&page[i], 0);
		stack_cache_put(&cache, &unwind, 5, counter_of(5));
		assert_int_equal(find(100, 0), 5);
		assert_int_equal(mprotect(page, PAGE, PROT_NONE), 0);
		for (i = 1; i <= inner; i++) {
			stack_words[100 + i]++;
			assert_int_equal(find(100, 0), 0);
			stack_words[100 + i]--;
		}
		assert_int_equal(mprotect(page, PAGE, PROT_READ | PROT_WRITE), 0);
		for (i = 0; i < 3; i++) {
			page[i]++;
			assert_int_equal(find(100, 0), 0);
			page[i]--;
		}
		assert_int_equal(find(100, 0), 5);
	}
	munmap(page, PAGE);
}

/* Each check on a page of its own, which is readable only as long as those further in hold. */
static void checks_on_many_pages(void **state)
{
	enum { PAGES = 100 };
	char *pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	uint32_t i;

	(void)state;
	describe(100, PAGES, 0);
	for (i = 0; i < PAGES; i++) /* from the outside in */
		stack_check_set(checks, i, (uintptr_t)pages + (PAGES - 1 - i) * PAGE, 0);
	stack_cache_put(&cache, &unwind, 5, counter_of(5));
	assert_int_equal(find(100, 0), 5);
	for (i = PAGES; i-- > 0;) {
		pages[i * PAGE] = 1;
		assert_int_equal(find(100, 0), 0);
		mprotect(pages + (i + 1) * PAGE, (PAGES - 1 - i) * PAGE, PROT_NONE);
		assert_int_equal(find(100, 0), 0);
	}
	munmap(pages, PAGES * PAGE);
}

static void four_ways(void **state)
{
	uint32_t at[6], i;

	(void)state;
	at[0] = 1;
	for (i = 1; i < 6; i++)
		at[i] = same_set(at[i - 1] + 1);
	stack_cache_flush(&cache);
	for (i = 0; i < 6; i++)
		put(at[i], 3, 0, 10 + i);
	assert_int_equal(find(at[0], 0), 0); /* the oldest two had to go */
	assert_int_equal(find(at[1], 0), 0);
	for (i = 2; i < 6; i++)
		assert_int_equal(find(at[i], 0), 10 + i);
}

static void unclean_entries_end_with_mappings(void **state)
{
	(void)state;
	unwind_mappings = 41;
	unwind.mappings = 41;
	unwind.flags = UNWIND_UNCLEAN;
	put(10, 5, 0, 1);
	unwind.flags = UNWIND_UNCLEAN | UNWIND_TRUNCATED;
	put(20, 5, 0, 2);
	unwind.flags = 0;
	put(30, 5, 0, 3);
	assert_int_equal(find(10, 0), 1);
	assert_int_equal(find(20, 0), 2);
	assert_int_equal(find(30, 0), 3);
	unwind_mappings = 42;
	assert_int_equal(find(10, 0), 0);
	assert_int_equal(find(20, 0), 0);
	assert_int_equal(find(30, 0), 3);
	unwind.flags = UNWIND_UNCLEAN;
	put(10, 5, 0, 4); /* still proved before the change */
	assert_int_equal(find(10, 0), 0);
	unwind.mappings = 42;
	put(10, 5, 0, 5);
	assert_int_equal(find(10, 0), 5);
}

/* --- memory ---------------------------------------------------------------------------------- */

static size_t mapped_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	size_t pages = 0;

	assert_int_equal(fscanf(file, "%zu", &pages), 1);
	fclose(file);
	return pages * 4096;
}

/* Entries that change their size for ever: rooms are used again, and never shared. */
static void rooms(void **state)
{
	enum { ROUNDS = 200000, PLACES = 90, STEP = 700 };
	static uint32_t sets[PLACES], latest[PLACES]; /* of each set: the place put last, + 1 */
	uint64_t seed = 42;
	uint32_t i, j, number, at, count;
	size_t before = mapped_bytes();

	(void)state;
	memset(latest, 0, sizeof(latest));
	number_sets(sets, PLACES, 1, STEP);
	for (i = 0; i < ROUNDS; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		number = (seed >> 40) % PLACES;
		at = 1 + number * STEP;
		count = (1 + (uint32_t)(seed >> 33) % LENGTH_MAX) >> (seed >> 60) % 10;
		count += count == 0;
		cache.missed = 0; /* it must not grow */
		put(at, count, 0, 1 + number);
		latest[sets[number]] = number + 1;
		assert_int_equal(find(at, 0), 1 + number);
		stack_words[at + 1]++;
		assert_int_equal(find(at, 0), 0);
		stack_words[at + 1]--;
		for (j = 0; i % 50 == 0 && j < PLACES; j++)
			assert_int_equal(latest[j] ? find(1 + (latest[j] - 1) * STEP, 0) : 0,
					 latest[j]);
	}
	/* SETS * WAYS rooms of 8, 16 ... 1,024 checks at most. */
	assert_in_range(mapped_bytes() - before, 0,
			(size_t)STACK_CACHE_SETS * STACK_CACHE_WAYS * 2048 * 2 * sizeof(uintptr_t) +
				(1 << 20));
}

/* All entries alive at the same time, in rooms of all sizes, each with words of its own. */
static void full_cache(void **state)
{
	enum { ENTRIES = STACK_CACHE_SETS * STACK_CACHE_WAYS, PLACES = 200 };
	static uint32_t sets[PLACES], used[PLACES], at[ENTRIES];
	uint32_t i, count, filled = 0;

	(void)state;
	memset(used, 0, sizeof(used));
	number_sets(sets, PLACES, 1, 1);
	for (i = 0; i < PLACES && filled < ENTRIES; i++) {
		if (used[sets[i]]++ >= STACK_CACHE_WAYS)
			continue;
		at[filled] = 1 + i;
		put(1 + i, filled * 15, 0, 1 + filled);
		filled++;
	}
	assert_int_equal(filled, ENTRIES);
	for (i = 0; i < filled; i++) {
		assert_int_equal(find(at[i], 0), 1 + i);
		for (count = 1; count <= i * 15; count += 5) {
			stack_words[at[i] + count] ^= 1;
			assert_int_equal(find(at[i], 0), 0);
			stack_words[at[i] + count] ^= 1;
		}
	}
}

enum { MISSES_PER_LOOK = 8192 };

/* Looks for each of count call stacks in turn, and puts those that are not there.  Returns how many were. */
static uint32_t go_round(uint32_t count)
{
	uint32_t i, hits = 0;

	for (i = 0; i < count; i++) {
		if (find(1 + i * 8, 0) == 100 + i)
			hits++;
		else
			put(1 + i * 8, 5, 0, 100 + i);
	}
	return hits;
}

/* More call stacks than the first sets hold, that come again and again, get more sets. */
static void grows_for_what_comes_again(void **state)
{
	enum { COUNT = 500 };
	uint32_t round, hits = 0;

	(void)state;
	assert_true(go_round(COUNT) == 0 && go_round(COUNT) < COUNT / 2);
	for (round = 0; round < 4 * MISSES_PER_LOOK / COUNT; round++)
		hits = go_round(COUNT);
	assert_in_range(cache.mask + 1, STACK_CACHE_SETS + 1, STACK_CACHE_SETS_MAX);
	assert_in_range(hits, COUNT * 9 / 10, COUNT);
	stack_words[1 + 8 * 77 + 3]++; /* what proves it */
	assert_int_equal(find(1 + 8 * 77, 0), 0);
	stack_words[1 + 8 * 77 + 3]--;
	stack_cache_flush(&cache);
	assert_int_equal(go_round(COUNT), 0);
}

/* Call stacks that do not come again are no reason, and there is a limit. */
static void does_not_grow_without_need(void **state)
{
	uint32_t round;

	(void)state;
	for (round = 0; round < 10; round++)
		go_round(MISSES_PER_LOOK - 100);
	assert_int_equal(cache.mask + 1, STACK_CACHE_SETS);
	for (round = 0; round < 1000; round++)
		go_round(900);
	assert_in_range(cache.mask + 1, STACK_CACHE_SETS + 1, STACK_CACHE_SETS_MAX);
}

/* Without memory for more sets it goes on with those it has. */
static void grows_not_without_memory(void **state)
{
	struct rlimit before;
	uint32_t round;
	uint64_t lost;

	(void)state;
	go_round(500);
	lost = loss_count(FORMAT_LOSS_MEMORY);
	before = memory_exhaust();
	for (round = 0; round < 4 * MISSES_PER_LOOK / 500; round++)
		go_round(500);
	memory_restore(before);
	assert_int_equal(cache.mask + 1, STACK_CACHE_SETS);
	assert_true(loss_count(FORMAT_LOSS_MEMORY) > lost);
	put(1, 5, 0, 100);
}

static void exhausted_memory(void **state)
{
	struct stack_cache none;
	struct rlimit before = memory_exhaust();
	bool made = stack_cache_init(&none);
	const struct stack_cache_entry *set = stack_cache_set(&cache, (uintptr_t)&stack_words[10],
							      stack_words[10]);
	uint64_t lost;
	uint32_t i, found;

	(void)state;
	put(10, 5, 0, 1);
	lost = loss_count(FORMAT_LOSS_MEMORY);
	memory_restore(before);
	assert_false(made);
	assert_int_equal(lost, 2);
	assert_int_equal(find(10, 0), 0);
	put(10, 5, 0, 1);
	assert_int_equal(find(10, 0), 1);
	before = memory_exhaust();
	/* Uses up what is there, but for the set in question: its entries' rooms would be free again. */
	for (i = 300; loss_count(FORMAT_LOSS_MEMORY) == 2; i++)
		if (stack_cache_set(&cache, (uintptr_t)&stack_words[i], stack_words[i]) != set)
			put(i, 900, 0, 2);
	for (i = 0; i < STACK_CACHE_WAYS; i++)
		put(10, 900, 0, 3);
	found = find(10, 0);
	memory_restore(before);
	assert_int_equal(found, 0); /* it gave up its room for none */
	put(10, 900, 0, 4);
	assert_int_equal(find(10, 0), 4);
}

/* --- sizes ----------------------------------------------------------------------------------- */

/* The span is the first size class, exactly. */
static void expect_span(const struct stack_cache_entry *entry, uint32_t size_class)
{
	size_t low = size_class ? ((size_t)4 << size_class) + 1 : 0, high = (size_t)8 << size_class;

	if (size_class == FORMAT_CLASSES - 1) { /* is open */
		assert_int_equal(entry->size_span, 0);
		return;
	}
	assert_int_equal(entry->size_min, low);
	assert_int_equal(entry->size_min + entry->size_span - 1, high);
	assert_int_equal(histogram_class(low, FORMAT_SIZE_SHIFT), size_class);
	assert_int_equal(histogram_class(high, FORMAT_SIZE_SHIFT), size_class);
	assert_int_equal(histogram_class(high + 1, FORMAT_SIZE_SHIFT), size_class + 1);
}

static void sizes(void **state)
{
	struct stack_cache_entry *entry;
	uint32_t size_class;

	(void)state;
	stacks[77].sizes = 3; /* an entry knows it from the start */
	put(10, 5, 0, 77);
	entry = stack_cache_find(&cache, &stack_words[9], 0);
	assert_non_null(entry);
	expect_span(entry, 2);
	stacks[77].sizes = 0;
	stack_cache_set_sizes(entry);
	assert_int_equal(entry->size_span, 0);
	for (size_class = 0; size_class < FORMAT_CLASSES; size_class++) {
		stacks[77].sizes = size_class + 1;
		stack_cache_set_sizes(entry);
		expect_span(entry, size_class);
		stacks[77].sizes = FORMAT_SIZES_MANY | size_class << 24 | 0x1234;
		stack_cache_set_sizes(entry);
		expect_span(entry, size_class);
	}
}

static int begin_gathering(void **state)
{
	int failed = begin(state);

	stack_check_gathers = arch_can_gather();
	return failed;
}

/* clang-format off */
#define T cmocka_unit_test_setup
#define ALL(setup) \
	T(every_length, setup), T(every_check_counts, setup), T(the_key_counts, setup), \
	T(nothing_is_read_beyond_a_mismatch, setup), T(checks_on_many_pages, setup), \
	T(four_ways, setup), \
	T(unclean_entries_end_with_mappings, setup), T(rooms, setup), T(full_cache, setup), \
	T(grows_for_what_comes_again, setup), T(does_not_grow_without_need, setup), \
	T(grows_not_without_memory, setup), T(exhausted_memory, setup), T(sizes, setup)
/* clang-format on */

int main(void)
{
	const struct CMUnitTest tests[] = {ALL(begin), ALL(begin_gathering)};
	stack_check_choose(); /* with either result */
	return cmocka_run_group_tests_name("stack_cache", tests, NULL, NULL);
}
