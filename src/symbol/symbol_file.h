/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbol_file.h - the functions that one ELF file's symbol table names, by address.
 *
 * Only headers, notes, one symbol table and its strings are read, into memory: a file that is truncated or written
 * meanwhile does no harm.  Nothing in it is trusted.
 */
#ifndef PMEM_SYMBOL_SYMBOL_FILE_H
#define PMEM_SYMBOL_SYMBOL_FILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/elf_view.h"
#include "symbol/symbols.h"

/* One name for [address, address + size).  Compact: some files have a million. */
struct symbol_entry {
	uint64_t address;
	uint32_t size; /* 0: covers nothing */
	uint32_t name; /* offset in strings */
	uint32_t rank; /* of names for one address the highest is shown */
	uint32_t around; /* index of the nearest earlier entry that may cover what this one does not */
};

struct symbol_file {
	struct symbol_entry *entries; /* by address, then by rank */
	size_t count;
	char *strings; /* strings_size bytes and a NUL */
	size_t strings_size;
	bool is_full; /* from .symtab: also functions that are not exported */
};

/* Reads the file open at fd into *file, to be freed with symbol_file_free().  wanted is the build-id of the module that was
 * loaded: another one, or none in the file, is SYMBOLS_OTHER_FILE; if wanted has size 0 nothing can be compared and
 * the file is taken as it is.  On failure *file is empty. */
enum symbols_problem symbol_file_read(int fd, const struct elf_build_id *wanted,
				      struct symbol_file *file);
void symbol_file_free(struct symbol_file *file);

/* Adds the functions of *more, which is empty afterwards: those of a table that leaves out what is in file
 * already.  Together they are full.  False: there was no memory for them. */
bool symbol_file_add(struct symbol_file *file, struct symbol_file *more);

/* The best name that covers address; NULL = none. */
const struct symbol_entry *symbol_file_at(const struct symbol_file *file, uint64_t address);

/* Its name, as in the table. */
const char *symbol_file_name(const struct symbol_file *file, const struct symbol_entry *entry);

#endif
