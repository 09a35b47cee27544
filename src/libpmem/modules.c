/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * modules.c - the table of modules and code regions, see modules.h.
 *
 * The hot question, "which region does this page of code belong to", is answered by a direct-mapped
 * cache of 8-byte entries {page, generation, region}; any thread reads and writes it without a lock,
 * since an entry is complete in itself.  All tables are written under one lock and published by
 * their counts (release).  Regions of a module that moved are rebased under the lock before its
 * generation is published; no thread can hold a frame in a module that was not loaded until then.
 *
 * Anonymous code (JIT, or a library mapped by hand) is module 0.  A library may be mapped there later:
 * whatever the loader does ends the validity of such pages in the cache.
 */
#include "libpmem/modules.h"

#include <string.h>
#include <sys/auxv.h>

#include "libpmem/find_object.h"
#include "libpmem/hook.h"
#include "libpmem/lock.h"
#include "libpmem/loss.h"
#include "libpmem/maps.h"
#include "libpmem/modules_record.h"
#include "libpmem/process.h"
#include "libpmem/rules.h"
#include "libpmem/store.h"
#include "libpmem/sys.h"

extern void *__libc_stack_end __attribute__((weak));

/* The part of struct link_map that <link.h> documents. */
struct loader_map {
	uintptr_t addr;
	const char *name;
};

enum {
	MODULE_ANONYMOUS = 0,
	REGION_TABLE_SIZE = 2 * MODULES_REGIONS_MAX,
	PATH_MAX_SIZE = MAPS_PATH_MAX,
};

static struct lock modules_lock = {.rank = LOCK_MODULES};
static struct module modules[MODULES_MAX];
static _Atomic uint32_t module_count;
/* As in the store: pc32 >> FORMAT_REGION_BITS is the index. */
static struct format_region regions[MODULES_REGIONS_MAX];
_Atomic uintptr_t modules_region_bases[MODULES_REGIONS_MAX];
static _Atomic uint32_t region_count;
static uint16_t region_table[REGION_TABLE_SIZE]; /* under lock: finds a region; 0 = free slot */
_Atomic uint64_t modules_cache[MODULES_CACHE_SIZE];
_Atomic uint32_t modules_generation_now = 1;
static _Atomic uint32_t suspicions;   /* how often modules_suspect() was called */
static _Atomic uint32_t followed;     /* so many of them are settled; written under lock */
static bool any_anonymous;	      /* under lock: the cache has pages of anonymous code */
static char *scratch_path;	      /* under lock; [PATH_MAX_SIZE] */
static char name_copy[PATH_MAX_SIZE]; /* under lock */
static char program_path[PATH_MAX_SIZE];
static uint32_t library_id; /* of libpmem.so, since the tables were made; MODULE_ANONYMOUS: no room for it */

uintptr_t modules_loader_start;
uintptr_t modules_loader_size;

/* --- what the loader says ------------------------------------------------------------------- */

struct found {
	uintptr_t start;
	uintptr_t end;
	const void *link_map; /* NULL when found through maps_find() */
	const char *path;     /* by maps_find() only */
};

/* The program itself, from its own program headers: it never moves, and _dl_find_object() may know no
 * more than its largest segment. */
static struct found program;

static bool find_by_maps(uintptr_t pc, struct found *found)
{
	struct maps_object object = {.path = scratch_path};

	if (!scratch_path || !maps_find(pc, &object))
		return false;
	*found = (struct found){.start = object.start, .end = object.end, .path = object.path};
	return true;
}

/* The object loaded at pc.  With maps_find(): under lock only. */
static bool find_object(uintptr_t pc, struct found *found)
{
	struct found_object object;
	const struct loader_map *map;

	if (pc - program.start < program.end - program.start) {
		*found = program;
		return true;
	}
	if (!find_object_of)
		return find_by_maps(pc, found);
	if (find_object_of((void *)pc, &object) != 0)
		return false;
	map = object.link_map;
	*found = (struct found){.start = (uintptr_t)object.map_start,
				.end = (uintptr_t)object.map_end,
				.link_map = map};
	return true;
}

/* The name of what was found.  Only for an object that cannot go away meanwhile: one on our call stack. */
static const char *path_of(const struct found *found)
{
	const struct loader_map *map = found->link_map;

	if (!map)
		return found->path ? found->path : "";
	return map->name && *map->name ? map->name : program_path;
}

/* --- table ----------------------------------------------------------------------------------- */

/* A copy of path in the store; "" when there is no room. */
static const char *keep_path(const char *path, struct format_text *text)
{
	size_t size = strlen(path);
	char *room = size && size < PATH_MAX_SIZE ? store_text_room(size, text) : NULL;

	if (!room)
		return "";
	memcpy(room, path, size);
	return room;
}

static bool same_identity(const struct module *module, const char *path,
			  const struct elf_image *image)
{
	return module->build_id.size == image->build_id.size &&
	       memcmp(module->build_id.bytes, image->build_id.bytes, image->build_id.size) == 0 &&
	       strcmp(module->path, path) == 0 &&
	       module->end - module->start == image->end - image->start;
}

static bool is_loaded(const struct module *module)
{
	return atomic_load_explicit(&module->loaded, memory_order_relaxed) != 0;
}

/* Moves the module's regions to where it lies now. */
static void rebase_regions(uint32_t id)
{
	uint32_t i, count = atomic_load_explicit(&region_count, memory_order_relaxed);

	for (i = 1; i < count; i++)
		if (regions[i].module_id == id)
			atomic_store_explicit(&modules_region_bases[i],
					      modules[id].start + ((uintptr_t)regions[i].chunk
								   << FORMAT_REGION_BITS),
					      memory_order_relaxed);
}

static void place_module(struct module *module, const struct found *found,
			 const struct elf_image *image)
{
	module->bias = image->bias;
	module->start = found->start;
	module->end = found->end;
	module->link_map = found->link_map;
	module->cfi = (struct cfi_section){.hdr = image->eh_frame_hdr,
					   .start = image->eh_frame_start,
					   .end = image->eh_frame_end};
	module->dynsym = image->dynsym;
	module->build_id_addr = image->build_id_addr;
	module->checked = 0;
	atomic_store_explicit(&module->loaded, 1, memory_order_relaxed);
}

/* The record for an object that has none yet, or whose record says unloaded. 0: no room. */
static uint32_t add_module(const struct found *found)
{
	uint32_t id, count = atomic_load_explicit(&module_count, memory_order_relaxed);
	uint32_t instance = 0;
	const char *path = path_of(found);
	struct format_text text = {0};
	struct elf_image image;

	if (!elf_image_open(found->start, found->end, &image))
		image = (struct elf_image){
			.start = found->start, .end = found->end, .bias = found->start};
	for (id = 1; id < count; id++) {
		if (!same_identity(&modules[id], path, &image))
			continue;
		if (!is_loaded(&modules[id])) {
			place_module(&modules[id], found, &image);
			modules_record_place(id, &modules[id]);
			rebase_regions(id);
			return id;
		}
		instance++;
	}
	if (count == MODULES_MAX) {
		loss_add(FORMAT_LOSS_MODULES, 1);
		return 0;
	}
	modules[count].path = keep_path(path, &text);
	modules[count].build_id = image.build_id;
	modules[count].instance = instance;
	modules[count].first_vaddr = found->start - image.bias;
	place_module(&modules[count], found, &image);
	modules_record_new(count, &modules[count], text);
	/* Release: the record; pairs with modules_count(). */
	atomic_store_explicit(&module_count, count + 1, memory_order_release);
	return count;
}

static void changed(void)
{
	rules_flush();
	any_anonymous = false;
	/* Release: everything about the new state; pairs with modules_generation(). */
	atomic_fetch_add_explicit(&modules_generation_now, 1, memory_order_release);
	/* After the generation: a thread that saw the old one comes again. */
	process_change_mark();
}

/* For a module without build-id: the loader's record may be another module's by now.  Copied, as below. */
static bool same_name(const struct module *module, const struct found *found)
{
	const struct loader_map *map = module->link_map;
	size_t size = strlen(module->path) + 1;
	struct loader_map copy;

	if (!map)
		return found->path && strcmp(found->path, module->path) == 0;
	return sys_sandboxed() ||
	       (sys_copy(&copy, map, sizeof(copy)) && size <= PATH_MAX_SIZE &&
		sys_copy(name_copy, copy.name, size) && memcmp(name_copy, module->path, size) == 0) ||
	       sys_copy_refused();
}

/* Another thread may be unloading it right now: copied, not read in place. */
static bool same_build_id(const struct module *module)
{
	uint8_t id[ELF_BUILD_ID_MAX];

	return sys_sandboxed() ||
	       (sys_copy(id, (const void *)module->build_id_addr, module->build_id.size) &&
		memcmp(id, module->build_id.bytes, module->build_id.size) == 0) ||
	       sys_copy_refused();
}

/* Each new page of code comes here: memory itself is asked only if the loader did something since it was asked last. */
static bool still_there(struct module *module)
{
	uint32_t now = atomic_load_explicit(&suspicions, memory_order_relaxed);
	struct found found;

	if (!find_object(module->start, &found) || found.start != module->start ||
	    found.end != module->end || found.link_map != module->link_map)
		return false;
	if (module->checked == now + 1)
		return true;
	if (module->build_id.size ? !same_build_id(module) : !same_name(module, &found))
		return false;
	module->checked = now + 1;
	return true;
}

static void forget(struct module *module)
{
	modules_record_unload((uint32_t)(module - modules));
	atomic_store_explicit(&module->loaded, 0, memory_order_relaxed);
	module->cfi.hdr = 0;
	module->dynsym.count = 0;
}

static bool check_locked(void)
{
	uint32_t id, count = atomic_load_explicit(&module_count, memory_order_relaxed);
	bool any = false;

	for (id = 1; id < count; id++) {
		if (!is_loaded(&modules[id]) || still_there(&modules[id]))
			continue;
		forget(&modules[id]);
		any = true;
	}
	return any;
}

void modules_suspect(void)
{
	atomic_fetch_add_explicit(&suspicions, 1, memory_order_relaxed);
	process_change_mark();
}

/* Under lock. */
static void follow_up(void)
{
	uint32_t now = atomic_load_explicit(&suspicions, memory_order_relaxed);

	if (now == atomic_load_explicit(&followed, memory_order_relaxed))
		return;
	if (check_locked() || any_anonymous)
		changed();
	/* Not before it is done: nobody may go on with what he knew.  Release: pairs with modules_refresh(). */
	atomic_store_explicit(&followed, now, memory_order_release);
}

void modules_refresh(void)
{
	/* Acquire: pairs with the release in follow_up(). */
	if (atomic_load_explicit(&followed, memory_order_acquire) ==
	    atomic_load_explicit(&suspicions, memory_order_relaxed))
		return;
	if (!lock_take(&modules_lock)) {
		if (!lock_is_stuck(&modules_lock))
			process_change_mark(); /* to be asked again */
		return;
	}
	follow_up();
	lock_drop(&modules_lock);
}

/* The module that contains pc; MODULE_ANONYMOUS if none.  Under lock. */
static uint32_t module_at(uintptr_t pc)
{
	uint32_t id, count = atomic_load_explicit(&module_count, memory_order_relaxed);
	struct found found;

	if (!find_object(pc, &found))
		return MODULE_ANONYMOUS;
	for (id = 1; id < count; id++) {
		if (!is_loaded(&modules[id]) || found.start >= modules[id].end ||
		    modules[id].start >= found.end)
			continue;
		if (still_there(&modules[id]))
			return id;
		forget(&modules[id]);
		changed();
	}
	/* Found again: still_there() may have overwritten the path. */
	return find_object(pc, &found) ? add_module(&found) : MODULE_ANONYMOUS;
}

/* --- regions --------------------------------------------------------------------------------- */

/* The slot of (module, chunk) in the table of regions: taken, or free. */
static uint16_t *region_slot(uint32_t module_id, uint32_t chunk)
{
	uint32_t i = (module_id * 0x9e3779b1u ^ chunk * 0x85ebca6bu) >> 7;

	for (;; i++) {
		uint16_t *slot = &region_table[i % REGION_TABLE_SIZE];

		if (!*slot ||
		    (regions[*slot].module_id == module_id && regions[*slot].chunk == chunk))
			return slot;
	}
}

/* Under lock.  0: no room. */
static uint32_t add_region(uint32_t module_id, uint32_t chunk, uintptr_t base)
{
	uint32_t count = atomic_load_explicit(&region_count, memory_order_relaxed);
	uint16_t *slot = region_slot(module_id, chunk);

	if (*slot)
		return *slot;
	/* Anonymous code must not use up what the modules need. */
	if (count >= (module_id ? MODULES_REGIONS_MAX : MODULES_REGIONS_MAX / 2)) {
		loss_add(FORMAT_LOSS_MODULES, 1);
		return 0;
	}
	*slot = (uint16_t)count;
	regions[count] = (struct format_region){.module_id = module_id, .chunk = chunk};
	modules_record_region(count, &regions[count]);
	atomic_store_explicit(&modules_region_bases[count], base, memory_order_relaxed);
	/* Release: the region; pairs with modules_locate(). */
	atomic_store_explicit(&region_count, count + 1, memory_order_release);
	return count;
}

/* Under lock. */
static uint32_t find_region(uintptr_t pc)
{
	uint32_t id = module_at(pc), region;
	uintptr_t start = id ? modules[id].start : 0;
	uint32_t chunk = (uint32_t)((pc - start) >> FORMAT_REGION_BITS);

	region = add_region(id, chunk, start + ((uintptr_t)chunk << FORMAT_REGION_BITS));
	any_anonymous = any_anonymous || !id;
	if (region)
		atomic_store_explicit(
			&modules_cache[(pc >> MODULES_PAGE_SHIFT) % MODULES_CACHE_SIZE],
			modules_cache_key(pc) << MODULES_REGION_BITS | region, memory_order_relaxed);
	return region;
}

/* Modules, and so regions, begin on a page: page -> region is a function. */
static uint32_t region_of(uintptr_t pc)
{
	uint64_t entry = modules_cache_entry(pc);
	uint32_t region;

	if (__builtin_expect(entry >> MODULES_REGION_BITS == modules_cache_key(pc), 1))
		return (uint32_t)entry & ((1u << MODULES_REGION_BITS) - 1);
	if (pc >> ARCH_ADDRESS_BITS || !lock_take(&modules_lock))
		return 0;
	region = find_region(pc);
	lock_drop(&modules_lock);
	return region;
}

uint32_t modules_encode_slow(uintptr_t ra)
{
	uint32_t region = region_of(ra - 1);
	uintptr_t base;

	if (!region)
		return FORMAT_SPECIAL_UNKNOWN;
	base = atomic_load_explicit(&modules_region_bases[region], memory_order_relaxed);
	return region << FORMAT_REGION_BITS | (uint32_t)(ra - 1 - base);
}

void modules_locate(uint32_t pc32, struct modules_location *location)
{
	uint32_t region = pc32 >> FORMAT_REGION_BITS;
	const struct module *module;

	if (!region || region >= atomic_load_explicit(&region_count, memory_order_acquire)) {
		*location = (struct modules_location){.offset = pc32};
		return;
	}
	module = &modules[regions[region].module_id];
	location->module = module;
	location->module_id = regions[region].module_id;
	location->address = atomic_load_explicit(&modules_region_bases[region],
						 memory_order_relaxed) +
			    (pc32 & ((1u << FORMAT_REGION_BITS) - 1)) + 1;
	location->offset = ((uint64_t)regions[region].chunk << FORMAT_REGION_BITS) +
			   (pc32 & ((1u << FORMAT_REGION_BITS) - 1)) + 1 + module->first_vaddr;
}

bool modules_busy(void)
{
	return lock_may_fail(&modules_lock);
}

bool modules_cfi(uintptr_t pc, struct cfi_section *section)
{
	uint32_t region = region_of(pc);

	if (!region)
		return false;
	*section = modules[regions[region].module_id].cfi;
	return section->hdr != 0;
}

const char *modules_special_name(uint32_t number)
{
	static const char *const names[] = {
		[FORMAT_SPECIAL_SIGNAL] = "[signal handler]",
		[FORMAT_SPECIAL_BEYOND_BUDGET] = "[beyond budget]",
		[FORMAT_SPECIAL_TRUNCATED] = "[truncated]",
		[FORMAT_SPECIAL_UNKNOWN] = "[unknown module]",
		[FORMAT_SPECIAL_NOT_TAKEN] = "[not taken]",
	};

	return number < sizeof(names) / sizeof(*names) ? names[number] : NULL;
}

const char *modules_program_path(void)
{
	return program_path;
}

const char *modules_library_path(void)
{
	const char *path = modules[library_id].path;

	return path[0] ? path : "libpmem.so";
}

uint32_t modules_count(void)
{
	return atomic_load_explicit(&module_count, memory_order_acquire);
}

const struct module *modules_get(uint32_t id)
{
	return &modules[id];
}

uint32_t modules_generation(void)
{
	return atomic_load_explicit(&modules_generation_now, memory_order_acquire);
}

/* The extent of the program's PT_LOAD segments (getauxval(3): AT_PHDR, AT_PHNUM). */
static void find_program(void)
{
	const Elf64_Phdr *headers = (const Elf64_Phdr *)getauxval(AT_PHDR);
	size_t i, count = getauxval(AT_PHNUM);
	uintptr_t start = UINTPTR_MAX, end = 0, bias = 0;

	for (i = 0; headers && i < count; i++)
		if (headers[i].p_type == PT_PHDR)
			bias = (uintptr_t)headers - headers[i].p_vaddr;
	for (i = 0; headers && i < count; i++) {
		if (headers[i].p_type != PT_LOAD)
			continue;
		start = headers[i].p_vaddr < start ? headers[i].p_vaddr : start;
		end = headers[i].p_vaddr + headers[i].p_memsz > end
			      ? headers[i].p_vaddr + headers[i].p_memsz
			      : end;
	}
	if (end > start)
		program = (struct found){.start = (start + bias) & ~(uintptr_t)4095,
					 .end = (end + bias + 4095) & ~(uintptr_t)4095,
					 .path = program_path};
}

/* The kernel knows the program's path, but not if the loader was run as a command. */
static void find_program_path(void)
{
	struct maps_object object = {.path = program_path};
	ssize_t size = sys_readlinkat(AT_FDCWD, "/proc/self/exe", program_path,
				      sizeof(program_path) - 1);

	program_path[size > 0 ? size : 0] = 0;
	if (!getauxval(AT_BASE) && program.end)
		maps_find(program.start, &object);
}

/* --- start ----------------------------------------------------------------------------------- */

static void find_loader(void)
{
	uintptr_t inside = getauxval(AT_BASE);
	struct found found;

	/* The loader was run as a command: it is the program, and one of its variables tells where. */
	if (!inside)
		inside = (uintptr_t)&__libc_stack_end;
	if (inside && find_object(inside, &found)) {
		modules_loader_start = found.start;
		modules_loader_size = found.end - found.start;
	}
}

static bool make_tables(void)
{
	memset(region_table, 0, sizeof(region_table));
	modules[MODULE_ANONYMOUS].path = "";
	atomic_store_explicit(&module_count, 1, memory_order_relaxed);
	atomic_store_explicit(&region_count, 1, memory_order_relaxed);
	if (!modules_record_begin())
		return false;
	/* Nobody else knows the tables yet. */
	library_id = module_at((uintptr_t)make_tables);
	return true;
}

void modules_find_program(void)
{
	find_program();
	find_program_path();
}

bool modules_init(void)
{
	scratch_path = sys_map(PATH_MAX_SIZE);
	find_loader();
	return make_tables();
}

bool modules_fork_child(void)
{
	lock_reset(&modules_lock);
	changed();
	return make_tables();
}
