/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_bundle.c - fuzzes the reader of bundles.
 *
 * Input: a bundle, which is read as it is; or the unpacked sections but for the profile, each as its kind (1 byte), its size (2
 * bytes) and its content.  Those are given to a profile that is always the same.  seed_bundle.py makes seeds.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/cursor.h"
#include "profile/bundle.h"
#include "profile/given_names.h"
#include "profile/read.h"
#include "tests/unit/tool/profile_fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

/* Two modules, code outside of modules, a special place. */
static struct profile *make_profile(void)
{
	struct profile *profile;
	struct fixture f;
	struct error err;
	uint32_t frames[6];
	uint32_t first, second;

	fixture_begin(&f);
	first = fixture_module(&f, "/bin/a", "");
	second = fixture_module(&f, "/lib/b.so", "0123");
	frames[0] = fixture_pc32(&f, first, 0x1000);
	frames[1] = fixture_pc32(&f, first, 0x1010);
	frames[2] = fixture_pc32(&f, second, 0x2000);
	frames[3] = fixture_pc32(&f, 0, 0x7000);
	frames[4] = fixture_pc32(&f, 0, 0x7100);
	frames[5] = FORMAT_SPECIAL_TRUNCATED;
	atomic_store(&fixture_counter(&f, 0, fixture_stack(&f, frames, 6, 0))->alloc_count, 1);
	require(profile_open_memory(f.first, fixture_size(&f), &profile, &err));
	require(profile->location_count == 6);
	fixture_end(&f);
	return profile;
}

static size_t touch(const char *text)
{
	return text ? strlen(text) : 0;
}

static void check(const struct profile *profile)
{
	size_t sum = 0;

	for (uint32_t i = 0; i < profile->location_count; i++) {
		const struct symbol *found = NULL;
		size_t count = given_names_at(profile, i, &found);

		require((count > 0) == !profile->locations[i].special);
		require((given_names_fast(profile, i) != NULL) == (count > 0));
		for (size_t j = 0; j < count; j++)
			sum += touch(found[j].function) + touch(found[j].raw_name) +
			       touch(found[j].file);
	}
	for (uint32_t i = 0; i < profile->module_count; i++)
		sum += touch(given_names_problem(profile, i));
	for (uint32_t i = 0; i < profile->given->source_count; i++) {
		const struct given_source *source = &profile->given->sources[i];

		require(given_names_line(profile, source->file, source->first) == source->lines[0]);
		require(given_names_line(profile, source->file, source->first + source->count - 1) ==
			source->lines[source->count - 1]);
		sum += touch(source->lines[0]);
	}
	sum += touch(given_names_line(profile, "a.c", 7));
	require(sum < SIZE_MAX / 2);
}

static void read_raw(const uint8_t *data, size_t size)
{
	struct profile *profile = NULL;
	struct error err = {""};

	if (profile_open_memory(data, size, &profile, &err))
		check(profile);
	else
		require(err.text[0] != '\0');
	profile_close(profile);
}

static bool add_part(struct cursor *c, struct bundle *bundle)
{
	unsigned kind = cursor_u8(c) % BUNDLE_KINDS;
	size_t size = cursor_u16(c);
	struct bundle_part *part = &bundle->parts[kind];
	const uint8_t *bytes;

	if (size > cursor_left(c))
		size = cursor_left(c);
	bytes = cursor_bytes(c, size);
	if (!bytes)
		return false;
	free(part->bytes);
	part->bytes = malloc(size + 1);
	require(part->bytes != NULL);
	memcpy(part->bytes, bytes, size);
	part->bytes[size] = '\0';
	part->size = size;
	return true;
}

static void fill(struct bundle *bundle)
{
	for (int kind = 0; kind < BUNDLE_KINDS; kind++)
		if (!bundle->parts[kind].bytes)
			bundle->parts[kind].bytes = calloc(1, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct profile *profile;
	struct bundle bundle = {0};
	struct cursor c = cursor_make(data, size);
	struct error err = {""};

	if (!profile)
		profile = make_profile();
	if (bundle_begins(data, size)) {
		read_raw(data, size);
		return 0;
	}
	while (cursor_left(&c) > 0 && add_part(&c, &bundle))
		;
	fill(&bundle);
	if (bundle_apply(&bundle, profile, &err))
		check(profile);
	else
		require(err.text[0] != '\0');
	bundle_end(&bundle);
	return 0;
}
