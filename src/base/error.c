/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * error.c - formats messages.
 *
 * Through a second buffer: the arguments may come from the message that is replaced.  A message that does not
 * fit ends in "...".
 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void format_text(struct error *made, const char *format, va_list arguments)
{
	int length = vsnprintf(made->text, sizeof(made->text), format, arguments);

	if (length < 0)
		strcpy(made->text, format[0] ? "message cannot be formatted" : "");
	else if ((size_t)length >= sizeof(made->text))
		strcpy(made->text + sizeof(made->text) - 4, "...");
}

bool error_set(struct error *err, const char *format, ...)
{
	struct error made;
	va_list arguments;

	va_start(arguments, format);
	format_text(&made, format, arguments);
	va_end(arguments);
	*err = made;
	return false;
}

bool error_set_errno(struct error *err, const char *format, ...)
{
	const char *reason = strerror(errno);
	struct error made;
	va_list arguments;

	va_start(arguments, format);
	format_text(&made, format, arguments);
	va_end(arguments);
	return error_set(err, "%s: %s", made.text, reason);
}
