/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clean.h - text from untrusted files, as other programs' formats can hold it.
 */
#ifndef PMEM_EXPORT_CLEAN_H
#define PMEM_EXPORT_CLEAN_H

/* A copy of text, to be freed: UTF-8 without control characters (they, and bytes that are no UTF-8, become '?'), in which
 * each of the ASCII characters in reserved becomes ':'.  NULL: no memory. */
char *clean_text(const char *text, const char *reserved);

#endif
