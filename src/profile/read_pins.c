/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * read_pins.c - what the live blocks of call stacks pinned when the recorder measured the resident set.
 */
#include "profile/read.h"

static const struct image_array pins_array = {FORMAT_PINS, sizeof(struct format_pin), "pins", 0};

bool read_pins(struct reader *reader)
{
	struct profile *profile = &reader->profile;
	uint32_t count = plain32(&profile->header.pin_count);

	/* Of a running process they are measured when asked for. */
	if (count == 0 || profile->is_live)
		return true;
	profile->pin_count = image_limit(&reader->image, &pins_array, count);
	profile->pins = reader_own(reader,
				   image_items(&reader->image, &pins_array, profile->pin_count));
	return profile->pins != NULL;
}
