/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rss.c - the resident set of this process: second field of /proc/self/statm (proc(5)), in pages.
 */
#include "libpmem/rss.h"

#include <sys/auxv.h>

#include "libpmem/kept.h"
#include "libpmem/sys.h"

static struct kept statm = KEPT_NONE;
static uint64_t page_size; /* immutable after rss_init() */

void rss_init(void)
{
	page_size = getauxval(AT_PAGESZ);
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
		rss_init();
	return kept_fd(&statm);
}

uint64_t rss_bytes(void)
{
	char line[128];
	int fd = usable_fd();
	ssize_t size = fd >= 0 ? sys_pread(fd, line, sizeof(line), 0) : -1;
	uint64_t pages = 0;
	ssize_t i = 0;

	while (i < size && line[i] != ' ')
		i++;
	for (i++; i < size && line[i] >= '0' && line[i] <= '9'; i++)
		pages = pages * 10 + (uint64_t)(line[i] - '0');
	return pages * page_size;
}

void rss_fork_child(void)
{
	kept_close(&statm);
	rss_init();
}
