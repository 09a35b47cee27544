/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * factor.c - factors products of two primes by Pollard's rho with numbers on the heap: nearly all time goes to
 * malloc() and free() of a few words each.
 *
 * Usage: factor [-t THREADS] [COUNT]     COUNT (8) numbers of a fixed list, in each thread
 *
 * Numbers are immutable; each operation makes a new one.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS_MAX = 64, PRIMES = 8 };

/* Little endian, without leading zeros; zero has no limbs. */
struct number {
	int length;
	uint32_t limbs[];
};

static const uint64_t primes[PRIMES][2] = {
	{1073741827, 4294967311}, {1073741831, 4294967357}, {1073741833, 4294967371},
	{1073741839, 4294967377}, {1073741843, 4294967387}, {1073741857, 4294967389},
	{1073741891, 4294967459}, {1073741909, 4294967477},
};
static int count = PRIMES;

static struct number *number_new(int length)
{
	struct number *n = malloc(sizeof(*n) + (size_t)length * sizeof(uint32_t));

	if (!n)
		abort();
	n->length = length;
	return n;
}

static struct number *trim(struct number *n)
{
	while (n->length > 0 && n->limbs[n->length - 1] == 0)
		n->length--;
	return n;
}

static struct number *number_from(uint64_t value)
{
	struct number *n = number_new(2);

	n->limbs[0] = (uint32_t)value;
	n->limbs[1] = (uint32_t)(value >> 32);
	return trim(n);
}

static struct number *multiply(const struct number *a, const struct number *b)
{
	struct number *n = number_new(a->length + b->length);
	int i, j;

	for (i = 0; i < n->length; i++)
		n->limbs[i] = 0;
	for (i = 0; i < a->length; i++) {
		uint64_t carry = 0;

		for (j = 0; j < b->length; j++) {
			carry += (uint64_t)a->limbs[i] * b->limbs[j] + n->limbs[i + j];
			n->limbs[i + j] = (uint32_t)carry;
			carry >>= 32;
		}
		n->limbs[i + j] = (uint32_t)carry;
	}
	return trim(n);
}

static int compare(const struct number *a, const struct number *b)
{
	int i;

	if (a->length != b->length)
		return a->length < b->length ? -1 : 1;
	for (i = a->length - 1; i >= 0; i--)
		if (a->limbs[i] != b->limbs[i])
			return a->limbs[i] < b->limbs[i] ? -1 : 1;
	return 0;
}

/* a - b, of which a is not the smaller one. */
static struct number *subtract(const struct number *a, const struct number *b)
{
	struct number *n = number_new(a->length);
	int64_t borrow = 0;
	int i;

	for (i = 0; i < a->length; i++) {
		borrow += (int64_t)a->limbs[i] - (i < b->length ? b->limbs[i] : 0);
		n->limbs[i] = (uint32_t)borrow;
		borrow >>= 32;
	}
	return trim(n);
}

static struct number *add_one(const struct number *a)
{
	struct number *n = number_new(a->length + 1);
	uint64_t carry = 1;
	int i;

	for (i = 0; i < a->length; i++) {
		carry += a->limbs[i];
		n->limbs[i] = (uint32_t)carry;
		carry >>= 32;
	}
	n->limbs[i] = (uint32_t)carry;
	return trim(n);
}

static unsigned __int128 value_of(const struct number *a)
{
	unsigned __int128 value = 0;
	int i;

	for (i = a->length - 1; i >= 0; i--)
		value = value << 32 | a->limbs[i];
	return value;
}

/* Numbers here have at most four limbs: the remainder is left to the compiler's 128-bit division. */
static struct number *rest(const struct number *a, const struct number *m)
{
	unsigned __int128 value = value_of(a) % value_of(m);
	struct number *n = number_new(4);
	int i;

	for (i = 0; i < 4; i++, value >>= 32)
		n->limbs[i] = (uint32_t)value;
	return trim(n);
}

/* x * x + 1 modulo m; x is freed. */
static struct number *step(struct number *x, const struct number *m)
{
	struct number *square = multiply(x, x);
	struct number *small = rest(square, m);
	struct number *sum = add_one(small);

	free(x);
	free(square);
	free(small);
	return sum;
}

static struct number *common_divisor(struct number *a, struct number *b)
{
	while (b->length > 0) {
		struct number *c = rest(a, b);

		free(a);
		a = b;
		b = c;
	}
	free(b);
	return a;
}

static struct number *difference(const struct number *a, const struct number *b)
{
	return compare(a, b) < 0 ? subtract(b, a) : subtract(a, b);
}

/* The product of n with |x - y| modulo m; n is freed. */
static struct number *collect(struct number *n, const struct number *x, const struct number *y,
			      const struct number *m)
{
	struct number *distance = difference(x, y);
	struct number *product = multiply(n, distance);
	struct number *small = rest(product, m);

	free(n);
	free(distance);
	free(product);
	return small;
}

/* A factor of m that is not 1; a common divisor is looked for every 64 steps. */
static struct number *find_factor(const struct number *m)
{
	struct number *x = number_from(2), *y = number_from(2), *product = number_from(1);
	struct number *one = number_from(1), *found = number_from(1);
	int i;

	while (found->length == 1 && found->limbs[0] == 1) {
		for (i = 0; i < 64; i++) {
			x = step(x, m);
			y = step(step(y, m), m);
			product = collect(product, x, y, m);
		}
		free(found);
		found = common_divisor(rest(product, m), multiply(m, one));
	}
	free(x);
	free(y);
	free(product);
	free(one);
	return found;
}

static void *factor_all(void *sum)
{
	int i;

	for (i = 0; i < count; i++) {
		struct number *m = number_from(primes[i % PRIMES][0] * primes[i % PRIMES][1]);
		struct number *found = find_factor(m);

		*(uint64_t *)sum += (uint64_t)value_of(found);
		free(found);
		free(m);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX];
	uint64_t sums[THREADS_MAX] = {0};
	int option, i, thread_count = 1;

	while ((option = getopt(argc, argv, "t:")) != -1) {
		if (option != 't')
			return 2;
		thread_count = atoi(optarg);
	}
	if (optind < argc)
		count = atoi(argv[optind]);
	if (thread_count < 1 || thread_count > THREADS_MAX || count < 1)
		return 2;
	for (i = 1; i < thread_count; i++)
		if (pthread_create(&threads[i], NULL, factor_all, &sums[i]) != 0)
			abort();
	factor_all(&sums[0]);
	for (i = 0; i < thread_count; i++) {
		if (i > 0)
			pthread_join(threads[i], NULL);
		printf("%llu\n", (unsigned long long)sums[i]);
	}
	return 0;
}
