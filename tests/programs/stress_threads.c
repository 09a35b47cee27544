/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress_threads.c - the threads of stress.c that allocate: at many depths, for a moment only, in coroutines.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "stress.h"

enum {
	KEPT = 64, /* blocks that a worker has */
	DEPTHS = 30, /* of call stacks: with few ways to get there, so that all are known after some time */
	BATCH = 4,
	FIBERS = 8,
	FIBER_STACK = 64 * 1024,
	RAW_EVERY = 64, /* what glibc keeps for a thread that ends by a system call is lost */
};

struct worker {
	unsigned seed, number;
	void *kept[KEPT];
	sigjmp_buf back;
	void *held; /* when back is jumped to */
};

unsigned stress_random(unsigned *seed)
{
	*seed = *seed * 1103515245 + 12345;
	return *seed >> 8;
}

static size_t some_size(unsigned *seed)
{
	unsigned random = stress_random(seed);

	return random % 50 ? random % 400 : random % SIZE_MAX_OF_BLOCKS;
}

/* Two functions, so that call stacks differ by more than their length. */
static void *go_down(enum site site, size_t size, int depth);

__attribute__((noinline, noclone)) static void *go_aside(enum site site, size_t size, int depth)
{
	void *block = depth ? go_down(site, size, depth - 1) : stress_alloc(site, size);

	__asm__ volatile("" : : "r"(block) : "memory");
	return block;
}

__attribute__((noinline, noclone)) static void *go_down(enum site site, size_t size, int depth)
{
	void *block;

	if (!depth)
		block = stress_alloc(site, size);
	else
		block = depth % 3 ? go_down(site, size, depth - 1) : go_aside(site, size, depth - 1);
	__asm__ volatile("" : : "r"(block) : "memory");
	return block;
}

/* --- jumps ------------------------------------------------------------------------------------ */

__attribute__((noinline, noclone)) static void jump_from(struct worker *me, int depth)
{
	volatile int here = depth;

	if (depth)
		jump_from(me, depth - 1);
	me->held = stress_alloc(AT_JUMP, 40 + (unsigned)here);
	siglongjmp(me->back, 1);
}

static void jump(struct worker *me)
{
	if (sigsetjmp(me->back, (int)(me->seed & 1)) == 0)
		jump_from(me, (int)(stress_random(&me->seed) % DEPTHS));
	stress_free(me->held);
	me->held = NULL;
}

/* --- workers ---------------------------------------------------------------------------------- */

static void step(struct worker *me)
{
	unsigned random = stress_random(&me->seed);
	void **slot = &me->kept[random % KEPT];
	enum site site = random & 1024 ? AT_PLAIN : random & 2048 ? AT_ZEROED : AT_ALIGNED;

	switch (random / 4096 % 32) {
	case 0:
		jump(me);
		break;
	case 1:
		if (random % 8 == 0)
			stress_throw((int)(random / 8 % DEPTHS));
		break;
	case 2:
	case 3:
	case 4:
		*slot = stress_grow(*slot, some_size(&me->seed));
		break;
	case 5:
	case 6:
	case 7:
	case 8:
		*slot = stress_swap(*slot, random / 16);
		break;
	default:
		stress_free(*slot);
		*slot = go_down(site, some_size(&me->seed), (int)(random / 16 % DEPTHS));
	}
}

void *stress_work(void *number)
{
	struct worker me = {.number = (unsigned)(uintptr_t)number};
	int i;

	me.seed = me.number * 77 + 1;
	if (me.number % 2)
		stress_use_other_stack();
	while (!stress_is_over())
		step(&me);
	for (i = 0; i < KEPT; i++)
		if (i % 4)
			stress_free(me.kept[i]);
	return NULL;
}

/* --- threads that end soon -------------------------------------------------------------------- */

enum { BY_RETURN, BY_EXIT, BY_CANCEL, BY_KEY, BY_SMALL, ENDS, BY_SYSTEM_CALL };

struct moment {
	unsigned end, seed;
};

static pthread_key_t key;

/* Allocates and frees in every round of the destructors. */
static void on_key(void *value)
{
	static const size_t rounds[] = {101, 102, 103};
	size_t i = *(size_t *)((char *)value + SIZE_MIN);
	void *next;

	stress_free(value);
	if (i >= sizeof(rounds) / sizeof(*rounds))
		return;
	next = stress_alloc(AT_KEY, rounds[i]);
	*(size_t *)((char *)next + SIZE_MIN) = i + 1;
	pthread_setspecific(key, next);
}

static void set_key(void)
{
	void *value = stress_alloc(AT_KEY, 100);

	*(size_t *)((char *)value + SIZE_MIN) = 0;
	pthread_setspecific(key, value);
}

static void free_at_end(void *block)
{
	stress_free(block);
}

static void wait_for_cancel(void)
{
	void *block = stress_alloc(AT_SHORT, 60);

	pthread_cleanup_push(free_at_end, block);
	for (;;) {
		void *more = go_down(AT_SHORT, 30, 5);

		pthread_cleanup_push(free_at_end, more);
		pthread_testcancel();
		pthread_cleanup_pop(1);
	}
	pthread_cleanup_pop(1);
}

static void *live_for_a_moment(void *arg)
{
	struct moment *moment = arg;
	int i;

	if (moment->end == BY_SMALL)
		stress_block_signals();
	for (i = 0; i < 20; i++) {
		void *block = go_down(AT_SHORT, some_size(&moment->seed), i % 10);

		stress_free(i % 2 ? stress_swap(block, stress_random(&moment->seed)) : block);
	}
	if (moment->end == BY_KEY)
		set_key();
	if (moment->end == BY_EXIT)
		pthread_exit(NULL);
	if (moment->end == BY_CANCEL)
		wait_for_cancel();
	if (moment->end == BY_SYSTEM_CALL)
		syscall(SYS_exit, 0);
	return NULL;
}

static void run_batch(unsigned *seed)
{
	pthread_t threads[BATCH];
	struct moment moments[BATCH];
	pthread_attr_t small;
	int i;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, (size_t)PTHREAD_STACK_MIN);
	for (i = 0; i < BATCH; i++) {
		moments[i].seed = stress_random(seed);
		moments[i].end = moments[i].seed % ENDS;
		if (!stress_is_calm() && stress_random(seed) % RAW_EVERY == 0)
			moments[i].end = BY_SYSTEM_CALL;
		if (pthread_create(&threads[i], moments[i].end == BY_SMALL ? &small : NULL,
				   live_for_a_moment, &moments[i]) != 0)
			stress_fail("pthread_create");
	}
	for (i = 0; i < BATCH; i++) {
		if (moments[i].end == BY_CANCEL)
			pthread_cancel(threads[i]);
		pthread_join(threads[i], NULL);
	}
	pthread_attr_destroy(&small);
}

void *stress_churn(void *unused)
{
	unsigned seed = 3;

	if (pthread_key_create(&key, on_key) != 0)
		stress_fail("pthread_key_create");
	while (!stress_is_over())
		run_batch(&seed);
	return unused;
}

/* --- coroutines ------------------------------------------------------------------------------- */

/* Of one thread; not thread-local, since small stacks have to hold that too. */
static ucontext_t scheduler, fibers[FIBERS];
static void *fiber_stacks[FIBERS];
static int running; /* index, or -1 when the last one came to its end */

static void be_fiber(int number)
{
	int i;

	for (i = 0; i < 10; i++) {
		void *block = go_down(AT_FIBER, 50, number + i % 3);

		swapcontext(&fibers[number], &scheduler);
		stress_free(stress_swap(block, (unsigned)(number * 31 + i)));
	}
	running = -1;
}

static void start_fiber(int number)
{
	fiber_stacks[number] = stress_alloc(AT_PLAIN, FIBER_STACK);
	getcontext(&fibers[number]);
	/* The block's first bytes tell where it comes from. */
	fibers[number].uc_stack.ss_sp = (char *)fiber_stacks[number] + 64;
	fibers[number].uc_stack.ss_size = FIBER_STACK - 64;
	fibers[number].uc_link = &scheduler;
	makecontext(&fibers[number], (void (*)(void))be_fiber, 1, number);
}

static void drop_fiber(int number)
{
	stress_free(fiber_stacks[number]);
	fiber_stacks[number] = NULL;
}

void *stress_coroutines(void *unused)
{
	unsigned seed = 5;
	int i;

	stress_use_other_stack();
	while (!stress_is_over()) {
		i = (int)(stress_random(&seed) % FIBERS);
		if (!fiber_stacks[i])
			start_fiber(i);
		running = i;
		swapcontext(&scheduler, &fibers[i]);
		if (running < 0)
			drop_fiber(i);
	}
	for (i = 0; i < FIBERS; i++)
		if (fiber_stacks[i])
			drop_fiber(i);
	return unused;
}
