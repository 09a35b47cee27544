/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strings.h - gives each distinct text a number, from 0 on, in the order in which they come.
 *
 * For formats that refer to texts by number.
 */
#ifndef PMEM_EXPORT_STRINGS_H
#define PMEM_EXPORT_STRINGS_H
#include <stdbool.h>
#include <stdint.h>

struct strings {
	char **items; /* copies */
	uint32_t count;
	uint32_t capacity;
	uint32_t *slots;     /* number + 1 by hash; 0 = free */
	uint32_t slot_count; /* a power of two; 0 at first */
	bool failed;	     /* there was no memory: numbers since then mean nothing */
};

/* Zeroed is empty. */
void strings_free(struct strings *strings);

/* The number of text; what is new gets the next one. */
uint32_t strings_add(struct strings *strings, const char *text);

/* As above, for a key of three numbers: a table in which each combination is there once. */
uint32_t strings_add_key(struct strings *strings, uint32_t a, uint32_t b, uint32_t c);

#endif
