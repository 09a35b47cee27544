/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * utf8.h - tells characters from bytes in names that come from files.
 */
#ifndef PMEM_BASE_UTF8_H
#define PMEM_BASE_UTF8_H
#include <stddef.h>

/* The number of bytes, 1 to 4, of the character at text; 0 if there is no valid one (RFC 3629: overlong forms,
 * surrogates and values past U+10FFFF are none).  A NUL is a character of one byte. */
unsigned utf8_length(const char *text);

/* Ends a text of UTF-8 after at most so many bytes, between two characters. */
void utf8_cut(char *text, size_t most);

#endif
