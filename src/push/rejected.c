/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rejected.c - see rejected.h.
 */
#include "push/rejected.h"

#include <stdbool.h>
#include <string.h>

#include "core/cursor.h"

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2, WIRE_FIXED32 = 5 };

struct field {
	uint64_t number;
	uint64_t value;	     /* of an integer */
	struct cursor bytes; /* of what has a length */
};

/* False: there is no further one, or no message. */
static bool next_field(struct cursor *message, struct field *field)
{
	uint64_t tag;

	if (message->failed || cursor_left(message) == 0)
		return false;
	tag = cursor_uleb(message);
	*field = (struct field){.number = tag >> 3};
	switch (tag & 7) {
	case WIRE_VARINT:
		field->value = cursor_uleb(message);
		break;
	case WIRE_FIXED64:
		field->value = cursor_u64(message);
		break;
	case WIRE_LENGTH:
		field->bytes = cursor_block(message, cursor_uleb(message));
		break;
	case WIRE_FIXED32:
		field->value = cursor_u32(message);
		break;
	default:
		message->failed = true;
	}
	return !message->failed;
}

static uint64_t read_partial(struct cursor partial, char why[REJECTED_TEXT])
{
	uint64_t count = 0;
	struct field field;

	while (next_field(&partial, &field)) {
		size_t size = field.bytes.at ? cursor_left(&field.bytes) : 0;

		if (field.number == 1)
			count = field.value;
		if (field.number != 2 || size == 0)
			continue;
		if (size >= REJECTED_TEXT)
			size = REJECTED_TEXT - 1;
		memcpy(why, field.bytes.at, size);
		why[size] = '\0';
	}
	return partial.failed ? 0 : count;
}

uint64_t rejected_profiles(const void *answer, size_t size, char why[REJECTED_TEXT])
{
	struct cursor message = cursor_make(answer, size);
	uint64_t count = 0;
	struct field field;

	why[0] = '\0';
	while (next_field(&message, &field))
		if (field.number == 1 && field.bytes.at)
			count = read_partial(field.bytes, why);
	return message.failed ? 0 : count;
}
