/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * error.h - why something failed, in one line for a person.
 *
 * Functions of the tool's libraries return false and fill *err; only src/cmd prints and exits.  A message has
 * subject and reason: "a.prof: block 7: index past the end".  No newline, no "error:".
 */
#ifndef PMEM_BASE_ERROR_H
#define PMEM_BASE_ERROR_H
#include <stdbool.h>

struct error {
	char text[1024]; /* "" = none */
};

/* Sets the message.  Always returns false, so that a caller can return it. */
bool error_set(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As above, followed by ": " and the text of errno. */
bool error_set_errno(struct error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
