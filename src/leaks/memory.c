/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.c - see memory.h.
 *
 * Blocks that point to one another lie anywhere: pages are kept, as many as CACHE_PAGES, so that most are read once.
 */
#include "leaks/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	CACHE_PAGES = 32 * 1024, /* 128 MiB; a power of two */
	AHEAD = 16,		 /* pages that are read together; a power of two */
};

/* Entries of pagemap (Documentation/admin-guide/mm/pagemap.rst). */
#define PRESENT (UINT64_C(1) << 63)
#define SWAPPED (UINT64_C(1) << 62)

struct memory {
	int memory;
	int pages;
	int original_pages;
	bool ahead;
	unsigned char *cache;	       /* touched page by page */
	uint64_t numbers[CACHE_PAGES]; /* of the page that is there, plus 1; 0 = none */
};

static int open_proc(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static void *map_cache(void)
{
	void *cache = mmap(NULL, (size_t)CACHE_PAGES * MEMORY_PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return cache == MAP_FAILED ? NULL : cache;
}

struct memory *memory_open(pid_t pid, pid_t original, struct error *err)
{
	struct memory *memory = calloc(1, sizeof(*memory));

	if (!memory || !(memory->cache = map_cache())) {
		free(memory);
		error_set(err, "no memory to look at process %d", (int)original);
		return NULL;
	}
	memory->memory = open_proc(pid, "mem");
	memory->pages = open_proc(pid, "pagemap");
	memory->original_pages = open_proc(original, "pagemap");
	if (memory->memory >= 0 && memory->pages >= 0 && memory->original_pages >= 0)
		return memory;
	error_set_errno(err, "process %d: its memory cannot be read", (int)original);
	memory_close(memory);
	return NULL;
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		close(fd);
}

void memory_close(struct memory *memory)
{
	if (!memory)
		return;
	close_if_open(memory->memory);
	close_if_open(memory->pages);
	close_if_open(memory->original_pages);
	munmap(memory->cache, (size_t)CACHE_PAGES * MEMORY_PAGE);
	free(memory);
}

bool memory_read(const struct memory *memory, uint64_t addr, void *buffer, size_t size)
{
	return addr <= INT64_MAX &&
	       pread(memory->memory, buffer, size, (off_t)addr) == (ssize_t)size;
}

void memory_read_ahead(struct memory *memory, bool ahead)
{
	memory->ahead = ahead;
}

/* Pages that follow one another have slots that do. */
static bool fill(struct memory *memory, uint64_t number, size_t count)
{
	size_t slot = number % CACHE_PAGES;
	bool done;

	for (size_t i = 0; i < count; i++)
		memory->numbers[slot + i] = 0;
	done = memory_read(memory, number * MEMORY_PAGE, memory->cache + slot * MEMORY_PAGE,
			   count * MEMORY_PAGE);
	for (size_t i = 0; done && i < count; i++)
		memory->numbers[slot + i] = number + i + 1;
	return done;
}

const unsigned char *memory_page(struct memory *memory, uint64_t addr)
{
	uint64_t number = addr / MEMORY_PAGE;
	size_t slot = number % CACHE_PAGES;
	unsigned char *bytes = memory->cache + slot * MEMORY_PAGE;

	if (memory->numbers[slot] == number + 1)
		return bytes;
	if (memory->ahead && fill(memory, number / AHEAD * AHEAD, AHEAD))
		return bytes;
	return fill(memory, number, 1) ? bytes : NULL;
}

static bool read_present(int fd, uint64_t addr, size_t count, bool *present)
{
	uint64_t entries[MEMORY_BATCH];
	size_t size = count * sizeof(*entries);

	if (pread(fd, entries, size, (off_t)(addr / MEMORY_PAGE * sizeof(*entries))) != (ssize_t)size)
		return false;
	for (size_t i = 0; i < count; i++)
		present[i] = entries[i] & (PRESENT | SWAPPED);
	return true;
}

bool memory_present(const struct memory *memory, uint64_t addr, size_t count,
		    bool present[MEMORY_BATCH])
{
	return read_present(memory->pages, addr, count, present);
}

bool memory_present_shared(const struct memory *memory, uint64_t addr, size_t count,
			   bool present[MEMORY_BATCH])
{
	return read_present(memory->original_pages, addr, count, present);
}
