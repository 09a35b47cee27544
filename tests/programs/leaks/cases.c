/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cases.c - leaks, and what looks like one, in C: see cases.h.
 */
#define _GNU_SOURCE
#include "cases.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* LeakSanitizer does not look at what the program maps itself, unless it is told to. */
extern void __lsan_register_root_region(const void *start, size_t size) __attribute__((weak));

struct node {
	struct node *next;
	struct node *other;
	char bytes[48];
};

extern struct node *kept;
extern void *kept_array[64];
extern __thread void *kept_by_thread;

/* Visible to others, so that the compiler keeps what is stored there. */
struct node *kept;
void *kept_array[64];
__thread void *kept_by_thread;
static pthread_key_t key;

static APART struct node *make(struct node *next, struct node *other)
{
	struct node *node = malloc(sizeof(*node));

	memset(node, 0, sizeof(*node));
	node->next = next;
	node->other = other;
	return opaque(node);
}

static APART struct node *make_list(int count)
{
	struct node *list = NULL;

	while (count-- > 0)
		list = make(list, NULL);
	return list;
}

static APART struct node *make_tree(int depth)
{
	return depth ? make(make_tree(depth - 1), make_tree(depth - 1)) : NULL;
}

static APART struct node *make_ring(int count)
{
	struct node *first = make(NULL, NULL), *last = first;

	while (--count > 0)
		last = last->next = make(NULL, NULL);
	last->next = first;
	return first;
}

/* --- lost and kept --------------------------------------------------------------------------- */

static void none(void)
{
	free(opaque(malloc(100)));
}

static void lost_one(void)
{
	opaque(malloc(100));
}

static void lost_many(void)
{
	for (int i = 1; i <= 500; i++)
		opaque(malloc((size_t)i));
}

static void lost_list(void)
{
	make_list(5);
}

static void lost_head(void)
{
	kept = make_list(6)->next->next;
}

static void lost_ring(void)
{
	make_ring(7);
}

static void lost_ring_with_tail(void)
{
	make_ring(3)->other = make_list(2);
}

static void lost_list_to_ring(void)
{
	make(make_ring(4), NULL);
}

static void lost_tree(void)
{
	make_tree(8);
}

static void lost_self(void)
{
	struct node *node = make(NULL, NULL);

	node->next = node;
}

static void shared_tail(void)
{
	struct node *tail = make_list(3);

	make(tail, NULL);
	make(tail, NULL);
}

static void shared_with_kept(void)
{
	struct node *tail = make_list(3);

	kept = make(tail, NULL);
	make(tail, NULL);
}

static void kept_tree(void)
{
	kept = make_tree(8);
}

static void overwritten(void)
{
	kept = make_list(4);
	kept = make_list(2);
}

static void only_in_freed(void)
{
	struct node *node = make(NULL, make_list(2));

	opaque(node);
	free(node);
}

/* --- kinds of pointers ----------------------------------------------------------------------- */

static void interior(void)
{
	kept_array[0] = (char *)opaque(malloc(100)) + 40;
}

static void last_byte(void)
{
	kept_array[0] = (char *)opaque(malloc(99)) + 98;
}

static void behind(void)
{
	kept_array[0] = (char *)opaque(malloc(100)) + 100;
}

static void unaligned(void)
{
	static char bytes[64] __attribute__((aligned(8)));
	void *block = opaque(malloc(100));

	memcpy(bytes + 4, &block, sizeof(block));
	opaque(bytes);
}

static void hidden(void)
{
	kept_array[0] = (void *)~(uintptr_t)opaque(malloc(100));
}

/* --- places of pointers ---------------------------------------------------------------------- */

static void in_global(void)
{
	kept_array[63] = opaque(malloc(100));
}

static void in_thread_local(void)
{
	kept_by_thread = opaque(malloc(100));
}

static void in_specific(void)
{
	pthread_key_create(&key, NULL);
	pthread_setspecific(key, opaque(malloc(100)));
}

static void in_environment(void)
{
	setenv("PMEM_TEST_CASES", "a value that is kept by the C library", 1);
}

static void in_stack(void)
{
	void *volatile block = opaque(malloc(100));

	opaque((void *)(uintptr_t)&block);
	exit(0);
}

static void in_mapping(void)
{
	void **mapping = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			      0);

	if (__lsan_register_root_region)
		__lsan_register_root_region(mapping, 8192);
	mapping[700] = opaque(malloc(100));
}

static void in_shared_mapping(void)
{
	void **mapping = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (__lsan_register_root_region)
		__lsan_register_root_region(mapping, 8192);
	mapping[700] = opaque(malloc(100));
}

/* --- threads --------------------------------------------------------------------------------- */

static int ready[2];

static void tell_ready(void)
{
	(void)!write(ready[1], "", 1);
}

/* Returns when the thread has told so. */
static void start(void *(*run)(void *), void *argument)
{
	pthread_t thread;
	char byte;

	(void)!pipe(ready);
	pthread_create(&thread, NULL, run, argument);
	(void)!read(ready[0], &byte, 1);
}

static void join(void *(*run)(void *))
{
	pthread_t thread;

	pthread_create(&thread, NULL, run, NULL);
	pthread_join(thread, NULL);
}

static void *wait_with_local(void *nothing)
{
	void *volatile block = opaque(malloc(100));

	opaque((void *)(uintptr_t)&block);
	tell_ready();
	for (;;)
		pause();
	return nothing;
}

static void in_thread_stack(void)
{
	start(wait_with_local, NULL);
}

static void *wait_with_variable(void *nothing)
{
	kept_by_thread = make_list(2);
	tell_ready();
	for (;;)
		pause();
	return nothing;
}

static void in_thread_variable(void)
{
	start(wait_with_variable, NULL);
}

static void *wait_for_ever(void *argument)
{
	void *volatile local = argument;

	opaque((void *)(uintptr_t)&local);
	tell_ready();
	for (;;)
		pause();
	return argument;
}

static void in_thread_argument(void)
{
	start(wait_for_ever, make_list(2));
}

/* No stack and no memory: the pointer is in one register only. */
static void *wait_with_register(void *nothing)
{
	void *block = opaque(malloc(100));

	__asm__ volatile("mov %0, %%r12; xor %0, %0" : "+r"(block) : : "r12");
	tell_ready();
	__asm__ volatile("1: mov $34, %%eax; syscall; jmp 1b" : : : "rax", "rcx", "r11", "memory");
	return nothing;
}

static void in_register(void)
{
	start(wait_with_register, NULL);
}

static APART void *load_vector(void)
{
	void *block = opaque(malloc(100));

	__asm__ volatile("movq %0, %%xmm15; xor %0, %0" : "+r"(block) : : "xmm15");
	return block;
}

static void *wait_with_vector(void *nothing)
{
	load_vector();
	wipe();
	tell_ready();
	__asm__ volatile("1: mov $34, %%eax; syscall; jmp 1b" : : : "rax", "rcx", "r11", "memory");
	return nothing;
}

static void in_vector(void)
{
	start(wait_with_vector, NULL);
}

static void *end_with_variable(void *nothing)
{
	kept_by_thread = opaque(malloc(100));
	return nothing;
}

static void thread_ended(void)
{
	join(end_with_variable);
}

static void *lose_in_arena(void *nothing)
{
	for (int i = 0; i < 100; i++)
		opaque(malloc(1000));
	kept = make_list(10);
	return nothing;
}

static void other_arena(void)
{
	join(lose_in_arena);
}

/* --- functions of malloc's family ------------------------------------------------------------ */

static void reallocated(void)
{
	char *block = opaque(malloc(10));

	for (size_t size = 20; size < 5000; size *= 2)
		block = opaque(realloc(block, size));
	kept_array[0] = opaque(realloc(opaque(malloc(30)), 3000));
}

static void moved_with_pointers(void)
{
	struct node **array = malloc(4 * sizeof(*array));

	for (int i = 0; i < 4; i++)
		array[i] = make(NULL, NULL);
	kept_array[0] = realloc(opaque(array), 400 * sizeof(*array));
}

static void whole_family(void)
{
	void *block;

	opaque(calloc(10, 20));
	opaque(aligned_alloc(64, 640));
	if (posix_memalign(&block, 4096, 5000) == 0)
		opaque(block);
	opaque(strdup("a string that nobody keeps"));
}

static void large(void)
{
	struct node **array = calloc(100000, sizeof(*array));

	array[99999] = make(NULL, NULL);
	array[50000] = make_list(3);
	opaque(array);
}

static void large_kept(void)
{
	struct node **array = calloc(100000, sizeof(*array));

	array[99999] = make(NULL, NULL);
	array[50000] = make_list(3);
	kept_array[0] = array;
	opaque(calloc(1, 300000));
}

static void strings(void)
{
	char **array = calloc(21, sizeof(*array));

	for (int i = 0; i < 20; i++)
		array[i] = strdup("text of some length");
	opaque(array);
}

/* Neighbours in the list are far apart in memory. */
static APART struct node *make_scattered(int count)
{
	struct node **nodes = calloc((size_t)count, sizeof(*nodes)), *list = NULL;

	for (int i = 0; i < count; i++)
		nodes[i] = make(NULL, NULL);
	for (int i = 0; i < count; i++) {
		struct node *node = nodes[(int64_t)i * 7919 % count];

		node->next = list;
		list = node;
	}
	free(nodes);
	return list;
}

static void long_list(void)
{
	kept = make_scattered(50000);
	make_scattered(20000);
}

static void wide(void)
{
	struct node **array = calloc(60000, sizeof(*array));

	for (int i = 0; i < 60000; i++)
		array[i] = make(NULL, NULL);
	kept_array[0] = array;
}

#define CASE(name)          \
	{                   \
#name, name \
	}

static const struct one_case cases[] = {
	CASE(none),
	CASE(lost_one),
	CASE(lost_many),
	CASE(lost_list),
	CASE(lost_head),
	CASE(lost_ring),
	CASE(lost_ring_with_tail),
	CASE(lost_list_to_ring),
	CASE(lost_tree),
	CASE(lost_self),
	CASE(shared_tail),
	CASE(shared_with_kept),
	CASE(kept_tree),
	CASE(overwritten),
	CASE(only_in_freed),
	CASE(interior),
	CASE(last_byte),
	CASE(behind),
	CASE(unaligned),
	CASE(hidden),
	CASE(in_global),
	CASE(in_thread_local),
	CASE(in_specific),
	CASE(in_environment),
	CASE(in_stack),
	CASE(in_mapping),
	CASE(in_shared_mapping),
	CASE(in_thread_stack),
	CASE(in_thread_variable),
	CASE(in_thread_argument),
	CASE(in_register),
	CASE(in_vector),
	CASE(thread_ended),
	CASE(other_arena),
	CASE(reallocated),
	CASE(moved_with_pointers),
	CASE(whole_family),
	CASE(large),
	CASE(large_kept),
	CASE(strings),
	CASE(long_list),
	CASE(wide),
};

int main(int argc, char **argv)
{
	return run_case(cases, sizeof(cases) / sizeof(*cases), argc, argv);
}
