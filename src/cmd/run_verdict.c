/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_verdict.c - the end of the timeline in words, and who is to blame: of a growing heap the one that grows most, else the
 * one that holds most.
 */
#include "cmd/run_verdict.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/units.h"
#include "profile/growth.h"
#include "profile/names.h"
#include "profile/places.h"
#include "profile/estimate.h"
#include "profile/pinned.h"
#include "profile/retained.h"
#include "profile/sites.h"
#include "profile/verdict.h"
#include "profile/when.h"
#include "report/failed_words.h"
#include "report/pinned_words.h"
#include "report/rss_words.h"
#include "report/verdict_words.h"

enum { FUNCTION_MAX = 80 };

enum how_much { WITH_RATE, WITHOUT_RATE };

/* What the sentence needs: all of one profile. */
struct sentence {
	const struct profile *profile;
	struct growth growth;
	struct names *names;
	struct places *places;
	struct sites *sites;	       /* NULL: nobody can be named */
	struct verdicts *verdicts;     /* NULL if there are no sites */
	const struct verdict *culprit; /* NULL: no site grows */
};

static void sentence_open(struct sentence *sentence, const struct profile *profile)
{
	const struct growth_interval whole = {0, profile->duration_ns};
	struct sites_query query = {.profile = profile, .interval = whole};
	struct error ignored;

	*sentence = (struct sentence){.profile = profile};
	growth_of_process(profile, &whole, &sentence->growth);
	if (sentence->growth.kind != GROWTH_UNKNOWN)
		query.interval = (struct growth_interval){sentence->growth.since_ns,
							  sentence->growth.until_ns};
	sentence->names = names_new(profile);
	sentence->places = sentence->names ? places_new(profile, sentence->names) : NULL;
	query.names = sentence->names;
	query.places = sentence->places;
	if (sentence->places && !sites_build(&query, &sentence->sites, &ignored))
		sentence->sites = NULL;
	if (sentence->sites && verdicts_find(sentence->sites, &sentence->growth, &whole,
					     &sentence->verdicts, &ignored))
		sentence->culprit = verdicts_culprit(sentence->verdicts);
}

static void sentence_close(struct sentence *sentence)
{
	verdicts_free(sentence->verdicts);
	sites_free(sentence->sites);
	if (sentence->places)
		places_free(sentence->places);
	if (sentence->names)
		names_free(sentence->names);
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
static void name_place(const struct sentence *sentence, uint32_t number, char text[RUN_VERDICT_SIZE])
{
	const struct place *place = places_get(sentence->places, number);
	const struct profile_module *module = places_module(sentence->places, place);
	const struct symbol *symbol = place->symbol;
	const char *object = module && module->path[0] ? path_last_part(module->path)
						       : "[anonymous]";
	char function[FUNCTION_MAX + 1];

	if (!symbol->function) {
		snprintf(text, RUN_VERDICT_SIZE, "%.100s+0x%" PRIx64, object, symbol->offset);
		return;
	}
	shorten(names_short(sentence->names, place->location, symbol), function);
	if (symbol->file && symbol->line)
		snprintf(text, RUN_VERDICT_SIZE, "%s (%.100s:%u)", function,
			 path_last_part(symbol->file), symbol->line);
	else if (symbol->file)
		snprintf(text, RUN_VERDICT_SIZE, "%s (%.100s)", function,
			 path_last_part(symbol->file));
	else if (module)
		snprintf(text, RUN_VERDICT_SIZE, "%s (%.100s)", function, object);
	else
		snprintf(text, RUN_VERDICT_SIZE, "%s", function);
}

static void name_site(const struct sentence *sentence, const struct site *site,
		      char text[RUN_VERDICT_SIZE])
{
	name_place(sentence, site->place, text);
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
static bool say_holder(const struct sentence *sentence, char text[RUN_VERDICT_SIZE])
{
	const struct sites *sites = sentence->sites;
	char name[RUN_VERDICT_SIZE], size[UNITS_SIZE], share[UNITS_SIZE];
	const struct site *site;

	if (!sites)
		return false;
	sites_sort(sentence->sites, SITES_LIVE);
	site = find_holder(sites);
	if (!site)
		return false;
	name_site(sentence, site, name);
	snprintf(text, RUN_VERDICT_SIZE, "%.300s holds %s, %s", name,
		 estimate_bytes(site->counts.live_bytes, sentence->profile->header.sample_bytes,
				size),
		 units_share(site->counts.live_bytes, sites->totals.live_bytes, share));
	return true;
}

static bool find_grower(const struct sentence *sentence, struct sites_grower *grower)
{
	if (sentence->growth.kind != GROWTH_GROWING || !sentence->sites)
		return false;
	return verdicts_grower(sentence->sites, sentence->culprit, grower);
}

/* How the culprit grows, put behind the text. */
static void add_how(const struct sentence *sentence, enum how_much how_much,
		    char text[RUN_VERDICT_SIZE])
{
	size_t used = strlen(text);
	FILE *file = fmemopen(text + used, RUN_VERDICT_SIZE - used, "w");

	if (!file)
		return;
	if (how_much == WITH_RATE)
		verdict_words_rate(sentence->profile, sentence->culprit, file);
	else
		verdict_words_how(sentence->profile, sentence->culprit, file);
	fclose(file);
	text[RUN_VERDICT_SIZE - 1] = 0;
}

/* "note_timeout (server.c:6) makes 100 % of it, holds 703.1 KiB; steady ..."; false: no site grew. */
static bool say_grower(const struct sentence *sentence, char text[RUN_VERDICT_SIZE])
{
	char name[RUN_VERDICT_SIZE], size[UNITS_SIZE], share[UNITS_SIZE];
	struct sites_grower grower;

	if (!find_grower(sentence, &grower))
		return false;
	name_site(sentence, grower.site, name);
	snprintf(text, RUN_VERDICT_SIZE,
		 sentence->growth.freed_at_end ? "%.300s made %s of the growth and held %s"
					       : "%.300s makes %s of it, holds %s",
		 name, units_share(grower.growth, grower.all_growth, share),
		 estimate_bytes(grower.live_bytes, sentence->profile->header.sample_bytes, size));
	if (sentence->culprit && !sentence->growth.freed_at_end) {
		strcat(text, ", ");
		add_how(sentence, WITHOUT_RATE, text);
	}
	return true;
}

/* A site that grows in a heap that as a whole does not: "note_timeout (server.c:6) grows 1.2 MiB/min since ...". */
static bool say_hidden_grower(const struct sentence *sentence, char text[RUN_VERDICT_SIZE])
{
	char name[RUN_VERDICT_SIZE];

	if (!sentence->culprit)
		return false;
	name_site(sentence, verdicts_site(sentence->sites, sentence->culprit), name);
	snprintf(text, RUN_VERDICT_SIZE, "%.300s grows ", name);
	add_how(sentence, WITH_RATE, text);
	return true;
}

/* "growing 34 MiB/min since 10:42:13"; "" if the timeline is too short to tell, or of nothing. */
static void say_growth(const struct sentence *sentence, char text[RUN_VERDICT_SIZE])
{
	const struct growth *growth = &sentence->growth;
	char rate[UNITS_SIZE], since[UNITS_SIZE], until[UNITS_SIZE];

	units_time(when_realtime(sentence->profile, growth->since_ns), since);
	units_time(when_realtime(sentence->profile, growth->until_ns), until);
	units_bytes(growth->per_minute < 0 ? -(uint64_t)growth->per_minute
					   : (uint64_t)growth->per_minute,
		    rate);
	text[0] = 0;
	if (!sentence->profile->totals.alloc_count)
		return;
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

/* "at this rate the cgroup's limit of 4.0 GiB would have been reached in 3.1 h", or "". */
static void say_limit(const struct sentence *sentence, char text[RUN_VERDICT_SIZE])
{
	struct limit limit;
	FILE *file;

	text[0] = 0;
	if (!sentence->verdicts ||
	    !verdicts_limit(sentence->profile, &sentence->growth, sentence->verdicts, &limit))
		return;
	file = fmemopen(text, RUN_VERDICT_SIZE, "w");
	if (!file)
		return;
	verdict_words_limit(sentence->profile, &limit, "at", file);
	fclose(file);
}

/* "Logger::intern (log.c:8) holds 38.0 MiB live and pins 410.2 MiB", if that is a considerable part. */
static void put_pinner(const struct sentence *sentence, FILE *file)
{
	struct pinned *pinned = pinned_recorded(sentence->profile);
	struct pinned_site *sites = NULL;
	char name[RUN_VERDICT_SIZE], live[UNITS_SIZE], pins[UNITS_SIZE];
	uint32_t count = 0;

	if (pinned && sentence->sites && pinned_words_matter(&pinned->rss))
		sites = pinned_sites(pinned, sentence->sites, &count);
	if (count) {
		name_site(sentence, sites[0].site, name);
		fprintf(file, "%.300s holds %s live and pins %s. ", name,
			units_bytes(sites[0].site->counts.live_bytes, live),
			units_bytes(sites[0].part.bytes, pins));
	}
	free(sites);
	pinned_free(pinned);
}

static void say_retained(const struct sentence *sentence, struct run_verdict *verdict)
{
	const size_t size = sizeof(verdict->retained);
	struct retained retained;
	struct rss rss;
	size_t length;
	FILE *file;

	memset(verdict->retained, 0, size);
	if (sentence->profile->is_mapped || !rss_recorded(sentence->profile, &rss) ||
	    !retained_find(sentence->profile, &rss, &retained))
		return;
	file = fmemopen(verdict->retained, size - 1, "w");
	if (!file)
		return;
	rss_words_retained(sentence->profile, &retained,
			   rss_words_begin(&sentence->growth, verdict->grows), file);
	put_pinner(sentence, file);
	fclose(file);
	/* It begins and ends as a sentence in a paragraph does. */
	verdict->retained[0] = (char)tolower(verdict->retained[0]);
	length = strlen(verdict->retained);
	while (length && strchr(" .", verdict->retained[length - 1]))
		verdict->retained[--length] = 0;
}

/* Why nothing is said of growth, put behind the text. */
static void add_unknown(const struct profile *profile, char text[RUN_VERDICT_SIZE])
{
	size_t used = strlen(text);
	FILE *file = fmemopen(text + used, RUN_VERDICT_SIZE - used, "w");

	if (!file)
		return;
	fputs("; ", file);
	verdict_words_unknown(profile, file);
	fclose(file);
	text[RUN_VERDICT_SIZE - 1] = 0;
}

/* The name of the site of the first failure; false: not known. */
static bool name_failed(const struct sentence *sentence, char text[RUN_VERDICT_SIZE])
{
	const struct profile *profile = sentence->profile;
	uint32_t node;

	if (!profile->failure_count || !sentence->places)
		return false;
	node = names_site(sentence->names, &profile->failures[0].stack);
	if (node == 0)
		return false;
	name_place(sentence, places_find(sentence->places, profile->nodes[node].location), text);
	return true;
}

static void say_failed(const struct sentence *sentence, char text[RUN_VERDICT_SIZE])
{
	char name[RUN_VERDICT_SIZE];
	bool named = name_failed(sentence, name);
	FILE *file;

	memset(text, 0, RUN_VERDICT_SIZE);
	if (sentence->profile->is_mapped || !failed_words_count(sentence->profile))
		return;
	file = fmemopen(text, RUN_VERDICT_SIZE - 1, "w");
	if (!file)
		return;
	failed_words_put(sentence->profile, named ? name : NULL, file);
	fclose(file);
}

void run_verdict(const struct profile *profile, struct run_verdict *verdict)
{
	char moves[RUN_VERDICT_SIZE], blame[RUN_VERDICT_SIZE];
	struct sentence sentence;
	bool hidden = false;

	sentence_open(&sentence, profile);
	say_growth(&sentence, moves);
	if (!profile->totals.alloc_count)
		strcpy(blame, "no allocation was recorded");
	else if (say_grower(&sentence, blame) || (hidden = say_hidden_grower(&sentence, blame)))
		;
	else if (!profile_live_bytes(&profile->totals))
		strcpy(blame, "everything was freed");
	else if (!say_holder(&sentence, blame))
		strcpy(blame, "no site can be named");
	say_limit(&sentence, verdict->limit);
	verdict->grows = sentence.growth.kind == GROWTH_GROWING || hidden;
	say_retained(&sentence, verdict);
	say_failed(&sentence, verdict->failed);
	sentence_close(&sentence);
	if (!moves[0] && !profile->is_mapped && profile->totals.alloc_count)
		add_unknown(profile, blame);
	/* A site that grows comes first: the heap as a whole may be steady, and that be no comfort. */
	if (hidden && moves[0])
		snprintf(verdict->text, RUN_VERDICT_SIZE, "%.400s; the heap as a whole: %.80s",
			 blame, moves);
	else
		snprintf(verdict->text, RUN_VERDICT_SIZE, "%.100s%s%.400s", moves,
			 moves[0] ? ": " : "", blame);
}

static bool heap_grows(const struct profile *profile)
{
	struct sentence sentence;
	bool grows;

	sentence_open(&sentence, profile);
	grows = sentence.growth.kind == GROWTH_GROWING || sentence.culprit;
	sentence_close(&sentence);
	return grows;
}

bool run_verdict_mapped(const struct profile *profile, struct run_verdict *verdict)
{
	char name[RUN_VERDICT_SIZE];
	struct sentence sentence;
	bool found;

	if (!profile_maps(profile) || heap_grows(profile))
		return false;
	sentence_open(&sentence, profile->mapped);
	found = sentence.culprit != NULL;
	if (found) {
		name_site(&sentence, verdicts_site(sentence.sites, sentence.culprit), name);
		snprintf(verdict->text, RUN_VERDICT_SIZE, "%.300s maps ", name);
		add_how(&sentence, WITH_RATE, verdict->text);
		say_limit(&sentence, verdict->limit);
	}
	sentence_close(&sentence);
	return found;
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
	struct sentence sentence;
	bool found;

	sentence_open(&sentence, profile);
	found = find_grower(&sentence, &grower);
	if (found) {
		name_site(&sentence, grower.site, name);
		snprintf(text, RUN_VERDICT_SIZE, "%s %s/min%s: %.300s",
			 sentence.growth.freed_at_end ? "grew" : "growing",
			 units_bytes((uint64_t)sentence.growth.per_minute, rate),
			 sentence.growth.freed_at_end ? ", then freed most of it" : "", name);
	}
	sentence_close(&sentence);
	return found;
}
