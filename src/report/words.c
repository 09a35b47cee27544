/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * words.c - the answer in words.
 */
#include "report/words.h"

#include <stdlib.h>

#include "profile/when.h"
#include "report/advice_words.h"
#include "report/failed_words.h"
#include "report/mappings.h"
#include "report/name.h"
#include "report/page.h"
#include "report/pinned_words.h"
#include "report/retained_words.h"
#include "report/verdict_words.h"

enum { INDENT = 2, SOURCES = 3 };

#define SECOND_NS UINT64_C(1000000000)

/* The sites with the most of a key. */
struct best {
	const struct site *sites[SOURCES];
	unsigned count;
};

enum who { ALL, WITHOUT_START_UP };

static void find_best_of(const struct report *report, enum sites_key key, enum who who,
			 struct best *best)
{
	uint32_t i;

	best->count = 0;
	for (i = 0; i < report->sites->count; i++) {
		const struct site *site = &report->sites->items[i];
		int64_t value = sites_value(&site->counts, key);
		unsigned at = best->count;

		if (value <= 0 ||
		    (who == WITHOUT_START_UP && sites_is_start_up(report->sites, site)))
			continue;
		while (at > 0 && sites_value(&best->sites[at - 1]->counts, key) < value)
			at--;
		if (at == SOURCES)
			continue;
		if (best->count < SOURCES)
			best->count++;
		for (unsigned j = best->count - 1; j > at; j--)
			best->sites[j] = best->sites[j - 1];
		best->sites[at] = site;
	}
}

/* What starting the libraries took is named only if there is nothing else. */
static void find_best(const struct report *report, enum sites_key key, struct best *best)
{
	find_best_of(report, key, WITHOUT_START_UP, best);
	if (!best->count)
		find_best_of(report, key, ALL, best);
}

static bool has_ended(const struct report *report)
{
	return !report->profile->is_live;
}

static uint64_t total_live(const struct report *report)
{
	return profile_live_bytes(&report->profile->totals);
}

static void put_name(const struct report *report, const struct site *site, FILE *file)
{
	struct name name = name_of_site(report, site);

	name_in_text(report, &name, file);
}

/* What came before a level. */
static const char *before_steady(const struct growth *growth)
{
	switch (growth->trend.class) {
	case TREND_STEP:
		return "up by a step and ";
	case TREND_FILLING:
		return "filled, as a cache does, and ";
	default:
		return "";
	}
}

static void put_growth(const struct report *report, FILE *file)
{
	const struct growth *growth = &report->growth;
	char rate[UNITS_SIZE], time[UNITS_SIZE], low[UNITS_SIZE], high[UNITS_SIZE];
	int64_t per_minute = growth->per_minute;

	units_time(when_realtime(report->profile,
				 growth->freed_at_end ? growth->until_ns : growth->since_ns),
		   time);
	switch (growth->kind) {
	case GROWTH_GROWING:
		fprintf(file,
			growth->freed_at_end ? "grew %s/min until %s, then freed most of it"
					     : "growing %s/min since %s",
			units_bytes((uint64_t)per_minute, rate), time);
		break;
	case GROWTH_SHRINKING:
		fprintf(file, "shrinking %s/min since %s", units_bytes((uint64_t)-per_minute, rate),
			time);
		break;
	case GROWTH_STEADY:
		fprintf(file, "%ssteady since %s", before_steady(growth), time);
		break;
	case GROWTH_VARYING:
		fprintf(file, "up and down between %s and %s", units_bytes(growth->low, low),
			units_bytes(growth->high, high));
		break;
	default:
		break;
	}
	fputs(". ", file);
}

static void put_live(const struct report *report, FILE *file)
{
	char bytes[UNITS_SIZE], blocks[UNITS_SIZE];
	uint64_t count = profile_live_count(&report->profile->totals);

	if (report_has_interval(report)) {
		fputs("The heap in that time: ", file);
		fputs(report->growth.kind == GROWTH_UNKNOWN ? "too few points to tell" : "", file);
		put_growth(report, file);
		return;
	}
	fprintf(file, "Live heap %s%s in %s block%s%s", has_ended(report) ? "at the end " : "",
		report_bytes(report, total_live(report), bytes), units_count(count, blocks),
		count == 1 ? "" : "s", report->growth.kind == GROWTH_UNKNOWN ? "" : ", ");
	put_growth(report, file);
	if (report->growth.kind != GROWTH_UNKNOWN || report->profile->is_mapped)
		return;
	fputs("It ", file);
	verdict_words_unknown(report->profile, file);
	fputs(". ", file);
}

static void put_grower(const struct report *report, const struct sites_grower *grower, FILE *file)
{
	char bytes[UNITS_SIZE], share[UNITS_SIZE], part[UNITS_SIZE];

	put_name(report, grower->site, file);
	units_share(grower->growth, grower->all_growth, part);
	report_bytes(report, grower->live_bytes, bytes);
	if (report->growth.freed_at_end)
		fprintf(file, " made %s of the growth and held %s", part, bytes);
	else
		fprintf(file, " makes %s of the growth and holds %s, %s", part, bytes,
			units_share(grower->live_bytes, total_live(report), share));
}

/* True if a site's growth is that of the process, more or less: then its rate and its begin were said. */
static bool is_process(const struct report *report, const struct verdict *verdict)
{
	const struct growth *growth = &report->growth;
	double all = growth->trend.rate, one = verdict->trend.rate;
	uint64_t early = growth->since_ns, late = verdict->since_ns;

	if (early > late) {
		early = verdict->since_ns;
		late = growth->since_ns;
	}
	return one > 0.95 * all && one < 1.05 * all &&
	       late - early <= (growth->until_ns - early) / 10;
}

static void put_more_leaks(const struct report *report, const struct verdict *culprit, FILE *file)
{
	uint32_t leaks = verdicts_leaks(report->verdicts);

	leaks -= culprit->trend.class == TREND_LEAK;
	if (leaks)
		fprintf(file, "%u more site%s so too%s. ", leaks, leaks == 1 ? " grows" : "s grow",
			report->options->no_hints ? "" : ": --by growth");
}

/* How the one who was named grows: the end of the sentence. */
static void put_how(const struct report *report, const struct verdict *verdict, FILE *file)
{
	if (is_process(report, verdict)) {
		fputs(", ", file);
		verdict_words_how(report->profile, verdict, file);
	} else {
		fputs(report->growth.freed_at_end ? ". It grew " : ". It grows ", file);
		verdict_words_rate(report->profile, verdict, file);
	}
	fputs(". ", file);
	put_more_leaks(report, verdict, file);
}

/* A site that grows in a heap that as a whole does not. */
static void put_hidden_grower(const struct report *report, const struct verdict *verdict, FILE *file)
{
	put_name(report, verdicts_site(report->sites, verdict), file);
	fputs(" grows ", file);
	verdict_words_rate(report->profile, verdict, file);
	fputs(". ", file);
	put_more_leaks(report, verdict, file);
}

static void put_most(const struct report *report, FILE *file)
{
	char bytes[UNITS_SIZE], share[UNITS_SIZE];
	const struct site *site;
	struct best best;

	find_best(report, SITES_LIVE, &best);
	if (!best.count)
		return;
	site = best.sites[0];
	put_name(report, site, file);
	fprintf(file, " holds %s, %s. ", report_bytes(report, site->counts.live_bytes, bytes),
		units_share(site->counts.live_bytes, total_live(report), share));
}

/* Who is to blame: of a growing heap the one that grows most, else the one that holds most. */
static void put_holder(const struct report *report, FILE *file)
{
	const struct verdict *culprit = verdicts_culprit(report->verdicts);
	struct sites_grower grower;

	if (report->growth.kind == GROWTH_GROWING &&
	    verdicts_grower(report->sites, culprit, &grower)) {
		put_grower(report, &grower, file);
		if (culprit)
			put_how(report, culprit, file);
		else
			fputs(". ", file);
		return;
	}
	if (culprit)
		put_hidden_grower(report, culprit, file);
	put_most(report, file);
}

/* When a limit is reached at this rate. */
static void put_limit(const struct report *report, FILE *file)
{
	struct limit limit;

	if (!verdicts_limit(report->profile, &report->growth, report->verdicts, &limit))
		return;
	verdict_words_limit(report->profile, &limit, "At", file);
	fputs(". ", file);
}

void words_peak(const struct report *report, FILE *file)
{
	const struct profile *profile = report->profile;
	uint64_t bytes = atomic_load_explicit(&profile->header.peak_bytes, memory_order_relaxed);
	uint64_t time_ns = atomic_load_explicit(&profile->header.peak_ns, memory_order_relaxed);
	char text[UNITS_SIZE], time[UNITS_SIZE];
	struct best best;
	unsigned i;

	if (bytes < total_live(report))
		bytes = total_live(report);
	fprintf(file, "Peak %s after %s", report_bytes(report, bytes, text),
		units_duration(time_ns, time));
	find_best(report, SITES_PEAK, &best);
	for (i = 0; i < best.count; i++) {
		fprintf(file, "%s %s ", i == 0 ? ":" : ",",
			units_share((uint64_t)best.sites[i]->counts.peak_bytes, bytes, text));
		put_name(report, best.sites[i], file);
	}
	fputs(". ", file);
}

static void put_rate(const struct report *report, uint64_t count, FILE *file)
{
	uint64_t seconds = report->profile->duration_ns / SECOND_NS;
	char text[UNITS_SIZE];

	if (seconds && count / seconds)
		fprintf(file, " (%s/s)", units_count(count / seconds, text));
}

/* Nothing to say below a tenth of the calls, nor of a single one. */
static void put_temporaries(const struct report *report, FILE *file)
{
	uint64_t calls = report->sites->totals.alloc_count;
	uint64_t temporary = report->sites->totals.temporary_count;
	char share[UNITS_SIZE], text[UNITS_SIZE];
	struct best best;
	unsigned i;

	if (!temporary || calls == 1 || temporary < calls / 10)
		return;
	find_best(report, SITES_TEMPORARY, &best);
	fprintf(file, "%s of %s calls were temporary:", units_share(temporary, calls, share),
		units_count(calls, text));
	for (i = 0; i < best.count; i++) {
		uint64_t count = best.sites[i]->counts.temporary_count;

		fprintf(file, "%s %s ", i == 0 ? "" : ",", units_count(count, text));
		put_name(report, best.sites[i], file);
		put_rate(report, count, file);
	}
	fputs(". ", file);
}

static void paragraph(const struct report *report,
		      void (*put)(const struct report *report, FILE *file))
{
	struct page_text text;

	page_text_begin(&text, report->out);
	put(report, text.file);
	page_text_end(&text, report->out, INDENT);
}

static void put_holders(const struct report *report, FILE *file)
{
	put_holder(report, file);
	put_limit(report, file);
}

static void print_retained(const struct report *report, const struct retained_words *retained)
{
	struct page_text text;

	page_text_begin(&text, report->out);
	retained_words_print(retained, report, text.file);
	page_text_end(&text, report->out, INDENT);
}

static void put_mappings(const struct report *report, FILE *file)
{
	struct report mapped;
	struct error err;

	/* Without memory the page is just shorter. */
	if (!mappings_open(report, &mapped, &err))
		return;
	/* Little of it is named only if somebody makes it more and more. */
	if (mappings_matter(report->profile) || verdicts_culprit(mapped.verdicts))
		mappings_words(&mapped, file);
	report_close(&mapped);
}

static bool has_mappings(const struct report *report)
{
	return !report_has_interval(report) && !report->selected &&
	       (mappings_matter(report->profile) || mappings_may_grow(report->profile));
}

/* Who holds most and pins most is named once, with both. */
static bool holder_pins(const struct report *report, const struct retained_words *retained)
{
	struct pinned_site pinner;
	struct best best;

	if (report->growth.kind == GROWTH_GROWING || verdicts_culprit(report->verdicts) ||
	    !pinned_words_find(report, retained->pinned, &pinner))
		return false;
	find_best(report, SITES_LIVE, &best);
	return best.count && best.sites[0] == pinner.site;
}

/* What is live, and what else the process's size is about.  Returns whether that is free memory: it is said first, but after what grows. */
static bool print_size(const struct report *report)
{
	struct retained_words retained;
	bool first, matters;

	retained_words_open(&retained, report->profile);
	matters = retained.matters;
	first = matters && report->growth.kind != GROWTH_GROWING &&
		!verdicts_culprit(report->verdicts);
	if (first)
		print_retained(report, &retained);
	if ((total_live(report) || report->growth.freed_at_end) && !holder_pins(report, &retained))
		paragraph(report, put_holders);
	if (!first)
		print_retained(report, &retained);
	retained_words_close(&retained);
	return matters;
}

static void print_heap(const struct report *report)
{
	bool retained;

	if (!report->profile->stack_count) {
		fprintf(report->out->file, "%*sNo allocation was recorded.\n", INDENT, "");
		return;
	}
	paragraph(report, put_live);
	if (report_has_interval(report))
		return;
	paragraph(report, failed_words_first_page);
	retained = print_size(report);
	if (report->growth.kind == GROWTH_GROWING && !report->growth.freed_at_end)
		return;
	paragraph(report, words_peak);
	/* The page has room for one of the three. */
	if (!retained && !has_mappings(report)) {
		paragraph(report, put_temporaries);
		paragraph(report, advice_words_first_page);
	}
}

void words_print(const struct report *report)
{
	print_heap(report);
	if (has_mappings(report))
		paragraph(report, put_mappings);
}
