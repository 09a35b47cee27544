/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * template.h - pages as script/make-page puts them together: markup, style and script, with places for what is a profile's.
 */
#ifndef PMEM_PAGE_TEMPLATE_H
#define PMEM_PAGE_TEMPLATE_H
#include <stddef.h>

/* Literal text, and the name of what follows it; "" after the last. */
struct template_piece {
	const unsigned char *text;
	size_t size;
	const char *slot;
};

struct template_set {
	const struct template_piece *pieces; /* in order */
	size_t count;
};

extern const struct template_set template_page;
extern const struct template_set template_fragment; /* the parts of it that change while a process goes on */
extern const struct template_set template_index;

#endif
