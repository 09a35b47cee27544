/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * store_disk.c - see store_disk.h.
 */
#include "libpmem/store_disk.h"

#include <stddef.h>
#include <sys/statfs.h>
#include <sys/uio.h>

#include "core/format.h"
#include "libpmem/sys.h"

enum {
	PAGE = 4096,
	PAGES_AT_ONCE = 64,
	WORDS = PAGE / sizeof(uint64_t),
};

static const uint64_t zeros[WORDS];
static const struct iovec zero_pages[PAGES_AT_ONCE] = {
	[0 ... PAGES_AT_ONCE - 1] = {.iov_base = (void *)zeros, .iov_len = PAGE}};

/* Writes pages of zeros, as many as one call takes.  Returns how many bytes, or -errno. */
static long write_zeros(int fd, uint64_t at, uint64_t size)
{
	uint64_t pages = size / PAGE < PAGES_AT_ONCE ? size / PAGE : PAGES_AT_ONCE;
	long done;

	do
		done = arch_syscall6(SYS_pwritev, fd, (long)zero_pages, (long)pages, (long)at, 0, 0);
	while (done == -EINTR);
	return done;
}

int store_disk_fill(int fd, uint32_t number, uint32_t count)
{
	uint64_t at = (uint64_t)number * FORMAT_BLOCK_SIZE;
	uint64_t end = at + (uint64_t)count * FORMAT_BLOCK_SIZE;
	long done;

	while (at < end) {
		done = write_zeros(fd, at, end - at);
		if (done <= 0 || done % PAGE)
			return done < 0 ? (int)done : -ENOSPC;
		at += (uint64_t)done;
	}
	return 0;
}

static void punch(int fd, uint64_t at, uint64_t size)
{
	enum { PUNCH_HOLE = 3 }; /* FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE of linux/falloc.h */

	sys_call(SYS_fallocate, fd, PUNCH_HOLE, (long)at, (long)size);
}

void store_disk_punch(int fd, uint32_t number, uint32_t count)
{
	punch(fd, (uint64_t)number * FORMAT_BLOCK_SIZE, (uint64_t)count * FORMAT_BLOCK_SIZE);
}

/* btrfs, ZFS, bcachefs, F2FS, NILFS2 (statfs(2)). */
bool store_disk_moves(int fd)
{
	static const uint32_t kinds[] = {0x9123683e, 0x2fc12fc1, 0xca451a4e, 0xf2f52010, 0x3434};
	struct statfs fs;

	if (sys_call(SYS_fstatfs, fd, (long)&fs, 0, 0) < 0)
		return false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if ((uint32_t)fs.f_type == kinds[i])
			return true;
	return false;
}

static bool is_zero(const uint64_t *page)
{
	for (int i = 0; i < WORDS; i++)
		if (page[i])
			return false;
	return true;
}

void store_disk_trim_end(struct store_trim *trim)
{
	if (trim->start < trim->end)
		punch(trim->fd, trim->start, trim->end - trim->start);
	trim->start = trim->end = 0;
}

void store_disk_trim(struct store_trim *trim, uint32_t number, const void *bytes)
{
	uint64_t at = (uint64_t)number * FORMAT_BLOCK_SIZE;

	for (size_t page = 0; bytes && page < FORMAT_BLOCK_SIZE; page += PAGE) {
		if (!is_zero((const void *)((const char *)bytes + page)))
			continue;
		if (trim->end != at + page) {
			store_disk_trim_end(trim);
			trim->start = at + page;
		}
		trim->end = at + page + PAGE;
	}
}
