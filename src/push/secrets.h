/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * secrets.h - passwords and tokens: where they come from, and that nobody sees them.
 *
 * They come from files or the environment, never from arguments, which everybody sees in the list of processes; and what is printed
 * goes through secrets_hide(), since a server may say in its answer what it was sent.
 */
#ifndef PMEM_PUSH_SECRETS_H
#define PMEM_PUSH_SECRETS_H
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum { SECRETS_MAX = 24, SECRETS_SIZE_MAX = 64 * 1024 };

/* Zeroed is empty. */
struct secrets {
	char *items[SECRETS_MAX];
	unsigned count;
};

void secrets_free(struct secrets *secrets);

/* Remembers one, which is to be hidden; beyond SECRETS_MAX the oldest is forgotten.  Returns the copy; NULL: no memory. */
const char *secrets_keep(struct secrets *secrets, const char *text);

/* The first line of a file, without its end: to be freed.  NULL: it cannot be read, is empty, or has control characters. */
char *secrets_read_line(const char *path, struct error *err);

/* Puts *** in the place of each secret in text, and of the beginning of one (4 bytes or more) at its end, where it may have been cut
 * off.  It never gets longer. */
void secrets_hide(const struct secrets *secrets, char *text);

#endif
