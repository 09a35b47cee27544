/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timeline_fakes.c - see timeline_fakes.h.
 */
#include "timeline_fakes.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "libpmem/loss.h"
#include "libpmem/store.h"
#include "libpmem/sys.h"

_Atomic bool sys_sandbox;
struct format_first_block *store_first;
uint32_t fakes_block_limit[FORMAT_KINDS];
struct mappings_counts fakes_mapped[200];
static char *blocks[FORMAT_KINDS];
static bool made[FORMAT_KINDS][FAKES_BLOCKS];
_Atomic(void *) store_first_part[FORMAT_KINDS][STORE_PART];

static void *map_shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_true(p != MAP_FAILED);
	return p;
}

void fakes_clear_store(void)
{
	for (int kind = FORMAT_POINTS; kind < FORMAT_KINDS; kind++) {
		if (kind > FORMAT_MARKS && kind != FORMAT_FAILURES)
			continue;
		if (blocks[kind])
			munmap(blocks[kind], (size_t)FAKES_BLOCKS * FORMAT_BLOCK_SIZE);
		blocks[kind] = map_shared((size_t)FAKES_BLOCKS * FORMAT_BLOCK_SIZE);
		fakes_block_limit[kind] = FAKES_BLOCKS;
	}
	memset(made, 0, sizeof(made));
	memset((void *)store_first_part, 0, sizeof(store_first_part));
	if (!store_first)
		store_first = map_shared(sizeof(*store_first));
	memset((void *)store_first, 0, sizeof(*store_first));
}

uint64_t mappings_bytes(void)
{
	uint64_t sum = 0;

	for (const struct mappings_counts *at = fakes_mapped; at->call_count; at++)
		sum += at->mapped_bytes - at->unmapped_bytes;
	return sum;
}

bool mappings_read(uint32_t number, struct mappings_counts *counts)
{
	*counts = fakes_mapped[number];
	return counts->call_count > 0;
}

void *store_find_further(enum format_kind kind, uint32_t index)
{
	if (index >= FAKES_BLOCKS || !made[kind][index])
		return NULL;
	return blocks[kind] + (size_t)index * FORMAT_BLOCK_SIZE;
}

void *store_block(enum format_kind kind, uint32_t index)
{
	if (index >= fakes_block_limit[kind]) {
		loss_add(FORMAT_LOSS_MEMORY, 1);
		return NULL;
	}
	made[kind][index] = true;
	if (index < STORE_PART)
		store_first_part[kind][index] = store_find_further(kind, index);
	return store_find(kind, index);
}

struct format_point *fakes_point(uint32_t index)
{
	enum { PER_BLOCK = FORMAT_BLOCK_SIZE / sizeof(struct format_point) };

	return (struct format_point *)(blocks[FORMAT_POINTS] +
				       (size_t)(index / PER_BLOCK) * FORMAT_BLOCK_SIZE) +
	       index % PER_BLOCK;
}

struct format_series *fakes_series(uint32_t index)
{
	enum { PER_BLOCK = FORMAT_BLOCK_SIZE / sizeof(struct format_series) };

	return (struct format_series *)(blocks[FORMAT_SERIES] +
					(size_t)(index / PER_BLOCK) * FORMAT_BLOCK_SIZE) +
	       index % PER_BLOCK;
}

static int by_time(const void *a, const void *b)
{
	const struct format_sample *one = a, *other = b;

	return (one->time_ns > other->time_ns) - (one->time_ns < other->time_ns);
}

static uint32_t drop_equal(struct format_sample *samples, uint32_t count)
{
	uint32_t i, kept = 0;

	qsort(samples, count, sizeof(*samples), by_time);
	for (i = 0; i < count; i++) {
		if (kept && samples[kept - 1].time_ns == samples[i].time_ns)
			assert_memory_equal(&samples[kept - 1], &samples[i], sizeof(*samples));
		else
			memcpy((void *)&samples[kept++], (const void *)&samples[i],
			       sizeof(*samples));
	}
	return kept;
}

uint32_t fakes_samples(uint32_t stack_id, struct format_sample *samples, uint32_t room)
{
	uint32_t limit = store_head()->series_count, count = 0;

	for (uint32_t i = 0; i < limit; i++) {
		const struct format_series *series = fakes_series(i);

		for (int n = 0; n < FORMAT_SAMPLES && series->stack_id == stack_id; n++) {
			if (series->samples[n].time_ns == 0)
				continue;
			assert_true(count < room);
			memcpy((void *)&samples[count++], (const void *)&series->samples[n],
			       sizeof(*samples));
		}
	}
	return drop_equal(samples, count);
}

bool fakes_gap(uint32_t stack_id, uint64_t time_ns)
{
	uint32_t limit = store_head()->series_count;
	bool gap = false;

	for (uint32_t i = 0; i < limit; i++) {
		const struct format_series *series = fakes_series(i);

		for (int n = 0; n < FORMAT_SAMPLES && series->stack_id == stack_id; n++)
			gap |= series->samples[n].time_ns == time_ns && (series->gaps >> n & 1);
	}
	return gap;
}

static void run_stopped(void (*work)(void))
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
		_exit(1);
	raise(SIGSTOP);
	work();
	raise(SIGSTOP);
	_exit(0);
}

uint64_t fakes_step(void (*work)(void), void (*check)(void))
{
	pid_t pid = fork();
	uint64_t steps = 0;
	int status = 0;

	if (pid == 0)
		run_stopped(work);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFSTOPPED(status))
		skip();
	do {
		check();
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		steps++;
	} while (WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	check();
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return steps;
}

void store_flush(uint32_t max)
{
	(void)max;
}
