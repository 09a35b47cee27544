/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * token.c - see token.h.
 */
#include "serve/token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { RANDOM = 16 };

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

bool token_make(char token[TOKEN_SIZE], struct error *err)
{
	unsigned char bytes[RANDOM];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return error_set_errno(err, "no random numbers");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(token + 2 * i, 3, "%02x", bytes[i]);
	return true;
}

static bool read_token(int fd, const char *path, char token[TOKEN_SIZE], struct error *err)
{
	char text[TOKEN_SIZE + 1];
	ssize_t size = read(fd, text, sizeof(text) - 1);

	if (size < 0)
		return error_set_errno(err, "%s", path);
	text[size] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	size = (ssize_t)strlen(text);
	if (size < TOKEN_LEAST || size > TOKEN_MOST || strspn(text, letters) != (size_t)size)
		return error_set(err, "%s: no token: one line of %d to %d letters, digits, - and _",
				 path, TOKEN_LEAST, TOKEN_MOST);
	strcpy(token, text);
	return true;
}

static bool make_file(const char *path, char token[TOKEN_SIZE], struct error *err)
{
	char line[TOKEN_SIZE + 1];
	int fd, size;
	bool ok;

	if (!token_make(token, err))
		return false;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_set_errno(err, "%s", path);
	size = snprintf(line, sizeof(line), "%s\n", token);
	ok = write(fd, line, (size_t)size) == size || error_set_errno(err, "%s", path);
	close(fd);
	return ok;
}

bool token_from_file(const char *path, char token[TOKEN_SIZE], struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool ok;

	if (fd < 0)
		return errno == ENOENT ? make_file(path, token, err)
				       : error_set_errno(err, "%s", path);
	ok = read_token(fd, path, token, err);
	close(fd);
	return ok;
}

bool token_is(const char *token, const char *given, size_t size)
{
	size_t length = strlen(token);
	volatile unsigned char differ = size != length;

	for (size_t i = 0; i < length; i++)
		differ |= (unsigned char)(token[i] ^ (size ? given[i % size] : 0));
	return !differ;
}
