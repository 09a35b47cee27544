/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * edges.c - calls every allocation function with ordinary and extreme arguments and prints what came back.
 *
 * The transcript holds only what an allocator must not change: NULL or not, errno, alignment, kept or
 * zeroed content, usable size at least the request.  Run with and without the library and compare.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	100,
	1000,
	1032,
	1033,
	4095,
	4096,
	4097,
	65536,
	131071,
	131072,
	200000,
	33554432,
	SIZE_MAX / 2,
	SIZE_MAX / 2 + 1,
	SIZE_MAX - 4096,
	SIZE_MAX - 16,
	SIZE_MAX - 1,
	SIZE_MAX,
};
static const size_t alignments[] = {
	0,
	1,
	2,
	3,
	4,
	5,
	8,
	12,
	16,
	24,
	32,
	48,
	64,
	100,
	128,
	256,
	1000,
	4096,
	65536,
	2097152,
	(size_t)1 << 40,
	(size_t)1 << 62,
	SIZE_MAX / 2 + 1,
	SIZE_MAX / 2 + 2,
	SIZE_MAX,
};
enum {
	SIZES = sizeof(sizes) / sizeof(*sizes),
	ALIGNMENTS = sizeof(alignments) / sizeof(*alignments)
};

static void *(*volatile call_malloc)(size_t) = malloc;
static void *(*volatile call_calloc)(size_t, size_t) = calloc;
static void *(*volatile call_realloc)(void *, size_t) = realloc;
static void *(*volatile call_reallocarray)(void *, size_t, size_t) = reallocarray;
static int (*volatile call_posix_memalign)(void **, size_t, size_t) = posix_memalign;
static void *(*volatile call_aligned_alloc)(size_t, size_t) = aligned_alloc;
static void *(*volatile call_memalign)(size_t, size_t) = memalign;
static void *(*volatile call_valloc)(size_t) = valloc;
static void *(*volatile call_pvalloc)(size_t) = pvalloc;

static unsigned low_bits(const void *block)
{
	uintptr_t addr = (uintptr_t)block;
	unsigned bits = 0;

	while (bits < 4 && !(addr & ((uintptr_t)1 << bits)))
		bits++;
	return bits; /* 4 = aligned to 16, what malloc promises; more is luck */
}

static int aligned(const void *block, size_t alignment)
{
	return !alignment || (uintptr_t)block % alignment == 0;
}

/* The smallest power of two >= alignment and >= 16: what glibc's memalign gives. */
static size_t rounded(size_t alignment)
{
	size_t power = 16;

	while (power < alignment && power <= SIZE_MAX / 4)
		power *= 2;
	return power;
}

static void fill(void *block, size_t size)
{
	if (block && size < 300000)
		memset(block, 0x5a, size);
}

static int filled(const unsigned char *block, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (block[i] != 0x5a)
			return 0;
	return 1;
}

static int zeroed(const unsigned char *block, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (block[i])
			return 0;
	return 1;
}

static void show(const char *what, size_t a, size_t b, void *block, size_t size)
{
	printf("%s %zu %zu: %s errno %d", what, a, b, block ? "block" : "NULL", errno);
	if (block)
		printf(" bits %u usable %d", low_bits(block), malloc_usable_size(block) >= size);
	printf("\n");
	fill(block, size);
	errno = 77;
	free(block);
	printf("  free: errno %d\n", errno);
}

static void test_malloc(void)
{
	for (int i = 0; i < SIZES; i++) {
		errno = 33;
		show("malloc", sizes[i], 0, call_malloc(sizes[i]), sizes[i]);
	}
}

static void test_calloc(void)
{
	static const size_t counts[] = {0, 1, 3, 16, 1000, SIZE_MAX / 8 + 1, SIZE_MAX};

	for (int c = 0; c < 7; c++)
		for (int i = 0; i < SIZES; i++) {
			size_t size = counts[c] * sizes[i];
			void *block;

			if (counts[c] > 1 && sizes[i] > 200000 && sizes[i] < SIZE_MAX / 2)
				continue; /* depends on the memory of the machine */
			errno = 33;
			block = call_calloc(counts[c], sizes[i]);
			if (block && size < 300000)
				printf("zeroed %d ", zeroed(block, size));
			show("calloc", counts[c], sizes[i], block, size);
		}
}

static void resize(const char *what, size_t from, size_t to, void *(*change)(void *, size_t))
{
	void *old = call_malloc(from), *block;
	size_t kept = from < to ? from : to;

	fill(old, from);
	errno = 33;
	block = change(old, to);
	printf("%s %zu -> %zu: %s errno %d", what, from, to, block ? "block" : "NULL", errno);
	if (block && from < 300000)
		printf(" kept %d bits %u usable %d", filled(block, kept), low_bits(block),
		       malloc_usable_size(block) >= to);
	if (!block && to)
		printf(" old %d",
		       filled(old, from < 300000 ? from
						 : 0)); /* a failed realloc leaves the block alone */
	printf("\n");
	free(block ? block : to ? old : NULL);
}

static void *by_realloc(void *block, size_t size)
{
	return call_realloc(block, size);
}

static void *by_reallocarray(void *block, size_t size)
{
	return call_reallocarray(block, size, 1);
}

static void test_realloc(void)
{
	for (int f = 0; f < SIZES && sizes[f] < SIZE_MAX / 2; f++)
		for (int t = 0; t < SIZES; t++) {
			resize("realloc", sizes[f], sizes[t], by_realloc);
			resize("reallocarray", sizes[f], sizes[t], by_reallocarray);
		}
	for (int t = 0; t < SIZES; t++) {
		errno = 33;
		show("realloc NULL", sizes[t], 0, call_realloc(NULL, sizes[t]), sizes[t]);
		errno = 33;
		show("reallocarray NULL", sizes[t], 1, call_reallocarray(NULL, sizes[t], 1),
		     sizes[t]);
		errno = 33;
		show("reallocarray NULL", 3, sizes[t],
		     sizes[t] < SIZE_MAX / 3 && sizes[t] > 300000
			     ? NULL
			     : call_reallocarray(NULL, 3, sizes[t]),
		     3 * sizes[t]);
		errno = 33;
		show("reallocarray overflow", SIZE_MAX / 2 + 2, 4,
		     call_reallocarray(NULL, SIZE_MAX / 2 + 2, 4), 0);
	}
}

/* alignments beyond any address make glibc print nothing and fail; sizes are kept small there */
static void test_aligned(void)
{
	for (int a = 0; a < ALIGNMENTS; a++)
		for (int i = 0; i < SIZES; i++) {
			size_t alignment = alignments[a], size = sizes[i];
			void *block = (void *)0x55;
			int rc;

			errno = 33;
			rc = call_posix_memalign(&block, alignment, size);
			printf("posix_memalign %zu %zu: %d errno %d %s", alignment, size, rc, errno,
			       rc ? block == (void *)0x55 ? "untouched" : "touched"
			       : aligned(block, alignment) ? "aligned"
							   : "BAD");
			printf(" usable %d\n", rc ? -1 : malloc_usable_size(block) >= size);
			if (!rc)
				free(block);
			errno = 33;
			block = call_aligned_alloc(alignment, size);
			printf("aligned %d ", !block || aligned(block, rounded(alignment)) ||
						      aligned(block, alignment));
			show("aligned_alloc", alignment, size, block, size);
			errno = 33;
			block = call_memalign(alignment, size);
			printf("aligned %d ", !block || aligned(block, rounded(alignment)));
			show("memalign", alignment, size, block, size);
		}
}

static void test_pages(void)
{
	for (int i = 0; i < SIZES; i++) {
		void *block;

		errno = 33;
		block = call_valloc(sizes[i]);
		printf("page %d ", aligned(block, 4096));
		show("valloc", sizes[i], 0, block, sizes[i]);
		errno = 33;
		block = call_pvalloc(sizes[i]);
		printf("page %d whole %d ", aligned(block, 4096),
		       !block || malloc_usable_size(block) >= (sizes[i] + 4095) / 4096 * 4096);
		show("pvalloc", sizes[i], 0, block, sizes[i]);
	}
}

static void test_realloc_of_aligned(void)
{
	for (size_t alignment = 16; alignment <= 65536; alignment *= 4) {
		void *block = call_aligned_alloc(alignment, 5000);

		fill(block, 5000);
		block = call_realloc(block, 50000);
		printf("realloc aligned %zu: kept %d\n", alignment, filled(block, 5000));
		block = call_realloc(block, 10);
		printf("  shrunk: kept %d errno %d\n", filled(block, 10), errno);
		free(block);
	}
}

/* C23, glibc has them from 2.41 on; the library passes on what libc has, or frees by itself. */
static void test_sized_free(void)
{
	void (*sized)(void *, size_t) = (void (*)(void *, size_t))dlsym(RTLD_DEFAULT, "free_sized");
	void (*aligned_sized)(void *, size_t, size_t) = (void (*)(void *, size_t, size_t))dlsym(
		RTLD_DEFAULT, "free_aligned_sized");

	errno = 33;
	if (sized) {
		sized(NULL, 0);
		sized(call_malloc(100), 100);
	}
	if (aligned_sized) {
		aligned_sized(NULL, 64, 0);
		aligned_sized(call_aligned_alloc(64, 128), 64, 128);
	}
	printf("sized free: errno %d\n", errno);
}

/* Blocks keep their content while others come and go: no two blocks overlap. */
static void test_no_overlap(void)
{
	static unsigned char *block[2000];
	static size_t size[2000];
	unsigned state = 12345, bad = 0;

	for (int step = 0; step < 100000; step++) {
		int i = (state = state * 1103515245 + 12345) >> 8 & 0x7ff;

		if (i >= 2000)
			continue;
		for (size_t k = 0; k<size[i]; k += size[i]> 64 ? size[i] / 16 : 1)
			bad += block[i][k] != (unsigned char)i;
		free(block[i]);
		size[i] = (state >> 12) % (step % 50 ? 300 : 20000);
		block[i] = step % 3 ? call_malloc(size[i]) : call_memalign(64, size[i]);
		memset(block[i], i, size[i]);
	}
	for (int i = 0; i < 2000; i++)
		free(block[i]);
	printf("overlap: %u\n", bad);
}

int main(void)
{
	printf("usable size of NULL: %zu\n", malloc_usable_size(NULL));
	errno = 33;
	free(NULL);
	printf("free(NULL): errno %d\n", errno);
	test_malloc();
	test_calloc();
	test_realloc();
	test_aligned();
	test_pages();
	test_realloc_of_aligned();
	test_sized_free();
	test_no_overlap();
	return 0;
}
