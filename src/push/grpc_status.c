/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * grpc_status.c - see grpc_status.h.
 *
 * A frame is a byte of flags, its length in four bytes, the highest first, and as many bytes.  Trailers are lines as HTTP's headers.
 */
#include "push/grpc_status.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/cursor.h"

enum { FRAME_TRAILERS = 0x80, TRAILERS_MAX = 1024 };

static int hex(char c)
{
	const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* %XX becomes its byte, but for %00. */
static void decode(char text[GRPC_STATUS_TEXT], const char *from)
{
	size_t used = 0;

	while (*from && used < GRPC_STATUS_TEXT - 1) {
		int high = from[0] == '%' ? hex(from[1]) : -1;
		int low = high >= 0 ? hex(from[2]) : -1;

		if (low < 0 || high + low == 0) {
			text[used++] = *from++;
			continue;
		}
		text[used++] = (char)(high << 4 | low);
		from += 3;
	}
	text[used] = '\0';
}

bool grpc_status_of(struct grpc_status *status, const char *code, const char *message)
{
	size_t digits = strspn(code, "0123456789");

	if (digits == 0 || digits > 3 || code[digits])
		return false;
	status->code = (unsigned)atoi(code);
	decode(status->text, message ? message : "");
	return true;
}

/* The value of a line "name: value", whose end is cut off; NULL: it is another one. */
static char *value_of(char *line, const char *name)
{
	size_t length = strlen(name);

	if (strncasecmp(line, name, length) != 0 || line[length] != ':')
		return NULL;
	line += length + 1;
	return line + strspn(line, " ");
}

static bool read_trailers(struct grpc_status *status, char *text)
{
	const char *code = NULL, *message = NULL;
	char *line, *rest = NULL;

	for (line = strtok_r(text, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest)) {
		const char *is_code = value_of(line, "grpc-status");
		const char *is_message = value_of(line, "grpc-message");

		code = is_code ? is_code : code;
		message = is_message ? is_message : message;
	}
	return code && grpc_status_of(status, code, message);
}

bool grpc_status_find(struct grpc_status *status, const void *body, size_t size)
{
	struct cursor c = cursor_make(body, size);
	char trailers[TRAILERS_MAX];

	while (cursor_left(&c) > 0) {
		uint8_t flags = cursor_u8(&c);
		const uint8_t *bytes = cursor_bytes(&c, 4);
		size_t length, left = cursor_left(&c);

		if (!bytes)
			return false;
		length = (size_t)bytes[0] << 24 | (size_t)bytes[1] << 16 | (size_t)bytes[2] << 8 |
			 bytes[3];
		if (!(flags & FRAME_TRAILERS)) {
			cursor_bytes(&c, length);
			continue;
		}
		/* What is kept of the answer may be less. */
		if (length > left)
			length = left;
		if (length >= TRAILERS_MAX)
			length = TRAILERS_MAX - 1;
		memcpy(trailers, cursor_bytes(&c, length), length);
		trailers[length] = '\0';
		return read_trailers(status, trailers);
	}
	return false;
}
