/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cursor.h - reads bytes between two bounds; a read past the end gives 0 and sets a sticky error.
 *
 * Little-endian, unaligned.  Check cursor.failed once per record, before a value read is used as an
 * index or a length.
 */
#ifndef PMEM_CORE_CURSOR_H
#define PMEM_CORE_CURSOR_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
};

static inline struct cursor cursor_make(const void *start, size_t size)
{
	return (struct cursor){.at = start, .end = (const uint8_t *)start + size};
}

static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

/* The next size bytes, or NULL (and failed) when fewer are left. */
static inline const uint8_t *cursor_bytes(struct cursor *c, uint64_t size)
{
	const uint8_t *bytes = c->at;

	if (c->failed || size > cursor_left(c)) {
		c->failed = true;
		return NULL;
	}
	c->at += size;
	return bytes;
}

/* A cursor over the next size bytes, which c skips; an empty, failed one when fewer are left. */
static inline struct cursor cursor_block(struct cursor *c, uint64_t size)
{
	struct cursor block = *c;

	if (cursor_bytes(c, size))
		block.end = c->at;
	else
		block = (struct cursor){.at = c->at, .end = c->at, .failed = true};
	return block;
}

/* An unsigned integer of size 1, 2, 4 or 8 bytes. */
static inline uint64_t cursor_uint(struct cursor *c, size_t size)
{
	const uint8_t *bytes = cursor_bytes(c, size);
	uint64_t value = 0;

	if (bytes)
		memcpy(&value, bytes, size);
	return value;
}

static inline uint8_t cursor_u8(struct cursor *c)
{
	if (__builtin_expect(!c->failed && c->at < c->end, 1))
		return *c->at++;
	c->failed = true;
	return 0;
}

static inline uint16_t cursor_u16(struct cursor *c)
{
	return (uint16_t)cursor_uint(c, 2);
}

static inline uint32_t cursor_u32(struct cursor *c)
{
	return (uint32_t)cursor_uint(c, 4);
}

static inline uint64_t cursor_u64(struct cursor *c)
{
	return cursor_uint(c, 8);
}

/* ULEB128 and SLEB128 (DWARF 5, 7.6); bits beyond 64 are dropped, a run over 10 bytes fails. */
uint64_t cursor_uleb_long(struct cursor *c); /* of any length */
int64_t cursor_sleb(struct cursor *c);

static inline uint64_t cursor_uleb(struct cursor *c)
{
	if (__builtin_expect(!c->failed && c->at < c->end && *c->at < 0x80, 1))
		return *c->at++;
	return cursor_uleb_long(c);
}

/* A string with its terminating 0 inside the bounds; NULL (and failed) otherwise. */
const char *cursor_string(struct cursor *c);

#endif
