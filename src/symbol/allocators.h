/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * allocators.h - what in an ELF file stands between its program and the C library's malloc().
 *
 * Known by the names of functions and sections: of a stripped file only what it exports is known.
 */
#ifndef PMEM_SYMBOL_ALLOCATORS_H
#define PMEM_SYMBOL_ALLOCATORS_H
#include <stdbool.h>
#include <stdint.h>

#include "core/elf_view.h"

struct allocators {
	uint32_t names;	  /* set of core/allocator_names.h: functions that it defines */
	bool is_go;	  /* has a heap of Go's */
	bool imports_new; /* calls an operator new of others */
	const char *sanitizer; /* "AddressSanitizer": one whose runtime must be called first; NULL = none */
};

/* Reads the file open at fd; elf_version(3) is set here.  wanted: the build-id it must have; NULL or size 0: any.  False: it is
 * no 64-bit ELF file, or another one than wanted. */
bool allocators_read(int fd, const struct elf_build_id *wanted, struct allocators *found);

#endif
