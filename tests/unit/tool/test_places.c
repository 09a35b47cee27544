/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_places.c - the places of inlined functions, of more locations than the first table has room for.
 *
 * At location i: leaf() inlined into middle() inlined into main(), each at a line of its own; shown is leaf().
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "profile/places.h"

enum { LOCATIONS = 300, DEPTH = 3 };

static struct symbol symbols[LOCATIONS][DEPTH];

size_t names_at(struct names *names, uint32_t location, const struct symbol **found)
{
	(void)names;
	*found = symbols[location];
	return DEPTH;
}

const struct symbol *names_at_fast(struct names *names, uint32_t location)
{
	(void)names;
	return &symbols[location][DEPTH - 1];
}

size_t names_shown(struct names *names, uint32_t location)
{
	(void)names;
	(void)location;
	return 0;
}

bool names_is_own(struct names *names, uint32_t location)
{
	(void)names;
	(void)location;
	return true;
}

bool names_is_own_fast(struct names *names, uint32_t location)
{
	return names_is_own(names, location);
}

bool names_is_own_function(struct names *names, uint32_t location, size_t index)
{
	(void)names;
	(void)location;
	return index != 1;
}

static struct profile_module module = {.path = "/srv/bin/server"};
static struct profile_location locations[LOCATIONS];
static const struct profile profile = {
	.modules = &module, .module_count = 1, .locations = locations, .location_count = LOCATIONS};

static struct places *make(void)
{
	static const char *const functions[DEPTH] = {"leaf", "middle", "main"};
	struct places *places = places_new(&profile, NULL);

	assert_non_null(places);
	for (uint32_t i = 0; i < LOCATIONS; i++)
		for (uint32_t j = 0; j < DEPTH; j++)
			symbols[i][j] = (struct symbol){.function = functions[j],
							.file = "server.c",
							.line = 1000 * j + i,
							.inlined = j + 1 < DEPTH};
	return places;
}

/* Every function has a number of its own, that stays, and by which it is found; that shown has the location's. */
static void test_functions(void **state)
{
	struct places *places = make();
	static uint32_t numbers[LOCATIONS][DEPTH];

	(void)state;
	for (uint32_t i = 0; i < LOCATIONS; i++)
		for (uint32_t j = 0; j < DEPTH; j++)
			numbers[i][j] = places_find_function(places, i, j);
	for (uint32_t i = 0; i < LOCATIONS; i++) {
		assert_int_equal(numbers[i][0], places_find(places, i));
		for (uint32_t j = 0; j < DEPTH; j++) {
			const struct place *place = places_get(places, numbers[i][j]);

			assert_int_equal(places_find_function(places, i, j), numbers[i][j]);
			assert_true(j == 0 || numbers[i][j] >= places_limit(places));
			assert_ptr_equal(place->symbol, &symbols[i][j]);
			assert_int_equal(place->own, j != 1);
		}
	}
	assert_true(places_same_function(places, numbers[0][1], numbers[299][1]));
	assert_false(places_same_function(places, numbers[0][1], numbers[0][2]));
	assert_int_equal(places_find_function(places, 7, DEPTH), numbers[7][0]);
	places_free(places);
}

/* Equal functions of two locations are one place, whichever is asked for first. */
static void test_equal_functions(void **state)
{
	struct places *places = make();
	uint32_t early, late;

	(void)state;
	symbols[1][2] = symbols[0][2];
	symbols[2][0] = symbols[0][2];
	early = places_find_function(places, 0, 2);
	assert_int_equal(places_find_function(places, 1, 2), early);
	assert_int_equal(places_settled(places, early), early);
	late = places_find(places, 2);
	assert_true(late < places_limit(places));
	assert_int_equal(places_settled(places, early), late);
	assert_int_equal(places_settled(places, late), late);
	assert_int_equal(places_find_function(places, 0, 2), late);
	places_free(places);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_equal_functions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
