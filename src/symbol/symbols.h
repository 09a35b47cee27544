/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbols.h - functions, source lines and inlined calls at code addresses, from the modules' files.
 *
 * A module's names are used only if its file is the one that was loaded (same build-id): never wrong names.  If that file is not there,
 * or was replaced, one with its build-id is looked for in the folders for debug files.  Functions come from .symtab
 * where there is one (in the file, or in its separate debug file), else from .dynsym; lines and inlined functions from
 * DWARF.  C++ and Rust (legacy and v0) names are demangled by libiberty.  Results live as long as the struct
 * symbols.  Not safe for threads.
 */
#ifndef PMEM_SYMBOL_SYMBOLS_H
#define PMEM_SYMBOL_SYMBOLS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One function that an address lies in. */
struct symbol {
	const char *function; /* demangled; NULL = unknown */
	const char *raw_name; /* as in the table or the DWARF, without a version; NULL = unknown */
	const char *file;     /* source file: its path when it was compiled; NULL = unknown */
	uint32_t line;	      /* of the call; 0 = unknown */
	bool inlined;	      /* into the next one */
	/* Of the return address, from the beginning of the function that is not inlined; from the module's bias if that is unknown. */
	uint64_t offset;
};

enum symbols_problem {
	SYMBOLS_OK,
	SYMBOLS_NO_FILE,    /* the file is not there, or cannot be read */
	SYMBOLS_OTHER_FILE, /* another build-id: it was replaced since */
	SYMBOLS_NOT_ELF,
	SYMBOLS_STRIPPED, /* it has no symbols at all */
};

struct symbols;
struct symbols_module;

enum { SYMBOLS_DEBUG_DIRS = 16 };

struct symbols_options {
	const char *root; /* put before every path, as "/proc/4711/root"; NULL = none */
	/* Folders as /usr/lib/debug, which is searched after them: absolute, without ":"; NULL after the last. */
	const char *debug_dirs[SYMBOLS_DEBUG_DIRS + 1];
	bool debuginfod; /* may ask the servers of $DEBUGINFOD_URLS */
};

/* options NULL: none.  NULL: no memory.  Without options->debuginfod the environment loses DEBUGINFOD_URLS: elfutils asks
 * the servers whenever it is there. */
struct symbols *symbols_new(const struct symbols_options *options);
void symbols_free(struct symbols *symbols);

/* Closes all files and forgets their tables: what was found stays, modules go.  What is asked afterwards is read anew. */
void symbols_rest(struct symbols *symbols);

/* The memory of what was found. */
size_t symbols_bytes(const struct symbols *symbols);

/* The module with this file; build_id_size 0: it had none, so its file cannot be checked.  Opened at
 * the first question.  The same arguments give the same module. */
struct symbols_module *symbols_module(struct symbols *symbols, const char *path,
				      const uint8_t *build_id, size_t build_id_size);

/* The functions of the call that returns to address (in the terms of the file's headers): the innermost first, the one that
 * was not inlined last.  Returns how many, at least 1 (a nameless one), and where they are. */
size_t symbols_find(struct symbols_module *module, uint64_t address, const struct symbol **found);

/* The one that was not inlined, without file and line: from the symbol tables alone, and so in a microsecond where
 * symbols_find() may take milliseconds.  Never NULL. */
const struct symbol *symbols_find_fast(struct symbols_module *module, uint64_t address);

/* Why the module has no names; SYMBOLS_OK if it has.  And as a phrase: "libx.so was replaced since". */
enum symbols_problem symbols_problem(struct symbols_module *module);
const char *symbols_problem_text(enum symbols_problem problem);

/* The same of this module, with what its file says of where names are: "is stripped: its symbols are in app.debug".  Untrusted text
 * that lives as long as symbols. */
const char *symbols_problem_words(struct symbols_module *module);

/* Demangled, in memory that lives as long as symbols; raw_name itself if it is not mangled. */
const char *symbols_demangle(struct symbols *symbols, const char *raw_name);

/* For tables: a demangled name without return type, parameters and template arguments ("std::vector<...>::push_back"), in memory
 * that lives as long as symbols; names that have none of these are returned as they are. */
const char *symbols_short(struct symbols *symbols, const char *function);

#endif
