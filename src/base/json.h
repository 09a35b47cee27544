/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json.h - writes JSON (RFC 8259) to a stream as it goes: documents may be larger than memory.
 *
 * Calls follow the document: json_object(), json_key() + a value ..., json_end().  Commas, indentation (one
 * space a level down to depth 2, then one line) and escapes are done here; bytes that are no UTF-8
 * become U+FFFD.  64-bit integers are written in full.
 */
#ifndef PMEM_BASE_JSON_H
#define PMEM_BASE_JSON_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *file;
	unsigned depth;
	bool first[64]; /* by depth: nothing was written there yet */
	bool is_array[64];
};

void json_begin(struct json *json, FILE *file);
void json_object(struct json *json);
void json_array(struct json *json);
void json_end(struct json *json); /* of the innermost object or array; at depth 0 a newline follows */
void json_key(struct json *json, const char *key);
void json_string(struct json *json, const char *text); /* NULL: null */
void json_uint(struct json *json, uint64_t value);
void json_int(struct json *json, int64_t value);
void json_real(struct json *json, double value); /* not finite: null */
void json_bool(struct json *json, bool value);
void json_null(struct json *json);

/* Key and value in one. */
void json_key_string(struct json *json, const char *key, const char *text);
void json_key_uint(struct json *json, const char *key, uint64_t value);
void json_key_int(struct json *json, const char *key, int64_t value);
void json_key_bool(struct json *json, const char *key, bool value);

#endif
