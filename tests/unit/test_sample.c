/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_sample.c - distances are exponential, weights are what the formula says, and estimates have no bias.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "libpmem/sample.h"
#include "libpmem/sys.h"

enum { MEAN = 512 * 1024, DRAWS = 1000000 };

struct settings settings;

static uint64_t state;

static uint64_t any(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static int setup(void **unused)
{
	(void)unused;
	state = UINT64_C(88172645463325252);
	settings.sample = MEAN;
	return 0;
}

/* Mean and standard deviation of an exponential distribution are the same; a million draws know them to 0.1 and 0.14 %. */
static void distances_are_exponential(void **unused)
{
	double sum = 0, squares = 0, beyond = 0;
	uint32_t i;

	(void)unused;
	for (i = 0; i < DRAWS; i++) {
		double distance = (double)sample_distance(any(), MEAN) / MEAN;

		sum += distance;
		squares += distance * distance;
		beyond += distance > 3;
	}
	sum /= DRAWS;
	assert_true(fabs(sum - 1) < 0.004);
	assert_true(fabs(sqrt(squares / DRAWS - sum * sum) - 1) < 0.006);
	assert_true(fabs(beyond / DRAWS - exp(-3)) < 0.001);
}

static void distances_have_ends(void **unused)
{
	(void)unused;
	assert_int_equal(sample_distance(UINT64_MAX, MEAN), 1);
	assert_in_range(sample_distance(0, MEAN), 44 * MEAN, 45 * MEAN);
	assert_in_range(sample_distance(0, SAMPLE_MEAN_MAX), 44 * SAMPLE_MEAN_MAX,
			45 * SAMPLE_MEAN_MAX);
	assert_int_equal(sample_distance(UINT64_C(1) << 63, MEAN), (uint64_t)(MEAN * M_LN2) + 1);
}

static void weights_are_the_inverse_of_the_probability(void **unused)
{
	double size, p;

	(void)unused;
	for (settings.sample = 1024; settings.sample <= SAMPLE_MEAN_MAX; settings.sample *= 32)
		for (size = 1; size < 40.0 * (double)settings.sample; size = floor(size * 1.1 + 1)) {
			p = -expm1(-size / (double)settings.sample);
			/* A byte is what rounding may cost. */
			assert_true(fabs((double)sample_weigh(4096, (size_t)size, 1).bytes -
					 size / p) < 1 + 1e-7 * size / p);
		}
}

/* The addresses of a heap round the number of blocks up as often as down. */
static void blocks_have_no_bias(void **unused)
{
	static const size_t sizes[] = {24, 1000, 100000, 400000, 700000, 2000000};
	uintptr_t addr;
	size_t i;

	(void)unused;
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		double sum = 0, want = -1 / expm1(-(double)sizes[i] / MEAN);

		for (addr = 1; addr <= 20000; addr++)
			sum += (double)sample_weigh(addr * 48, sizes[i], 1).blocks;
		assert_true(fabs(sum / 20000 / want - 1) < 0.001);
		/* Nor those of the same address at other times. */
		for (sum = 0, addr = 1; addr <= 20000; addr++)
			sum += (double)sample_weigh(4096, sizes[i], addr * 371).blocks;
		assert_true(fabs(sum / 20000 / want - 1) < 0.001);
		assert_true(sample_weigh(addr, sizes[i], 0).blocks == (uint64_t)want);
	}
}

static void large_blocks_stand_for_themselves(void **unused)
{
	struct sample_weight weight = sample_weigh(64, 100 * (size_t)MEAN, 1);

	(void)unused;
	assert_int_equal(weight.blocks, 1);
	assert_int_equal(weight.bytes, 100 * (size_t)MEAN);
	settings.sample = 0;
	weight = sample_weigh(64, 8, 1);
	assert_int_equal(weight.blocks, 1);
	assert_int_equal(weight.bytes, 8);
}

/* Blocks of many sizes in any order: bytes and blocks as they were, to the 4 standard deviations of their number. */
static void estimates_have_no_bias(void **unused)
{
	double bytes = 0, want_bytes = 0, blocks = 0, want_blocks = 0, drawn = 0;
	uint32_t i;

	(void)unused;
	settings.sample_seed = 5;
	for (i = 1; i <= DRAWS; i++) {
		size_t size = (size_t)16 << any() % 17;

		want_bytes += (double)size;
		want_blocks++;
		if (!sample_takes(size))
			continue;
		drawn++;
		bytes += (double)sample_weigh(any() << 4, size, 1).bytes;
		blocks += (double)sample_weigh(any() << 4, size, 1).blocks;
	}
	assert_true(drawn > 50000);
	assert_true(fabs(bytes / want_bytes - 1) < 4 / sqrt(drawn));
	/* The small blocks, of which few are drawn, are most of them. */
	assert_true(fabs(blocks / want_blocks - 1) < 0.3);
}

static void zero_bytes_are_drawn_as_one(void **unused)
{
	struct sample_weight weight;
	uint32_t i, drawn = 0;

	(void)unused;
	settings.sample = 1024;
	/* What is left of a draw of another mean. */
	while (!sample_takes(MEAN))
		;
	for (i = 0; i < DRAWS; i++)
		drawn += sample_takes(0);
	assert_true(fabs(drawn * 1024.0 / DRAWS - 1) < 4 / sqrt(DRAWS / 1024.0));
	weight = sample_weigh(64, 0, 1);
	assert_int_equal(weight.bytes, 0);
	assert_in_range(weight.blocks, 1024, 1025);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(distances_are_exponential, setup),
		cmocka_unit_test_setup(distances_have_ends, setup),
		cmocka_unit_test_setup(weights_are_the_inverse_of_the_probability, setup),
		cmocka_unit_test_setup(blocks_have_no_bias, setup),
		cmocka_unit_test_setup(large_blocks_stand_for_themselves, setup),
		cmocka_unit_test_setup(estimates_have_no_bias, setup),
		cmocka_unit_test_setup(zero_bytes_are_drawn_as_one, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
