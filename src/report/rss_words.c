/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rss_words.c - see rss_words.h.
 */
#include "report/rss_words.h"

#include <inttypes.h>

#include "base/units.h"
#include "profile/when.h"

enum {
	WORTH_SHARE = 20, /* percent of the total that a part must have to be named as the cause */
	ARENAS_MANY = 3,  /* more than MALLOC_ARENA_MAX=2 allows */
	TERMS = 7,
	ENOUGH = 10, /* of a unit, to be written without decimals */
};

/* Less is in every process. */
#define WORTH_BYTES (UINT64_C(1) << 20)

/* --- the cause ------------------------------------------------------------------------------- */

/* glibc's arenas: one for each thread that allocates, up to eight for each processor. */
static void say_glibc(const struct rss *rss, const char *kept, FILE *file)
{
	const struct waterfall_result *lines = &rss->lines;

	if (lines->arenas > 1)
		fprintf(file, " in %" PRIu64 " arenas", lines->arenas);
	fprintf(file, "; malloc_trim(0) would return about %s", kept);
	if (lines->arenas >= ARENAS_MANY && lines->kept_arenas >= lines->lines[FORMAT_RSS_KEPT] / 2)
		fputs(", MALLOC_ARENA_MAX=2 in the environment keeps less from the start", file);
	fputs(". ", file);
}

static void say_kept(const struct rss *rss, FILE *file)
{
	char kept[UNITS_SIZE];

	units_bytes(rss->lines.lines[FORMAT_RSS_KEPT], kept);
	fprintf(file, "%s freed but kept by %s", kept,
		rss->allocator == FORMAT_ALLOCATOR_OTHER || !rss->allocator
			? "the allocator"
			: rss_allocator_name(rss->allocator));
	switch (rss->allocator) {
	case FORMAT_ALLOCATOR_GLIBC:
		say_glibc(rss, kept, file);
		break;
	case FORMAT_ALLOCATOR_JEMALLOC:
		fputs("; MALLOC_CONF=background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0 "
		      "returns it sooner. ",
		      file);
		break;
	case FORMAT_ALLOCATOR_MIMALLOC:
		fputs("; MIMALLOC_PURGE_DELAY=0 returns it at once. ", file);
		break;
	case FORMAT_ALLOCATOR_TCMALLOC:
		fputs("; MallocExtension's ReleaseFreeMemory() returns it, "
		      "TCMALLOC_RELEASE_RATE=10 "
		      "sooner. ",
		      file);
		break;
	default:
		fputs(". ", file);
	}
}

static void say_fragments(const struct rss *rss, FILE *file)
{
	char bytes[UNITS_SIZE];

	fprintf(file,
		"%s are free, but in pages that live blocks hold (fragmentation): no setting "
		"returns them, only freeing what lies between, or allocating what stays apart from "
		"what goes. ",
		units_bytes(rss->lines.lines[FORMAT_RSS_FRAGMENTS], bytes));
}

static void say_cause(const struct rss *rss, enum format_rss_line line, FILE *file)
{
	char bytes[UNITS_SIZE];

	units_bytes(rss->lines.lines[line], bytes);
	switch (line) {
	case FORMAT_RSS_KEPT:
		fputs("Not a leak: ", file);
		say_kept(rss, file);
		break;
	case FORMAT_RSS_FRAGMENTS:
		fputs("Not a leak: ", file);
		say_fragments(rss, file);
		break;
	case FORMAT_RSS_ROUNDING:
		fprintf(file,
			"%s are what the allocator adds to small blocks: fewer and larger ones "
			"need less. ",
			bytes);
		break;
	case FORMAT_RSS_STACKS:
		fprintf(file, "Not the heap: %s are %" PRIu64 " stacks of threads. ", bytes,
			rss->lines.stacks);
		break;
	case FORMAT_RSS_MAPPED:
		fprintf(file,
			"Not the heap: %s were mapped by the program itself (mmap), past malloc. ",
			bytes);
		break;
	case FORMAT_RSS_SHARED:
		fprintf(file, "Not the heap: %s are shared memory. ", bytes);
		break;
	case FORMAT_RSS_FILES:
		fprintf(file,
			"Not the heap: %s are the program, its libraries and other mapped files. ",
			bytes);
		break;
	default:
		fprintf(file, "%s are blocks that the parent process had at the fork. ", bytes);
	}
}

static enum format_rss_line find_cause(const struct waterfall_result *lines)
{
	enum format_rss_line cause = FORMAT_RSS_ROUNDING;

	for (int i = FORMAT_RSS_ROUNDING; i < FORMAT_RSS_OWN; i++)
		if (lines->lines[i] > lines->lines[cause])
			cause = (enum format_rss_line)i;
	return cause;
}

/* Live blocks in pages that were never touched, or are swapped out.  Of a running process the two figures are of two moments. */
static void say_absent(const struct profile *profile, const struct rss *rss, FILE *file)
{
	uint64_t live = profile_live_bytes(&profile->totals);
	uint64_t resident = rss->lines.lines[FORMAT_RSS_LIVE];
	char all[UNITS_SIZE], some[UNITS_SIZE];

	if (live < resident + WORTH_BYTES || live - resident < live / 50)
		return;
	fprintf(file, "Of %s of live blocks %s are not resident: never touched, or swapped out. ",
		units_bytes(live, all), units_bytes(live - resident, some));
}

void rss_words_print(const struct profile *profile, const struct rss *rss, FILE *file)
{
	const struct waterfall_result *lines = &rss->lines;
	enum format_rss_line cause = find_cause(lines);
	char total[UNITS_SIZE], live[UNITS_SIZE], share[UNITS_SIZE], at[UNITS_SIZE];

	fprintf(file, "The resident set (RSS) %s %s%s%s; live blocks are %s of it, %s. ",
		rss->is_now ? "is" : "was", units_bytes(lines->total, total),
		rss->is_now ? " now" : " after ",
		rss->is_now ? "" : units_duration(rss->time_ns, at),
		units_share(lines->lines[FORMAT_RSS_LIVE], lines->total, share),
		units_bytes(lines->lines[FORMAT_RSS_LIVE], live));
	if (lines->lines[cause] >= WORTH_BYTES &&
	    lines->lines[cause] >= lines->total / 100 * WORTH_SHARE)
		say_cause(rss, cause, file);
	say_absent(profile, rss, file);
}

/* --- free memory that stays ------------------------------------------------------------------ */

static void say_parts(const struct retained *retained, FILE *file)
{
	const struct rss *rss = &retained->rss;
	uint64_t kept = rss->lines.lines[FORMAT_RSS_KEPT];
	uint64_t fragments = rss->lines.lines[FORMAT_RSS_FRAGMENTS];
	uint64_t worth = (kept + fragments) / 100 * WORTH_SHARE;

	if (kept >= fragments)
		say_kept(rss, file);
	if (fragments >= worth)
		say_fragments(rss, file);
	if (kept < fragments && kept >= worth)
		say_kept(rss, file);
}

const char *rss_words_begin(const struct growth *growth, bool site_grows)
{
	if (growth->kind == GROWTH_UNKNOWN)
		return "Mostly free memory";
	return growth->kind == GROWTH_GROWING || site_grows ? "Beside that" : "Not a leak";
}

void rss_words_retained(const struct profile *profile, const struct retained *retained,
			const char *begin, FILE *file)
{
	double times = (double)retained->free_bytes /
		       (double)(retained->used_bytes ? retained->used_bytes : 1);
	char total[UNITS_SIZE], bytes[UNITS_SIZE], rate[UNITS_SIZE], since[UNITS_SIZE];

	units_bytes(retained->free_bytes, bytes);
	fprintf(file, "%s: ", begin);
	if (retained->given_back)
		fprintf(file, "most of the time of late %s resident were free memory", bytes);
	else
		fprintf(file, "of %s resident %s are free memory",
			units_bytes(retained->rss.lines.total, total), bytes);
	if (times < 100)
		fprintf(file, ", %.1f times what live blocks %s", times,
			retained->given_back ? "took" : "take");
	if (retained->per_minute)
		fprintf(file, ", growing %s/min since %s", units_bytes(retained->per_minute, rate),
			units_time(when_realtime(profile, retained->since_ns), since));
	fputs(". ", file);
	if (retained->given_back)
		fputs("How is not known, as the heap was freed at the end: `pmem report --rss PID` "
		      "while it runs tells. ",
		      file);
	else
		say_parts(retained, file);
}

/* --- the sum --------------------------------------------------------------------------------- */

struct term {
	uint64_t bytes;
	const char *name;
};

static uint64_t rounded(uint64_t bytes, unsigned shift)
{
	return (bytes >> shift) + (bytes >> (shift - 1) & 1);
}

static void list_terms(const struct rss *rss, struct term terms[TERMS])
{
	const uint64_t *lines = rss->lines.lines;
	int64_t unexplained = waterfall_unexplained(&rss->lines);
	const struct term all[TERMS] = {
		{lines[FORMAT_RSS_LIVE], "live"},
		{lines[FORMAT_RSS_ROUNDING], "rounding"},
		{lines[FORMAT_RSS_FRAGMENTS], "fragmentation"},
		{lines[FORMAT_RSS_KEPT], "free but kept by malloc"},
		{lines[FORMAT_RSS_STACKS] + lines[FORMAT_RSS_FILES] + lines[FORMAT_RSS_SHARED] +
			 lines[FORMAT_RSS_MAPPED] + lines[FORMAT_RSS_INHERITED],
		 "stacks and mappings"},
		{lines[FORMAT_RSS_OWN], "pmem"},
		{unexplained > 0 ? (uint64_t)unexplained : 0, "unexplained"},
	};

	for (int i = 0; i < TERMS; i++)
		terms[i] = all[i];
}

/* The largest term takes what rounding makes of the others. */
const char *rss_words_sum(const struct rss *rss, char text[RSS_SUM_SIZE])
{
	static const char *const units[] = {"KiB", "MiB", "GiB"};
	struct term terms[TERMS];
	unsigned unit = 0, largest = 0, shift;
	uint64_t rest;
	size_t at;

	list_terms(rss, terms);
	while (unit < 2 && rss->lines.total >> (10 * (unit + 2)) >= ENOUGH)
		unit++;
	shift = 10 * (unit + 1);
	rest = rounded(rss->lines.total, shift);
	at = (size_t)snprintf(text, RSS_SUM_SIZE, "%" PRIu64 " %s", rest, units[unit]);
	for (unsigned i = 0; i < TERMS; i++) {
		if (terms[i].bytes > terms[largest].bytes)
			largest = i;
		rest -= rounded(terms[i].bytes, shift);
	}
	for (unsigned i = 0, count = 0; i < TERMS; i++) {
		uint64_t value = rounded(terms[i].bytes, shift) + (i == largest ? rest : 0);

		if (value && at < RSS_SUM_SIZE - 50)
			at += (size_t)snprintf(text + at, RSS_SUM_SIZE - at, " %s %" PRIu64 " %s",
					       count++ ? "+" : "=", value, terms[i].name);
	}
	return text;
}

/* --- the lines ------------------------------------------------------------------------------- */

const char *rss_words_line(enum format_rss_line line)
{
	static const char *const words[FORMAT_RSS_KINDS] = {
		[FORMAT_RSS_LIVE] = "live blocks, as the program requested them",
		[FORMAT_RSS_ROUNDING] = "rounding and headers of these blocks",
		[FORMAT_RSS_FRAGMENTS] = "free parts of pages with live blocks",
		[FORMAT_RSS_KEPT] = "pages without live blocks that the allocator keeps",
		[FORMAT_RSS_INHERITED] = "blocks of the parent process, from before the fork",
		[FORMAT_RSS_STACKS] = "stacks of threads",
		[FORMAT_RSS_FILES] = "program, libraries, other mapped files",
		[FORMAT_RSS_SHARED] = "shared memory",
		[FORMAT_RSS_MAPPED] = "other anonymous memory",
		[FORMAT_RSS_OWN] = "pmem's own",
	};

	return words[line];
}
