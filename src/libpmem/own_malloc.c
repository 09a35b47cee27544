/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * own_malloc.c - see own_malloc.h.
 *
 * What dlsym() says is not enough: of a program that takes malloc's address and was not compiled as
 * PIC it is a stub in the program that leads to us.  So the symbol must be defined in the object that
 * the address lies in.
 */
#include "libpmem/own_malloc.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/auxv.h>

#include "core/allocator_names.h"
#include "core/elf_view.h"
#include "core/go_note.h"
#include "libpmem/hook.h"
#include "libpmem/log.h"
#include "libpmem/maps.h"
#include "libpmem/modules.h"
#include "libpmem/names.h"
#include "libpmem/real.h"
#include "libpmem/text.h"

enum { LINE_SIZE = MAPS_PATH_MAX + ALLOCATOR_NAMES_TEXT + 128 };

/* Immutable after own_malloc_init(). */
static char path[MAPS_PATH_MAX];
static char new_path[MAPS_PATH_MAX];
static uint32_t exported; /* set of allocator_names.h, of that file */
static bool is_go;

static char line[LINE_SIZE]; /* in the making; threads that end the process at once make the same */

/* The names that the object defines, if its malloc() is the one at addr; else none. */
static uint32_t defined_names(const struct elf_image *image, uintptr_t addr)
{
	uint32_t set = 0, bit;
	bool is_there = false;
	Elf64_Sym symbol;
	const char *name;
	size_t i;

	for (i = 0; i < image->dynsym.count; i++) {
		if (!elf_symbol_at(&image->dynsym, i, &symbol, &name) ||
		    symbol.st_shndx == SHN_UNDEF)
			continue;
		bit = allocator_names_bit(name);
		set |= bit;
		is_there = is_there || (bit && symbol.st_value + image->bias == addr);
	}
	return is_there ? set : 0;
}

/* True if a readable segment of the program has these bytes of its memory from the file. */
static bool is_loaded(const Elf64_Phdr *headers, size_t count, uint64_t vaddr, uint64_t size)
{
	const Elf64_Phdr *header;

	for (header = headers; header < headers + count; header++)
		if (header->p_type == PT_LOAD && (header->p_flags & PF_R) &&
		    vaddr >= header->p_vaddr && size <= header->p_filesz &&
		    vaddr - header->p_vaddr <= header->p_filesz - size)
			return true;
	return false;
}

/* The kernel tells where the program's headers lie. */
static bool find_go(void)
{
	const Elf64_Phdr *headers = (const Elf64_Phdr *)getauxval(AT_PHDR), *header;
	size_t count = headers ? getauxval(AT_PHNUM) : 0;
	uintptr_t bias = 0;

	for (header = headers; header < headers + count; header++)
		if (header->p_type == PT_PHDR)
			bias = (uintptr_t)headers - header->p_vaddr;
	for (header = headers; header < headers + count; header++)
		if (header->p_type == PT_NOTE &&
		    is_loaded(headers, count, header->p_vaddr, header->p_filesz) &&
		    go_note_is_in((const uint8_t *)(bias + header->p_vaddr), header->p_filesz))
			return true;
	return false;
}

/* Whether the object has a dynamic symbol that begins so, and defines it or leaves it to others. */
static bool has_symbol(const struct elf_image *image, const char *start, bool defined)
{
	size_t i, size = strlen(start);
	Elf64_Sym symbol;
	const char *name;

	for (i = 0; i < image->dynsym.count; i++)
		if (elf_symbol_at(&image->dynsym, i, &symbol, &name) &&
		    (symbol.st_shndx != SHN_UNDEF) == defined && strncmp(name, start, size) == 0)
			return true;
	return false;
}

static bool imports_new(void)
{
	static char ignored[MAPS_PATH_MAX];
	struct maps_object object = {.path = ignored};
	struct elf_image image;

	return maps_find(getauxval(AT_ENTRY), &object) &&
	       elf_image_open(object.start, object.end, &image) &&
	       (has_symbol(&image, "_Znw", false) || has_symbol(&image, "_Zna", false));
}

/* The next allocator defines it, and the search order leads there.  dlsym() only for what is there:
 * what it says of what is not is a string that it frees the next time, by whose free() ever. */
static void find_own_new(void)
{
	static const char operator_new[] = "_Znwm";
	struct maps_object object = {.path = new_path};
	uintptr_t addr = (uintptr_t)real.next_malloc;
	struct elf_image image;

	if (addr && maps_find(addr, &object) && elf_image_open(object.start, object.end, &image) &&
	    has_symbol(&image, operator_new, true) && imports_new() &&
	    (uintptr_t)dlsym(RTLD_DEFAULT, operator_new) - object.start < object.end - object.start)
		return;
	new_path[0] = 0;
}

void own_malloc_init(void)
{
	struct maps_object object = {.path = path};
	uintptr_t addr = (uintptr_t)real.first_malloc;
	struct elf_image image;

	is_go = find_go();
	if (real.layout != LIVE_SLACK)
		find_own_new();
	if (!addr || addr == hook_address(FORMAT_HOOK_MALLOC))
		return;
	if (maps_find(addr, &object) && elf_image_open(object.start, object.end, &image))
		exported = defined_names(&image, addr);
	if (!exported)
		path[0] = 0;
}

const char *own_malloc_path(void)
{
	return path;
}

const char *own_malloc_new_path(void)
{
	return new_path;
}

static void note_new(void)
{
	struct text text = {.bytes = line, .room = sizeof(line)};

	if (!new_path[0])
		return;
	text_string(&text, "# unseen: ");
	text_safe(&text, new_path);
	text_string(&text, " has its own operator new: what C++ code allocates by new is not here, "
			   "unless libstdc++.so.6 comes before it in LD_PRELOAD\n");
	log_note(text.bytes, text.size);
}

void own_malloc_note(void)
{
	bool is_program = !path[0] || strcmp(path, modules_program_path()) == 0;
	uint32_t set = exported | (is_program ? names_allocators() : 0);
	struct text text = {.bytes = line, .room = sizeof(line)};
	char names[ALLOCATOR_NAMES_TEXT];

	note_new();
	if (!set && !is_go)
		return;
	text_string(&text, "# unseen: ");
	text_safe(&text, path[0] ? path : modules_program_path());
	if (is_go && !path[0]) {
		text_string(&text, " has Go's own heap: only what C code allocates is here\n");
	} else {
		text_string(&text, " defines ");
		text_string(&text, allocator_names_text(set, names));
		text_string(&text, " itself: what it serves by these is not here\n");
	}
	log_note(text.bytes, text.size);
}
