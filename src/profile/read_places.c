/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * read_places.c - texts, modules, and the locations of the code: one for each place that a frame names.
 *
 * pc32 -> location is an open-addressing table.  Regions that are equal are taken for one first, so that equal places
 * have equal locations.
 */
#include "profile/read_places.h"

#include <stdlib.h>
#include <string.h>

#include "profile/stack_id.h"

static const struct image_array text_array = {FORMAT_TEXT, 1, "bytes of text", 0};
static const struct image_array modules_array = {FORMAT_MODULES, sizeof(struct format_module),
						 "modules", 1};
static const struct image_array regions_array = {FORMAT_REGIONS, sizeof(struct format_region),
						 "code regions", 1};

enum { TABLE_START = 1024 };

#define OFFSET_MASK ((1u << FORMAT_REGION_BITS) - 1)

struct read_places_slot {
	uint32_t pc32;
	uint32_t location; /* index + 1; 0 = free */
};

/* --- text ------------------------------------------------------------------------------------ */

/* The bytes of text, with a NUL after them; NULL and reported if they are not there. */
static const char *find_text(struct reader *reader, const struct format_text *text,
			     const struct read_places *places)
{
	if (text->size == 0)
		return "";
	if (text->offset < places->text_size && text->size < places->text_size - text->offset &&
	    places->text[text->offset + text->size] == '\0')
		return places->text + text->offset;
	damage_add(&reader->image.damage, "a text is missing");
	return NULL;
}

static const char *text_or_empty(struct reader *reader, const struct format_text *text,
				 const struct read_places *places)
{
	const char *found = find_text(reader, text, places);

	return found ? found : "";
}

static bool load_text(struct reader *reader, struct read_places *places)
{
	uint32_t size = plain32(&reader->image.first->header.text_size);

	places->text_size = image_limit(&reader->image, &text_array, size);
	places->text = reader_own(reader,
				  image_items(&reader->image, &text_array, places->text_size));
	return places->text != NULL;
}

static void set_texts(struct reader *reader, const struct read_places *places)
{
	struct profile *profile = &reader->profile;
	const struct format_header *header = &profile->header;
	const char *slash;

	profile->program = text_or_empty(reader, &header->program, places);
	slash = strrchr(profile->program, '/');
	profile->program_name = slash ? slash + 1 : profile->program;
	profile->command = find_text(reader, &header->command, places);
	profile->command_size = profile->command ? header->command.size : 0;
	if (!profile->command)
		profile->command = "";
	profile->directory = text_or_empty(reader, &header->directory, places);
	profile->cgroup = text_or_empty(reader, &header->cgroup, places);
	profile->host = text_or_empty(reader, &header->host, places);
	profile->refused_setting = text_or_empty(reader, &header->refused_setting, places);
	profile->own_new = text_or_empty(reader, &header->own_new, places);
	profile->own_malloc = text_or_empty(reader, &header->own_malloc, places);
}

/* --- modules and regions --------------------------------------------------------------------- */

static void set_module(struct reader *reader, const struct read_places *places, uint32_t id)
{
	const struct format_module *raw = &places->modules[id];
	struct profile_module *module = &reader->profile.modules[id];

	*module = (struct profile_module){
		.path = id == 0 ? "" : text_or_empty(reader, &raw->path, places),
		.build_id = raw->build_id,
		.build_id_size = raw->build_id_size,
		.instance = raw->instance,
		.bias = plain64(&raw->bias),
		.start = plain64(&raw->start),
		.end = plain64(&raw->end),
		.load_ns = plain64(&raw->load_ns),
		.unload_ns = plain64(&raw->unload_ns),
	};
	if (module->build_id_size <= FORMAT_BUILD_ID_MAX)
		return;
	damage_add(&reader->image.damage, "module %u: impossible build-id", id);
	module->build_id_size = 0;
}

static bool set_modules(struct reader *reader, struct read_places *places)
{
	uint32_t count = places->module_count > 0 ? places->module_count : 1;

	reader->profile.modules = reader_alloc(reader, count, sizeof(*reader->profile.modules));
	if (!reader->profile.modules)
		return false;
	reader->profile.module_count = count;
	reader->profile.id_prefixes = stack_id_prefixes_new(count);
	if (!reader->profile.id_prefixes)
		return false;
	/* image_items() has a zero item after the last one: module 0 where there is none. */
	for (uint32_t id = 0; id < count; id++)
		set_module(reader, places, id);
	return true;
}

static const struct format_region *sorted_regions; /* for the comparison */

static int compare_regions(const void *a, const void *b)
{
	uint32_t i = *(const uint32_t *)a;
	uint32_t j = *(const uint32_t *)b;
	const struct format_region *left = &sorted_regions[i];
	const struct format_region *right = &sorted_regions[j];

	if (left->module_id != right->module_id)
		return left->module_id < right->module_id ? -1 : 1;
	if (left->chunk != right->chunk)
		return left->chunk < right->chunk ? -1 : 1;
	return i < j ? -1 : i > j;
}

/* same[i]: the first region that is equal to region i. */
static bool unite_regions(struct reader *reader, struct read_places *places)
{
	uint32_t count = places->region_count;
	uint32_t *order = calloc((size_t)count + 1, sizeof(*order));

	places->same = reader_alloc(reader, (size_t)count + 1, sizeof(*places->same));
	if (!order || !places->same) {
		free(order);
		return false;
	}
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	sorted_regions = places->regions;
	if (count > 1)
		qsort(order + 1, count - 1, sizeof(*order), compare_regions);
	for (uint32_t i = 1; i < count; i++) {
		const struct format_region *now = &places->regions[order[i]];
		const struct format_region *before = &places->regions[order[i - 1]];
		bool equal = i > 1 && now->module_id == before->module_id &&
			     now->chunk == before->chunk;

		places->same[order[i]] = equal ? places->same[order[i - 1]] : order[i];
	}
	free(order);
	return true;
}

static void *load(struct reader *reader, const struct image_array *array, uint32_t *count)
{
	*count = image_limit(&reader->image, array, *count);
	return reader_own(reader, image_items(&reader->image, array, *count));
}

bool read_places(struct reader *reader, struct read_places *places)
{
	const struct format_header *header = &reader->image.first->header;

	*places = (struct read_places){.reader = reader};
	if (!image_refresh(&reader->image))
		return false;
	places->region_count = plain32(&header->region_count);
	places->regions = load(reader, &regions_array, &places->region_count);
	/* A region is published after its module, a module after its path. */
	if (!places->regions || !image_refresh(&reader->image))
		return false;
	places->module_count = plain32(&header->module_count);
	places->modules = load(reader, &modules_array, &places->module_count);
	if (!places->modules || !image_refresh(&reader->image) || !load_text(reader, places))
		return false;
	set_texts(reader, places);
	return set_modules(reader, places) && unite_regions(reader, places);
}

/* --- locations ------------------------------------------------------------------------------- */

static const char *special_name(uint32_t number)
{
	static const char *const names[] = {
		[FORMAT_SPECIAL_SIGNAL] = "[signal handler]",
		[FORMAT_SPECIAL_BEYOND_BUDGET] = "[beyond budget]",
		[FORMAT_SPECIAL_TRUNCATED] = "[truncated]",
		[FORMAT_SPECIAL_NOT_TAKEN] = "[not taken]",
		[FORMAT_SPECIAL_UNKNOWN] = "[unknown module]",
	};

	return number < sizeof(names) / sizeof(*names) ? names[number] : NULL;
}

/* False: pc32 means nothing. */
static bool locate_code(const struct read_places *places, uint32_t pc32,
			struct profile_location *location)
{
	uint32_t region = pc32 >> FORMAT_REGION_BITS;
	const struct profile *profile = &places->reader->profile;
	const struct format_region *found;

	if (region >= places->region_count ||
	    places->regions[region].module_id >= profile->module_count)
		return false;
	found = &places->regions[region];
	*location = (struct profile_location){
		.module = found->module_id,
		.offset = ((uint64_t)found->chunk << FORMAT_REGION_BITS) + (pc32 & OFFSET_MASK) + 1,
	};
	location->address = location->offset;
	if (found->module_id == 0)
		return true;
	location->offset += places->modules[found->module_id].first_vaddr;
	location->address = location->offset + profile->modules[found->module_id].bias;
	return true;
}

static bool locate(struct read_places *places, uint32_t pc32, struct profile_location *location)
{
	const char *special = pc32 >> FORMAT_REGION_BITS == 0 ? special_name(pc32) : NULL;

	*location = (struct profile_location){.special = special};
	if (special || (pc32 >> FORMAT_REGION_BITS != 0 && locate_code(places, pc32, location)))
		return true;
	*location = (struct profile_location){.special = special_name(FORMAT_SPECIAL_UNKNOWN)};
	return false;
}

static struct read_places_slot *find_slot(const struct read_places *places, uint32_t pc32)
{
	uint32_t i = (uint32_t)((pc32 * UINT64_C(0x9e3779b97f4a7c15)) >> 32);

	for (;; i++) {
		struct read_places_slot *slot = &places->table[i & (places->table_size - 1)];

		if (slot->location == 0 || slot->pc32 == pc32)
			return slot;
	}
}

/* Twice the table, and room for as many locations as it may hold. */
static bool grow_table(struct read_places *places)
{
	struct read_places_slot *old = places->table;
	uint32_t old_size = places->table_size;
	uint32_t size = old_size ? old_size * 2 : TABLE_START;
	struct profile_location *locations = realloc(places->locations,
						     size / 2 * sizeof(*locations));
	struct read_places_slot *table = calloc(size, sizeof(*table));

	if (locations)
		places->locations = locations;
	if (!locations || !table) {
		free(table);
		return false;
	}
	places->table = table;
	places->table_size = size;
	for (uint32_t i = 0; i < old_size; i++)
		if (old[i].location != 0)
			*find_slot(places, old[i].pc32) = old[i];
	free(old);
	return true;
}

bool read_places_find(struct read_places *places, uint32_t pc32, uint32_t *location)
{
	uint32_t region = pc32 >> FORMAT_REGION_BITS;
	struct read_places_slot *slot;

	if (region > 0 && region < places->region_count)
		pc32 = places->same[region] << FORMAT_REGION_BITS | (pc32 & OFFSET_MASK);
	if (places->location_count * 2 >= places->table_size && !grow_table(places))
		return false;
	slot = find_slot(places, pc32);
	if (slot->location == 0) {
		if (!locate(places, pc32, &places->locations[places->location_count]))
			places->wrong++;
		*slot = (struct read_places_slot){.pc32 = pc32,
						  .location = ++places->location_count};
	}
	*location = slot->location - 1;
	return true;
}

void read_places_end(struct read_places *places)
{
	struct reader *reader = places->reader;

	reader->profile.locations = reader_own(reader, places->locations);
	reader->profile.location_count = places->location_count;
	free(places->table);
	if (places->wrong > 0)
		damage_add(&reader->image.damage, "%u places in the code are unknown",
			   places->wrong);
}
