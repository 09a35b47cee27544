/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jit_names.h - what the maps that just-in-time compilers write say about a few addresses.
 *
 * The addresses are known before a map is read, so that memory does not grow with the map: a map only leaves at each address where its
 * latest covering record stands, and the names are read in the end.  perf_map.h and jitdump.h read the two kinds of maps.
 */
#ifndef PMEM_SYMBOL_JIT_NAMES_H
#define PMEM_SYMBOL_JIT_NAMES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A longer name is cut: it must fit into a block of a profile. */
enum { JIT_NAME_MAX = 8 * 1024 };

struct jit_name {
	uint64_t address; /* a return address in compiled code */
	uint64_t start;	  /* of the function that called */
	char *raw_name;	  /* as in the map; NULL = no map covers it */
	char *file;	  /* source file; NULL = not known */
	uint32_t line;	  /* 0 = not known */
	/* While a map is read; 0 = not covered by it. */
	struct jit_record {
		uint64_t at;	/* where its record begins in the file, plus 1 */
		uint64_t start; /* of the function now */
		uint64_t first; /* where it was when it was compiled */
		uint64_t lines; /* where the record of its lines begins, plus 1 */
	} record;
};

struct jit_names {
	struct jit_name *items; /* by address, each once */
	size_t count;
	size_t found;  /* with a name */
	uint64_t left; /* how many times an address may still be covered: maps may be hostile */
};

/* False: no memory. */
bool jit_names_begin(struct jit_names *names, const uint64_t *addresses, size_t count);
void jit_names_end(struct jit_names *names);

/* For the readers of maps: a function of size bytes lies at record->start.  Later calls win.  False: enough of it. */
bool jit_names_cover(struct jit_names *names, uint64_t size, const struct jit_record *record);

/* Copies what there is at offset of a file that may change meanwhile, at most size bytes; returns how much. */
size_t jit_names_read(int fd, uint64_t offset, void *bytes, size_t size);

/* True if a function there would cover an address. */
bool jit_names_wants(const struct jit_names *names, uint64_t start, uint64_t size);

/* Gives an item a name of length bytes, cut to what is allowed, instead of what it had; forgets its line. */
void jit_names_set(struct jit_names *names, struct jit_name *item, const char *text, size_t length);

#endif
