/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * protobuf.c - writes messages in Protocol Buffers' wire format.
 *
 * A field is a tag, field << 3 | wire type, and its value; tags, integers and lengths are varints: 7 bits a byte, the lowest first, the
 * top bit says that more follow.
 */
#include "export/protobuf.h"

#include <stdlib.h>
#include <string.h>

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2, CAPACITY_FIRST = 256 };

struct protobuf protobuf_new(size_t limit)
{
	return (struct protobuf){.limit = limit};
}

void protobuf_free(struct protobuf *message)
{
	free(message->bytes);
	*message = (struct protobuf){0};
}

void protobuf_clear(struct protobuf *message)
{
	message->size = 0;
}

static bool reserve(struct protobuf *message, size_t wanted)
{
	size_t capacity = message->capacity ? message->capacity : CAPACITY_FIRST;
	uint8_t *bytes;

	while (capacity < wanted)
		capacity = capacity > SIZE_MAX / 2 ? wanted : capacity * 2;
	if (capacity == message->capacity)
		return true;
	bytes = realloc(message->bytes, capacity);
	if (!bytes)
		return false;
	message->bytes = bytes;
	message->capacity = capacity;
	return true;
}

/* Room for size more bytes, at the end; NULL: failed. */
static uint8_t *extend(struct protobuf *message, size_t size)
{
	if (message->failed || size > message->limit - message->size ||
	    !reserve(message, message->size + size)) {
		message->failed = true;
		return NULL;
	}
	message->size += size;
	return message->bytes + message->size - size;
}

static size_t varint_size(uint64_t value)
{
	size_t size = 1;

	for (; value >= 0x80; value >>= 7)
		size++;
	return size;
}

static uint8_t *put_varint(uint8_t *to, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*to++ = (uint8_t)(value | 0x80);
	*to++ = (uint8_t)value;
	return to;
}

static uint64_t tag(uint32_t field, unsigned wire)
{
	return (uint64_t)field << 3 | wire;
}

/* A field's beginning and room for size bytes of value; NULL: failed. */
static uint8_t *begin(struct protobuf *message, uint32_t field, size_t size)
{
	size_t head = varint_size(tag(field, WIRE_LENGTH)) + varint_size(size);
	uint8_t *to = size <= SIZE_MAX - head ? extend(message, head + size) : NULL;

	if (!to) {
		message->failed = true;
		return NULL;
	}
	return put_varint(put_varint(to, tag(field, WIRE_LENGTH)), size);
}

void protobuf_uint(struct protobuf *message, uint32_t field, uint64_t value)
{
	uint64_t head = tag(field, WIRE_VARINT);
	uint8_t *to = extend(message, varint_size(head) + varint_size(value));

	if (to)
		put_varint(put_varint(to, head), value);
}

void protobuf_fixed64(struct protobuf *message, uint32_t field, uint64_t value)
{
	uint64_t head = tag(field, WIRE_FIXED64);
	uint8_t *to = extend(message, varint_size(head) + sizeof(value));
	size_t i;

	if (!to)
		return;
	to = put_varint(to, head);
	for (i = 0; i < sizeof(value); i++, value >>= 8)
		*to++ = (uint8_t)value;
}

void protobuf_bytes(struct protobuf *message, uint32_t field, const void *bytes, size_t size)
{
	uint8_t *to = begin(message, field, size);

	if (to && size > 0)
		memcpy(to, bytes, size);
}

void protobuf_text(struct protobuf *message, uint32_t field, const char *text)
{
	protobuf_bytes(message, field, text, strlen(text));
}

void protobuf_message(struct protobuf *message, uint32_t field, const struct protobuf *nested)
{
	if (nested->failed)
		message->failed = true;
	else
		protobuf_bytes(message, field, nested->bytes, nested->size);
}

void protobuf_packed(struct protobuf *message, uint32_t field, const uint64_t *values, size_t count)
{
	size_t size = 0, i;
	uint8_t *to;

	/* 10 bytes at most each: no overflow for arrays that fit into memory 8 bytes each. */
	for (i = 0; i < count && size <= SIZE_MAX / 2; i++)
		size += varint_size(values[i]);
	if (count == 0)
		return;
	to = begin(message, field, size);
	for (i = 0; i < count && to; i++)
		to = put_varint(to, values[i]);
}
