/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_verdict.c - the end of the timeline in words, and who is to blame: of a growing heap the one that grows most, else the
 * one that holds most.
 */
#include "cmd/run_verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "profile/growth.h"
#include "profile/names.h"
#include "profile/places.h"
#include "profile/estimate.h"
#include "profile/sites.h"
#include "profile/when.h"

enum { FUNCTION_MAX = 80 };

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* What the sentence needs: all of one profile. */
struct verdict {
	const struct profile *profile;
	struct growth growth;
	struct names *names;
	struct places *places;
	struct sites *sites; /* NULL: nobody can be named */
};

static void verdict_open(struct verdict *verdict, const struct profile *profile)
{
	const struct growth_interval whole = {0, profile->duration_ns};
	struct sites_query query = {.profile = profile, .interval = whole};
	struct error ignored;

	*verdict = (struct verdict){.profile = profile};
	growth_of_process(profile, &whole, &verdict->growth);
	if (verdict->growth.kind != GROWTH_UNKNOWN)
		query.interval = (struct growth_interval){verdict->growth.since_ns,
							  verdict->growth.until_ns};
	verdict->names = names_new(profile);
	verdict->places = verdict->names ? places_new(profile, verdict->names) : NULL;
	query.names = verdict->names;
	query.places = verdict->places;
	if (verdict->places && !sites_build(&query, &verdict->sites, &ignored))
		verdict->sites = NULL;
}

static void verdict_close(struct verdict *verdict)
{
	sites_free(verdict->sites);
	if (verdict->places)
		places_free(verdict->places);
	if (verdict->names)
		names_free(verdict->names);
}

/* The function's name, cut in the middle: even short names of templates can be long. */
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
static void name_site(const struct verdict *verdict, const struct site *site,
		      char text[RUN_VERDICT_SIZE])
{
	const struct place *place = places_get(verdict->places, site->place);
	const struct profile_module *module = places_module(verdict->places, place);
	const struct symbol *symbol = place->symbol;
	const char *object = module && module->path[0] ? base_name(module->path) : "[anonymous]";
	char function[FUNCTION_MAX + 1];

	if (!symbol->function) {
		snprintf(text, RUN_VERDICT_SIZE, "%.100s+0x%" PRIx64, object, symbol->offset);
		return;
	}
	shorten(names_short(verdict->names, place->location, symbol), function);
	if (symbol->file && symbol->line)
		snprintf(text, RUN_VERDICT_SIZE, "%s (%.100s:%u)", function,
			 base_name(symbol->file), symbol->line);
	else if (symbol->file)
		snprintf(text, RUN_VERDICT_SIZE, "%s (%.100s)", function, base_name(symbol->file));
	else if (module)
		snprintf(text, RUN_VERDICT_SIZE, "%s (%.100s)", function, object);
	else
		snprintf(text, RUN_VERDICT_SIZE, "%s", function);
}

/* The largest that is not the start-up of libraries; that, if there is no other.  NULL: nothing is live. */
static const struct site *find_holder(const struct sites *sites)
{
	for (uint32_t i = 0; i < sites->count && sites->items[i].counts.live_bytes; i++)
		if (!sites_is_start_up(sites, &sites->items[i]))
			return &sites->items[i];
	return sites->count && sites->items[0].counts.live_bytes ? sites->items : NULL;
}

/* "Session::remember (session.rs:88) holds 371.2 MiB, 90 %"; false: nobody can be named. */
static bool say_holder(const struct verdict *verdict, char text[RUN_VERDICT_SIZE])
{
	const struct sites *sites = verdict->sites;
	char name[RUN_VERDICT_SIZE], size[UNITS_SIZE], share[UNITS_SIZE];
	const struct site *site;

	if (!sites)
		return false;
	sites_sort(verdict->sites, SITES_LIVE);
	site = find_holder(sites);
	if (!site)
		return false;
	name_site(verdict, site, name);
	snprintf(text, RUN_VERDICT_SIZE, "%.300s holds %s, %s", name,
		 estimate_bytes(site->counts.live_bytes, verdict->profile->header.sample_bytes, size),
		 units_share(site->counts.live_bytes, sites->totals.live_bytes, share));
	return true;
}

static bool find_grower(const struct verdict *verdict, struct sites_grower *grower)
{
	if (verdict->growth.kind != GROWTH_GROWING || !verdict->sites)
		return false;
	sites_refine(verdict->sites, 1u << SITES_GROWTH);
	return sites_find_grower(verdict->sites, grower);
}

/* "note_timeout (server.c:6) makes 100 % of it, holds 703.1 KiB"; false: no site grew. */
static bool say_grower(const struct verdict *verdict, char text[RUN_VERDICT_SIZE])
{
	char name[RUN_VERDICT_SIZE], size[UNITS_SIZE], share[UNITS_SIZE];
	struct sites_grower grower;

	if (!find_grower(verdict, &grower))
		return false;
	name_site(verdict, grower.site, name);
	snprintf(text, RUN_VERDICT_SIZE,
		 verdict->growth.freed_at_end ? "%.300s made %s of the growth and held %s"
					      : "%.300s makes %s of it, holds %s",
		 name, units_share(grower.growth, grower.all_growth, share),
		 estimate_bytes(grower.live_bytes, verdict->profile->header.sample_bytes, size));
	return true;
}

/* "growing 34 MiB/min since 10:42:13"; "" if the timeline is too short to tell. */
static void say_growth(const struct verdict *verdict, char text[RUN_VERDICT_SIZE])
{
	const struct growth *growth = &verdict->growth;
	char rate[UNITS_SIZE], since[UNITS_SIZE], until[UNITS_SIZE];

	units_time(when_realtime(verdict->profile, growth->since_ns), since);
	units_time(when_realtime(verdict->profile, growth->until_ns), until);
	units_bytes(growth->per_minute < 0 ? -(uint64_t)growth->per_minute
					   : (uint64_t)growth->per_minute,
		    rate);
	text[0] = 0;
	if (growth->kind == GROWTH_GROWING && growth->freed_at_end)
		snprintf(text, RUN_VERDICT_SIZE, "grew %s/min until %s, then freed most of it",
			 rate, until);
	else if (growth->kind == GROWTH_GROWING || growth->kind == GROWTH_SHRINKING)
		snprintf(text, RUN_VERDICT_SIZE, "%s %s/min since %s",
			 growth_kind_name(growth->kind), rate, since);
	else if (growth->kind == GROWTH_STEADY)
		snprintf(text, RUN_VERDICT_SIZE, "steady since %s", since);
	else if (growth->kind == GROWTH_VARYING)
		snprintf(text, RUN_VERDICT_SIZE, "rising and falling");
}

const char *run_verdict(const struct profile *profile, char text[RUN_VERDICT_SIZE])
{
	char moves[RUN_VERDICT_SIZE], blame[RUN_VERDICT_SIZE];
	struct verdict verdict;

	verdict_open(&verdict, profile);
	say_growth(&verdict, moves);
	if (!profile->totals.alloc_count)
		strcpy(blame, "no allocation was recorded");
	else if (say_grower(&verdict, blame))
		;
	else if (!profile_live_bytes(&profile->totals))
		strcpy(blame, "everything was freed");
	else if (!say_holder(&verdict, blame))
		strcpy(blame, "no site can be named");
	verdict_close(&verdict);
	snprintf(text, RUN_VERDICT_SIZE, "%.100s%s%.400s", moves, moves[0] ? ": " : "", blame);
	return text;
}

int64_t run_verdict_rate(const struct profile *profile)
{
	const struct growth_interval whole = {0, profile->duration_ns};
	struct growth growth;

	growth_of_process(profile, &whole, &growth);
	return growth.kind == GROWTH_GROWING ? growth.per_minute : 0;
}

bool run_verdict_growth(const struct profile *profile, char text[RUN_VERDICT_SIZE])
{
	char name[RUN_VERDICT_SIZE], rate[UNITS_SIZE];
	struct sites_grower grower;
	struct verdict verdict;
	bool found;

	verdict_open(&verdict, profile);
	found = find_grower(&verdict, &grower);
	if (found) {
		name_site(&verdict, grower.site, name);
		snprintf(text, RUN_VERDICT_SIZE, "%s %s/min%s: %.300s",
			 verdict.growth.freed_at_end ? "grew" : "growing",
			 units_bytes((uint64_t)verdict.growth.per_minute, rate),
			 verdict.growth.freed_at_end ? ", then freed most of it" : "", name);
	}
	verdict_close(&verdict);
	return found;
}
