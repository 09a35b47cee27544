/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * allocator_names.c - see allocator_names.h.
 *
 * Names that no other kind of function has: an allocator's main entry point, with the prefixes under which it is linked into
 * programs.
 */
#include "core/allocator_names.h"

#include <string.h>

enum { SHOWN_MAX = 4 };

static const char *const names[] = {
	"malloc",
	"calloc",
	"free",
	"je_malloc",
	"mallocx",	/* jemalloc without a prefix */
	"_rjem_malloc", /* jemalloc in Rust */
	"mi_malloc",
	"tc_malloc", /* gperftools */
	"TCMallocInternalMalloc",
	"rpmalloc",
	"scalable_malloc",  /* oneTBB */
	"GC_malloc",	    /* Boehm's collector */
	"runtime.mallocgc", /* Go */
};

enum { NAMES = sizeof(names) / sizeof(names[0]), GO = NAMES - 1 };

uint32_t allocator_names_bit(const char *name)
{
	unsigned i;

	for (i = 0; i < NAMES; i++)
		if (name[0] == names[i][0] && strcmp(name, names[i]) == 0)
			return UINT32_C(1) << i;
	return 0;
}

uint32_t allocator_names_go(void)
{
	return UINT32_C(1) << GO;
}

const char *allocator_names_text(uint32_t set, char text[ALLOCATOR_NAMES_TEXT])
{
	unsigned i, shown = 0;
	size_t at = 0, length;

	for (i = 0; i < NAMES && shown < SHOWN_MAX; i++) {
		if (!(set >> i & 1))
			continue;
		if (shown++) {
			memcpy(text + at, ", ", 2);
			at += 2;
		}
		length = strlen(names[i]);
		memcpy(text + at, names[i], length);
		at += length;
	}
	text[at] = 0;
	return text;
}
