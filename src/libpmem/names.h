/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * names.h - function names for the log, from ELF symbol tables.
 *
 * Called by snapshot.c under LOCK_SNAPSHOT only.  A module's .symtab (or, where there is none,
 * its .dynsym) is copied from its file if the file is the one that was loaded and the table is
 * not larger than settings.symtab_max; otherwise .dynsym is copied from memory: symbols.h.  A
 * sorted index is built once per module, in one go; a name is used only if the symbol's size
 * covers the address.
 */
#ifndef PMEM_LIBPMEM_NAMES_H
#define PMEM_LIBPMEM_NAMES_H
#include <stddef.h>
#include <stdint.h>

#include "libpmem/modules.h"

struct name {
	const char *symbol; /* as in the table (not demangled); NULL = unknown */
	uint64_t offset;    /* return address minus the symbol's address */
};

/* The function that the call at location is in. */
void names_find(const struct modules_location *location, struct name *name);

/* Makes the indexes of all modules that are known now, while files can still be opened.  Slow. */
void names_preload(void);

/* Makes the index of the program, if it is among those modules. */
void names_program(void);

/* The set (core/allocator_names.h) of functions in the program's index; 0 if that was never made. */
uint32_t names_allocators(void);

void names_fork_child(void);

#endif
