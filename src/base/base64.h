/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * base64.h - bytes as text (RFC 4648).
 */
#ifndef PMEM_BASE_BASE64_H
#define PMEM_BASE_BASE64_H
#include <stddef.h>

/* Writes 4 characters for each 3 bytes or the rest of them, and no NUL.  Returns how many. */
size_t base64_put(const void *bytes, size_t size, char *to);

/* To be freed; NULL: no memory. */
char *base64_of(const void *bytes, size_t size);

#endif
