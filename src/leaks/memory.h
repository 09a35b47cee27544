/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.h - the memory of a process that does not run: a snapshot, or one that is stopped at its end.
 */
#ifndef PMEM_LEAKS_MEMORY_H
#define PMEM_LEAKS_MEMORY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

enum {
	MEMORY_PAGE = 4096,
	MEMORY_BATCH = 512, /* pages asked for at once */
};

struct memory;

/* pid is the process; original the one that it is a copy of, or itself: shared pages are in that one's page tables. */
struct memory *memory_open(pid_t pid, pid_t original, struct error *err);
void memory_close(struct memory *memory);

/* Copies memory.  False: not all of it can be read. */
bool memory_read(const struct memory *memory, uint64_t addr, void *buffer, size_t size);

/* The bytes of the page that addr lies in, until the next call; NULL: it cannot be read. */
const unsigned char *memory_page(struct memory *memory, uint64_t addr);

/* True: memory_page() will be asked about one page after another. */
void memory_read_ahead(struct memory *memory, bool ahead);

/* Which of the pages from addr (page-aligned) on hold anything: up to MEMORY_BATCH. */
bool memory_present(const struct memory *memory, uint64_t addr, size_t count,
		    bool present[MEMORY_BATCH]);

/* The same of memory that is shared: which pages the original has mapped. */
bool memory_present_shared(const struct memory *memory, uint64_t addr, size_t count,
			   bool present[MEMORY_BATCH]);

#endif
