/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diff_head.c - what stands above and below the table of a comparison.
 */
#include "report/diff_head.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/mappings.h"
#include "report/page.h"

#define SECOND_NS UINT64_C(1000000000)
#define MINUTE_NS (60 * SECOND_NS)

/* A change of what is mapped that is worth a sentence. */
#define MAPPED_LEAST (UINT64_C(1) << 20)

static bool is_one_profile(const struct diff_page *page)
{
	return page->sides[DIFF_A].profile == page->sides[DIFF_B].profile;
}

static uint64_t loss(const struct profile *profile, enum format_loss kind)
{
	return atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)&profile->header.losses[kind],
				    memory_order_relaxed);
}

static uint32_t loaded32(const _Atomic uint32_t *field)
{
	return atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)field, memory_order_relaxed);
}

static void put_clean(const struct diff_page *page, const char *text, FILE *file)
{
	struct output to = *page->out;

	to.file = file;
	output_safe(&to, text);
}

/* --- warnings -------------------------------------------------------------------------------- */

static void put_losses(const struct profile *profile, FILE *file)
{
	char text[UNITS_SIZE];

	if (loss(profile, FORMAT_LOSS_EVENTS))
		fprintf(file, "%s allocations or frees are lost; ",
			units_count(loss(profile, FORMAT_LOSS_EVENTS), text));
	if (loss(profile, FORMAT_LOSS_PROFILE_BYTES))
		fprintf(file, "%s of the profile are lost; ",
			units_bytes(loss(profile, FORMAT_LOSS_PROFILE_BYTES), text));
	if (loss(profile, FORMAT_LOSS_INTERNAL))
		fprintf(file, "%s assertions of pmem broke; ",
			units_count(loss(profile, FORMAT_LOSS_INTERNAL), text));
	if (loaded32(&profile->header.memory_blocks))
		fprintf(file, "%" PRIu32 " blocks of the profile found no room in the file; ",
			loaded32(&profile->header.memory_blocks));
	if (loaded32(&profile->header.state) == FORMAT_STATE_STOPPED)
		fputs("recording stopped before the process ended; ", file);
}

char *diff_page_flaws(const struct diff_page *page, unsigned side)
{
	const struct profile *profile = page->sides[side].profile;
	char words[PROFILE_DAMAGE_SIZE], *text = NULL;
	size_t size, length;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return NULL;
	if (profile->damage[0]) {
		put_clean(page, profile_damage_text(profile, words), file);
		fputs("; ", file);
	}
	put_losses(profile, file);
	if (fclose(file) != 0 || !text) {
		free(text);
		return NULL;
	}
	length = strlen(text);
	if (length >= 2)
		text[length - 2] = '\0';
	return text;
}

static void __attribute__((format(printf, 2, 3)))
warn(const struct diff_page *page, const char *format, ...)
{
	struct page_text text;
	va_list args;

	page_text_begin(&text, page->out);
	va_start(args, format);
	vfprintf(text.file, format, args);
	va_end(args);
	fputs(output_style(page->out, OUTPUT_YELLOW), page->out->file);
	page_text_end(&text, page->out, PAGE_INDENT);
	fputs(output_style(page->out, OUTPUT_PLAIN), page->out->file);
}

/* Returns how many warnings that were. */
static unsigned warn_programs(const struct diff_page *page)
{
	const char *a = page->sides[DIFF_A].profile->program_name;
	const char *b = page->sides[DIFF_B].profile->program_name;
	struct page_text text;

	if (strcmp(a, b) == 0 || !a[0] || !b[0])
		return 0;
	page_text_begin(&text, page->out);
	fputs("DIFFERENT PROGRAMS: ", text.file);
	put_clean(page, a, text.file);
	fputs(" and ", text.file);
	put_clean(page, b, text.file);
	fputs(". What matches has the same function names, no more.", text.file);
	page_text_end(&text, page->out, PAGE_INDENT);
	return 1;
}

static unsigned warn_flaws(const struct diff_page *page, unsigned side)
{
	const struct format_header *header = &page->sides[side].profile->header;
	char *flaws = diff_page_flaws(page, side), size[UNITS_SIZE];
	unsigned count = 0;

	if (flaws && flaws[0]) {
		warn(page, "INCOMPLETE: in `%s` %s. What differs may be due to that.",
		     page->labels[side], flaws);
		count++;
	}
	free(flaws);
	if (header->sample_bytes) {
		warn(page,
		     "SAMPLED: of `%s` one allocation in %s was recorded; all its figures are "
		     "estimates.",
		     page->labels[side], units_bytes(header->sample_bytes, size));
		count++;
	}
	return count;
}

/* The program itself has no names: the usual reason why nothing matches is that it was built again since. */
static unsigned warn_names(const struct diff_page *page, unsigned side)
{
	const struct report *report = &page->sides[side];
	const char *program = report->profile->program_name;
	const char *const *problem = names_problems(report->names);
	size_t length = strlen(program);

	for (; length && problem && *problem; problem++)
		if (strncmp(*problem, program, length) == 0 && (*problem)[length] == ':')
			break;
	if (!length || !problem || !*problem)
		return 0;
	warn(page,
	     "NO NAMES: the program of `%s`%s. Its call stacks match only those of the very same "
	     "file. Name its bundle instead, or pass --sysroot or --debug-dir.",
	     page->labels[side], *problem + length + 1);
	return 1;
}

void diff_head_warnings(const struct diff_page *page)
{
	unsigned sides = is_one_profile(page) ? 1 : DIFF_SIDES, count = warn_programs(page);

	for (unsigned side = 0; side < sides; side++)
		count += warn_flaws(page, side);
	for (unsigned side = 0; side < sides && !is_one_profile(page); side++)
		count += warn_names(page, side);
	if (count)
		fputc('\n', page->out->file);
}

/* --- totals ---------------------------------------------------------------------------------- */

/* "+3 %", "-1 %", "+<1 %", "x 12"; "" where a is 0. */
static const char *percent(uint64_t a, uint64_t b, char text[UNITS_SIZE])
{
	uint64_t change = b > a ? b - a : a - b, share;
	char sign = b > a ? '+' : '-';

	text[0] = '\0';
	if (a == 0)
		return text;
	share = (uint64_t)((unsigned __int128)(change % a) * 100 / a);
	if (change == 0)
		return strcpy(text, "+0 %");
	if (change / a >= 10)
		snprintf(text, UNITS_SIZE, "x %" PRIu64, b / a);
	else if (change / a == 0 && share == 0)
		snprintf(text, UNITS_SIZE, "%c<1 %%", sign);
	else
		snprintf(text, UNITS_SIZE, "%c%" PRIu64 " %%", sign, change / a * 100 + share);
	return text;
}

/* Behind the last blank: "MiB". */
static const char *unit_of(const char *text)
{
	const char *blank = strrchr(text, ' ');

	return blank ? blank + 1 : "";
}

static const char *live_word(const struct diff_page *page)
{
	return diff_page_is_mapped(page) ? "mapped" : "live";
}

static const char *allocated_words(const struct diff_page *page)
{
	return diff_page_is_mapped(page) ? "mapped in all" : "allocated";
}

/* "live +22.4 MiB (61.0 -> 83.4)": units once if all three are the same. */
static void put_change(FILE *file, const struct diff_page *page)
{
	uint64_t a = page->diff->totals[DIFF_A].live_bytes,
		 b = page->diff->totals[DIFF_B].live_bytes;
	uint64_t error = diff_page_error(page, page->diff->totals, SITES_LIVE);
	const char *what = live_word(page);
	char before[UNITS_SIZE], after[UNITS_SIZE], change[UNITS_SIZE], more[UNITS_SIZE];

	units_bytes(a, before);
	units_bytes(b, after);
	if (a == b) {
		fprintf(file, "%s  unchanged (%s)", what, after);
		return;
	}
	units_bytes_change((int64_t)(b - a), change);
	if (strcmp(unit_of(before), unit_of(after)) == 0 &&
	    strcmp(unit_of(change), unit_of(after)) == 0) {
		before[strlen(before) - strlen(unit_of(before)) - 1] = '\0';
		after[strlen(after) - strlen(unit_of(after)) - 1] = '\0';
	}
	fprintf(file, "%s  %s%s%s (%s -> %s)", what, change, error ? " +-" : "",
		error ? units_bytes(error, more) : "", before, after);
}

static void put_share(FILE *file, const char *what, uint64_t a, uint64_t b)
{
	char text[UNITS_SIZE], count[UNITS_SIZE];

	if (a == b)
		fprintf(file, "    %s unchanged", what);
	else if (a)
		fprintf(file, "    %s %s", what, percent(a, b, text));
	else
		fprintf(file, "    %s 0 -> %s", what,
			strcmp(what, "calls") == 0 || strcmp(what, "temporary") == 0
				? units_count(b, count)
				: units_bytes(b, count));
}

static uint64_t not_negative(int64_t value)
{
	return value > 0 ? (uint64_t)value : 0;
}

static void put_totals(const struct diff_page *page, FILE *file)
{
	const struct sites_counts *a = &page->diff->totals[DIFF_A];
	const struct sites_counts *b = &page->diff->totals[DIFF_B];

	put_change(file, page);
	put_share(file, allocated_words(page), a->alloc_bytes, b->alloc_bytes);
	if (page->diff->is_timed)
		return;
	put_share(file, "calls", a->alloc_count, b->alloc_count);
	if (page->key == SITES_TEMPORARY)
		put_share(file, "temporary", a->temporary_count, b->temporary_count);
	if (page->key == SITES_PEAK)
		put_share(file, "peak", not_negative(a->peak_bytes), not_negative(b->peak_bytes));
}

/* How long a side was recorded up to its moment. */
static uint64_t length_of(const struct diff_page *page, unsigned side)
{
	uint64_t duration = page->sides[side].profile->duration_ns;

	return page->times_ns[side] < duration ? page->times_ns[side] : duration;
}

static uint64_t per_minute(uint64_t value, uint64_t length_ns)
{
	unsigned __int128 rate = (unsigned __int128)value * MINUTE_NS / (length_ns ? length_ns : 1);

	return rate > UINT64_MAX ? UINT64_MAX : (uint64_t)rate;
}

/* "allocated 12.0 MiB -> 13.0 MiB (+8 %)" */
static void put_rate(const struct diff_page *page, FILE *file, const char *what,
		     const uint64_t values[DIFF_SIDES])
{
	const char *(*units)(uint64_t, char *) = strcmp(what, "calls") == 0 ? units_count
									    : units_bytes;
	uint64_t a = per_minute(values[DIFF_A], length_of(page, DIFF_A));
	uint64_t b = per_minute(values[DIFF_B], length_of(page, DIFF_B));
	char before[UNITS_SIZE], after[UNITS_SIZE], share[UNITS_SIZE];

	fprintf(file, "%s %s -> %s", what, units(a, before), units(b, after));
	if (a)
		fprintf(file, " (%s)", percent(a, b, share));
}

static void print_rates(const struct diff_page *page)
{
	const struct sites_counts *totals = page->diff->totals;
	uint64_t a = length_of(page, DIFF_A), b = length_of(page, DIFF_B);
	uint64_t longer = a > b ? a : b, shorter = a > b ? b : a;
	char first[UNITS_SIZE], second[UNITS_SIZE];
	struct page_text text;

	/* Rates of what lasts less than a second say nothing. */
	if (shorter < SECOND_NS || longer - shorter <= longer / 20)
		return;
	page_text_begin(&text, page->out);
	fprintf(text.file, "Recorded for %s and %s. Per minute: ", units_duration(a, first),
		units_duration(b, second));
	put_rate(page, text.file, live_word(page),
		 (uint64_t[]){totals[DIFF_A].live_bytes, totals[DIFF_B].live_bytes});
	fputs(", ", text.file);
	put_rate(page, text.file, allocated_words(page),
		 (uint64_t[]){totals[DIFF_A].alloc_bytes, totals[DIFF_B].alloc_bytes});
	if (!page->diff->is_timed) {
		fputs(", ", text.file);
		put_rate(page, text.file, "calls",
			 (uint64_t[]){totals[DIFF_A].alloc_count, totals[DIFF_B].alloc_count});
	}
	fputc('.', text.file);
	page_text_end(&text, page->out, PAGE_INDENT);
}

/* Between two moments of one profile it is the change that has a rate. */
static void print_rate_between(const struct diff_page *page)
{
	const struct sites_counts *totals = page->diff->totals;
	struct growth_interval interval = {length_of(page, DIFF_A), length_of(page, DIFF_B)};
	char length[UNITS_SIZE], live[UNITS_SIZE], allocated[UNITS_SIZE];

	if (interval.until_ns <= interval.since_ns)
		return;
	page_sentence(
		page->out, "In %s, per minute: %s %s, %s %s.",
		units_duration(interval.until_ns - interval.since_ns, length), live_word(page),
		units_bytes_change(growth_per_minute(diff_change(totals, SITES_LIVE), &interval),
				   live),
		allocated_words(page),
		units_bytes_change(growth_per_minute(diff_change(totals, SITES_ALLOC), &interval),
				   allocated));
}

/* Mapped at the moment of a side. */
static uint64_t mapped_of(const struct diff_page *page, unsigned side)
{
	const struct profile *profile = page->sides[side].profile;
	uint64_t bytes = 0;

	if (page->times_ns[side] >= profile->duration_ns)
		return profile_live_bytes(&profile->mapped->totals);
	for (uint32_t i = 0; i < profile->point_count; i++)
		if (profile->points[i].time_ns <= page->times_ns[side])
			bytes = profile->points[i].mapped_bytes;
	return bytes;
}

/* What the programs map themselves is no part of these totals: a sentence, where there is much more or less of it, or much at all. */
static void print_mappings(const struct diff_page *page)
{
	char a[UNITS_SIZE], b[UNITS_SIZE], change[UNITS_SIZE];
	uint64_t before, after;

	if (diff_page_is_mapped(page) || page->sides[DIFF_A].selected || !diff_page_maps(page))
		return;
	before = mapped_of(page, DIFF_A);
	after = mapped_of(page, DIFF_B);
	if ((before > after ? before - after : after - before) >= MAPPED_LEAST)
		page_sentence(page->out,
			      "Not heap: %s of the programs' own mappings (mmap; %s -> %s): "
			      "--mappings.",
			      units_bytes_change((int64_t)(after - before), change),
			      units_bytes(before, a), units_bytes(after, b));
	else if (mappings_matter(page->sides[DIFF_A].profile) ||
		 mappings_matter(page->sides[DIFF_B].profile))
		page_sentence(page->out,
			      "Not heap: %s of the programs' own mappings (mmap), about as before: "
			      "--mappings.",
			      units_bytes(after, b));
}

void diff_head_totals(const struct diff_page *page)
{
	struct page_text text;

	page_text_begin(&text, page->out);
	put_totals(page, text.file);
	fputs(output_style(page->out, OUTPUT_BOLD), page->out->file);
	page_text_print(&text, page->out);
	fprintf(page->out->file, "%s\n", output_style(page->out, OUTPUT_PLAIN));
	if (is_one_profile(page))
		print_rate_between(page);
	else
		print_rates(page);
	print_mappings(page);
}

/* --- what was compared ----------------------------------------------------------------------- */

static void put_side(const struct diff_page *page, unsigned side, FILE *file)
{
	const struct profile *profile = page->sides[side].profile;
	char date[UNITS_SIZE], length[UNITS_SIZE];

	fprintf(file, "`%s` (", page->labels[side]);
	put_clean(page, profile->program_name[0] ? profile->program_name : "unknown program", file);
	fprintf(file, ", pid %" PRIu32 ", %s, %s%s)", profile->header.pid,
		units_date(profile->header.start_realtime_ns, date),
		units_duration(length_of(page, side), length),
		page->times_ns[side] < profile->duration_ns ? " after its start"
		: profile->is_live			    ? " so far"
							    : "");
}

/* " 3 (12.0 KiB) are new": nothing for 0. */
static void put_unmatched(uint32_t stacks, uint64_t bytes, const char *what, FILE *file)
{
	char count[UNITS_SIZE], size[UNITS_SIZE];

	if (stacks)
		fprintf(file, ", %s (%s) %s %s", units_count(stacks, count),
			units_bytes(bytes, size), stacks == 1 ? "is" : "are", what);
}

static void put_quality(const struct diff_page *page, FILE *file)
{
	const struct diff_quality *quality = &page->diff->quality;
	uint64_t matched = quality->matched_bytes[DIFF_B];
	char count[UNITS_SIZE], share[UNITS_SIZE];

	if (quality->matched && !quality->fresh && !quality->gone) {
		if (quality->matched == 1)
			fputs(" The only call stack is in both.", file);
		else
			fprintf(file, " All %s call stacks are in both.",
				units_count(quality->matched, count));
		return;
	}
	fprintf(file, " %s call stack%s in both", units_count(quality->matched, count),
		quality->matched == 1 ? " is" : "s are");
	if (matched + quality->fresh_bytes)
		fprintf(file, " (%s of the bytes that `%s` %s)",
			units_share(matched, matched + quality->fresh_bytes, share),
			page->labels[DIFF_B], diff_page_is_mapped(page) ? "mapped" : "allocated");
	put_unmatched(quality->fresh, quality->fresh_bytes, "new", file);
	put_unmatched(quality->gone, quality->gone_bytes, "gone", file);
	fputc('.', file);
}

static void put_problems(const struct diff_page *page, unsigned side, FILE *file)
{
	const char *const *problems = names_problems(page->sides[side].names);
	unsigned count = 0;

	while (problems && problems[count])
		count++;
	if (!count)
		return;
	fprintf(file, " In `%s` no names for ", page->labels[side]);
	put_clean(page, problems[0], file);
	if (count > 1)
		fprintf(file, " and %u more module%s", count - 1, count == 2 ? "" : "s");
	fputc('.', file);
}

void diff_head_compared(const struct diff_page *page)
{
	const struct diff *diff = page->diff;
	char count[UNITS_SIZE], bytes[UNITS_SIZE];
	struct page_text text;

	page_text_begin(&text, page->out);
	fputs("Compared: ", text.file);
	put_side(page, DIFF_A, text.file);
	fputs(" with ", text.file);
	put_side(page, DIFF_B, text.file);
	fputc('.', text.file);
	put_quality(page, text.file);
	if (diff->is_timed) {
		fprintf(text.file,
			" Of a moment only %s bytes are known, and small call stacks are not in "
			"the "
			"series",
			diff_page_is_mapped(page) ? "mapped" : "live and allocated");
		if (diff->left_out)
			fprintf(text.file, ": %s of them, with %s at the end, %s left out",
				units_count(diff->left_out, count),
				units_bytes(diff->left_out_bytes, bytes),
				diff->left_out == 1 ? "is" : "are");
		fputc('.', text.file);
		if (!diff_is_exact(diff))
			fputs(" Where older samples were dropped the nearest one counts.",
			      text.file);
	}
	put_problems(page, DIFF_A, text.file);
	if (!is_one_profile(page))
		put_problems(page, DIFF_B, text.file);
	page_text_end(&text, page->out, PAGE_INDENT);
}
