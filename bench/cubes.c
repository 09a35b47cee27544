/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cubes.c - complements random sums of products by recursive expansion, as logic minimizers do: covers are arrays
 * of cubes, each cube a small block on the heap, made and dropped at every level of the recursion.
 *
 * Usage: cubes [COUNT]     complements COUNT (1000) functions; prints how many cubes they had and a checksum
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { VARIABLES = 10, FIRST_ROOM = 4, TERMS = 16, LITERALS = 4 };

/* Bit v of ones: the product holds where variable v is 1; of zeros: where it is 0.  Both set: v does not matter. */
struct cube {
	uint64_t ones, zeros;
};

struct cover {
	size_t count, room;
	struct cube **cubes;
};

static const uint64_t all = (UINT64_C(1) << VARIABLES) - 1;
static uint64_t seed = 88172645463325252u;

static uint64_t random_next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void *allocate(size_t size)
{
	void *block = malloc(size);

	if (!block)
		abort();
	return block;
}

static struct cover *cover_new(void)
{
	struct cover *cover = allocate(sizeof(*cover));

	cover->count = 0;
	cover->room = FIRST_ROOM;
	cover->cubes = allocate(FIRST_ROOM * sizeof(struct cube *));
	return cover;
}

static void cover_free(struct cover *cover)
{
	size_t i;

	for (i = 0; i < cover->count; i++)
		free(cover->cubes[i]);
	free(cover->cubes);
	free(cover);
}

static void cover_add(struct cover *cover, uint64_t ones, uint64_t zeros)
{
	struct cube *cube = allocate(sizeof(*cube));

	cube->ones = ones;
	cube->zeros = zeros;
	if (cover->count == cover->room) {
		cover->room *= 2;
		cover->cubes = realloc(cover->cubes, cover->room * sizeof(struct cube *));
		if (!cover->cubes)
			abort();
	}
	cover->cubes[cover->count++] = cube;
}

/* The cubes that hold where variable v has this value, without v. */
static struct cover *cofactor(const struct cover *cover, int v, int value)
{
	struct cover *part = cover_new();
	uint64_t bit = UINT64_C(1) << v;
	size_t i;

	for (i = 0; i < cover->count; i++) {
		const struct cube *cube = cover->cubes[i];

		if ((value ? cube->ones : cube->zeros) & bit)
			cover_add(part, cube->ones | bit, cube->zeros | bit);
	}
	return part;
}

/* The variable that most cubes depend on; -1 if a cube is true everywhere. */
static int choose_variable(const struct cover *cover)
{
	int uses[VARIABLES] = {0}, best = 0, v;
	size_t i;

	for (i = 0; i < cover->count; i++) {
		uint64_t matters = all & ~(cover->cubes[i]->ones & cover->cubes[i]->zeros);

		if (!matters)
			return -1;
		for (; matters; matters &= matters - 1)
			uses[__builtin_ctzll(matters)]++;
	}
	for (v = 1; v < VARIABLES; v++)
		if (uses[v] > uses[best])
			best = v;
	return best;
}

/* Adds the cubes of both halves; a cube that is in both is one that does not depend on v. */
static struct cover *merge(struct cover *high, struct cover *low, int v)
{
	struct cover *both = cover_new();
	uint64_t bit = UINT64_C(1) << v;
	size_t i, j;

	for (i = 0; i < high->count; i++) {
		struct cube *a = high->cubes[i];

		for (j = 0; j < low->count; j++)
			if (low->cubes[j]->ones == a->ones && low->cubes[j]->zeros == a->zeros)
				break;
		if (j < low->count) {
			free(low->cubes[j]);
			low->cubes[j] = low->cubes[--low->count];
			cover_add(both, a->ones, a->zeros);
		} else {
			cover_add(both, a->ones, a->zeros & ~bit);
		}
	}
	for (j = 0; j < low->count; j++)
		cover_add(both, low->cubes[j]->ones & ~bit, low->cubes[j]->zeros);
	cover_free(high);
	cover_free(low);
	return both;
}

/* The complement; the cover is freed. */
static struct cover *complement(struct cover *cover)
{
	struct cover *high, *low;
	int v;

	if (cover->count == 0) {
		cover_add(cover, all, all);
		return cover;
	}
	v = choose_variable(cover);
	if (v < 0) {
		cover_free(cover);
		return cover_new();
	}
	high = complement(cofactor(cover, v, 1));
	low = complement(cofactor(cover, v, 0));
	cover_free(cover);
	return merge(high, low, v);
}

static struct cover *random_cover(void)
{
	struct cover *cover = cover_new();
	int i, j;

	for (i = 0; i < TERMS; i++) {
		uint64_t ones = all, zeros = all;

		for (j = 0; j < LITERALS; j++) {
			uint64_t choice = random_next();
			uint64_t bit = UINT64_C(1) << (choice >> 8) % VARIABLES;

			if (choice & 1)
				ones &= ~bit;
			else if (ones & bit)
				zeros &= ~bit;
		}
		cover_add(cover, ones, zeros);
	}
	return cover;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 1000, i;
	uint64_t cubes = 0, sum = 0;

	for (i = 0; i < count; i++) {
		struct cover *result = complement(random_cover());
		size_t j;

		cubes += result->count;
		for (j = 0; j < result->count; j++)
			sum = sum * 31 + result->cubes[j]->ones + 3 * result->cubes[j]->zeros;
		cover_free(result);
	}
	printf("%llu %llx\n", (unsigned long long)cubes, (unsigned long long)sum);
	return 0;
}
