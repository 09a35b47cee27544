/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwarf_name.h - what a function is called, from its debugging information entry.
 */
#ifndef PMEM_SYMBOL_DWARF_NAME_H
#define PMEM_SYMBOL_DWARF_NAME_H
#include <elfutils/libdw.h>

#include "symbol/arena.h"
#include "symbol/dwarf_walk.h"

/* What is kept about one file.  All 0 = nothing yet. */
struct dwarf_names {
	struct arena texts;
	void *units; /* tsearch(): the scopes in each */
};

/* The linker's name if there is one, else the source's, in C++ and Rust with the scopes that it is in
 * ("app::load(int)::{lambda}::operator()").  NULL: it has none.  Lives as long as both the DWARF and names. */
const char *dwarf_name(Dwarf_Die *function, struct dwarf_names *names, struct dwarf_limit *limit);
void dwarf_names_free(struct dwarf_names *names);

#endif
