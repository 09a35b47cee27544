/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwarf.h - functions, inlined calls and source lines of one ELF file, from its DWARF, by elfutils.
 *
 * The DWARF may be in the file, or in another one that its .gnu_debuglink or build-id leads to: dwarf_open() takes no wrong one.  Parts
 * are read when they are asked for, and let go when they become too many: questions in the order of addresses are answered soonest.
 * Nothing in them is trusted; work is bounded by time.
 */
#ifndef PMEM_SYMBOL_DWARF_H
#define PMEM_SYMBOL_DWARF_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DWARF_FRAMES_MAX = 128 }; /* functions at one address; of more the outer ones are kept */

/* One function that an address lies in.  Texts live until the next question. */
struct dwarf_frame {
	const char *name;      /* of the linker, or as in the source; NULL = unknown */
	const char *file;      /* as the compiler wrote it; NULL = unknown */
	const char *directory; /* that file is relative to; NULL = none */
	uint32_t line;	       /* 0 = unknown */
};

struct dwarf_found {
	size_t count; /* 0 = nothing is known */
	uint64_t start; /* of the part of the concrete function that the address lies in; 0 = unknown */
	struct dwarf_frame frames[DWARF_FRAMES_MAX]; /* innermost first */
};

struct dwarf_source {
	const char *path; /* of the file, also for what lies beside it */
	int fd;		  /* the file, open for reading; stays the caller's */
	const char *search; /* folders for separate debug files: dwfl_standard_find_debuginfo(), elfutils/libdwfl.h */
};

struct dwarf;

/* NULL: it cannot be read, or there is no memory. */
struct dwarf *dwarf_open(const struct dwarf_source *source);
void dwarf_close(struct dwarf *dwarf);

/* The functions at an address (in the terms of the file's headers; of the call, not of the return). */
void dwarf_find(struct dwarf *dwarf, uint64_t address, struct dwarf_found *found);

/* The separate debug file, which is looked for at the first question: open for reading, and closed by dwarf_close().  -1: none. */
int dwarf_debug_file(struct dwarf *dwarf);

/* Its name as .gnu_debuglink says it, if it was looked for in vain; NULL: it was not, or the file says none.  Untrusted. */
const char *dwarf_missing_file(const struct dwarf *dwarf);

/* True if there is any DWARF. */
bool dwarf_has_any(struct dwarf *dwarf);

/* Asks servers for the file with a build-id, if DEBUGINFOD_URLS names any: an open descriptor, and its path to be freed.  -1: no
 * server has it. */
int dwarf_fetch(const uint8_t *build_id, size_t size, char **path);

#endif
