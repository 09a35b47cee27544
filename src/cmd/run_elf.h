/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_elf.h - what decides whether a program can be recorded, from the first bytes of its file.
 */
#ifndef PMEM_CMD_RUN_ELF_H
#define PMEM_CMD_RUN_ELF_H
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum run_file_kind {
	RUN_FILE_ELF,
	RUN_FILE_SCRIPT, /* begins with #! and the interpreter's path */
	RUN_FILE_OTHER,	 /* what the shell, or the kernel by binfmt_misc, may understand */
};

enum run_libc {
	RUN_LIBC_UNKNOWN, /* links none by name */
	RUN_LIBC_GLIBC,
	RUN_LIBC_MUSL,
};

struct run_file {
	enum run_file_kind kind;
	char interpreter[PATH_MAX]; /* of a script, or the loader of an ELF file; "" = none */
	/* ELF only. */
	bool is_64;
	bool is_little;
	bool is_library; /* has a DT_SONAME: without an interpreter it is the loader itself, started as a program */
	uint16_t machine; /* EM_* */
	enum run_libc libc;
	bool needs_libstdcxx; /* by name */
	bool needs_allocator; /* a library that replaces malloc(), by name */
};

/* True for the file name of a library that replaces malloc(). */
bool run_file_is_allocator(const char *name);

/* False: the file cannot be read.  What is damaged is taken for absent: the kernel will judge it. */
bool run_file_read(const char *path, struct run_file *file, struct error *err);

#endif
