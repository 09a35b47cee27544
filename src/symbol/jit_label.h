/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jit_label.h - takes apart what just-in-time compilers call their functions in maps.
 *
 *   JS:*order /srv/shop.js:3:19            order               /srv/shop.js, line 3    (V8: node)
 *   LazyCompile:~ /srv/shop.js:7:1         (anonymous)         /srv/shop.js, line 7
 *   py::Shop.order:/srv/shop.py            Shop.order          /srv/shop.py            (CPython)
 *   Lshop/Order;::add                      shop.Order.add                              (perf-map-agent)
 *
 * Mangled C++ and Rust names are demangled.  All others stay as they are.
 */
#ifndef PMEM_SYMBOL_JIT_LABEL_H
#define PMEM_SYMBOL_JIT_LABEL_H
#include <stdbool.h>
#include <stdint.h>

struct jit_label {
	char *function; /* to be freed; NULL = as the raw name */
	char *file;	/* to be freed; NULL = the name says none */
	uint32_t line;	/* 0 = it says none */
};

/* False: no memory. */
bool jit_label_parse(const char *raw_name, struct jit_label *label);
void jit_label_free(struct jit_label *label);

/* True if the function of such a name has the types of C++, Rust or Java in it, which short_name() takes away: it was mangled, or
 * is as the JVM writes its maps, "void shop.Order.add(int)".  Blanks and brackets in other names mean something else. */
bool jit_label_has_types(const char *raw_name);

#endif
