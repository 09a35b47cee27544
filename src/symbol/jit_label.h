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

#endif
