/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * differ_calls.c - the operations: one call of the malloc family, or of a function of libc that uses it, see differ.c.
 */
#define _GNU_SOURCE
#include "differ.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size) __attribute__((weak));
extern void *__libc_calloc(size_t count, size_t size) __attribute__((weak));
extern void *__libc_realloc(void *old, size_t size) __attribute__((weak));
extern void *__libc_memalign(size_t alignment, size_t size) __attribute__((weak));

/* --- the calls --- */

#define RETURN(call)                                              \
	do {                                                      \
		void *result = call;                              \
		__asm__ volatile("" : "+r"(result) : : "memory"); \
		return result;                                    \
	} while (0)

static NOINLINE void *by_malloc(size_t size)
{
	RETURN(malloc(size));
}

static NOINLINE void *by_calloc(size_t count, size_t size)
{
	RETURN(calloc(count, size));
}

static NOINLINE void *by_realloc(void *old, size_t size)
{
	RETURN(realloc(old, size));
}

static NOINLINE void *by_reallocarray(void *old, size_t count, size_t size)
{
	RETURN(reallocarray(old, count, size));
}

static NOINLINE int by_posix_memalign(void **block, size_t alignment, size_t size)
{
	int result = posix_memalign(block, alignment, size);

	__asm__ volatile("" : "+r"(result) : : "memory");
	return result;
}

static NOINLINE void *by_aligned_alloc(size_t alignment, size_t size)
{
	RETURN(aligned_alloc(alignment, size));
}

static NOINLINE void *by_memalign(size_t alignment, size_t size)
{
	RETURN(memalign(alignment, size));
}

static NOINLINE void *by_valloc(size_t size)
{
	RETURN(valloc(size));
}

static NOINLINE void *by_pvalloc(size_t size)
{
	RETURN(pvalloc(size));
}

static NOINLINE void *by_strdup(const char *text)
{
	RETURN(strdup(text));
}

static NOINLINE int by_asprintf(char **text, int width)
{
	int result = asprintf(text, "%*d", width, 7);

	__asm__ volatile("" : "+r"(result) : : "memory");
	return result;
}

/* --- operations --- */

static void do_malloc(struct player *p)
{
	struct block *block = room(p, BY_MALLOC);
	size_t size = block->size = size_of(p);

	errno = odd_errno(p);
	keep(p, block, by_malloc(size), (struct seen){"malloc", size, 0, NULL, 0, 0});
	if (block->at && options.fresh >= 0 && !all(block->at, size, (unsigned char)options.fresh))
		wrong(p, "new block is not filled by M_PERTURB");
	if (block->at)
		got(p, block, 1);
}

/* Two factors, now and then with a product that overflows. */
static void factors(struct player *p, size_t *count, size_t *size)
{
	*size = size_of(p);
	*count = below(p, 4);
	if (below(p, 60) == 0)
		*count = SIZE_MAX / (1 + below(p, 200));
	else if (*size < 300)
		*count = below(p, 40);
	if (options.least)
		*count += !*count;
}

static void do_calloc(struct player *p)
{
	struct block *block = room(p, BY_CALLOC);
	size_t count, size;

	factors(p, &count, &size);
	errno = odd_errno(p);
	keep(p, block, by_calloc(count, size), (struct seen){"calloc", count, size, NULL, 0, 0});
	block->size = count * size;
	if (block->at && !all(block->at, block->size, 0))
		wrong(p, "calloc's block is not zero");
	if (block->at)
		got(p, block, 1);
}

/* realloc() of *block returned result. */
static void reallocated(struct player *p, struct block *block, void *result, size_t size,
			enum site site)
{
	size_t same = size < block->usable ? size : block->usable;
	struct block old = *block;

	if (!result && (size || !old.at)) {
		if (old.at && !holds(&old, old.usable))
			wrong(p, "a failed realloc changed the block");
		return;
	}
	if (old.at) {
		block->at = result;
		if (result && !holds(block, same))
			wrong(p, "realloc lost content");
		gone(p, &old);
	}
	*block = (struct block){.at = result, .size = size, .site = site};
	if (result)
		got(p, block, 1);
}

static void do_realloc(struct player *p)
{
	struct block *block = slot(p);
	size_t size = below(p, 40) ? size_of(p) : 0;
	void *result;

	/* By little: in place, or by what follows. */
	if (block->at && below(p, 3) == 0)
		size = block->size - (block->size > 40 ? 40 : 0) + below(p, 80);
	if (size < (size_t)options.least)
		size = (size_t)options.least;
	errno = odd_errno(p);
	result = by_realloc(block->at, size);
	p->seen = (struct seen){"realloc", block->at ? block->size : 0, size, result, errno, 0};
	reallocated(p, block, result, size, BY_REALLOC);
}

static void do_reallocarray(struct player *p)
{
	struct block *block = slot(p);
	size_t count, size, total;
	void *result;

	factors(p, &count, &size);
	if (count * size < (size_t)options.least)
		count = 1, size = (size_t)options.least;
	errno = odd_errno(p);
	result = by_reallocarray(block->at, count, size);
	p->seen = (struct seen){"reallocarray", count, size, result, errno, block->at != NULL};
	if (__builtin_mul_overflow(count, size, &total))
		total = SIZE_MAX;
	reallocated(p, block, result, total, BY_REALLOCARRAY);
}

static void do_posix_memalign(struct player *p)
{
	struct block *block = room(p, BY_POSIX_MEMALIGN);
	size_t alignment = alignment_of(p), size = block->size = size_of(p);
	void *result = players;
	int code;

	errno = odd_errno(p);
	code = by_posix_memalign(&result, alignment, size);
	keep(p, block, code ? NULL : result,
	     (struct seen){"posix_memalign", alignment, size, NULL, 0, 0});
	if (code && result != players && !options.checked)
		wrong(p, "failing, it changed the pointer");
	if (block->at)
		got(p, block, alignment);
	mix(p, (uint64_t)code);
}

static void do_aligned(struct player *p)
{
	int is_memalign = below(p, 2) == 0;
	struct block *block = room(p, is_memalign ? BY_MEMALIGN : BY_ALIGNED_ALLOC);
	size_t alignment = alignment_of(p), size = block->size = size_of(p);
	void *result;

	errno = odd_errno(p);
	result = is_memalign ? by_memalign(alignment, size) : by_aligned_alloc(alignment, size);
	keep(p, block, result,
	     (struct seen){is_memalign ? "memalign" : "aligned_alloc", alignment, size, NULL, 0, 0});
	if (block->at)
		got(p, block, alignment);
}

static void do_pages(struct player *p)
{
	int is_valloc = below(p, 2) == 0 || options.far < 0;
	struct block *block = room(p, is_valloc ? BY_VALLOC : BY_PVALLOC);
	size_t size = block->size = size_of(p);
	void *result;

	errno = odd_errno(p);
	result = is_valloc ? by_valloc(size) : by_pvalloc(size);
	keep(p, block, result, (struct seen){is_valloc ? "valloc" : "pvalloc", size, 0, NULL, 0, 0});
	if (block->at)
		got(p, block, (size_t)sysconf(_SC_PAGESIZE));
}

static void do_free(struct player *p)
{
	release(p, slot(p));
}

static void do_strdup(struct player *p)
{
	struct block *block = room(p, BY_STRDUP);
	size_t length = below(p, below(p, 20) ? 100 : 3000) + (size_t)options.least;
	char text[3100];

	memset(text, 'x', length);
	text[length] = 0;
	block->size = length + 1;
	errno = odd_errno(p);
	keep(p, block, by_strdup(text), (struct seen){"strdup", length, 0, NULL, 0, 0});
	if (!block->at || strcmp((char *)block->at, text) != 0)
		wrong(p, "not the text");
	got(p, block, 1);
}

static void do_asprintf(struct player *p)
{
	struct block *block = room(p, BY_ASPRINTF);
	int width = (int)(below(p, 700) + (size_t)options.least + 1), length;
	char *text = NULL;

	errno = odd_errno(p);
	length = by_asprintf(&text, width);
	keep(p, block, text, (struct seen){"asprintf", (size_t)width, 0, NULL, 0, 0});
	if (length != width || strlen(text) != (size_t)width || text[width - 1] != '7')
		wrong(p, "not the text");
	block->size = (size_t)width + 1;
	got(p, block, 1);
}

/* A stream in memory, read back by getline(): blocks of libc's own, all freed. */
static void do_streams(struct player *p)
{
	size_t length = 1 + below(p, 2000), size = 0, room_size = 0;
	char *text = NULL, *line = NULL;
	FILE *file = open_memstream(&text, &size);
	ssize_t count;

	for (size_t i = 0; i < length; i++)
		fputc('a' + (int)(i % 26), file);
	fclose(file);
	file = fmemopen(text, size, "r");
	count = getline(&line, &room_size, file);
	fclose(file);
	p->seen = (struct seen){"streams", length, room_size, line, 0, (uint64_t)count};
	if (size != length || count != (ssize_t)length || memcmp(line, text, length) != 0)
		wrong(p, "not the text");
	free(line);
	free(text);
}

static void do_past_hooks(struct player *p)
{
	struct block *block = room(p, PAST_HOOKS);
	size_t size = block->size = possible_size(p), alignment = 1;
	uint64_t kind = below(p, 4);
	void *result;

	errno = odd_errno(p);
	if (kind == 0)
		result = __libc_calloc(1, size);
	else if (kind == 1)
		result = __libc_memalign(alignment = 64, size);
	else if (kind == 2)
		result = __libc_realloc(NULL, size);
	else
		result = __libc_malloc(size);
	keep(p, block, result, (struct seen){"past hooks", size, kind, NULL, 0, 0});
	if (block->at)
		got(p, block, alignment);
}

/* Sums up the heap of all arenas that this thread may look at without disturbing others. */
static void do_heap(struct player *p)
{
	struct mallinfo2 info;
	uint64_t kind = below(p, 400);

	p->seen = (struct seen){"heap", 0, 0, NULL, 0, 0};
	if (!options.usable)
		return;
	errno = odd_errno(p);
	if (kind == 0)
		p->seen.more = (uint64_t)malloc_trim(below(p, 2) * 4096);
	else if (kind == 1)
		p->seen.more = (uint64_t)mallopt(M_MXFAST, (int)below(p, 160));
	else if (kind == 2)
		p->seen.more = (uint64_t)mallopt(M_TRIM_THRESHOLD, (int)below(p, 1 << 20));
	p->seen.error = errno;
	if (kind % 8)
		return;
	info = mallinfo2();
	p->seen.a = info.uordblks;
	p->seen.b = info.arena;
	p->seen.more += info.ordblks + info.hblkhd + info.fordblks + info.keepcost + info.fsmblks;
}

void do_something(struct player *p)
{
	static void (*const all_of_them[])(struct player *) = {
		do_malloc,	   do_malloc,  do_malloc,     do_malloc,  do_malloc,
		do_malloc,	   do_free,    do_free,	      do_free,	  do_free,
		do_free,	   do_free,    do_free,	      do_free,	  do_calloc,
		do_calloc,	   do_realloc, do_realloc,    do_realloc, do_reallocarray,
		do_posix_memalign, do_aligned, do_aligned,    do_pages,	  do_strdup,
		do_asprintf,	   do_heap,    do_past_hooks, do_streams};
	size_t count = sizeof(all_of_them) / sizeof(*all_of_them);
	void (*act)(struct player *) = all_of_them[below(p, count)];

	if ((act == do_past_hooks && !options.odd) || (act == do_streams && below(p, 5)))
		act = do_malloc;
	act(p);
	note(p);
	if (++p->done % p->check_every == 0 && p->check_count < CHECKS)
		p->checks[p->check_count++] = p->digest;
}
