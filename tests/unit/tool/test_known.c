/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_known.c - what pmem serve keeps of a process: that it is found again, and that it is bounded.
 *
 * The profiles are made by hand; their only module is a file that is not there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "serve/known.h"

enum { FEW = 4, FIRST_PID = 100 };

static const struct symbols_options options;
static struct profile_module modules[] = {{.path = ""}, {.path = "/nowhere/libgone.so"}};
static struct known *known;

static struct profile *new_profile(uint32_t pid, uint32_t count)
{
	struct profile *profile = calloc(1, sizeof(*profile));

	assert_non_null(profile);
	*profile = (struct profile){
		.program = "/nowhere/program",
		.directory = "/nowhere",
		.modules = modules,
		.module_count = 2,
		.locations = calloc(count, sizeof(*profile->locations)),
		.location_count = count,
	};
	profile->header.pid = pid;
	assert_non_null(profile->locations);
	for (uint32_t i = 0; i < count; i++)
		profile->locations[i] = (struct profile_location){.module = 1, .offset = 16 + i};
	return profile;
}

static void free_profile(struct profile *profile)
{
	free(profile->locations);
	free(profile);
}

/* Opens it, looks one name up, and closes it; tells where the name lies. */
static const struct symbol *look(struct profile *profile)
{
	struct names *names = known_take(known, profile);
	const struct symbol *symbol;

	assert_non_null(names);
	symbol = names_at_fast(names, 0);
	known_give(known, names, profile);
	free_profile(profile);
	return symbol;
}

static int begin(void **state)
{
	(void)state;
	known = known_new(&options);
	return known ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	known_free(known);
	return 0;
}

static void names_of_a_process_stay(void **state)
{
	const struct symbol *first = look(new_profile(FIRST_PID, FEW));
	size_t bytes = known_bytes(known);

	(void)state;
	assert_true(bytes > 0);
	assert_ptr_equal(look(new_profile(FIRST_PID, FEW)), first);
	assert_ptr_equal(look(new_profile(FIRST_PID, FEW + 1)), first);
	assert_ptr_equal(look(new_profile(FIRST_PID, FEW)), first);
	assert_int_equal(known_bytes(known), bytes);
}

static void another_process_has_others(void **state)
{
	const struct symbol *first = look(new_profile(FIRST_PID, FEW));
	struct profile *later = new_profile(FIRST_PID, FEW), *image = new_profile(FIRST_PID, FEW);

	(void)state;
	later->header.start_realtime_ns = 1;
	image->header.image = 1;
	assert_ptr_not_equal(look(new_profile(FIRST_PID + 1, FEW)), first);
	assert_ptr_not_equal(look(later), first);
	assert_ptr_not_equal(look(image), first);
	assert_ptr_equal(look(new_profile(FIRST_PID, FEW)), first);
}

static void one_process_twice_at_a_time(void **state)
{
	struct profile *profile = new_profile(FIRST_PID, FEW);
	struct names *first = known_take(known, profile), *second = known_take(known, profile);

	(void)state;
	assert_ptr_not_equal(first, second);
	known_give(known, first, profile);
	known_give(known, second, profile);
	free_profile(profile);
	assert_ptr_equal(look(new_profile(FIRST_PID, FEW)), look(new_profile(FIRST_PID, FEW)));
}

static void not_more_than_so_many(void **state)
{
	size_t bytes;

	(void)state;
	look(new_profile(FIRST_PID, FEW));
	bytes = known_bytes(known);
	for (uint32_t i = 1; i < KNOWN_MAX; i++)
		look(new_profile(FIRST_PID + i, FEW));
	assert_int_equal(known_bytes(known), KNOWN_MAX * bytes);
	look(new_profile(FIRST_PID + KNOWN_MAX, FEW));
	assert_int_equal(known_bytes(known), KNOWN_MAX * bytes);
}

static void not_more_memory_than_that(void **state)
{
	uint32_t many = KNOWN_BYTES_MAX / 3 / (sizeof(struct profile_location) + 32);

	(void)state;
	for (uint32_t i = 0; i < FEW; i++) {
		look(new_profile(FIRST_PID + i, many));
		assert_in_range(known_bytes(known), 1, KNOWN_BYTES_MAX);
	}
	assert_in_range(known_bytes(known), KNOWN_BYTES_MAX / 2, KNOWN_BYTES_MAX);
	look(new_profile(FIRST_PID, 4 * many));
	assert_in_range(known_bytes(known), 0, KNOWN_BYTES_MAX);
}

#define WITH_KNOWN(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_KNOWN(names_of_a_process_stay),	 WITH_KNOWN(another_process_has_others),
		WITH_KNOWN(one_process_twice_at_a_time), WITH_KNOWN(not_more_than_so_many),
		WITH_KNOWN(not_more_memory_than_that),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
