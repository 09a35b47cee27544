/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_view.h - looks at 64-bit little-endian ELF objects, as loaded in memory or as bytes of a file.
 *
 * Allocates nothing, calls nothing, trusts nothing: every offset and count is checked against the
 * bounds given.  Field meanings: System V gABI 4.1; build-id: a note of type NT_GNU_BUILD_ID.
 */
#ifndef PMEM_CORE_ELF_VIEW_H
#define PMEM_CORE_ELF_VIEW_H
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ELF_BUILD_ID_MAX = 20 };

struct elf_build_id {
	uint32_t size; /* 0 = the object has none; longer ids are cut to ELF_BUILD_ID_MAX */
	uint8_t bytes[ELF_BUILD_ID_MAX];
};

/* A symbol table that lies in readable memory. */
struct elf_symbols {
	const Elf64_Sym *symbols; /* may be unaligned: copy an entry before use */
	size_t count;
	const char *strings;
	size_t strings_size;
};

/* A module as the loader mapped it. */
struct elf_image {
	uintptr_t start; /* [start, end): from the lowest to past the highest mapped segment */
	uintptr_t end;
	uintptr_t bias; /* address in memory = address in the file's headers + bias */
	struct elf_build_id build_id;
	uintptr_t build_id_addr;  /* where in memory the id's bytes lie; 0 = none */
	uintptr_t eh_frame_hdr;	  /* 0 = none */
	uintptr_t eh_frame_start; /* the PT_LOAD segment that holds eh_frame_hdr: [start, end) */
	uintptr_t eh_frame_end;
	struct elf_symbols dynsym; /* count 0 = none; the count comes from DT_GNU_HASH or DT_HASH */
};

/* Describes the module whose ELF header lies at start and which occupies [start, end) (gaps between
 * segments may be unreadable: only headers and memory inside readable PT_LOAD segments are touched).
 * Returns false if there is no valid ELF header at start. */
bool elf_image_open(uintptr_t start, uintptr_t end, struct elf_image *image);

/* A file's content. */
struct elf_file {
	struct elf_build_id build_id;
	struct elf_symbols symtab; /* .symtab; count 0 = stripped */
	struct elf_symbols dynsym; /* .dynsym */
	uint64_t first_load_vaddr; /* of the PT_LOAD segment with the lowest address, rounded down to a page */
};

/* Describes the ELF object in the size bytes at bytes.  Returns false if it is none. */
bool elf_file_open(const void *bytes, size_t size, struct elf_file *file);

/* Copies symbol index into *symbol and its name, bounded and terminated inside strings, into *name.
 * Returns false for an index or a name outside the tables. */
bool elf_symbol_at(const struct elf_symbols *table, size_t index, Elf64_Sym *symbol,
		   const char **name);

#endif
