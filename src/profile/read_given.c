/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * read_given.c - the names of code compiled at run time that `pmem run` has added to the file.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/given_names.h"
#include "profile/read.h"

static const struct image_array given_array = {FORMAT_GIVEN, sizeof(struct format_given),
					       "added names", 0};
static const struct image_array text_array = {FORMAT_GIVEN_TEXT, 1, "bytes of added text", 0};

struct added {
	struct format_given *items;
	uint32_t count;
	char *text;
	uint32_t text_size;
	uint32_t wrong;
};

/* The bytes of text; "" if there are none, or if they are not there. */
static const char *find_text(struct added *added, const struct format_text *text)
{
	if (text->size == 0)
		return "";
	if (text->offset < added->text_size && text->size < added->text_size - text->offset &&
	    text->size <= JIT_NAME_MAX && added->text[text->offset + text->size] == '\0')
		return added->text + text->offset;
	added->wrong++;
	return "";
}

static bool set_name(struct added *added, const struct format_given *item, struct jit_names *names)
{
	struct jit_name *name = &names->items[names->count];
	const char *raw_name = find_text(added, &item->raw_name);
	const char *file = find_text(added, &item->file);

	*name = (struct jit_name){.address = item->address, .start = item->start};
	names->count++;
	if (raw_name[0])
		name->raw_name = strdup(raw_name);
	if (file[0])
		name->file = strdup(file);
	name->line = name->file ? item->line : 0;
	return (name->raw_name || !raw_name[0]) && (name->file || !file[0]);
}

static bool set_names(struct added *added, struct jit_names *names)
{
	uint64_t last = 0;

	names->items = calloc((size_t)added->count + 1, sizeof(*names->items));
	if (!names->items)
		return false;
	for (uint32_t i = 0; i < added->count; i++) {
		const struct format_given *item = &added->items[i];

		if (item->address <= last || item->start > item->address) {
			added->wrong++;
			continue;
		}
		last = item->address;
		if (!set_name(added, item, names))
			return false;
	}
	return true;
}

static bool make(struct reader *reader, struct added *added)
{
	struct profile *profile = &reader->profile;
	struct jit_names names = {0};
	bool done;

	profile->given = given_names_new(profile, GIVEN_FROM_FILE);
	done = profile->given && set_names(added, &names) &&
	       given_names_add_jit(profile->given, profile, &names);
	jit_names_end(&names);
	if (added->wrong > 0)
		damage_add(&reader->image.damage, "%u added names are impossible", added->wrong);
	return done;
}

bool read_given(struct reader *reader)
{
	const struct image *image = &reader->image;
	struct added added = {.count = plain32(&reader->profile.header.given_count)};
	bool done;

	if (added.count == 0)
		return true;
	added.count = image_limit(image, &given_array, added.count);
	added.text_size = image->counts[FORMAT_GIVEN_TEXT] * FORMAT_BLOCK_SIZE;
	added.items = image_items(image, &given_array, added.count);
	added.text = image_items(image, &text_array, added.text_size);
	done = added.items && added.text && make(reader, &added);
	free(added.items);
	free(added.text);
	return done;
}
