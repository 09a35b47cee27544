/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbol_search.h - where files with debug information are looked for.
 */
#ifndef PMEM_SYMBOL_SYMBOL_SEARCH_H
#define PMEM_SYMBOL_SYMBOL_SEARCH_H
#include <stdbool.h>
#include <stddef.h>

#include "core/elf_view.h"
#include "symbol/symbols.h"

enum { SYMBOL_SEARCH_FOLDERS = SYMBOLS_DEBUG_DIRS + 2 };

struct symbol_search {
	char *folders[SYMBOL_SEARCH_FOLDERS]; /* those of the options, /usr/lib/debug below the root, /usr/lib/debug */
	size_t count;
	char *text; /* all of them, as libdwfl wants it */
};

/* False: no memory.  symbol_search_free() must follow in any case. */
bool symbol_search_make(struct symbol_search *search, const struct symbols_options *options);
void symbol_search_free(struct symbol_search *search);

/* The number-th path at which a file with this build-id may lie, to be freed; NULL: there are no more. */
char *symbol_search_path(const struct symbol_search *search, const struct elf_build_id *id,
			 size_t number);

#endif
