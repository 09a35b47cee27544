/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bundle_text.h - builds what a bundle's sections are made of: numbers, and strings that are stored once.
 *
 * Where memory runs out failed is set, and stays so; check it once at the end.
 */
#ifndef PMEM_PROFILE_BUNDLE_TEXT_H
#define PMEM_PROFILE_BUNDLE_TEXT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bundle_bytes {
	char *bytes;
	size_t size;
	size_t room;
	bool failed;
};

void bundle_bytes_free(struct bundle_bytes *bytes);

/* Appends size bytes. */
void bundle_bytes_add(struct bundle_bytes *bytes, const void *more, size_t size);

/* Appends a number as ULEB128. */
void bundle_bytes_number(struct bundle_bytes *bytes, uint64_t value);

/* Strings with their NULs, each once. */
struct bundle_text {
	struct bundle_bytes bytes;
	uint64_t count;
	struct bundle_text_slot {
		uint32_t hash;
		uint32_t number; /* 0 = free */
		size_t offset;
	} * slots; /* open addressing */
	size_t slot_count;
};

void bundle_text_free(struct bundle_text *text);

/* The number of a string, from 1; 0 for NULL.  Longer ones than BUNDLE_STRING_MAX are cut. */
uint64_t bundle_text_add(struct bundle_text *text, const char *string);

#endif
