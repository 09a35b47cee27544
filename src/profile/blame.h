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
	BLAME_JS,      /* JavaScript engines, and what comes with them */
	BLAME_JAVA,    /* the Java virtual machine and its class library */
	BLAME_RUNTIME, /* what a rule of the user's says not to be own */
	BLAME_COUNT,
};

enum blame_names {
	BLAME_ALL_NAMES,
	BLAME_RUST_NAMES, /* only functions whose mangled name is Rust's */
	BLAME_JIT_NAMES,  /* only code outside of modules, compiled at run time */
};

/* In patterns "*" stands for any characters, none too; all others for themselves.  NULL: not looked at. */
struct blame_rule {
	enum blame blame;
	const char *module; /* last part of the module's path */
	enum blame_names names;
	/* Short name: short_name.h.  Of code outside of modules, that or the name in the compiler's map. */
	const char *function;
};

/* The rules, the first that fits decides; how many. */
const struct blame_rule *blame_rules(size_t *count);

/* From now on these rules come before the others, and the last that fits decides.  They must stay. */
void blame_use(const struct blame_rule *rules, size_t count);

/* "allocator" and so on, as in doc/BLAME.md. */
const char *blame_name(enum blame blame);

/* Whose code a function is.  module: path of its file, "" = code outside of modules.  raw_name, function: as in
 * struct symbol; NULL = unknown. */
enum blame blame_of(const char *module, const char *raw_name, const char *function);

#endif
