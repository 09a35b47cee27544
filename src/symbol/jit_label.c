/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jit_label.c - see jit_label.h.
 */
#include "symbol/jit_label.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/demangle.h"

/* What comes before the marks of V8's compilers. */
static const char *const v8_prefixes[] = {"JS:", "LazyCompile:", "Function:", "Script:", "Eval:"};

/* The text behind a prefix; NULL: it begins otherwise. */
static const char *after(const char *text, const char *prefix)
{
	size_t length = strlen(prefix);

	return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

/* Steps back over ":" and digits before end.  NULL: there are none. */
static const char *before_number(const char *text, const char *end)
{
	const char *at = end;

	while (at > text && isdigit((unsigned char)at[-1]))
		at--;
	return at < end && at > text + 1 && at[-1] == ':' ? at - 1 : NULL;
}

/* Where the file begins in "get total /srv/shop.js": names may have blanks, files begin like one if they have any. */
static const char *find_file(const char *text, const char *end)
{
	static const char *const beginnings[] = {" /", " file:", " node:"};
	const char *found = NULL;

	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
		const char *at = memmem(text, (size_t)(end - text), beginnings[i],
					strlen(beginnings[i]));

		if (at && (!found || at < found))
			found = at;
	}
	return found ? found : memchr(text, ' ', (size_t)(end - text));
}

/* "order /srv/shop.js:3:19".  False: no memory. */
static bool parse_v8(const char *text, struct jit_label *label)
{
	const char *end = text + strlen(text);
	const char *column = before_number(text, end);
	const char *line = column ? before_number(text, column) : NULL;
	const char *file = line ? find_file(text, line) : NULL;

	if (!file || file + 1 >= line)
		return true;
	label->function = file > text ? strndup(text, (size_t)(file - text)) : strdup("(anonymous)");
	label->file = strndup(file + 1, (size_t)(line - file - 1));
	label->line = (uint32_t)strtoul(line + 1, NULL, 10);
	return label->function && label->file;
}

/* "Shop.order:/srv/shop.py".  A qualified name has no colon. */
static bool parse_python(const char *text, struct jit_label *label)
{
	const char *colon = strchr(text, ':');

	if (!colon || colon == text || !colon[1])
		return true;
	label->function = strndup(text, (size_t)(colon - text));
	label->file = strdup(colon + 1);
	return label->function && label->file;
}

/* "Lshop/Order;::add" */
static bool parse_java(const char *raw_name, struct jit_label *label)
{
	const char *end = strstr(raw_name, ";::");
	size_t length = end ? (size_t)(end - raw_name) - 1 : 0;

	if (length == 0 || !end[3] || memchr(raw_name, ' ', length))
		return true;
	label->function = malloc(strlen(raw_name));
	if (!label->function)
		return false;
	for (size_t i = 0; i < length; i++)
		label->function[i] = raw_name[i + 1] == '/' ? '.' : raw_name[i + 1];
	label->function[length] = '.';
	strcpy(label->function + length + 1, end + 3);
	return true;
}

/* One of "~^+*" may follow: which compiler it was. */
static const char *find_v8(const char *raw_name)
{
	const char *text = NULL;

	for (size_t i = 0; !text && i < sizeof(v8_prefixes) / sizeof(v8_prefixes[0]); i++)
		text = after(raw_name, v8_prefixes[i]);
	return text && *text && strchr("~^+*", *text) ? text + 1 : text;
}

static bool parse(const char *raw_name, struct jit_label *label)
{
	const char *text = find_v8(raw_name);

	if (text)
		return parse_v8(text, label);
	text = after(raw_name, "py::");
	if (text)
		return parse_python(text, label);
	if (raw_name[0] == 'L')
		return parse_java(raw_name, label);
	label->function = demangle(raw_name);
	return true;
}

bool jit_label_parse(const char *raw_name, struct jit_label *label)
{
	*label = (struct jit_label){0};
	if (parse(raw_name, label))
		return true;
	jit_label_free(label);
	return false;
}

void jit_label_free(struct jit_label *label)
{
	free(label->function);
	free(label->file);
	*label = (struct jit_label){0};
}

bool jit_label_has_types(const char *raw_name)
{
	static const char
		word[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_$.";
	size_t type = strspn(raw_name, word);
	const char *name = raw_name + type;
	size_t length, plain;

	if (demangle_is_for(raw_name))
		return true;
	while (type > 0 && strncmp(name, "[]", 2) == 0)
		name += 2;
	if (type == 0 || *name++ != ' ')
		return false;
	/* Constructors are called <init> and <clinit>. */
	length = strcspn(name, "(");
	plain = strspn(name, word);
	return plain + strspn(name + plain, "<clinit>") == length && memchr(name, '.', length) &&
	       name[length] == '(' && raw_name[strlen(raw_name) - 1] == ')';
}
