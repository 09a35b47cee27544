/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hooks_mapping.c - the mmap family and the break: what the program maps itself, and what may be readable no more.
 *
 * Each passes on to the next definition in the search order, which may be another preloaded library's, and says afterwards
 * what it did (mappings.h).  Only while that definition is being looked up the calls are made here, as the C library makes
 * them: a system call and errno.  Nothing else here touches errno.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>

#include "libpmem/hook.h"
#include "libpmem/mappings.h"
#include "libpmem/real.h"
#include "libpmem/sys.h"
#include "libpmem/unwind.h"

#define EXPORT __attribute__((visibility("default")))
#define FRAME ((const uintptr_t *)__builtin_frame_address(0))

/* musl before 1.2.4 has a macro of that name, and exports the function all the same. */
#undef mmap64

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4 /* Linux 5.7 */
#endif

enum { PAGE = 4096, HUGE_SHIFT = 26, HUGE_MASK = 63, HUGE_DEFAULT = 21 /* 2 MiB */ };

EXPORT void *mmap(void *addr, size_t size, int protection, int flags, int fd, off_t offset);
EXPORT void *mmap64(void *addr, size_t size, int protection, int flags, int fd, off_t offset);
EXPORT int munmap(void *addr, size_t size);
EXPORT int mprotect(void *addr, size_t size, int protection);
EXPORT void *mremap(void *addr, size_t old_size, size_t new_size, int flags, ...);
EXPORT void *sbrk(intptr_t change);
EXPORT int brk(void *addr);

/* After the call: a page that another thread proved before it may be gone. */
static long changed(long result)
{
	atomic_fetch_add_explicit(&unwind_mappings, 1, memory_order_release);
	return result;
}

/* What the program asked mmap() for. */
struct map_call {
	void *addr;
	size_t size;
	int protection;
	int flags;
	int fd;
	off_t offset;
};

/* As the kernel does: whole pages, of the size that the flags name. */
static uint64_t whole_pages(uint64_t size, int flags)
{
	uint64_t page = PAGE;

	if (flags & MAP_HUGETLB)
		page = UINT64_C(1)
		       << (flags >> HUGE_SHIFT & HUGE_MASK ? flags >> HUGE_SHIFT & HUGE_MASK
							   : HUGE_DEFAULT);
	return (size + page - 1) & ~(page - 1);
}

static void note_map(const struct map_call *call, uint64_t start, const uintptr_t *fp,
		     uint64_t moment)
{
	const struct mappings_event event = {.start = start,
					     .end = start + whole_pages(call->size, call->flags),
					     .moment = moment,
					     .fp = fp,
					     .hook = FORMAT_HOOK_MMAP};

	if (call->flags & MAP_ANONYMOUS)
		mappings_made(&event);
	else
		mappings_gone(event.start, event.end, UINT64_MAX);
}

/* After a call that failed. */
static void note_failure(uint64_t size, const uintptr_t *fp, enum format_hook hook)
{
	const struct mappings_event event = {.fp = fp, .hook = hook};

	if (errno == ENOMEM)
		mappings_failed(&event, size);
}

/* A mapping put over another one is the only kind that takes memory away.  fp is the hook's frame. */
static __attribute__((noinline)) void *map(const struct map_call *call, const uintptr_t *fp)
{
	uint64_t moment = mappings_moment();
	bool resolved = real_resolve() && real.mmap;
	long result;

	if (resolved)
		result = (long)real.mmap(call->addr, call->size, call->protection, call->flags,
					 call->fd, call->offset);
	else
		result = real_raw_result(arch_syscall6(SYS_mmap, (long)call->addr, (long)call->size,
						       call->protection, call->flags, call->fd,
						       call->offset));
	if (call->flags & MAP_FIXED)
		changed(result);
	if (resolved && result != -1)
		note_map(call, (uint64_t)result, fp, moment);
	else if (resolved)
		note_failure(call->size, fp, FORMAT_HOOK_MMAP);
	return (void *)result;
}

/* No tail calls, as in hooks.c: *call lies in the frame that fp is of. */
void *mmap(void *addr, size_t size, int protection, int flags, int fd, off_t offset)
{
	const struct map_call call = {addr, size, protection, flags, fd, offset};

	return map(&call, FRAME);
}

/* off_t has 64 bits on every CPU that we know. */
void *mmap64(void *addr, size_t size, int protection, int flags, int fd, off_t offset)
{
	const struct map_call call = {addr, size, protection, flags, fd, offset};

	return map(&call, FRAME);
}

int munmap(void *addr, size_t size)
{
	uint64_t moment = mappings_moment(), start = (uintptr_t)addr;
	int result;

	if (!real_resolve() || !real.munmap)
		return (int)changed(
			real_raw_result(sys_call(SYS_munmap, (long)addr, (long)size, 0, 0)));
	result = (int)changed(real.munmap(addr, size));
	if (result == 0)
		mappings_gone(start, start + whole_pages(size, 0), moment);
	return result;
}

int mprotect(void *addr, size_t size, int protection)
{
	if (real_resolve() && real.mprotect)
		return (int)changed(real.mprotect(addr, size, protection));
	return (int)changed(
		real_raw_result(sys_call(SYS_mprotect, (long)addr, (long)size, protection, 0)));
}

/* Which flags make the real one read the last argument differs between versions. */
static __attribute__((noinline)) void *remap(struct mappings_event *event, struct mappings_old *old,
					     int flags, void *new_addr)
{
	size_t old_size = old->end - old->start, new_size = event->end;
	void *result;

	old->end = old->start + whole_pages(old_size, 0);
	old->known = mappings_knows(old->start, old->end);
	event->moment = mappings_moment();
	result = (void *)changed(
		(long)real.mremap((void *)old->start, old_size, new_size, flags, new_addr));
	if (result == MAP_FAILED) {
		note_failure(new_size, event->fp, event->hook);
		return result;
	}
	event->start = (uintptr_t)result;
	event->end = event->start + whole_pages(new_size, 0);
	mappings_moved(event, old);
	return result;
}

void *mremap(void *addr, size_t old_size, size_t new_size, int flags, ...)
{
	struct mappings_old old = {.start = (uintptr_t)addr,
				   .end = (uintptr_t)addr + old_size,
				   .stays = old_size == 0 || flags & MREMAP_DONTUNMAP};
	struct mappings_event event = {.end = new_size, .fp = FRAME, .hook = FORMAT_HOOK_MREMAP};
	void *new_addr = NULL;
	va_list args;

	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) {
		va_start(args, flags);
		new_addr = va_arg(args, void *);
		va_end(args);
	}
	if (!real_resolve() || !real.mremap) {
		errno = ENOSYS;
		return MAP_FAILED;
	}
	return remap(&event, &old, flags, new_addr);
}

/* The break went from old to new.  Only the program's own calls pass here: glibc's malloc() has an sbrk() of its own. */
static void note_break(struct mappings_event *event, uint64_t old, uint64_t new)
{
	event->start = old;
	event->end = new;
	if (new > old)
		mappings_made(event);
	else if (new < old)
		mappings_gone(new, old, event->moment);
}

void *sbrk(intptr_t change)
{
	struct mappings_event event = {
		.moment = mappings_moment(), .fp = FRAME, .hook = FORMAT_HOOK_SBRK};
	void *old;

	if (!real_resolve() || !real.sbrk) {
		errno = ENOMEM;
		return (void *)-1;
	}
	old = real.sbrk(change);
	if (change < 0)
		changed(0);
	if (old != (void *)-1)
		note_break(&event, (uintptr_t)old, (uintptr_t)old + (uintptr_t)change);
	else if (change > 0)
		note_failure((uint64_t)change, event.fp, event.hook);
	return old;
}

int brk(void *addr)
{
	struct mappings_event event = {
		.moment = mappings_moment(), .fp = FRAME, .hook = FORMAT_HOOK_BRK};
	uint64_t old = (uint64_t)sys_call(SYS_brk, 0, 0, 0, 0);
	int result;

	if (!real_resolve() || !real.brk) {
		errno = ENOMEM;
		return -1;
	}
	result = (int)changed(real.brk(addr));
	if (result == 0)
		note_break(&event, old, (uintptr_t)addr);
	else if ((uintptr_t)addr > old)
		note_failure((uintptr_t)addr - old, event.fp, event.hook);
	return result;
}
