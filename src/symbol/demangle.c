/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demangle.c - see demangle.h.
 *
 * Names come from untrusted files, and a few bytes of substitutions can stand for more text than any machine
 * holds.  So the text is taken piece by piece, and the work is left by longjmp() when there is too much of it: the demanglers
 * keep their state on the stack when they are given a callback.
 */
#include "symbol/demangle.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

enum {
	TEXT_MAX = 64 * 1024, /* of the result */
	NAME_MAX_SIZE = 64 * 1024,
	/* libiberty's limit on recursion also refuses names longer than this, and there are such in real programs.
	 * Up to UNLIMITED_MAX a name's length bounds the recursion: 1 MiB of stack is enough for the worst of them. */
	LIMITED_MAX = DEMANGLE_RECURSION_LIMIT / 2,
	UNLIMITED_MAX = 4 * 1024,
};

struct text {
	char *bytes; /* [TEXT_MAX + 1] */
	size_t size;
	jmp_buf too_much;
};

typedef int demangler(const char *name, int options, demangle_callbackref callback, void *opaque);

static void add_piece(const char *piece, size_t size, void *opaque)
{
	struct text *text = opaque;

	if (size > TEXT_MAX - text->size)
		longjmp(text->too_much, 1);
	/* An empty piece may have no address. */
	if (size > 0)
		memcpy(text->bytes + text->size, piece, size);
	text->size += size;
}

static bool run(demangler *how, const char *name, int options, struct text *text)
{
	text->size = 0;
	if (setjmp(text->too_much) != 0)
		return false;
	if (!how(name, options, add_piece, text) || text->size == 0)
		return false;
	text->bytes[text->size] = 0;
	return text->bytes[0] != 0;
}

/* The optimizer gives a local function that it makes global a number, which only libiberty's demangler of Rust's v0 names knows. */
static char *without_number(const char *raw_name)
{
	const char *number = strstr(raw_name, ".llvm.");

	return strndup(raw_name, number ? (size_t)(number - raw_name) : strlen(raw_name));
}

static char *demangle_plain(const char *raw_name)
{
	const int options = DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO;
	size_t length;
	struct text *text;
	char *result = NULL;
	int cxx_options = options;

	length = strlen(raw_name);
	if (length >= LIMITED_MAX && length < UNLIMITED_MAX)
		cxx_options |= DMGL_NO_RECURSE_LIMIT;
	text = malloc(sizeof(*text));
	if (!text)
		return NULL;
	text->bytes = malloc(TEXT_MAX + 1);
	/* Rust first: its legacy names are C++ names too. */
	if (text->bytes && (run(rust_demangle_callback, raw_name, options, text) ||
			    run(cplus_demangle_v3_callback, raw_name, cxx_options, text)))
		result = strdup(text->bytes);
	free(text->bytes);
	free(text);
	return result;
}

bool demangle_is_for(const char *raw_name)
{
	return strncmp(raw_name, "_Z", 2) == 0 || strncmp(raw_name, "_R", 2) == 0 ||
	       strncmp(raw_name, "_GLOBAL_", 8) == 0;
}

char *demangle(const char *raw_name)
{
	char *plain, *result;

	if (!demangle_is_for(raw_name) || strnlen(raw_name, NAME_MAX_SIZE) == NAME_MAX_SIZE)
		return NULL;
	plain = without_number(raw_name);
	if (!plain)
		return NULL;
	result = demangle_plain(plain);
	free(plain);
	return result;
}
