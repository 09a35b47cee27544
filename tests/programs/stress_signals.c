/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress_signals.c - signals for all threads, whose handlers allocate whenever they may.
 *
 * malloc() must not be called by a handler that interrupted malloc().  So a handler allocates only if it interrupted code
 * of this program or of a preloaded recorder: neither runs below libc's malloc().  A handler that must not
 * allocate is not to be interrupted by one that believes it may: their code lies in a section of its own, which does not count
 * as the program's.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "stress.h"

#define HANDLER __attribute__((section("stress_handlers"), noinline))

enum { DEPTH_MAX = 3, STACK_SIZE = 64 * 1024, RANGES = 2, TIMER_US = 700, STORM_US = 150 };

extern const char __start_stress_handlers[], __stop_stress_handlers[];

struct range {
	uintptr_t start, end;
};

static struct range allowed[RANGES]; /* the program's code; the recorder's */
static atomic_ulong handled;
static __thread volatile sig_atomic_t depth; /* of handlers that allocate */

static bool holds(const struct range *range, uintptr_t pc)
{
	return pc >= range->start && pc < range->end;
}

/* The code of the object that holds wanted. */
static struct range code_of(const struct dl_phdr_info *info, uintptr_t wanted)
{
	struct range range = {0};
	int i;

	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		struct range here = {info->dlpi_addr + part->p_vaddr,
				     info->dlpi_addr + part->p_vaddr + part->p_memsz};

		if (part->p_type == PT_LOAD && part->p_flags & PF_X && holds(&here, wanted))
			range = here;
	}
	return range;
}

static int find_ranges(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct range own = code_of(info, (uintptr_t)stress_signals_init);
	struct range allocator = code_of(info, (uintptr_t)malloc);

	(void)size, (void)arg;
	if (own.start)
		allowed[0] = own;
	/* Not libc's own malloc(). */
	if (allocator.start && strstr(info->dlpi_name, "pmem"))
		allowed[1] = allocator;
	return 0;
}

HANDLER static bool may_allocate(const ucontext_t *interrupted)
{
	uintptr_t pc = (uintptr_t)interrupted->uc_mcontext.gregs[REG_RIP];

	/* Calls no function outside the section. */
	if (pc >= (uintptr_t)__start_stress_handlers && pc < (uintptr_t)__stop_stress_handlers)
		return false;
	return (pc >= allowed[0].start && pc < allowed[0].end) ||
	       (pc >= allowed[1].start && pc < allowed[1].end);
}

__attribute__((noinline)) static void allocate(int number)
{
	unsigned long count = atomic_fetch_add_explicit(&handled, 1, memory_order_relaxed);
	void *block = stress_alloc(AT_HANDLER, 20 + count % 100);

	if (count % 2)
		block = stress_swap(block, (unsigned)count * 7 + (unsigned)number);
	stress_free(block);
}

HANDLER static void on_signal(int number, siginfo_t *info, void *context)
{
	int error = errno;

	(void)info;
	if (depth >= DEPTH_MAX || !may_allocate(context))
		return;
	depth++;
	allocate(number);
	depth--;
	errno = error;
}

void stress_signals_init(void)
{
	static const struct {
		int number, flags;
	} wanted[] = {
		{SIGUSR1, SA_ONSTACK},
		{SIGUSR2, SA_NODEFER},
		{SIGPROF, 0},
		{SIGVTALRM, SA_ONSTACK | SA_NODEFER},
	};
	unsigned i;

	dl_iterate_phdr(find_ranges, NULL);
	for (i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		struct sigaction action = {.sa_sigaction = on_signal};

		action.sa_flags = SA_SIGINFO | SA_RESTART | wanted[i].flags;
		if (sigaction(wanted[i].number, &action, NULL) != 0)
			stress_fail("sigaction");
	}
}

void stress_use_other_stack(void)
{
	static _Atomic unsigned used;
	static char stacks[WORKERS + 2][STACK_SIZE];
	unsigned mine = atomic_fetch_add_explicit(&used, 1, memory_order_relaxed);
	stack_t stack = {.ss_sp = stacks[mine], .ss_size = STACK_SIZE};

	if (mine >= WORKERS + 2 || sigaltstack(&stack, NULL) != 0)
		stress_fail("sigaltstack");
}

void stress_block_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
}

static void set_timers(long period_us)
{
	struct itimerval period = {{0, period_us}, {0, period_us}};

	setitimer(ITIMER_PROF, &period, NULL);
	setitimer(ITIMER_VIRTUAL, &period, NULL);
}

void stress_timer_start(void)
{
	set_timers(TIMER_US);
}

void stress_timer_stop(void)
{
	set_timers(0);
}

void *stress_storm(void *threads)
{
	const pthread_t *workers = threads;
	static const struct timespec pause = {.tv_nsec = STORM_US * 1000};
	unsigned seed = 7;

	stress_block_signals();
	while (!stress_is_over()) {
		unsigned random = stress_random(&seed);

		pthread_kill(workers[random % WORKERS], random & 64 ? SIGUSR1 : SIGUSR2);
		if (random % 4 == 0)
			nanosleep(&pause, NULL);
	}
	return NULL;
}

unsigned long stress_signals(void)
{
	return atomic_load_explicit(&handled, memory_order_relaxed);
}
