/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * allocators.c - see allocators.h.
 */
#include "symbol/allocators.h"

#include <elfutils/libdwelf.h>
#include <gelf.h>
#include <string.h>

#include "core/allocator_names.h"

/* Of larger tables, and of more sections, nothing is read: the first page of a report must not wait for them. */
enum { TABLE_MAX = 64 << 20, SECTIONS_MAX = 1 << 16 };

/* Sanitizers that replace malloc().  By a reference to it a program asks for a shared runtime. */
static const struct {
	const char *function;
	const char *name;
	bool is_alright_shared; /* its shared runtime works when called by ours */
} sanitizers[] = {
	{"__asan_init", "AddressSanitizer", false}, {"__hwasan_init", "HWAddressSanitizer", false},
	{"__lsan_init", "LeakSanitizer", false},    {"__msan_init", "MemorySanitizer", false},
	{"__tsan_init", "ThreadSanitizer", true},
};

static void look_for_sanitizer(const char *name, bool is_defined, struct allocators *found)
{
	size_t i;

	for (i = 0; i < sizeof(sanitizers) / sizeof(sanitizers[0]); i++)
		if (strcmp(name, sanitizers[i].function) == 0 &&
		    (is_defined || !sanitizers[i].is_alright_shared))
			found->sanitizer = sanitizers[i].name;
}

static void look_at_symbol(const GElf_Sym *symbol, const char *name, struct allocators *found)
{
	unsigned type = GELF_ST_TYPE(symbol->st_info);
	bool is_defined = symbol->st_shndx != SHN_UNDEF;

	/* It does without. */
	if (!is_defined && GELF_ST_BIND(symbol->st_info) == STB_WEAK)
		return;

	if (name[0] == '_' && name[1] == '_')
		look_for_sanitizer(name, is_defined, found);
	else if (is_defined && (type == STT_FUNC || type == STT_GNU_IFUNC))
		found->names |= allocator_names_bit(name);
	else if (!is_defined && (strncmp(name, "_Znw", 4) == 0 || strncmp(name, "_Zna", 4) == 0))
		found->imports_new = true;
}

static void look_at_table(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
			  struct allocators *found)
{
	Elf_Data *data = header->sh_size <= TABLE_MAX ? elf_getdata(section, NULL) : NULL;
	size_t count = data ? data->d_size / sizeof(Elf64_Sym) : 0, i;
	const char *name;
	GElf_Sym symbol;

	for (i = 0; i < count && i <= INT32_MAX && gelf_getsym(data, (int)i, &symbol); i++) {
		name = elf_strptr(elf, header->sh_link, symbol.st_name);
		if (name)
			look_at_symbol(&symbol, name, found);
	}
}

static void look_at_sections(Elf *elf, struct allocators *found)
{
	Elf_Scn *section = NULL;
	size_t names = 0, count = 0;
	const char *name;
	GElf_Shdr header;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return;
	while ((section = elf_nextscn(elf, section)) && count++ < SECTIONS_MAX) {
		if (!gelf_getshdr(section, &header))
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (name && strcmp(name, ".go.buildinfo") == 0)
			found->is_go = true;
		if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)
			look_at_table(elf, section, &header, found);
	}
}

static bool is_wanted(Elf *elf, const struct elf_build_id *wanted)
{
	const void *bytes;
	ssize_t size;

	if (elf_kind(elf) != ELF_K_ELF || gelf_getclass(elf) != ELFCLASS64)
		return false;
	if (!wanted || !wanted->size)
		return true;
	size = dwelf_elf_gnu_build_id(elf, &bytes);
	return size >= (ssize_t)wanted->size && memcmp(bytes, wanted->bytes, wanted->size) == 0;
}

bool allocators_read(int fd, const struct elf_build_id *wanted, struct allocators *found)
{
	Elf *elf = elf_version(EV_CURRENT) != EV_NONE ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
	struct allocators all = {0};
	bool done = elf && is_wanted(elf, wanted);

	if (done) {
		look_at_sections(elf, &all);
		all.is_go = all.is_go || (all.names & allocator_names_go());
		*found = all;
	}
	if (elf)
		elf_end(elf);
	return done;
}
