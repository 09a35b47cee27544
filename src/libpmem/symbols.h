/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbols.h - a private copy of a module's symbol table.
 *
 * Copied, never mapped or read in place: a file may be truncated under a mapping (SIGBUS), and a
 * module may be unloaded by another thread while its .dynsym is read (SIGSEGV).
 */
#ifndef PMEM_LIBPMEM_SYMBOLS_H
#define PMEM_LIBPMEM_SYMBOLS_H
#include <stdbool.h>
#include <stddef.h>

#include "libpmem/modules.h"

struct symbols {
	struct elf_symbols table; /* count 0 = none */
	size_t symbols_size;	  /* bytes of the two mappings */
	size_t strings_size;
};

/* Keeps a descriptor of the root directory; once. */
void symbols_init(void);

/* Copies the best table to be had: .symtab of the file the module was loaded from, its .dynsym, the
 * .dynsym in memory; none larger than settings.symtab_max.  Returns false, *symbols empty, if there
 * is none.  Slow: one call per module.  Under LOCK_SNAPSHOT. */
bool symbols_copy(const struct module *module, struct symbols *symbols);

/* Gives back the table's entries; its strings stay. */
void symbols_drop_entries(struct symbols *symbols);

/* Gives back everything. */
void symbols_drop(struct symbols *symbols);

#endif
