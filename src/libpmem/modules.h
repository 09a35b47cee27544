/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * modules.h - which module (program, library, anonymous code) an address belongs to, over time.
 *
 * A module is found at the first frame that lies in it: _dl_find_object() (glibc >= 2.35, lock-free)
 * or, without it, a raw read of /proc/self/maps.  Never dl_iterate_phdr() or dladdr(): they take the
 * loader's lock.  A module that is unloaded keeps its record; the same file loaded again (same
 * build-id and path) gets the same record back, wherever it lies now.
 *
 * A code address is stored in 32 bits as (region, offset): a region is 1 MiB of one module, so pc32
 * is independent of where the module lies and never means two modules.
 */
#ifndef PMEM_LIBPMEM_MODULES_H
#define PMEM_LIBPMEM_MODULES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/cfi.h"
#include "core/elf_view.h"
#include "core/format.h"

enum {
	MODULES_MAX = 2048,
	MODULES_REGIONS_MAX = 4096,
};

/* Immutable once published, but for the fields marked. */
struct module {
	const char *path; /* as the loader names it; "" = anonymous code */
	struct elf_build_id build_id;
	uintptr_t bias;	 /* under lock: address = file address + bias, where it lies or lay last */
	uintptr_t start; /* under lock */
	uintptr_t end;	 /* under lock */
	uintptr_t first_vaddr; /* start - bias: the lowest address in the file's headers */
	uint32_t instance; /* 0, or n if the same file was loaded n times before at the same moment */
	_Atomic uint32_t loaded;   /* 0 after it was unloaded */
	struct cfi_section cfi;	   /* valid while loaded; hdr 0 = none */
	struct elf_symbols dynsym; /* valid while loaded */
	const void *link_map;	   /* identity for the loader */
	uintptr_t build_id_addr;
	uint32_t checked; /* under lock: 1 + how many suspicions there had been when it was last found unchanged; 0 = never */
};

/* A stored code address, in the terms of the log. */
struct modules_location {
	const struct module *module; /* NULL for a special name */
	uint32_t module_id;
	uint64_t offset; /* return address minus the module's bias: as in the file's symbol table */
	uintptr_t address; /* return address, where the module lies or lay last */
};

/* Finds the program, for modules_program_path(); once, before all others. */
void modules_find_program(void);

/* Finds the loader, makes the tables, with libpmem.so in them; once.  False: no memory. */
bool modules_init(void);

/* For modules_encode(): which region a page of code belongs to, in direct-mapped entries {page, generation, region} that
 * any thread reads and writes without a lock, since each is complete in itself; and where a region begins. */
enum {
	MODULES_CACHE_SIZE = 1024,
	MODULES_PAGE_SHIFT = 12,
	MODULES_REGION_BITS = 12,
	MODULES_GENERATION_BITS = 17,
};
extern _Atomic uint64_t modules_cache[MODULES_CACHE_SIZE] __attribute__((visibility("hidden")));
extern _Atomic uintptr_t modules_region_bases[MODULES_REGIONS_MAX]
	__attribute__((visibility("hidden")));
extern _Atomic uint32_t modules_generation_now __attribute__((visibility("hidden")));

uint32_t modules_encode_slow(uintptr_t ra);

/* What an entry for the page of pc holds above its region. */
static inline uint64_t modules_cache_key(uintptr_t pc)
{
	/* Acquire: everything about the state that this generation began with. */
	uint64_t generation = __atomic_load_n((uint32_t *)&modules_generation_now, __ATOMIC_ACQUIRE);

	return (pc >> MODULES_PAGE_SHIFT) << MODULES_GENERATION_BITS |
	       (generation & ((1u << MODULES_GENERATION_BITS) - 1));
}

static inline uint64_t modules_cache_entry(uintptr_t pc)
{
	return __atomic_load_n(
		(uint64_t *)&modules_cache[(pc >> MODULES_PAGE_SHIFT) % MODULES_CACHE_SIZE],
		__ATOMIC_RELAXED);
}

/* The pc32 of a return address (of ra - 1, the call).  Never fails: FORMAT_SPECIAL_UNKNOWN at worst. */
static inline uint32_t modules_encode(uintptr_t ra)
{
	uint64_t entry = modules_cache_entry(ra - 1);
	uint32_t region = (uint32_t)entry & ((1u << MODULES_REGION_BITS) - 1);
	uintptr_t base;

	if (__builtin_expect(entry >> MODULES_REGION_BITS != modules_cache_key(ra - 1), 0))
		return modules_encode_slow(ra);
	base = __atomic_load_n((uintptr_t *)&modules_region_bases[region], __ATOMIC_RELAXED);
	return region << FORMAT_REGION_BITS | (uint32_t)(ra - 1 - base);
}

/* Where pc32 lies.  For a special name location->module is NULL and location->offset is its number. */
void modules_locate(uint32_t pc32, struct modules_location *location);

/* "[truncated]" and so on, or NULL. */
const char *modules_special_name(uint32_t number);

/* The unwind tables of the module that contains pc.  Returns false if none does, or if modules_busy(). */
bool modules_cfi(uintptr_t pc, struct cfi_section *section);

/* True while it may be that what is not known yet of modules cannot be found: in a handler that interrupted its own thread doing that, or
 * holding a lock further down, or when the thread that does it does not come back. */
bool modules_busy(void);

/* Path of the program; "" = unknown. */
const char *modules_program_path(void);

/* The path by which the loader knows libpmem.so; never "".  Always the same, while modules_busy() too. */
const char *modules_library_path(void);

/* Number of module records, and one of them (id < modules_count()). */
uint32_t modules_count(void);
const struct module *modules_get(uint32_t id);

/* The loader did something, and may have unloaded or loaded something: changes the process's mark, so that every thread calls
 * modules_refresh() before its next capture. */
void modules_suspect(void);

/* If modules_suspect() was called since: looks for modules that were unloaded or replaced, and flushes
 * what depends on them (rule cache; stack caches by modules_generation()). */
void modules_refresh(void);

/* Grows with every change that can make a cached rule or stack wrong. */
uint32_t modules_generation(void);

/* The program's dynamic loader: an event whose return address lies there may mean a change. */
extern uintptr_t modules_loader_start __attribute__((visibility("hidden")));
extern uintptr_t modules_loader_size __attribute__((visibility("hidden")));

/* In a forked child: tables as after modules_init().  False: no memory. */
bool modules_fork_child(void);

#endif
