/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sample.c - draws and weights of sample.h, in fixed point: the library uses no floating-point registers.
 */
#include "libpmem/sample.h"

#include <stdatomic.h>

#include "libpmem/sys.h"

enum {
	CERTAIN = 32,  /* a block of so many times the mean is recorded: p is 1 - 10^-14 */
	LOG_BITS = 28, /* of a logarithm's fraction */
	Q_BITS = 32,   /* of fixed-point numbers below */
	QUOTIENT_BITS = 26,
	COUNT_BITS = 16,
};

#define ONE ((uint64_t)1 << Q_BITS)
#define LN2 UINT64_C(0xb17217f8) /* ln 2, Q_BITS */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

__thread int64_t sample_left __attribute__((visibility("hidden"), tls_model("initial-exec")));
static __thread uint64_t random_state __attribute__((tls_model("initial-exec")));

static uint64_t multiply(uint64_t a, uint64_t b)
{
	return (uint64_t)((unsigned __int128)a * b >> Q_BITS);
}

/* SplitMix64 (Steele, Lea and Flood, 2014): passes through all 2^64 numbers. */
static uint64_t next_random(void)
{
	uint64_t z;

	random_state += GOLDEN;
	z = random_state;
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* With PMEM_SAMPLE_SEED the nth thread that draws has the same numbers in each run. */
static uint64_t first_state(void)
{
	static _Atomic uint64_t threads;
	uint64_t number = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) + 1;

	if (settings.sample_seed)
		return settings.sample_seed * number;
	return sys_monotonic_ns() ^ number << 48 ^ (uintptr_t)&random_state;
}

/* log2(value) for value >= 1, with LOG_BITS of fraction: the bits of the fraction come by squaring. */
static uint64_t log2_of(uint64_t value)
{
	unsigned whole = 63 - (unsigned)__builtin_clzll(value), i;
	uint64_t mantissa = value << (63 - whole), log = whole; /* [1, 2), 63 bits of fraction */

	for (i = 0; i < LOG_BITS; i++) {
		unsigned __int128 square = (unsigned __int128)mantissa * mantissa;
		bool above = square >> 127 != 0;

		mantissa = (uint64_t)(square >> (above ? 64 : 63));
		log = log << 1 | above;
	}
	return log;
}

uint64_t sample_distance(uint64_t random, uint64_t mean)
{
	/* -ln(u) = (64 - log2(random)) * ln 2 for u = random / 2^64. */
	uint64_t log = ((uint64_t)64 << LOG_BITS) - log2_of(random | 1);
	uint64_t scaled = multiply(log, LN2);

	return (uint64_t)((unsigned __int128)scaled * mean >> LOG_BITS) + 1;
}

static void draw(void)
{
	sample_left = (int64_t)sample_distance(next_random(), settings.sample);
}

bool sample_takes(size_t size)
{
	if (random_state == 0) {
		random_state = first_state();
		draw();
	}
	if (sample_passes(size))
		return false;
	draw();
	return true;
}

/* x / (1 - exp(-x)) for x in [0, 1]: the sum of B(n) x^n / n!, with the Bernoulli numbers B(n); what is left out is below 10^-8. */
static uint64_t series(uint64_t x)
{
	uint64_t x2 = multiply(x, x), x4 = multiply(x2, x2);

	return ONE + x / 2 + x2 / 12 - x4 / 720 + multiply(x4, x2) / 30240 -
	       multiply(x4, x4) / 1209600;
}

/* The same for x in [0, CERTAIN], from y = x / 2: as 1 - exp(-2y) = (1 - exp(-y)) (1 + exp(-y)). */
static uint64_t inflation(uint64_t x)
{
	uint64_t half, inner, power; /* exp(-y) */
	unsigned halvings = 0;

	while (x > ONE) {
		x /= 2;
		halvings++;
	}
	for (half = x, inner = series(x); halvings > 0; halvings--, half *= 2) {
		power = ONE - ((half << QUOTIENT_BITS) / inner << (Q_BITS - QUOTIENT_BITS));
		inner = (inner << QUOTIENT_BITS) / (ONE + power) << (Q_BITS - QUOTIENT_BITS + 1);
	}
	return inner;
}

/* 16 bits that look random.  Not of the address alone: a program may have one buffer at one place again and again. */
static uint64_t rounding(uintptr_t addr, uint64_t birth_ns)
{
	return birth_ns ? ((addr >> 4) + birth_ns) * GOLDEN >> (64 - COUNT_BITS) : 0;
}

struct sample_weight sample_weigh_drawn(uintptr_t addr, size_t size, uint64_t birth_ns)
{
	struct sample_weight weight = {.blocks = 1, .bytes = size};
	uint64_t mean = settings.sample, drawn = size ? size : 1, bytes;

	if (size / CERTAIN >= mean)
		return weight;
	bytes = multiply(mean, inflation((drawn << (Q_BITS - 5)) / mean << 5));
	/* Rounded up as often as the fraction says, the same way at the free. */
	weight.blocks = ((bytes << COUNT_BITS) / drawn + rounding(addr, birth_ns)) >> COUNT_BITS;
	weight.bytes = size ? bytes : 0;
	return weight;
}
