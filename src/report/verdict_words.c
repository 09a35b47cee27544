/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verdict_words.c - a verdict in words with numbers.
 */
#include "report/verdict_words.h"

#include <string.h>

#include "base/units.h"
#include "profile/when.h"

static void put_frees(const struct profile *profile, const struct verdict *verdict, FILE *file)
{
	const char *thing = profile->is_mapped ? "mapping" : "block";
	const char *freed = profile->is_mapped ? "unmapped" : "freed";
	char text[UNITS_SIZE], time[UNITS_SIZE];

	switch (verdict->frees) {
	case VERDICT_FREES_NONE:
		if (verdict->live_count == 1)
			fprintf(file, "; its %s was not %s", thing, freed);
		else
			fprintf(file, "; none of its %s %ss was %s",
				units_count(verdict->live_count, text), thing, freed);
		break;
	case VERDICT_FREES_SINCE:
		fprintf(file, "; none of its %ss was %s since then", thing, freed);
		break;
	case VERDICT_FREES_KEPT:
		fprintf(file, "; of what it held at %s at least %.0f %% was not %s",
			units_time(when_realtime(profile, verdict->middle_ns), time),
			verdict->kept * 100 - 0.5 > 0 ? verdict->kept * 100 - 0.5 : 0, freed);
		break;
	default:
		break;
	}
}

void verdict_words_how(const struct profile *profile, const struct verdict *verdict, FILE *file)
{
	if (verdict->trend.class == TREND_FILLING)
		fputs("ever slower, as a cache fills", file);
	else
		fputs("steady (p < 0.001)", file);
	if (verdict->trend.class == TREND_LEAK)
		put_frees(profile, verdict, file);
}

void verdict_words_rate(const struct profile *profile, const struct verdict *verdict, FILE *file)
{
	char rate[UNITS_SIZE], time[UNITS_SIZE];

	fprintf(file, "%s/min since %s, ",
		units_bytes(growth_rate_per_minute(verdict->trend.rate), rate),
		units_time(when_realtime(profile, verdict->since_ns), time));
	verdict_words_how(profile, verdict, file);
}

/* What does not grow any more. */
static void put_settled(const struct trend *trend, const char *since, FILE *file)
{
	char low[UNITS_SIZE], high[UNITS_SIZE];

	switch (trend->class) {
	case TREND_FILLING:
		fprintf(file, "Filled until %s, as a cache does; steady since.", since);
		break;
	case TREND_STEP:
		fprintf(file, "Up by a step at %s; steady since.", since);
		break;
	case TREND_PLATEAU:
		fprintf(file, "Rose at the start; steady since %s.", since);
		break;
	case TREND_SAWTOOTH:
		fprintf(file, "Up and down between %s and %s; its lows do not rise.",
			units_bytes(trend->low > 0 ? (uint64_t)trend->low : 0, low),
			units_bytes(trend->high > 0 ? (uint64_t)trend->high : 0, high));
		break;
	default:
		fputs("Does not grow by more than chance explains.", file);
	}
}

void verdict_words_sentence(const struct profile *profile, const struct verdict *verdict, FILE *file)
{
	char since[UNITS_SIZE];

	if (verdict->trend.class == TREND_LEAK ||
	    (verdict->trend.class == TREND_FILLING && verdict->trend.course == TREND_RISING)) {
		fputs("Grows ", file);
		verdict_words_rate(profile, verdict, file);
		fputc('.', file);
		return;
	}
	units_time(when_realtime(profile, verdict->since_ns), since);
	put_settled(&verdict->trend, since, file);
}

void verdict_words_unknown(const struct profile *profile, FILE *file)
{
	uint32_t finer_ms = growth_finer_ms(profile);
	char time[UNITS_SIZE], span[UNITS_SIZE];

	if (!profile->point_count) {
		fputs("was recorded without a timeline, which would tell growth", file);
		return;
	}
	if (profile->duration_ns >= GROWTH_SPAN_NS) {
		fputs("allocated and freed at too few moments for a verdict on growth", file);
		return;
	}
	units_duration(profile->duration_ns, time);
	units_duration(GROWTH_SPAN_NS, span);
	fprintf(file, "%s %s%s, too short for a verdict on growth: that takes %s",
		profile->is_live ? "has run" : "ran", strcmp(time, span) == 0 ? "nearly " : "",
		time, span);
	if (finer_ms)
		fprintf(file, ", or PMEM_TIMELINE_MS=%u", finer_ms);
}

void verdict_words_limit(const struct profile *profile, const struct limit *limit,
			 const char *begin, FILE *file)
{
	char bytes[UNITS_SIZE], time[UNITS_SIZE];

	fprintf(file, "%s this rate %s of %s %s in %s", begin, limit_words(limit->kind),
		units_bytes(limit->bytes, bytes),
		profile->is_live ? "is reached" : "would have been reached",
		units_duration(limit->left_ns, time));
}
