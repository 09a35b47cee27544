/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rendered.c - see rendered.h.
 */
#include "serve/rendered.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct rendered *rendered_new(unsigned status, enum rendered_form form, char *bytes, size_t size)
{
	struct rendered *rendered = bytes ? calloc(1, sizeof(*rendered)) : NULL;

	if (!rendered) {
		free(bytes);
		return NULL;
	}
	atomic_init(&rendered->users, 1);
	rendered->status = status;
	rendered->form = form;
	rendered->bytes = bytes;
	rendered->size = size;
	return rendered;
}

struct rendered *rendered_text(unsigned status, const char *format, ...)
{
	va_list arguments;
	char *text;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	return length < 0 ? NULL : rendered_new(status, RENDERED_TEXT, text, (size_t)length);
}

struct rendered *rendered_share(struct rendered *rendered)
{
	atomic_fetch_add_explicit(&rendered->users, 1, memory_order_relaxed);
	return rendered;
}

/* acq_rel: whoever frees it comes after all who used it. */
void rendered_release(struct rendered *rendered)
{
	if (!rendered || atomic_fetch_sub_explicit(&rendered->users, 1, memory_order_acq_rel) != 1)
		return;
	free(rendered->bytes);
	free(rendered->location);
	free(rendered->profile);
	free(rendered);
}

/* FNV-1a. */
void rendered_set_tag(struct rendered *rendered)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < rendered->size; i++)
		hash = (hash ^ (unsigned char)rendered->bytes[i]) * UINT64_C(0x100000001b3);
	snprintf(rendered->tag, sizeof(rendered->tag), "\"%016" PRIx64 "\"", hash);
}
