/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text.h - builds text in memory of the caller's; no libc formatting, no allocation.
 *
 * What does not fit is dropped and remembered: check text.truncated.
 */
#ifndef PMEM_LIBPMEM_TEXT_H
#define PMEM_LIBPMEM_TEXT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
	char *bytes;
	size_t size; /* used; never terminated by 0 */
	size_t room;
	bool truncated;
};

void text_char(struct text *text, char c);
void text_bytes(struct text *text, const char *bytes, size_t size);
void text_string(struct text *text, const char *string);

/* Control characters, and bytes that would break a line, become '?': for paths and names. */
void text_safe(struct text *text, const char *string);

/* Decimal, right-aligned with blanks to at least width characters. */
void text_uint(struct text *text, uint64_t value, unsigned width);

/* Lower-case hexadecimal without 0x, filled with zeros to at least width characters. */
void text_hex(struct text *text, uint64_t value, unsigned width);

/* 2026-11-29T10:31:02.123Z from nanoseconds since the epoch. */
void text_time(struct text *text, uint64_t realtime_ns);

#endif
