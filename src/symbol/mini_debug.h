/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mini_debug.h - the symbols that a stripped file carries along in its section .gnu_debugdata ("MiniDebugInfo", as Fedora and its
 * relatives have it): an ELF file with a .symtab of what .dynsym leaves out, compressed by xz.
 */
#ifndef PMEM_SYMBOL_MINI_DEBUG_H
#define PMEM_SYMBOL_MINI_DEBUG_H
#include <stdbool.h>

/* True if the ELF file open at fd has such a section. */
bool mini_debug_is_in(int fd);

/* The unpacked section of the ELF file open at fd, in a file in memory: a descriptor to be closed.  -1: there is none, it is
 * damaged, or larger than it may be.  Nothing in it has been looked at. */
int mini_debug_open(int fd);

#endif
