/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_verdict.c - the largest site of the live bytes, and the end of the timeline in words.
 */
#include "cmd/run_verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "profile/growth.h"
#include "profile/names.h"
#include "profile/places.h"
#include "profile/sites.h"
#include "profile/when.h"

enum { FUNCTION_MAX = 80 };

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The function's name, cut in the middle: names of templates can be pages long. */
static void shorten(const char *name, char text[FUNCTION_MAX + 1])
{
	size_t length = strlen(name), left = (FUNCTION_MAX - 3) * 2 / 3,
	       right = FUNCTION_MAX - 3 - left;

	if (length <= FUNCTION_MAX)
		strcpy(text, name);
	else
		sprintf(text, "%.*s...%s", (int)left, name, name + length - right);
}

/* "function (file:line)", "function (module)" or "module+0xoffset". */
static void name_place(const struct place *place, const struct profile_module *module,
		       char text[RUN_VERDICT_SIZE])
{
	const struct symbol *symbol = place->symbol;
	const char *object = module && module->path[0] ? base_name(module->path)
						       : "code outside of modules";
	char function[FUNCTION_MAX + 1];

	if (!symbol->function) {
		snprintf(text, RUN_VERDICT_SIZE, "%.100s+0x%" PRIx64, object, symbol->offset);
		return;
	}
	shorten(symbol->function, function);
	if (symbol->file)
		snprintf(text, RUN_VERDICT_SIZE, "%s (%.100s:%u)", function,
			 base_name(symbol->file), symbol->line);
	else if (module)
		snprintf(text, RUN_VERDICT_SIZE, "%s (%.100s)", function, object);
	else
		snprintf(text, RUN_VERDICT_SIZE, "%s", function);
}

/* "Session::remember (session.rs:88) holds 371.2 MiB, 90 %"; false: nobody can be named. */
static bool say_holder(const struct sites *sites, char text[RUN_VERDICT_SIZE])
{
	const struct site *site = sites->items;
	char name[RUN_VERDICT_SIZE], size[UNITS_SIZE], share[UNITS_SIZE];
	const struct place *place;

	if (!sites->count || !site->counts.live_bytes)
		return false;
	place = places_get(sites->query.places, site->place);
	name_place(place, places_module(sites->query.places, place), name);
	snprintf(text, RUN_VERDICT_SIZE, "%.300s holds %s, %s", name,
		 units_bytes(site->counts.live_bytes, size),
		 units_share(site->counts.live_bytes, sites->totals.live_bytes, share));
	return true;
}

static bool find_holder(const struct profile *profile, char text[RUN_VERDICT_SIZE])
{
	struct names *names = names_new(profile);
	struct places *places = names ? places_new(profile, names) : NULL;
	const struct sites_query query = {.profile = profile,
					  .names = names,
					  .places = places,
					  .interval = {0, profile->duration_ns}};
	struct sites *sites = NULL;
	struct error ignored;
	bool found = false;

	if (places && sites_build(&query, &sites, &ignored)) {
		sites_sort(sites, SITES_LIVE);
		found = say_holder(sites, text);
		sites_free(sites);
	}
	if (places)
		places_free(places);
	if (names)
		names_free(names);
	return found;
}

/* True if the last thing the process did was to free most of what it had: the line then describes the time before. */
static bool was_freed_at_end(const struct profile *profile, const struct growth *growth)
{
	return profile_live_bytes(&profile->totals) < growth->high / 2;
}

/* "growing 34 MiB/min since 10:42:13"; "" if the timeline is too short to tell. */
static void say_growth(const struct profile *profile, char text[RUN_VERDICT_SIZE])
{
	const struct growth_interval whole = {0, profile->duration_ns};
	char rate[UNITS_SIZE], since[UNITS_SIZE];
	struct growth growth;

	growth_of_process(profile, &whole, &growth);
	units_time(when_realtime(profile, growth.since_ns), since);
	units_bytes(growth.per_minute < 0 ? -(uint64_t)growth.per_minute
					  : (uint64_t)growth.per_minute,
		    rate);
	text[0] = 0;
	if (growth.kind == GROWTH_GROWING && was_freed_at_end(profile, &growth))
		snprintf(text, RUN_VERDICT_SIZE, "grew %s/min from %s, freed most at the end", rate,
			 since);
	else if (growth.kind == GROWTH_GROWING || growth.kind == GROWTH_SHRINKING)
		snprintf(text, RUN_VERDICT_SIZE, "%s %s/min since %s",
			 growth_kind_name(growth.kind), rate, since);
	else if (growth.kind == GROWTH_STEADY)
		snprintf(text, RUN_VERDICT_SIZE, "steady since %s", since);
	else if (growth.kind == GROWTH_VARYING)
		snprintf(text, RUN_VERDICT_SIZE, "rising and falling");
}

const char *run_verdict(const struct profile *profile, char text[RUN_VERDICT_SIZE])
{
	char moves[RUN_VERDICT_SIZE], holder[RUN_VERDICT_SIZE];

	say_growth(profile, moves);
	if (!profile->totals.alloc_count)
		strcpy(holder, "nothing was allocated");
	else if (!profile_live_bytes(&profile->totals))
		strcpy(holder, "everything was freed");
	else if (!find_holder(profile, holder))
		strcpy(holder, "no site can be named");
	snprintf(text, RUN_VERDICT_SIZE, "%.100s%s%.400s", moves, moves[0] ? ": " : "", holder);
	return text;
}
