/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * real.c - resolves the real allocator without recursion, see real.h.
 */
#define _GNU_SOURCE
#include "libpmem/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "libpmem/find_object.h"
#include "libpmem/lock.h"
#include "libpmem/real_musl.h"
#include "libpmem/sys.h"
#include "libpmem/thread.h"

enum { ARENA_ALIGN = 32 };

char real_boot_arena[REAL_BOOT_SIZE] __attribute__((aligned(ARENA_ALIGN), visibility("hidden")));
static _Atomic size_t arena_used;
static _Atomic uintptr_t resolver; /* lock_self() of the thread at work; 1 = done */

extern const char *gnu_get_libc_version(void) __attribute__((weak));
/* Not in musl. */
extern void *dlvsym(void *handle, const char *name, const char *version) __attribute__((weak));
extern char **environ;

/* A block is preceded by its size. */
static void *boot_block(size_t size)
{
	size_t room, at;

	if (size > REAL_BOOT_SIZE)
		return NULL;
	room = (size + ARENA_ALIGN + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
	at = atomic_fetch_add_explicit(&arena_used, room, memory_order_relaxed) + ARENA_ALIGN;
	if (at + size > REAL_BOOT_SIZE)
		return NULL;
	memcpy(real_boot_arena + at - sizeof(size), &size, sizeof(size));
	return real_boot_arena + at;
}

size_t real_boot_size(const void *block)
{
	size_t size;

	memcpy(&size, (const char *)block - sizeof(size), sizeof(size));
	return size;
}

static void *boot_malloc(size_t size)
{
	return real_resolve() ? real.malloc(size) : boot_block(size);
}

static void *boot_calloc(size_t count, size_t size)
{
	size_t total;

	if (real_resolve())
		return real.calloc(count, size);
	return __builtin_mul_overflow(count, size, &total) ? NULL : boot_block(total);
}

static void *boot_realloc(void *old, size_t size)
{
	return real_resolve() ? real.realloc(old, size) : boot_block(size);
}

static void boot_free(void *block)
{
	if (real_resolve())
		real.free(block);
}

struct real real __attribute__((visibility("hidden"))) = {
	.malloc = boot_malloc,
	.calloc = boot_calloc,
	.realloc = boot_realloc,
	.free = boot_free,
};

/* dladdr() searches all symbols of a library, for a millisecond in all: the loader's own table is asked where it has one. */
static bool same_object(const void *a, const void *b)
{
	struct found_object found_a, found_b;
	Dl_info info_a, info_b;

	if (find_object_of && find_object_of((void *)a, &found_a) == 0 &&
	    find_object_of((void *)b, &found_b) == 0)
		return found_a.link_map == found_b.link_map;
	return dladdr(a, &info_a) && dladdr(b, &info_b) && info_a.dli_fbase == info_b.dli_fbase;
}

/* True for a function of the library that the loader maps for the C library, if that is glibc. */
static bool in_glibc(const void *function)
{
	return gnu_get_libc_version && function &&
	       same_object(function, (void *)gnu_get_libc_version);
}

/* By the name of its file, as people know it. */
static enum format_allocator allocator_of(const void *function)
{
	static const struct {
		const char *name;
		enum format_allocator allocator;
	} known[] = {
		{"jemalloc", FORMAT_ALLOCATOR_JEMALLOC},
		{"mimalloc", FORMAT_ALLOCATOR_MIMALLOC},
		{"tcmalloc", FORMAT_ALLOCATOR_TCMALLOC},
	};
	Dl_info here;

	if (in_glibc(function))
		return FORMAT_ALLOCATOR_GLIBC;
	if (!dladdr(function, &here) || !here.dli_fname)
		return FORMAT_ALLOCATOR_UNKNOWN;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strstr(here.dli_fname, known[i].name))
			return known[i].allocator;
	return FORMAT_ALLOCATOR_OTHER;
}

/* The layout that needs no allocator's internals, unless the functions are plain glibc's: no tunable changes what
 * they do. */
static bool is_plain_glibc(const void *function)
{
	char *const *entry;

	if (!in_glibc(function))
		return false;
	for (entry = environ; entry && *entry; entry++)
		if (strncmp(*entry, "MALLOC_CHECK_=", 14) == 0 ||
		    strstr(*entry, "glibc.malloc.check") || strstr(*entry, "glibc.mem.tagging"))
			return false;
	return true;
}

/* --- the two-cell layout: no block of fewer than 9 bytes --- */

enum { RAISED_MIN = 9 };

static struct real next; /* the allocator's own functions; immutable after find_all() */

static size_t raised(size_t size)
{
	return size < RAISED_MIN ? RAISED_MIN : size;
}

static void *raised_malloc(size_t size)
{
	return next.malloc(raised(size));
}

static void *raised_calloc(size_t count, size_t size)
{
	size_t total;

	if (!__builtin_mul_overflow(count, size, &total) && total < RAISED_MIN)
		return next.calloc(1, RAISED_MIN);
	return next.calloc(count, size);
}

/* realloc(p, 0) may free p: it stays what it is.  But where it returns a block, that one is too small. */
static void *raised_realloc(void *old, size_t size)
{
	void *block, *larger;

	if (size || !old)
		return next.realloc(old, raised(size));
	block = next.realloc(old, 0);
	larger = block ? next.realloc(block, RAISED_MIN) : NULL;
	return larger ? larger : block;
}

static int raised_posix_memalign(void **block, size_t alignment, size_t size)
{
	return next.posix_memalign(block, alignment, raised(size));
}

static void *raised_aligned_alloc(size_t alignment, size_t size)
{
	return next.aligned_alloc(alignment, raised(size));
}

static void *raised_memalign(size_t alignment, size_t size)
{
	return next.memalign(alignment, raised(size));
}

static void raise_requests(struct real *found)
{
	found->malloc = raised_malloc;
	found->calloc = raised_calloc;
	found->realloc = raised_realloc;
	found->posix_memalign = next.posix_memalign ? raised_posix_memalign : NULL;
	found->aligned_alloc = next.aligned_alloc ? raised_aligned_alloc : NULL;
	found->memalign = next.memalign ? raised_memalign : NULL;
	/* valloc() and pvalloc() give whole pages anyway. */
}

/* --- finding them --- */

/* What a program's own reference would lead to if we were not there.  dlsym() overlooks functions that are not their
 * library's default version: libc_malloc_debug.so has only such. */
static void *next_of(const char *name, const char *version)
{
	void *plain = dlsym(RTLD_NEXT, name);
	void *versioned = dlvsym && in_glibc(plain) ? dlvsym(RTLD_NEXT, name, version) : NULL;

	return versioned ? versioned : plain;
}

static void find_family(struct real *found)
{
	static const char version[] = ARCH_GLIBC_VERSION;

	found->calloc = (void *(*)(size_t, size_t))next_of("calloc", version);
	found->malloc = (void *(*)(size_t))next_of("malloc", version);
	found->realloc = (void *(*)(void *, size_t))next_of("realloc", version);
	found->free = (void (*)(void *))next_of("free", version);
	found->posix_memalign = (int (*)(void **, size_t, size_t))next_of("posix_memalign", version);
	found->aligned_alloc = (void *(*)(size_t, size_t))next_of("aligned_alloc",
								  ARCH_GLIBC_VERSION_ALIGNED_ALLOC);
	found->memalign = (void *(*)(size_t, size_t))next_of("memalign", version);
	found->valloc = (void *(*)(size_t))next_of("valloc", version);
	found->pvalloc = (void *(*)(size_t))next_of("pvalloc", version);
	found->malloc_usable_size = (size_t(*)(void *))next_of("malloc_usable_size", version);
	found->has_reallocarray = !in_glibc(dlsym(RTLD_NEXT, "reallocarray"));
}

static void find_all(void)
{
	struct real found;

	find_family(&found);
	found.dlclose = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
	found.prctl = (int (*)(int, ...))dlsym(RTLD_NEXT, "prctl");
	found.mmap = (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
	found.munmap = (int (*)(void *, size_t))dlsym(RTLD_NEXT, "munmap");
	found.mprotect = (int (*)(void *, size_t, int))dlsym(RTLD_NEXT, "mprotect");
	found.exit = (void (*)(int))dlsym(RTLD_NEXT, "_exit");
	found.mremap = (void *(*)(void *, size_t, size_t, int, ...))dlsym(RTLD_NEXT, "mremap");
	found.sbrk = (void *(*)(intptr_t))dlsym(RTLD_NEXT, "sbrk");
	found.brk = (int (*)(void *))dlsym(RTLD_NEXT, "brk");
	found.first_malloc = dlsym(RTLD_DEFAULT, "malloc");
	found.next_malloc = (void *)found.malloc;
	real_musl_unnest(&found);
	found.layout = is_plain_glibc((void *)found.malloc) ? LIVE_SLACK : LIVE_TWO_CELL;
	found.allocator = allocator_of(found.next_malloc);
	next = found;
	/* glibc's blocks, also checked ones, are 32 bytes apart at least; and checking is of the requested size. */
	if (!in_glibc(dlsym(RTLD_NEXT, "malloc")))
		raise_requests(&found);
	real = found;
}

bool real_resolve(void)
{
	uintptr_t nobody = 0, self = lock_self();

	/* Acquire: pairs with the release below. */
	if (atomic_load_explicit(&resolver, memory_order_acquire) == 1)
		return true;
	if (!atomic_compare_exchange_strong_explicit(&resolver, &nobody, self, memory_order_acquire,
						     memory_order_acquire)) {
		if (nobody == self)
			return false;
		while (atomic_load_explicit(&resolver, memory_order_acquire) != 1)
			arch_pause();
		return true;
	}
	find_all();
	thread_before_tls();
	/* Release: the table; pairs with the acquire above. */
	atomic_store_explicit(&resolver, 1, memory_order_release);
	return true;
}
