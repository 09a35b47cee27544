/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json.c - commas, indentation and escapes.
 *
 * In an object the key brings the comma, so that a value needs one only in an array.  Documents deeper than
 * struct json can tell are a bug of the caller.
 */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

enum { DEPTH_MAX = 64, INDENT_MAX = 2 };

void json_begin(struct json *json, FILE *file)
{
	memset(json, 0, sizeof(*json));
	json->file = file;
}

static void new_line(struct json *json, unsigned indent)
{
	fputc('\n', json->file);
	while (indent--)
		fputc(' ', json->file);
}

/* What goes in front of an element of the innermost object or array. */
static void begin_element(struct json *json)
{
	unsigned depth = json->depth;

	if (!json->first[depth])
		fputc(',', json->file);
	if (depth <= INDENT_MAX)
		new_line(json, depth);
	else if (!json->first[depth])
		fputc(' ', json->file);
	json->first[depth] = false;
}

static void begin_value(struct json *json)
{
	if (json->depth && json->is_array[json->depth])
		begin_element(json);
}

static void open_container(struct json *json, bool is_array)
{
	begin_value(json);
	if (json->depth + 1 >= DEPTH_MAX)
		abort();
	json->depth++;
	json->first[json->depth] = true;
	json->is_array[json->depth] = is_array;
	fputc(is_array ? '[' : '{', json->file);
}

void json_object(struct json *json)
{
	open_container(json, false);
}

void json_array(struct json *json)
{
	open_container(json, true);
}

void json_end(struct json *json)
{
	unsigned depth = json->depth;

	if (!depth)
		abort();
	if (depth <= INDENT_MAX && !json->first[depth])
		new_line(json, depth - 1);
	fputc(json->is_array[depth] ? ']' : '}', json->file);
	json->depth--;
	if (!json->depth)
		fputc('\n', json->file);
}

/* The short form of a character that must be escaped, 0 if it has none. */
static char short_escape(char c)
{
	static const char escapes[][2] = {{'"', '"'},  {'\\', '\\'}, {'\b', 'b'}, {'\f', 'f'},
					  {'\n', 'n'}, {'\r', 'r'},  {'\t', 't'}};
	size_t i;

	for (i = 0; i < sizeof(escapes) / sizeof(*escapes); i++)
		if (escapes[i][0] == c)
			return escapes[i][1];
	return 0;
}

static void put_text(struct json *json, const char *text)
{
	unsigned length;

	fputc('"', json->file);
	for (; *text; text += length ? length : 1) {
		length = utf8_length(text);
		if (short_escape(*text))
			fprintf(json->file, "\\%c", short_escape(*text));
		else if (length == 0)
			fputs("\xef\xbf\xbd", json->file); /* U+FFFD */
		else if ((unsigned char)*text < 0x20)
			fprintf(json->file, "\\u%04x", (unsigned)*text);
		else
			fwrite(text, 1, length, json->file);
	}
	fputc('"', json->file);
}

void json_key(struct json *json, const char *key)
{
	begin_element(json);
	put_text(json, key);
	fputs(": ", json->file);
}

void json_string(struct json *json, const char *text)
{
	begin_value(json);
	if (text)
		put_text(json, text);
	else
		fputs("null", json->file);
}

void json_uint(struct json *json, uint64_t value)
{
	begin_value(json);
	fprintf(json->file, "%" PRIu64, value);
}

void json_int(struct json *json, int64_t value)
{
	begin_value(json);
	fprintf(json->file, "%" PRId64, value);
}

/* The shortest of two precisions that reads back as the same number: 0.1 stays 0.1. */
void json_real(struct json *json, double value)
{
	char text[40];

	begin_value(json);
	if (!isfinite(value)) {
		fputs("null", json->file);
		return;
	}
	snprintf(text, sizeof(text), "%.15g", value);
	if (strtod(text, NULL) != value)
		snprintf(text, sizeof(text), "%.17g", value);
	fputs(text, json->file);
}

void json_bool(struct json *json, bool value)
{
	begin_value(json);
	fputs(value ? "true" : "false", json->file);
}

void json_null(struct json *json)
{
	json_string(json, NULL);
}

void json_key_string(struct json *json, const char *key, const char *text)
{
	json_key(json, key);
	json_string(json, text);
}

void json_key_uint(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_uint(json, value);
}

void json_key_int(struct json *json, const char *key, int64_t value)
{
	json_key(json, key);
	json_int(json, value);
}

void json_key_bool(struct json *json, const char *key, bool value)
{
	json_key(json, key);
	json_bool(json, value);
}
