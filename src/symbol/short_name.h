/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * short_name.h - demangled names without what makes them long: return types, parameters, template arguments.
 */
#ifndef PMEM_SYMBOL_SHORT_NAME_H
#define PMEM_SYMBOL_SHORT_NAME_H
#include <stddef.h>

/* Writes the short form of a demangled C++ or Rust name, at most size - 1 bytes and a NUL; size > 0.
 *   void std::sort<int*>(int*, int*)               std::sort<...>
 *   Map<int>::operator()(int) const                Map<...>::operator()
 *   run(int)::{lambda(int)#1}::operator()(int)     run::{lambda#1}::operator()
 *   <alloc::vec::Vec<T> as core::clone::Clone>::clone      <alloc::vec::Vec<...> as core::clone::Clone>::clone
 *   app::load::<u32>                               app::load
 * C, Go and all other names stay as they are.  Returns the length of what it wrote. */
size_t short_name(const char *function, char *out, size_t size);

/* Where a C++ or Rust name goes on without its outermost scope: "inventory::Index::load", "Index::load", "load"; a closure stays with the
 * function that it is in.  NULL: it is in none. */
const char *short_name_inner(const char *function);

#endif
