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

/* SECRETS_FORMER: bytes of tokens that were renewed since. */
enum { SECRETS_SIZE_MAX = 64 * 1024, SECRETS_FORMER = 1 << 20 };

struct secret {
	char *text;
	bool is_former; /* or will be: a token that is renewed now and then */
};

/* Zeroed is empty. */
struct secrets {
	struct secret *items;
	unsigned count;
	unsigned room;
	size_t former; /* bytes of those that were renewed, and of the newest of them */
};

void secrets_free(struct secrets *secrets);

/* Remembers one, which is to be hidden from now on.  False: no memory, so that it must not be sent. */
bool secrets_keep(struct secrets *secrets, const char *text);

/* The same of one that is renewed now and then.  A server may speak of former ones too: they are forgotten, the oldest first, when they have
 * more than SECRETS_FORMER bytes; the newest, and what was given to secrets_keep(), never. */
bool secrets_renew(struct secrets *secrets, const char *text);

/* The first line of a file, without its end: to be freed.  NULL: it cannot be read, is empty, or has control characters. */
char *secrets_read_line(const char *path, struct error *err);

/* Puts *** in the place of each secret in text, and of the beginning of one (4 bytes or more) at its end, where it may have been cut
 * off.  It never gets longer. */
void secrets_hide(const struct secrets *secrets, char *text);

#endif
