/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tree.c - allocates in a random call tree and prints its own truth per call path, as JSON.
 *
 * Usage: tree ITERATIONS THREADS.  Each function pushes its return address on a path of its own at entry;
 * a path plus the allocating function (take_*) is a call stack, whose allocated and freed bytes are
 * summed in tables outside the heap.  The frames are of every kind that an unwinder meets: alloca, VLA,
 * realigned, with a frame pointer, large, with arguments on the stack, recursive, behind a pointer; many
 * callers reach one function at one stack depth.  Threads free each other's blocks.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PATH = 64, ENTRIES = 1 << 14, SLOTS = 4096, SEEDS = 509, NODES = 14 };

#define NODE __attribute__((noinline, noclone)) static
#define ENTER(w) ((w)->path[(w)->level++] = (uintptr_t)__builtin_return_address(0))
#define LEAVE(w) ((w)->level--)
#define KEEP(x) __asm__ volatile("" : : "r"(x) : "memory")

/* One call stack of one thread's table. */
struct entry {
	const char *site; /* NULL = empty */
	int level;
	uintptr_t path[PATH];
	uint64_t allocated; /* owner only */
	_Atomic uint64_t freed;
};

/* What stands at the start of each block. */
struct block {
	struct entry *entry;
	size_t size;
};

struct walk {
	uint64_t path_random; /* decides the path; begun anew with each walk */
	uint64_t size_random; /* never begun anew */
	int depth;
	int level;
	uintptr_t path[PATH];
	struct entry *table;
	long iterations;
};

static _Atomic(struct block *) slot[SLOTS];
static void (*const volatile node[NODES])(struct walk *);

static uint32_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static struct entry *entry_of(struct walk *walk, const char *site)
{
	uint64_t hash = (uintptr_t)site;

	for (int i = 0; i < walk->level; i++)
		hash = (hash ^ walk->path[i]) * 0x9e3779b97f4a7c15u;
	for (uint32_t i = hash >> 40;; i++) {
		struct entry *entry = &walk->table[i % ENTRIES];

		if (!entry->site) {
			entry->site = site;
			entry->level = walk->level;
			memcpy(entry->path, walk->path, sizeof(walk->path));
			return entry;
		}
		if (entry->site == site && entry->level == walk->level &&
		    !memcmp(entry->path, walk->path, walk->level * sizeof(*walk->path)))
			return entry;
	}
}

static size_t some_size(struct walk *walk)
{
	uint32_t random = next(&walk->size_random);

	return sizeof(struct block) + (random % 1000 ? random % 700 : random % 300000);
}

static void count_free(struct block *block)
{
	atomic_fetch_add_explicit(&block->entry->freed, block->size, memory_order_relaxed);
}

static void forget(struct block *block)
{
	if (!block)
		return;
	count_free(block);
	free(block);
}

/* Puts the block into a random slot and frees what was there. */
static void keep(struct walk *walk, struct entry *entry, struct block *block, size_t size)
{
	uint32_t at = next(&walk->size_random) % SLOTS;

	entry->allocated += size;
	block->entry = entry;
	block->size = size;
	forget(atomic_exchange_explicit(&slot[at], block, memory_order_acq_rel));
}

NODE void take_malloc(struct walk *walk)
{
	size_t size = some_size(walk);

	ENTER(walk);
	keep(walk, entry_of(walk, "take_malloc"), malloc(size), size);
	LEAVE(walk);
}

NODE void take_calloc(struct walk *walk)
{
	size_t size = some_size(walk) / 8 * 8 + 8;

	ENTER(walk);
	keep(walk, entry_of(walk, "take_calloc"), calloc(size / 8, 8), size);
	LEAVE(walk);
}

NODE void take_aligned(struct walk *walk)
{
	size_t size = some_size(walk);
	void *block = NULL;

	ENTER(walk);
	if (posix_memalign(&block, (size_t)16 << next(&walk->size_random) % 6, size))
		abort();
	keep(walk, entry_of(walk, "take_aligned"), block, size);
	LEAVE(walk);
}

/* The old block ends, a new one begins here, or the call is a malloc. */
NODE void take_realloc(struct walk *walk)
{
	size_t size = some_size(walk);
	uint32_t at = next(&walk->size_random) % SLOTS;
	struct block *block = atomic_exchange_explicit(&slot[at], NULL, memory_order_acq_rel);

	ENTER(walk);
	if (block)
		count_free(block);
	block = realloc(block, size);
	keep(walk, entry_of(walk, "take_realloc"), block, size);
	LEAVE(walk);
}

/* The body of every node; inlined, so that each has call sites of its own. */
static inline __attribute__((always_inline)) void visit(struct walk *walk)
{
	uint32_t random = next(&walk->path_random);

	switch (random % 5) {
	case 0:
		take_malloc(walk);
		break;
	case 1:
		take_calloc(walk);
		break;
	case 2:
		take_aligned(walk);
		break;
	case 3:
		take_realloc(walk);
		break;
	default:
		take_malloc(walk);
		break;
	}
	if (--walk->depth > 0) {
		random = next(&walk->path_random);
		node[random % NODES](walk);
		if (random % 7 == 0)
			node[random / 16 % NODES](walk);
	}
	walk->depth++;
	__asm__ volatile("" ::: "memory");
}

NODE void node_plain(struct walk *walk)
{
	ENTER(walk);
	visit(walk);
	LEAVE(walk);
}

NODE void node_alloca(struct walk *walk)
{
	char *room = alloca(16 + next(&walk->path_random) % 3000);

	ENTER(walk);
	KEEP(room);
	visit(walk);
	KEEP(room);
	LEAVE(walk);
}

NODE void node_vla(struct walk *walk)
{
	int size = 1 + next(&walk->path_random) % 200;
	long room[size];

	ENTER(walk);
	room[size - 1] = size;
	KEEP(room);
	visit(walk);
	KEEP(room);
	LEAVE(walk);
}

NODE void node_over_aligned(struct walk *walk)
{
	_Alignas(128) char room[128];

	ENTER(walk);
	KEEP(room);
	visit(walk);
	KEEP(room);
	LEAVE(walk);
}

NODE void node_over_aligned_alloca(struct walk *walk)
{
	_Alignas(64) char room[64];
	char *more = alloca(32 + next(&walk->path_random) % 1000);

	ENTER(walk);
	KEEP(room);
	KEEP(more);
	visit(walk);
	KEEP(more);
	LEAVE(walk);
}

#if defined __x86_64__
__attribute__((force_align_arg_pointer))
#endif
NODE void
node_realigned(struct walk *walk)
{
	ENTER(walk);
	visit(walk);
	LEAVE(walk);
}

__attribute__((optimize("no-omit-frame-pointer"))) NODE void node_frame_pointer(struct walk *walk)
{
	ENTER(walk);
	visit(walk);
	LEAVE(walk);
}

NODE void node_large(struct walk *walk)
{
	char room[20000];

	ENTER(walk);
	KEEP(room);
	visit(walk);
	KEEP(room);
	LEAVE(walk);
}

NODE void node_recursive(struct walk *walk)
{
	ENTER(walk);
	if (walk->depth > 3 && next(&walk->path_random) % 3) {
		walk->depth -= 2;
		node_recursive(walk);
		walk->depth += 2;
	} else {
		visit(walk);
	}
	LEAVE(walk);
}

/* Eight integers: two of them on the stack, below the return address of the callee. */
__attribute__((noinline, noclone)) static int many_arguments(struct walk *walk, int a, int b, int c,
							     int d, int e, int f, int g)
{
	ENTER(walk);
	visit(walk);
	LEAVE(walk);
	return a + b + c + d + e + f + g;
}

NODE void node_stack_arguments(struct walk *walk)
{
	ENTER(walk);
	KEEP((long)many_arguments(walk, 1, 2, 3, 4, 5, 6, 7));
	LEAVE(walk);
}

/* Three call sites of one function at one stack depth. */
NODE void node_three_callers(struct walk *walk)
{
	ENTER(walk);
	switch (next(&walk->path_random) % 3) {
	case 0:
		node_plain(walk);
		KEEP(0L);
		break;
	case 1:
		node_plain(walk);
		KEEP(1L);
		break;
	default:
		node_plain(walk);
		KEEP(2L);
		break;
	}
	LEAVE(walk);
}

/* Two functions with equal frames that call one: only a return address differs. */
NODE void node_twin_a(struct walk *walk)
{
	ENTER(walk);
	node_three_callers(walk);
	KEEP(3L);
	LEAVE(walk);
}

NODE void node_twin_b(struct walk *walk)
{
	ENTER(walk);
	node_three_callers(walk);
	KEEP(4L);
	LEAVE(walk);
}

NODE void node_registers(struct walk *walk)
{
	long a = next(&walk->path_random), b = a * 3, c = b ^ 5, d = c + a, e = d * b;

	ENTER(walk);
	visit(walk);
	KEEP(a + b);
	visit(walk);
	KEEP(a ^ b ^ c ^ d ^ e);
	LEAVE(walk);
}

static void (*const volatile node[NODES])(struct walk *) = {
	node_plain,
	node_alloca,
	node_vla,
	node_over_aligned,
	node_over_aligned_alloca,
	node_realigned,
	node_frame_pointer,
	node_large,
	node_recursive,
	node_stack_arguments,
	node_three_callers,
	node_twin_a,
	node_twin_b,
	node_registers,
};

__attribute__((noinline, noclone)) static void *root(void *argument)
{
	struct walk *walk = argument;

	for (long i = 0; i < walk->iterations; i++) {
		walk->path_random = i % SEEDS * 7919 + 1;
		walk->depth = 2 + i % SEEDS % 9;
		node[i % SEEDS % NODES](walk);
	}
	return NULL;
}

static void print_entry(const struct entry *entry, int *first)
{
	printf("%s\n{\"site\":\"%s\",\"alloc\":%" PRIu64 ",\"free\":%" PRIu64 ",\"path\":[",
	       *first ? "" : ",", entry->site, entry->allocated,
	       atomic_load_explicit(&entry->freed, memory_order_relaxed));
	for (int i = entry->level - 1; i >= 0; i--)
		printf("%" PRIuPTR "%s", entry->path[i], i ? "," : "]}");
	*first = 0;
}

static struct walk *make_walks(int threads, long iterations)
{
	struct walk *walks = mmap(NULL, threads * sizeof(*walks), PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < threads; i++) {
		walks[i].iterations = iterations;
		walks[i].size_random = 99 + i;
		walks[i].table = mmap(NULL, ENTRIES * sizeof(struct entry), PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	}
	return walks;
}

int main(int argc, char **argv)
{
	long iterations = argc > 1 ? atol(argv[1]) : 1000;
	int threads = argc > 2 ? atoi(argv[2]) : 1, first = 1;
	struct walk *walks = make_walks(threads, iterations);
	pthread_t thread[64];

	if (threads == 1)
		root(&walks[0]);
	for (int i = 0; i < threads && threads > 1; i++)
		pthread_create(&thread[i], NULL, root, &walks[i]);
	for (int i = 0; i < threads && threads > 1; i++)
		pthread_join(thread[i], NULL);
	printf("[");
	for (int i = 0; i < threads; i++)
		for (int k = 0; k < ENTRIES; k++)
			if (walks[i].table[k].site)
				print_entry(&walks[i].table[k], &first);
	printf("\n]\n");
	return 0;
}
