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
	PAGES_PER_BLOCK = FORMAT_BLOCK_SIZE / PAGE,
	WORDS = PAGE / sizeof(uint64_t),
};

static const uint64_t zeros[WORDS];

int store_disk_fill(int fd, uint32_t number)
{
	struct iovec pages[PAGES_PER_BLOCK];
	long done;

	for (int i = 0; i < PAGES_PER_BLOCK; i++)
		pages[i] = (struct iovec){.iov_base = (void *)zeros, .iov_len = PAGE};
	do
		done = arch_syscall6(SYS_pwritev, fd, (long)pages, PAGES_PER_BLOCK,
				     (long)number * FORMAT_BLOCK_SIZE, 0, 0);
	while (done == -EINTR);
	if (done == FORMAT_BLOCK_SIZE)
		return 0;
	return done < 0 ? (int)done : -ENOSPC;
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
