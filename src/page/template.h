/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * template.h - the page as script/make-page puts it together: markup, style and script, with places for what is a profile's.
 */
#ifndef PMEM_PAGE_TEMPLATE_H
#define PMEM_PAGE_TEMPLATE_H
#include <stddef.h>

/* Pieces in order: literal text, and the name of what follows it; "" after the last. */
struct template_piece {
	const unsigned char *text;
	size_t size;
	const char *slot;
};

extern const struct template_piece template_pieces[];
extern const size_t template_piece_count;

#endif
