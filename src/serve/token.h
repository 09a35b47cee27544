/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * token.h - the part of the address that nobody can guess: who has it may see everything.
 */
#ifndef PMEM_SERVE_TOKEN_H
#define PMEM_SERVE_TOKEN_H
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum { TOKEN_LEAST = 16, TOKEN_MOST = 128, TOKEN_SIZE = TOKEN_MOST + 1 };

/* 128 random bits in hexadecimal digits. */
bool token_make(char token[TOKEN_SIZE], struct error *err);

/* That of a file: letters, digits, "-" and "_".  A file that is not there is made, for its owner only, with a new token. */
bool token_from_file(const char *path, char token[TOKEN_SIZE], struct error *err);

/* In a time that depends on the length of the token only. */
bool token_is(const char *token, const char *given, size_t size);

#endif
