/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bundle_text.c - see bundle_text.h.
 */
#include "profile/bundle_text.h"

#include <stdlib.h>
#include <string.h>

#include "profile/bundle.h"

enum { BYTES_START = 4096, SLOTS_START = 1024, ULEB_MAX = 10 };

/* --- bytes ----------------------------------------------------------------------------------- */

void bundle_bytes_free(struct bundle_bytes *bytes)
{
	free(bytes->bytes);
	*bytes = (struct bundle_bytes){0};
}

static bool make_room(struct bundle_bytes *bytes, size_t size)
{
	size_t room = bytes->room ? bytes->room : BYTES_START;
	char *grown;

	if (bytes->failed)
		return false;
	if (size <= bytes->room - bytes->size)
		return true;
	while (size > room - bytes->size)
		room *= 2;
	grown = realloc(bytes->bytes, room);
	if (!grown) {
		bytes->failed = true;
		return false;
	}
	bytes->bytes = grown;
	bytes->room = room;
	return true;
}

void bundle_bytes_add(struct bundle_bytes *bytes, const void *more, size_t size)
{
	if (!make_room(bytes, size))
		return;
	memcpy(bytes->bytes + bytes->size, more, size);
	bytes->size += size;
}

void bundle_bytes_number(struct bundle_bytes *bytes, uint64_t value)
{
	uint8_t digits[ULEB_MAX];
	size_t count = 0;

	do {
		digits[count] = value & 0x7f;
		value >>= 7;
		digits[count++] |= value ? 0x80 : 0;
	} while (value);
	bundle_bytes_add(bytes, digits, count);
}

/* --- strings --------------------------------------------------------------------------------- */

void bundle_text_free(struct bundle_text *text)
{
	bundle_bytes_free(&text->bytes);
	free(text->slots);
	*text = (struct bundle_text){0};
}

static uint32_t hash_of(const char *string, size_t length)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (uint8_t)string[i]) * UINT64_C(0x100000001b3);
	return (uint32_t)(hash ^ hash >> 32);
}

static struct bundle_text_slot *find_slot(const struct bundle_text *text, uint32_t hash,
					  const char *string, size_t length)
{
	for (size_t i = hash;; i++) {
		struct bundle_text_slot *slot = &text->slots[i & (text->slot_count - 1)];
		const char *other = text->bytes.bytes + slot->offset;

		if (slot->number == 0)
			return slot;
		if (string && slot->hash == hash && strncmp(other, string, length) == 0 &&
		    other[length] == '\0')
			return slot;
	}
}

static bool grow(struct bundle_text *text)
{
	struct bundle_text_slot *old = text->slots;
	size_t count = text->slot_count;
	size_t grown = count ? count * 2 : SLOTS_START;

	text->slots = calloc(grown, sizeof(*text->slots));
	if (!text->slots) {
		text->slots = old;
		text->bytes.failed = true;
		return false;
	}
	text->slot_count = grown;
	for (size_t i = 0; i < count; i++)
		if (old[i].number != 0)
			*find_slot(text, old[i].hash, NULL, 0) = old[i];
	free(old);
	return true;
}

uint64_t bundle_text_add(struct bundle_text *text, const char *string)
{
	struct bundle_text_slot *slot;
	size_t length;
	uint32_t hash;

	if (!string || text->bytes.failed || (text->count * 2 >= text->slot_count && !grow(text)))
		return 0;
	length = strnlen(string, BUNDLE_STRING_MAX);
	hash = hash_of(string, length);
	slot = find_slot(text, hash, string, length);
	if (slot->number != 0)
		return slot->number;
	*slot = (struct bundle_text_slot){hash, (uint32_t)++text->count, text->bytes.size};
	bundle_bytes_add(&text->bytes, string, length);
	bundle_bytes_add(&text->bytes, "", 1);
	return slot->number;
}
