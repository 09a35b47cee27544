/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * labels.c - see labels.h.
 */
#include "push/labels.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/output.h"
#include "base/utf8.h"
#include "export/clean.h"

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
static const char
	letters_and_digits[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

void labels_free(struct labels *labels)
{
	unsigned i;

	for (i = 0; i < labels->count; i++) {
		free(labels->items[i].name);
		free(labels->items[i].value);
	}
	*labels = (struct labels){0};
}

static struct label *find(const struct labels *labels, const char *name)
{
	unsigned i;

	for (i = 0; i < labels->count; i++)
		if (strcmp(labels->items[i].name, name) == 0)
			return (struct label *)&labels->items[i];
	return NULL;
}

const char *labels_find(const struct labels *labels, const char *name)
{
	const struct label *label = find(labels, name);

	return label ? label->value : NULL;
}

/* Takes both over, also if it fails. */
static bool add(struct labels *labels, char *name, char *value, struct error *err)
{
	if (name && value && labels->count < LABELS_MAX) {
		labels->items[labels->count++] = (struct label){.name = name, .value = value};
		return true;
	}
	free(name);
	free(value);
	return labels->count < LABELS_MAX ? error_set(err, "no memory for labels")
					  : error_set(err, "more than %d labels", LABELS_MAX);
}

static bool check_name(const char *name, struct error *err)
{
	size_t length = strlen(name);

	if (length > LABELS_NAME_MAX)
		return error_set(err, "a label's name has %zu bytes; %d is the most", length,
				 LABELS_NAME_MAX);
	if (length == 0 || !strchr(letters, name[0]) || strspn(name, letters_and_digits) != length)
		return error_set(err,
				 "'%s' is no name of a label: a letter or _, then letters, digits "
				 "and _",
				 name);
	if (strncmp(name, "__", 2) == 0)
		return error_set(err, "%s: names that begin with __ are the server's own", name);
	return true;
}

static bool check_value(const char *name, const char *value, struct error *err)
{
	const char *at = value;
	unsigned size;

	if (strlen(value) > LABELS_VALUE_MAX)
		return error_set(err, "%s: its value has %zu bytes; %d is the most", name,
				 strlen(value), LABELS_VALUE_MAX);
	for (; *at; at += size) {
		size = utf8_length(at);
		if (size == 0)
			return error_set(err, "%s: its value is no UTF-8", name);
		if (output_is_control(at))
			return error_set(err, "%s: a control character in its value", name);
	}
	return true;
}

bool labels_parse(struct labels *labels, const char *text, struct error *err)
{
	const char *equals = strchr(text, '=');
	char *name = equals ? strndup(text, (size_t)(equals - text)) : NULL;
	bool ok;

	if (!equals)
		return error_set(err, "'%s' is not NAME=VALUE", text);
	if (!name)
		return error_set(err, "no memory for labels");
	ok = check_name(name, err) && check_value(name, equals + 1, err);
	if (ok && find(labels, name))
		ok = error_set(err, "%s is there twice", name);
	if (ok)
		return add(labels, name, strdup(equals + 1), err);
	free(name);
	return false;
}

static bool add_default(struct labels *labels, const struct labels *given, const char *name,
			const char *value)
{
	char *clean;

	if (find(given, name) || !value[0])
		return true;
	clean = clean_text(value, "");
	if (clean)
		utf8_cut(clean, LABELS_VALUE_MAX);
	return add(labels, strdup(name), clean, &(struct error){""});
}

static int compare(const void *left, const void *right)
{
	return strcmp(((const struct label *)left)->name, ((const struct label *)right)->name);
}

bool labels_of(struct labels *labels, const struct labels *given, const struct profile *profile,
	       struct error *err)
{
	const char *program = profile->program_name[0] ? profile->program_name : "unknown";
	char pid[16];
	bool ok;
	unsigned i;

	*labels = (struct labels){0};
	snprintf(pid, sizeof(pid), "%" PRIu32, profile->header.pid);
	ok = add_default(labels, given, "service_name", program) &&
	     add_default(labels, given, "pid", pid) &&
	     add_default(labels, given, "host", profile->host);
	for (i = 0; i < given->count && ok; i++)
		if (given->items[i].value[0])
			ok = add(labels, strdup(given->items[i].name),
				 strdup(given->items[i].value), err);
	if (!ok) {
		labels_free(labels);
		return error_set(err, "more than %d labels, or no memory for them", LABELS_MAX);
	}
	qsort(labels->items, labels->count, sizeof(labels->items[0]), compare);
	return true;
}
