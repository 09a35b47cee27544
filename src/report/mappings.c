/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mappings.c - see mappings.h: the view --mappings, and what the first page says.
 */
#include "report/mappings.h"

#include <stdlib.h>

#include "profile/rss.h"
#include "report/head.h"
#include "report/page.h"
#include "report/name.h"
#include "report/source.h"
#include "report/stack.h"
#include "report/table.h"
#include "report/verdict_words.h"

enum { ROWS = 10, FRAMES = 8, SITES_NAMED = 3, MATTERS_PART = 4 };

#define MATTERS_LEAST (UINT64_C(1) << 20)

bool mappings_open(const struct report *report, struct report *mapped, struct error *err)
{
	*mapped = (struct report){
		.profile = report->profile->mapped,
		.names = report->names,
		.options = report->options,
		.out = report->out,
	};
	if (report_open(mapped, err) && report_find_verdicts(mapped, err)) {
		report_sort(mapped, SITES_LIVE);
		return true;
	}
	report_close(mapped);
	return false;
}

bool mappings_measure(struct report *mapped, struct error *err)
{
	const struct profile *profile = mapped->profile;
	uint64_t *resident;

	if (!profile->is_live || !profile->is_mapped || !profile->stack_count)
		return true;
	resident = calloc(profile->stack_count, sizeof(*resident));
	if (!resident)
		return error_set(err, "no memory for %u call stacks", profile->stack_count);
	if (!rss_of_mappings(profile->whole, resident, err)) {
		free(resident);
		return false;
	}
	mapped->resident = resident;
	return true;
}

uint64_t mappings_resident(const struct report *mapped, uint32_t stack)
{
	return mapped->resident ? mapped->resident[stack] : mapped->profile->resident[stack];
}

static bool is_recorded(const struct profile *profile)
{
	return atomic_load_explicit(&profile->header.rss.time_ns, memory_order_relaxed) != 0;
}

bool mappings_is_measured(const struct report *mapped)
{
	return mapped->resident || is_recorded(mapped->profile);
}

/* Of all call stacks; 0 also if it was not measured. */
static uint64_t resident(const struct report *mapped)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < mapped->profile->stack_count; i++)
		sum += mappings_resident(mapped, i);
	return sum;
}

static uint64_t mapped_now(const struct profile *mapped)
{
	return profile_live_bytes(&mapped->totals);
}

/* The resident set at the latest point; what is mapped if that is not known. */
static uint64_t last_rss(const struct profile *mapped)
{
	uint64_t rss = mapped->point_count ? mapped->points[mapped->point_count - 1].rss_bytes : 0;

	return rss ? rss : mapped_now(mapped);
}

/* Reserved addresses are no memory: what of it is resident decides, or could be where that was not measured. */
bool mappings_matter(const struct profile *profile)
{
	const struct profile *mapped = profile->mapped;
	uint64_t heap = profile_live_bytes(&profile->totals), bytes;

	if (!profile_maps(profile))
		return false;
	bytes = mapped_now(mapped) < last_rss(mapped) ? mapped_now(mapped) : last_rss(mapped);
	if (is_recorded(profile))
		bytes = resident(&(struct report){.profile = mapped});
	return bytes >= MATTERS_LEAST && bytes >= heap / MATTERS_PART;
}

/* From the middle of the time on. */
bool mappings_may_grow(const struct profile *profile)
{
	uint64_t before = 0, now = profile_maps(profile) ? mapped_now(profile->mapped) : 0;

	for (uint32_t i = 0; i < profile->point_count; i++)
		if (profile->points[i].time_ns <= profile->duration_ns / 2)
			before = profile->points[i].mapped_bytes;
	return now > before && now - before >= MATTERS_LEAST;
}

/* Sums by place of the site, to be freed; NULL: no memory.  Where it was not measured what of it is resident, all that is mapped counts. */
static uint64_t *weights(const struct report *mapped)
{
	const struct profile *profile = mapped->profile;
	uint64_t *sums = calloc((size_t)places_limit(mapped->places) + 1, sizeof(*sums));
	bool is_measured = resident(mapped) > 0;

	for (uint32_t i = 0; sums && i < profile->stack_count; i++)
		if (mapped->sites->of_stack[i] != SITES_NONE)
			sums[mapped->sites->of_stack[i]] += is_measured
								    ? mappings_resident(mapped, i)
								    : profile_live_bytes(
									      &profile->stacks[i]
										       .counts);
	return sums;
}

static const struct site *heaviest(const struct report *mapped, const uint64_t *sums)
{
	const struct site *best = NULL, *site;

	for (uint32_t i = 0; i < mapped->sites->count; i++) {
		site = &mapped->sites->items[i];
		if (sums[site->place] && (!best || sums[site->place] > sums[best->place]))
			best = site;
	}
	return best;
}

/* Who has most of it: of what is resident, where that was measured. */
static void put_who(const struct report *mapped, FILE *file)
{
	uint64_t *sums = weights(mapped);
	const struct site *site = sums ? heaviest(mapped, sums) : NULL;
	char bytes[UNITS_SIZE];
	struct name name;

	if (site) {
		name = name_of_site(mapped, site);
		fprintf(file, ", %s by ", units_bytes(sums[site->place], bytes));
		name_in_text(mapped, &name, file);
	}
	free(sums);
}

/* The site that grows, if one does. */
static void put_growth(const struct report *mapped, FILE *file)
{
	const struct verdict *culprit = verdicts_culprit(mapped->verdicts);
	const struct site *site = culprit ? verdicts_site(mapped->sites, culprit) : NULL;
	struct limit limit;
	struct name name;

	if (!site)
		return;
	name = name_of_site(mapped, site);
	name_in_text(mapped, &name, file);
	fputs(" grows ", file);
	verdict_words_rate(mapped->profile, culprit, file);
	fputs(". ", file);
	if (!verdicts_limit(mapped->profile, &mapped->growth, mapped->verdicts, &limit))
		return;
	verdict_words_limit(mapped->profile, &limit, "At", file);
	fputs(". ", file);
}

void mappings_words(const struct report *mapped, FILE *file)
{
	uint64_t measured = resident(mapped), now = mapped_now(mapped->profile);
	uint64_t peak = atomic_load_explicit(&mapped->profile->header.peak_bytes,
					     memory_order_relaxed);
	char bytes[UNITS_SIZE], some[UNITS_SIZE];

	fprintf(file, "Not heap: %s of the program's own mappings (mmap)", units_bytes(now, bytes));
	if (peak / 2 > now)
		fprintf(file, ", at most %s at one time", units_bytes(peak, some));
	if (measured)
		fprintf(file, ", %s of it resident", units_bytes(measured, some));
	else if (now > last_rss(mapped->profile))
		fputs(", more than is resident", file);
	put_who(mapped, file);
	fputs(mapped->options->no_hints ? ". " : ": --mappings. ", file);
	put_growth(mapped, file);
}

/* begin: what comes before the first of the sites. */
static void put_weights(const struct report *mapped, uint64_t *sums, const char *begin, FILE *file)
{
	const struct site *site;
	char bytes[UNITS_SIZE];
	struct name name;

	for (int i = 0; i < SITES_NAMED && (site = heaviest(mapped, sums)); i++) {
		name = name_of_site(mapped, site);
		fprintf(file, "%s%s by ", i ? ", " : begin, units_bytes(sums[site->place], bytes));
		name_in_text(mapped, &name, file);
		sums[site->place] = 0;
	}
	fputs(". ", file);
}

void mappings_resident_words(const struct report *report, FILE *file)
{
	struct report mapped;
	struct error err;
	uint64_t *sums;

	if (!mappings_open(report, &mapped, &err))
		return;
	sums = weights(&mapped);
	if (sums && heaviest(&mapped, sums))
		put_weights(&mapped, sums, "Mapped by the program itself: ", file);
	free(sums);
	report_close(&mapped);
}

/* --- the view --------------------------------------------------------------------------------- */

/* Where it was measured; with the sites that have most of it. */
static void put_resident(const struct report *mapped, FILE *file)
{
	uint64_t bytes = resident(mapped), *sums = bytes ? weights(mapped) : NULL;
	const char *verb = mapped->profile->is_live ? "is" : "was";
	char text[UNITS_SIZE];

	if (!mappings_is_measured(mapped))
		return;
	if (bytes)
		fprintf(file, "%s of it %s resident", units_bytes(bytes, text), verb);
	else
		fprintf(file, "None of it %s resident", verb);
	if (sums && heaviest(mapped, sums))
		put_weights(mapped, sums, ": ", file);
	else
		fputs(". ", file);
	free(sums);
}

void mappings_intro_print(const struct report *mapped)
{
	const struct profile *profile = mapped->profile;
	char now[UNITS_SIZE], calls[UNITS_SIZE], all[UNITS_SIZE], peak[UNITS_SIZE];
	struct page_text text;

	page_text_begin(&text, mapped->out);
	fprintf(text.file,
		"%s anonymous memory that the program mapped itself (mmap, mremap, sbrk), past "
		"malloc: no part of the heap. ",
		profile->is_live ? "Now mapped:" : "At the end:");
	fprintf(text.file, "%s, at most %s at one time; %s in all, in %s call%s. ",
		units_bytes(mapped_now(profile), now),
		units_bytes(atomic_load_explicit(&profile->header.peak_bytes, memory_order_relaxed),
			    peak),
		units_bytes(profile->totals.alloc_bytes, all),
		units_count(profile->totals.alloc_count, calls),
		profile->totals.alloc_count == 1 ? "" : "s");
	put_resident(mapped, text.file);
	put_growth(mapped, text.file);
	page_text_end(&text, mapped->out, PAGE_INDENT);
}

static bool print_heaviest(const struct report *mapped, struct error *err)
{
	uint32_t count, *stacks = sites_stacks(mapped->sites, NULL, mapped->key, &count);
	const struct profile_stack *stack;
	char bytes[UNITS_SIZE];

	if (!stacks)
		return error_set(err, "no memory for the call stacks");
	if (count && profile_live_bytes(&mapped->profile->stacks[stacks[0]].counts)) {
		stack = &mapped->profile->stacks[stacks[0]];
		fprintf(mapped->out->file, "\n  The largest, %s by %s:\n",
			units_bytes(profile_live_bytes(&stack->counts), bytes),
			profile_hook_name(stack->hook));
		stack_print(mapped, stacks[0], FRAMES);
	}
	free(stacks);
	return true;
}

/* Why it is not known what of it is resident. */
static void print_unmeasured(const struct report *mapped, const struct error *reason)
{
	if (mapped->profile->is_live)
		page_sentence(mapped->out, "What of it is resident was not measured: %s.",
			      reason->text);
	else
		page_sentence(
			mapped->out,
			"What of it was resident is not known: that is measured at the end of "
			"a process, and was not here.");
}

bool view_mappings(struct report *report, struct error *err)
{
	unsigned rows = report->options->top ? report->options->top : ROWS;
	struct error reason = {""};

	head_print(report);
	if (!report->profile->is_mapped || !report->profile->stack_count) {
		page_sentence(report->out, "The program mapped no memory itself.");
		return true;
	}
	if (!report_find_verdicts(report, err))
		return false;
	/* Who has nothing mapped any more is a row too. */
	sites_refine(report->sites, 1u << SITES_LIVE | 1u << SITES_ALLOC);
	report_sort(report, report->options->key < SITES_KEYS ? report->options->key : SITES_LIVE);
	head_print_selection(report);
	mappings_measure(report, &reason);
	mappings_intro_print(report);
	if (!mappings_is_measured(report))
		print_unmeasured(report, &reason);
	if (!report->sites->count)
		return true;
	fputc('\n', report->out->file);
	table_print(report, rows);
	source_print_sites(report, rows);
	return print_heaviest(report, err);
}
