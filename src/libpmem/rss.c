/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rss.c - the resident set of this process, and what its limits count: fields of /proc/self/statm (proc(5)), in pages.
 */
#include "libpmem/rss.h"

#include <stdatomic.h>
#include <sys/auxv.h>

#include "libpmem/kept.h"
#include "libpmem/lock.h"
#include "libpmem/sys.h"

enum { ADDRESS = 0, RESIDENT = 1, DATA = 5 }; /* fields */

static struct lock lock = {.rank = LOCK_RSS};
static struct kept statm = KEPT_NONE_INIT; /* under lock */
static _Atomic uint64_t last;		   /* as read last */
static _Atomic uint64_t last_address;	   /* likewise */
static _Atomic uint64_t last_data;

static void open_statm(void)
{
	if (sys_sandboxed() || sys_fds_scarce())
		return;
	kept_take(&statm, sys_openat(AT_FDCWD, "/proc/self/statm", O_RDONLY | O_CLOEXEC, 0));
}

/* Opened again if the program closed it. */
static int usable_fd(void)
{
	if (sys_sandboxed())
		return -1;
	if (kept_fd(&statm) < 0)
		open_statm();
	return kept_fd(&statm);
}

/* The number in the field (the first is 0) of a line; 0 if it ends before. */
static uint64_t field_at(const char *line, ssize_t size, unsigned field)
{
	uint64_t pages = 0;
	ssize_t i;

	for (i = 0; i < size && field; i++)
		field -= line[i] == ' ';
	for (; i < size && line[i] >= '0' && line[i] <= '9'; i++)
		pages = pages * 10 + (uint64_t)(line[i] - '0');
	return pages;
}

/* Under lock. */
static uint64_t read_bytes(void)
{
	char line[128];
	int fd = usable_fd();
	ssize_t size = fd >= 0 ? sys_pread(fd, line, sizeof(line), 0) : -1;
	uint64_t page_size = getauxval(AT_PAGESZ);

	atomic_store_explicit(&last_address, field_at(line, size, ADDRESS) * page_size,
			      memory_order_relaxed);
	atomic_store_explicit(&last_data, field_at(line, size, DATA) * page_size,
			      memory_order_relaxed);
	return field_at(line, size, RESIDENT) * page_size;
}

void rss_init(void)
{
	open_statm();
}

uint64_t rss_bytes(void)
{
	uint64_t bytes;

	if (!lock_try(&lock))
		return atomic_load_explicit(&last, memory_order_relaxed);
	bytes = read_bytes();
	atomic_store_explicit(&last, bytes, memory_order_relaxed);
	lock_drop(&lock);
	return bytes;
}

struct rss_sizes rss_sizes(void)
{
	return (struct rss_sizes){
		atomic_load_explicit(&last_address, memory_order_relaxed),
		atomic_load_explicit(&last_data, memory_order_relaxed),
	};
}

void rss_fork_child(void)
{
	lock_reset(&lock);
	atomic_store_explicit(&last, 0, memory_order_relaxed);
	atomic_store_explicit(&last_address, 0, memory_order_relaxed);
	atomic_store_explicit(&last_data, 0, memory_order_relaxed);
	kept_close(&statm);
	rss_init();
}
