/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demangle.h - C++ and Rust names as their authors wrote them, by libiberty.
 */
#ifndef PMEM_SYMBOL_DEMANGLE_H
#define PMEM_SYMBOL_DEMANGLE_H
#include <stdbool.h>

/* The demangled name, to be freed; NULL: raw_name is not mangled, too long or too deep, or there is no memory. */
char *demangle(const char *raw_name);

/* True if raw_name begins as mangled names do. */
bool demangle_is_for(const char *raw_name);

#endif
