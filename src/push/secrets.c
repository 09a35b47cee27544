/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * secrets.c - see secrets.h.
 */
#include "push/secrets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BEGINNING_MIN = 4 }; /* bytes; no fewer than the stars that take their place */

static void free_text(char *text)
{
	explicit_bzero(text, strlen(text));
	free(text);
}

void secrets_free(struct secrets *secrets)
{
	for (unsigned i = 0; i < secrets->count; i++)
		free_text(secrets->items[i].text);
	free(secrets->items);
	*secrets = (struct secrets){0};
}

/* NULL: it is not there. */
static struct secret *find(const struct secrets *secrets, const char *text)
{
	for (unsigned i = 0; i < secrets->count; i++)
		if (strcmp(secrets->items[i].text, text) == 0)
			return &secrets->items[i];
	return NULL;
}

static bool add(struct secrets *secrets, const char *text, bool is_former)
{
	unsigned room = secrets->room ? 2 * secrets->room : 16;
	struct secret *grown;
	char *copy;

	if (secrets->count == secrets->room) {
		grown = realloc(secrets->items, room * sizeof(*grown));
		if (!grown)
			return false;
		secrets->items = grown;
		secrets->room = room;
	}
	copy = strdup(text);
	if (!copy)
		return false;
	secrets->items[secrets->count++] = (struct secret){copy, is_former};
	return true;
}

bool secrets_keep(struct secrets *secrets, const char *text)
{
	struct secret *known = find(secrets, text);

	if (!known)
		return add(secrets, text, false);
	if (known->is_former)
		secrets->former -= strlen(text);
	known->is_former = false;
	return true;
}

static void remove_at(struct secrets *secrets, unsigned at)
{
	secrets->count--;
	memmove(&secrets->items[at], &secrets->items[at + 1],
		(secrets->count - at) * sizeof(*secrets->items));
}

/* All but the last of all, which is the newest. */
static void forget_former(struct secrets *secrets)
{
	unsigned i = 0;

	while (secrets->former > SECRETS_FORMER && i + 1 < secrets->count) {
		char *text = secrets->items[i].text;

		if (!secrets->items[i].is_former) {
			i++;
			continue;
		}
		secrets->former -= strlen(text);
		free_text(text);
		remove_at(secrets, i);
	}
}

bool secrets_renew(struct secrets *secrets, const char *text)
{
	struct secret *known = find(secrets, text), last;

	if (known && !known->is_former)
		return true;
	if (known) { /* as new as it can be */
		last = *known;
		remove_at(secrets, (unsigned)(known - secrets->items));
		secrets->items[secrets->count++] = last;
		return true;
	}
	if (!add(secrets, text, true))
		return false;
	secrets->former += strlen(text);
	forget_former(secrets);
	return true;
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
	for (unsigned i = 0; i < secrets->count; i++) {
		const char *secret = secrets->items[i].text;
		size_t length = strlen(secret), shown = length < 3 ? length : 3;
		char *found = text;

		while (length > 0 && (found = strstr(found, secret)) != NULL) {
			memset(found, '*', shown);
			memmove(found + shown, found + length, strlen(found + length) + 1);
			found += shown;
		}
		hide_beginning(secret, text);
	}
}
