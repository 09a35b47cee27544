/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * protobuf.h - writes messages in Protocol Buffers' wire format (protobuf.dev, "Encoding") into memory.
 *
 * What is nested is written into a buffer of its own first: its length stands before it.  A message that would be larger
 * than its limit, or finds no memory, has failed: it stays as it was, and all that is added later is dropped.
 */
#ifndef PMEM_EXPORT_PROTOBUF_H
#define PMEM_EXPORT_PROTOBUF_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROTOBUF_FIELD_MAX = 0x1fffffff };

struct protobuf {
	uint8_t *bytes;
	size_t size;
	size_t capacity;
	size_t limit; /* of size */
	bool failed;
};

/* An empty message; to be ended with protobuf_free(). */
struct protobuf protobuf_new(size_t limit);
void protobuf_free(struct protobuf *message);

/* Empties it, for the next one.  What failed stays so. */
void protobuf_clear(struct protobuf *message);

/* uint64, or int64 where negative values are given as their two's complement.  Fields are from 1 to PROTOBUF_FIELD_MAX. */
void protobuf_uint(struct protobuf *message, uint32_t field, uint64_t value);

/* fixed64. */
void protobuf_fixed64(struct protobuf *message, uint32_t field, uint64_t value);

/* string or bytes. */
void protobuf_bytes(struct protobuf *message, uint32_t field, const void *bytes, size_t size);
void protobuf_text(struct protobuf *message, uint32_t field, const char *text);

/* A nested message; fails if that one has. */
void protobuf_message(struct protobuf *message, uint32_t field, const struct protobuf *nested);

/* repeated uint64 or int64, packed.  None: nothing is written. */
void protobuf_packed(struct protobuf *message, uint32_t field, const uint64_t *values, size_t count);

#endif
