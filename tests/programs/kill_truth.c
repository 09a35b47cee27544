/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kill_truth.c - eight busy threads whose heap is known at any moment, also after SIGKILL.
 *
 *   kill_truth FILE [hold SIZE]
 *
 * Each thread allocates at random call stacks, of which there are more and more, keeps, frees, and passes blocks on to
 * others.  FILE is mapped: a thread first writes there what it is about to do, does it, counts it there, and takes the
 * note back.  So at any moment the truth of a call stack is the counts, plus what is noted.  The program ends when the
 * first word of FILE is not 0, and says whether all blocks still were what was written into them.
 * hold: nothing is freed, blocks of about SIZE bytes are touched, and the first that cannot be had aborts.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	THREADS = 8,
	BITS = 9,
	SITES = 4,
	KEYS = SITES << BITS,
	KEPT = 512,
	MAILBOXES = 64,
	FIRST_KEYS = 16
};

enum { NOTHING, ALLOCATES, FREES };

/* What happened at one call stack. */
struct count {
	_Atomic uint64_t alloc_bytes, free_bytes, alloc_blocks, free_blocks;
};

struct slot {
	_Atomic uint64_t doing, key, size, events, reserved[4];
	struct count counts[KEYS];
};

struct truth {
	_Atomic uint64_t stop;
	uint64_t threads, keys, bits, reserved[4];
	struct slot slots[THREADS];
};

struct block {
	uint32_t key, size;
	uint64_t check; /* of the two */
};

static struct truth *truth;
static size_t hold_size;
static _Atomic(struct block *) mailboxes[MAILBOXES];
static _Atomic uint64_t damaged;

#define NOINLINE __attribute__((noinline, noclone))

static NOINLINE void *site_0(size_t size)
{
	return malloc(size);
}

static NOINLINE void *site_1(size_t size)
{
	return calloc(1, size);
}

static NOINLINE void *site_2(size_t size)
{
	return realloc(NULL, size);
}

static NOINLINE void *site_3(size_t size)
{
	return aligned_alloc(64, (size + 63) / 64 * 64);
}

static void *(*const sites[SITES])(size_t) = {site_0, site_1, site_2, site_3};

static NOINLINE void *way_0(uint32_t key, size_t size, int bits);

static NOINLINE void *way_1(uint32_t key, size_t size, int bits)
{
	void *volatile block = bits == 0	       ? sites[key % SITES](size)
			       : key >> (bits + 1) & 1 ? way_1(key, size, bits - 1)
						       : way_0(key, size, bits - 1);

	return block;
}

static NOINLINE void *way_0(uint32_t key, size_t size, int bits)
{
	void *volatile block = bits == 0	       ? sites[key % SITES](size)
			       : key >> (bits + 1) & 1 ? way_1(key, size, bits - 1)
						       : way_0(key, size, bits - 1);

	return block;
}

/* As aligned_alloc() wants it. */
static size_t size_at(uint32_t key, size_t size)
{
	return key % SITES == 3 ? (size + 63) / 64 * 64 : size;
}

static void add(_Atomic uint64_t *to, uint64_t value)
{
	atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + value,
			      memory_order_release);
}

static void note(struct slot *slot, uint64_t doing, uint32_t key, size_t size)
{
	atomic_store_explicit(&slot->key, key, memory_order_release);
	atomic_store_explicit(&slot->size, size, memory_order_release);
	atomic_store_explicit(&slot->doing, doing, memory_order_release);
}

static void done(struct slot *slot)
{
	atomic_store_explicit(&slot->doing, NOTHING, memory_order_release);
	add(&slot->events, 1);
}

static uint64_t check_of(const struct block *block)
{
	return (block->key + 1) * 0x9e3779b97f4a7c15u ^ block->size;
}

static struct block *take(struct slot *slot, uint32_t key, size_t size)
{
	struct block *block;

	size = size_at(key, size);
	note(slot, ALLOCATES, key, size);
	block = way_0(key, size, BITS);
	if (!block)
		abort();
	add(&slot->counts[key].alloc_bytes, size);
	add(&slot->counts[key].alloc_blocks, 1);
	done(slot);
	block->key = key;
	block->size = (uint32_t)size;
	block->check = check_of(block);
	return block;
}

static void drop(struct slot *slot, struct block *block)
{
	uint32_t key, size;

	if (!block)
		return;
	key = block->key;
	size = block->size;
	if (key >= KEYS || block->check != check_of(block)) {
		atomic_fetch_add(&damaged, 1);
		return;
	}
	note(slot, FREES, key, size);
	free(block);
	add(&slot->counts[key].free_bytes, size);
	add(&slot->counts[key].free_blocks, 1);
	done(slot);
}

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint32_t next_key(struct slot *slot, uint64_t random)
{
	uint64_t keys = FIRST_KEYS + slot->events / 256;

	return (uint32_t)(random % (keys < KEYS ? keys : KEYS));
}

static void hold(struct slot *slot, uint64_t *state)
{
	struct block *block;
	size_t size = hold_size + next(state) % 64;

	block = take(slot, next_key(slot, next(state)), size);
	memset(block + 1, 1, block->size - sizeof(*block));
}

static void churn(struct slot *slot, struct block **kept, uint64_t *state)
{
	uint64_t random = next(state);
	uint32_t place = random % KEPT;
	struct block *old = kept[place];

	if (random >> 60 == 0)
		old = atomic_exchange(&mailboxes[random >> 32 & (MAILBOXES - 1)], old);
	drop(slot, old);
	kept[place] = NULL;
	if (random >> 59 & 1)
		kept[place] = take(slot, next_key(slot, random >> 20), 16 + (random >> 40) % 1000);
}

static void *work(void *number)
{
	struct slot *slot = &truth->slots[(uintptr_t)number];
	struct block *kept[KEPT] = {0};
	uint64_t state = 88172645463325252u + (uintptr_t)number;

	while (!atomic_load_explicit(&truth->stop, memory_order_relaxed)) {
		if (hold_size)
			hold(slot, &state);
		else
			churn(slot, kept, &state);
	}
	for (int i = 0; i < KEPT; i++)
		drop(slot, kept[i]);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;

	if (fd < 0 || ftruncate(fd, sizeof(*truth)) != 0)
		return 2;
	hold_size = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	truth = mmap(NULL, sizeof(*truth), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (truth == MAP_FAILED)
		return 2;
	truth->threads = THREADS;
	truth->keys = KEYS;
	truth->bits = BITS;
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < MAILBOXES; i++)
		drop(&truth->slots[0], mailboxes[i]);
	printf("%d threads, %lu blocks damaged\n", THREADS, (unsigned long)damaged);
	return damaged != 0;
}
