/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * secrets.c - see secrets.h.
 */
#include "push/secrets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BEGINNING_MIN = 4 }; /* bytes; no fewer than the stars that take their place */

void secrets_free(struct secrets *secrets)
{
	unsigned i;

	for (i = 0; i < secrets->count; i++) {
		explicit_bzero(secrets->items[i], strlen(secrets->items[i]));
		free(secrets->items[i]);
	}
	*secrets = (struct secrets){0};
}

const char *secrets_keep(struct secrets *secrets, const char *text)
{
	unsigned i;

	for (i = 0; i < secrets->count; i++)
		if (strcmp(secrets->items[i], text) == 0)
			return secrets->items[i];
	if (secrets->count == SECRETS_MAX) { /* tokens that were renewed: the oldest goes */
		explicit_bzero(secrets->items[0], strlen(secrets->items[0]));
		free(secrets->items[0]);
		memmove(secrets->items, secrets->items + 1,
			(SECRETS_MAX - 1) * sizeof(secrets->items[0]));
		secrets->count--;
	}
	secrets->items[secrets->count] = strdup(text);
	return secrets->items[secrets->count] ? secrets->items[secrets->count++] : NULL;
}

static bool is_clean(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	return true;
}

char *secrets_read_line(const char *path, struct error *err)
{
	FILE *file = fopen(path, "re");
	char *line = malloc(SECRETS_SIZE_MAX);
	bool ok = file && line && fgets(line, SECRETS_SIZE_MAX, file);

	if (!file)
		error_set_errno(err, "%s", path);
	else if (ok)
		line[strcspn(line, "\r\n")] = '\0';
	if (file && (!ok || !line[0]))
		ok = error_set(err, "%s: its first line is empty", path);
	else if (ok && !is_clean(line))
		ok = error_set(err, "%s: a control character in its first line", path);
	if (file)
		fclose(file);
	if (ok)
		return line;
	free(line);
	return NULL;
}

/* Of a text that was cut off the end may be the beginning of a secret. */
static void hide_beginning(const char *secret, char *text)
{
	size_t length = strlen(text), size = strlen(secret);

	for (size = size < length ? size : length; size >= BEGINNING_MIN; size--)
		if (memcmp(text + length - size, secret, size) == 0) {
			strcpy(text + length - size, "***");
			return;
		}
}

void secrets_hide(const struct secrets *secrets, char *text)
{
	unsigned i;

	for (i = 0; i < secrets->count; i++) {
		size_t length = strlen(secrets->items[i]), shown = length < 3 ? length : 3;
		char *found = text;

		while (length > 0 && (found = strstr(found, secrets->items[i])) != NULL) {
			memset(found, '*', shown);
			memmove(found + shown, found + length, strlen(found + length) + 1);
			found += shown;
		}
		hide_beginning(secrets->items[i], text);
	}
}
