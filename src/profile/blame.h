/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * blame.h - whose code a function is: the user's own, or the allocator's, a library's or a language runtime's that the
 * user called.
 *
 * The rules are data: blame_rules().  doc/BLAME.md shows and explains them; a test compares the two.
 */
#ifndef PMEM_PROFILE_BLAME_H
#define PMEM_PROFILE_BLAME_H
#include <stddef.h>

enum blame {
	BLAME_OWN,
	BLAME_ALLOCATOR, /* allocators and their wrappers: xmalloc, operator new, g_strdup */
	BLAME_START,	 /* process and thread start */
	BLAME_LIBC,	 /* the C library and the loader */
	BLAME_CXX,	 /* C++ standard library and runtime */
	BLAME_RUST,	 /* Rust's standard library, and runtimes that drive tasks and threads */
	BLAME_GO,
	BLAME_PYTHON,
	BLAME_COUNT,
};

enum blame_names {
	BLAME_ALL_NAMES,
	BLAME_RUST_NAMES, /* only functions whose mangled name is Rust's */
};

/* In patterns "*" stands for any characters, none too; all others for themselves.  NULL: not looked at. */
struct blame_rule {
	enum blame blame;
	const char *module; /* last part of the module's path */
	enum blame_names names;
	const char *function; /* short name: short_name.h */
};

/* The rules, the first that fits decides; how many. */
const struct blame_rule *blame_rules(size_t *count);

/* "allocator" and so on, as in doc/BLAME.md. */
const char *blame_name(enum blame blame);

/* Whose code a function is.  module: path of its file, "" = code outside of modules.  raw_name, function: as in
 * struct symbol; NULL = unknown. */
enum blame blame_of(const char *module, const char *raw_name, const char *function);

#endif
