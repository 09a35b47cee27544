/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hooks.c - the malloc family as the program sees it.
 *
 * A block of the boot arena (real.h) is never recorded: recording cannot begin while real.c is at work.
 * Each function passes on to the real one with the program's own arguments, and records what it
 * returned.  Results, errno and alignment are the real allocator's; nothing here touches errno but
 * reallocarray(), which must not go through the C library's: that one calls realloc(), the hook.
 * The frame address of the exported function is where unwinding begins: its frame must be there
 * until the event is recorded, so nothing that records may be called in tail position.
 */
#include "libpmem/hook.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "libpmem/real.h"
#include "libpmem/record.h"

#define EXPORT __attribute__((visibility("default")))
#define CALLER ((uintptr_t)__builtin_return_address(0))
#define FRAME ((const uintptr_t *)__builtin_frame_address(0))

/* So that pmem leaks sees who is in between: a section of their own, and a name for its end, behind the functions whatever their order
 * (subsection 1).  Not the names that ld has for both ends of a section: it exports them. */
#define MOVING __attribute__((section("pmem_moving")))
extern const char hook_moving_end[] __attribute__((visibility("hidden")));
__asm__(".pushsection pmem_moving, 1, \"ax\", @progbits\n"
	".globl hook_moving_end\n"
	".hidden hook_moving_end\n"
	"hook_moving_end:\n"
	".popsection\n");

EXPORT void *malloc(size_t size);
EXPORT void *calloc(size_t count, size_t size);
EXPORT void *realloc(void *old, size_t size);
EXPORT void *reallocarray(void *old, size_t count, size_t size);
EXPORT void free(void *block);
EXPORT int posix_memalign(void **block, size_t alignment, size_t size);
EXPORT void *aligned_alloc(size_t alignment, size_t size);
EXPORT void *memalign(size_t alignment, size_t size);
EXPORT void *valloc(size_t size);
EXPORT void *pvalloc(size_t size);
EXPORT size_t malloc_usable_size(void *block);
EXPORT void cfree(void *block);
EXPORT void free_sized(void *block, size_t size);
EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size);

/* Our own functions: the plain names may resolve to the program's (a PLT entry, or a malloc of its own). */
#define OURS(name) \
	extern __typeof__(name) our_##name __attribute__((alias(#name), visibility("hidden")))
OURS(malloc);
OURS(calloc);
OURS(realloc);
OURS(reallocarray);
OURS(posix_memalign);
OURS(aligned_alloc);
OURS(memalign);
OURS(valloc);
OURS(pvalloc);

void hook_describe(struct format_header *header)
{
	uintptr_t one = (uintptr_t)our_realloc, other = (uintptr_t)our_reallocarray;

	header->realloc_start = one < other ? one : other;
	header->realloc_end = (uintptr_t)hook_moving_end;
}

const char *hook_name(enum format_hook hook)
{
	static const char *const names[FORMAT_HOOK_COUNT] = {
		[FORMAT_HOOK_MALLOC] = "malloc",
		[FORMAT_HOOK_CALLOC] = "calloc",
		[FORMAT_HOOK_REALLOC] = "realloc",
		[FORMAT_HOOK_REALLOCARRAY] = "reallocarray",
		[FORMAT_HOOK_POSIX_MEMALIGN] = "posix_memalign",
		[FORMAT_HOOK_ALIGNED_ALLOC] = "aligned_alloc",
		[FORMAT_HOOK_MEMALIGN] = "memalign",
		[FORMAT_HOOK_VALLOC] = "valloc",
		[FORMAT_HOOK_PVALLOC] = "pvalloc",
		[FORMAT_HOOK_MMAP] = "mmap",
		[FORMAT_HOOK_MREMAP] = "mremap",
		[FORMAT_HOOK_SBRK] = "sbrk",
		[FORMAT_HOOK_BRK] = "brk",
	};

	return names[hook];
}

uintptr_t hook_address(enum format_hook hook)
{
	const uintptr_t addresses[FORMAT_HOOK_MMAP] = {
		[FORMAT_HOOK_MALLOC] = (uintptr_t)our_malloc,
		[FORMAT_HOOK_CALLOC] = (uintptr_t)our_calloc,
		[FORMAT_HOOK_REALLOC] = (uintptr_t)our_realloc,
		[FORMAT_HOOK_REALLOCARRAY] = (uintptr_t)our_reallocarray,
		[FORMAT_HOOK_POSIX_MEMALIGN] = (uintptr_t)our_posix_memalign,
		[FORMAT_HOOK_ALIGNED_ALLOC] = (uintptr_t)our_aligned_alloc,
		[FORMAT_HOOK_MEMALIGN] = (uintptr_t)our_memalign,
		[FORMAT_HOOK_VALLOC] = (uintptr_t)our_valloc,
		[FORMAT_HOOK_PVALLOC] = (uintptr_t)our_pvalloc,
	};

	return addresses[hook];
}

/* Not a tail call: fp's frame is needed. */
static inline __attribute__((always_inline)) void *failed(size_t size, const uintptr_t *fp,
							  enum format_hook hook)
{
	void *none = record_failed(size, fp, hook);

	__asm__ volatile("" : "+r"(none));
	return none;
}

/* Of the hottest hooks the part that may record is apart, so that a sampled thread's events between two samples need no registers
 * saved: a tail call, in which FRAME is the hook's own. */
static __attribute__((noinline)) void *malloc_recorded(size_t size)
{
	void *block = real.malloc(size);

	if (__builtin_expect(block != NULL, 1))
		return record_alloc(block, size, FRAME, FORMAT_HOOK_MALLOC);
	return failed(size, FRAME, FORMAT_HOOK_MALLOC);
}

void *malloc(size_t size)
{
	if (record_is_sampling() && record_passes_alloc(size, CALLER))
		return real.malloc(size);
	return malloc_recorded(size);
}

static __attribute__((noinline)) void *calloc_recorded(size_t count, size_t size)
{
	void *block = real.calloc(count, size);
	size_t total;

	if (__builtin_expect(block != NULL, 1))
		return record_alloc(block, count * size, FRAME, FORMAT_HOOK_CALLOC);
	if (__builtin_mul_overflow(count, size, &total))
		total = SIZE_MAX;
	return failed(total, FRAME, FORMAT_HOOK_CALLOC);
}

void *calloc(size_t count, size_t size)
{
	size_t total;

	if (record_is_sampling() && !__builtin_mul_overflow(count, size, &total) &&
	    record_passes_alloc(total, CALLER))
		return real.calloc(count, size);
	return calloc_recorded(count, size);
}

/* The hooks off the hottest path share this; fp is theirs.  They also fail for alignments that there are not. */
static __attribute__((noinline)) void recorded(void *block, size_t size, const uintptr_t *fp,
					       enum format_hook hook)
{
	if (block)
		record_alloc(block, size, fp, hook);
	else if (errno == ENOMEM)
		record_failed(size, fp, hook);
}

/* A block of the boot arena moves to the real allocator. */
static void *leave_boot(const void *old, size_t size, const uintptr_t *fp, enum format_hook hook)
{
	size_t old_size = real_boot_size(old);
	void *block;

	if (!size)
		return NULL;
	block = real.malloc(size);
	if (!block)
		return record_failed(size, fp, hook);
	memcpy(block, old, old_size < size ? old_size : size);
	recorded(block, size, fp, hook);
	return block;
}

/* realloc(p, 0) frees p and returns NULL in glibc; an allocator that returns a block instead gets it counted. */
static inline __attribute__((always_inline)) void *reallocate(void *old, size_t size,
							      const uintptr_t *fp,
							      enum format_hook hook)
{
	struct live_block taken;
	bool known, is_mapping;
	void *block;

	if (__builtin_expect(real_is_boot(old), 0)) {
		block = leave_boot(old, size, fp, hook);
		/* Not a tail call: fp's frame is still needed. */
		__asm__ volatile("" : : : "memory");
		return block;
	}
	known = old && record_take(old, &taken);
	is_mapping = known && live_is_mapping((uintptr_t)old);
	block = real.realloc(old, size);
	if (known && !block && size)
		record_put_back(&taken);
	else if (known)
		record_taken_freed(&taken);
	if (block)
		record_alloc(block, size, fp, hook);
	else if (size)
		record_failed(size, fp, hook);
	if (known && block)
		record_reallocated(&taken, is_mapping, block, size);
	return block;
}

MOVING void *realloc(void *old, size_t size)
{
	return reallocate(old, size, FRAME, FORMAT_HOOK_REALLOC);
}

MOVING void *reallocarray(void *old, size_t count, size_t size)
{
	size_t total;
	void *block;

	if (__builtin_mul_overflow(count, size, &total)) {
		errno = ENOMEM;
		return failed(SIZE_MAX, FRAME, FORMAT_HOOK_REALLOCARRAY);
	}
	block = reallocate(old, total, FRAME, FORMAT_HOOK_REALLOCARRAY);
	/* mimalloc's realloc() leaves it to its reallocarray(); jemalloc leaves errno alone, and so does glibc's over it. */
	if (!block && total && real.has_reallocarray)
		errno = ENOMEM;
	return block;
}

static __attribute__((noinline)) void free_recorded(void *block)
{
	record_free(block, CALLER);
}

void free(void *block)
{
	if (record_is_sampling() && record_passes_free(block, CALLER))
		real.free(block);
	else
		free_recorded(block);
}

/* Of programs linked before glibc 2.26. */
void cfree(void *block)
{
	record_free(block, CALLER);
}

void free_sized(void *block, size_t size)
{
	(void)size;
	record_free(block, CALLER);
}

void free_aligned_sized(void *block, size_t alignment, size_t size)
{
	(void)alignment, (void)size;
	record_free(block, CALLER);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
	int result;

	if (!real_resolve() || !real.posix_memalign)
		return ENOMEM;
	result = real.posix_memalign(block, alignment, size);
	if (result == 0)
		recorded(*block, size, FRAME, FORMAT_HOOK_POSIX_MEMALIGN);
	else if (result == ENOMEM)
		failed(size, FRAME, FORMAT_HOOK_POSIX_MEMALIGN);
	return result;
}

static void *no_memory(void)
{
	errno = ENOMEM;
	return NULL;
}

void *aligned_alloc(size_t alignment, size_t size)
{
	void *block;

	if (!real_resolve() || !real.aligned_alloc)
		return no_memory();
	block = real.aligned_alloc(alignment, size);
	recorded(block, size, FRAME, FORMAT_HOOK_ALIGNED_ALLOC);
	return block;
}

void *memalign(size_t alignment, size_t size)
{
	void *block;

	if (!real_resolve() || !real.memalign)
		return no_memory();
	block = real.memalign(alignment, size);
	recorded(block, size, FRAME, FORMAT_HOOK_MEMALIGN);
	return block;
}

void *valloc(size_t size)
{
	void *block;

	if (!real_resolve() || !real.valloc)
		return no_memory();
	block = real.valloc(size);
	recorded(block, size, FRAME, FORMAT_HOOK_VALLOC);
	return block;
}

void *pvalloc(size_t size)
{
	void *block;

	if (!real_resolve() || !real.pvalloc)
		return no_memory();
	block = real.pvalloc(size);
	recorded(block, size, FRAME, FORMAT_HOOK_PVALLOC);
	return block;
}

size_t malloc_usable_size(void *block)
{
	if (!block)
		return 0;
	if (!real.malloc_usable_size && (!real_resolve() || !real.malloc_usable_size))
		return 0;
	return real_is_boot(block) ? real_boot_size(block) : real.malloc_usable_size(block);
}
