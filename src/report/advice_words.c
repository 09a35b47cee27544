/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * advice_words.c - see advice_words.h.
 */
#include "report/advice_words.h"

#include "base/units.h"
#include "report/name.h"

enum { FIRST_PAGE = 2 };

#define SECOND_NS UINT64_C(1000000000)

static void put_rate(const struct report *report, uint64_t count, FILE *file)
{
	uint64_t seconds = report->profile->duration_ns / SECOND_NS;
	char text[UNITS_SIZE];

	if (seconds && count / seconds)
		fprintf(file, ", %s/s", units_count(count / seconds, text));
}

static void put_temporaries(const struct report *report, const struct advice *advice, FILE *file)
{
	char count[UNITS_SIZE], mean[UNITS_SIZE], time[UNITS_SIZE];

	fprintf(file, "%s blocks", units_count(advice->gain, count));
	put_rate(report, advice->gain, file);
	fprintf(file, ", of %s on average, were freed before their thread's next allocation",
		units_bytes(advice->mean_bytes, mean));
	if (advice->lifetime_ns)
		fprintf(file, "; half live less than %s", units_duration(advice->lifetime_ns, time));
	fputs(": reuse a buffer. ", file);
}

static void put_realloc(const struct advice *advice, FILE *file)
{
	char moved[UNITS_SIZE], copied[UNITS_SIZE], grown[UNITS_SIZE], steps[UNITS_SIZE];
	char mean[UNITS_SIZE];

	fprintf(file, "realloc() moved %s blocks and copied %s", units_count(advice->blocks, moved),
		units_bytes(advice->gain, copied));
	if (advice->grown)
		fprintf(file,
			"; %s block%s grew in %s calls to %s on average: reserve that up front",
			units_count(advice->grown, grown), advice->grown == 1 ? "" : "s",
			units_count(advice->steps, steps), units_bytes(advice->mean_bytes, mean));
	fputs(". ", file);
}

static void put_slack(const struct advice *advice, FILE *file)
{
	char slack[UNITS_SIZE], blocks[UNITS_SIZE], mean[UNITS_SIZE], each[UNITS_SIZE];

	fprintf(file,
		"%s are slack: %s live blocks of %s on average have %s more each: sizes that fit "
		"the allocator's classes, or fewer and larger blocks, need less. ",
		units_bytes(advice->gain, slack), units_count(advice->blocks, blocks),
		units_bytes(advice->mean_bytes, mean),
		units_bytes(advice->blocks ? advice->gain / advice->blocks : 0, each));
}

static void put_foreign(const struct advice *advice, FILE *file)
{
	char count[UNITS_SIZE], frees[UNITS_SIZE];

	fprintf(file,
		"at least %s of %s freed blocks were freed by other threads than those that "
		"allocated them: give them back in batches, or let their thread free them. ",
		units_count(advice->gain, count), units_count(advice->blocks, frees));
}

void advice_words_print(const struct report *report, const struct advice *advice, FILE *file)
{
	struct name name = name_of_site(report, advice->site);

	name_in_text(report, &name, file);
	fputs(": ", file);
	switch (advice->kind) {
	case ADVICE_TEMPORARIES:
		put_temporaries(report, advice, file);
		break;
	case ADVICE_REALLOC:
		put_realloc(advice, file);
		break;
	case ADVICE_SLACK:
		put_slack(advice, file);
		break;
	default:
		put_foreign(advice, file);
	}
}

void advice_words_gain(const struct advice *advice, FILE *file)
{
	static const char *const wholes[ADVICE_KINDS] = {
		[ADVICE_TEMPORARIES] = "calls",
		[ADVICE_REALLOC] = "bytes allocated",
		[ADVICE_SLACK] = "bytes in resident blocks",
		[ADVICE_FOREIGN] = "frees",
	};
	char gain[UNITS_SIZE], share[UNITS_SIZE];

	units_share(advice->gain, advice->whole, share);
	if (advice_is_bytes(advice->kind))
		fprintf(file, "%s, %s of all %s", units_bytes(advice->gain, gain), share,
			wholes[advice->kind]);
	else
		fprintf(file, "%s calls, %s of all %s", units_count(advice->gain, gain), share,
			wholes[advice->kind]);
}

void advice_words_first_page(const struct report *report, FILE *file)
{
	struct pinned *pinned = pinned_recorded(report->profile);
	struct advices advices;
	struct error err;
	unsigned shown = 0;

	if (advice_find(report->sites, pinned, &advices, &err)) {
		for (uint32_t i = 0; i < advices.count && shown < FIRST_PAGE; i++) {
			const struct advice *advice = &advices.items[i];

			if (advice->kind == ADVICE_TEMPORARIES || !advice_is_large(advice))
				continue;
			advice_words_print(report, advice, file);
			shown++;
		}
		advice_free(&advices);
	}
	if (shown)
		fprintf(file, "More: %s--advice. ", report->options->no_hints ? "pmem report " : "");
	pinned_free(pinned);
}
