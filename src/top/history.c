/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * history.c - live bytes and resident set over time.
 */
#include "top/history.h"

#include "top/spark.h"

void history_add(struct history *history, const struct history_point *point)
{
	if (history->count == HISTORY_POINTS) {
		for (unsigned i = 0; i < HISTORY_POINTS / 2; i++)
			history->points[i] = history->points[2 * i + 1];
		history->count = HISTORY_POINTS / 2;
	}
	history->points[history->count++] = *point;
}

/* The latest of both, as far as they are read. */
struct reader {
	const struct history *history;
	const struct profile *profile;
	unsigned own; /* points that were passed */
	unsigned theirs;
	struct history_point last; /* time 0: none */
};

static void take(struct reader *reader, const struct history_point *point)
{
	uint64_t rss = point->rss_bytes ? point->rss_bytes : reader->last.rss_bytes;

	reader->last = *point;
	reader->last.rss_bytes = rss;
}

/* The next point of the profile; UINT64_MAX as time: there is none. */
static struct history_point next_theirs(const struct reader *reader)
{
	const struct profile_point *point = &reader->profile->points[reader->theirs];

	if (reader->theirs == reader->profile->point_count)
		return (struct history_point){.time_ns = UINT64_MAX};
	return (struct history_point){point->time_ns, point->live_bytes, point->rss_bytes};
}

static struct history_point next_own(const struct reader *reader)
{
	if (reader->own == reader->history->count)
		return (struct history_point){.time_ns = UINT64_MAX};
	return reader->history->points[reader->own];
}

static void read_until(struct reader *reader, uint64_t time_ns)
{
	for (;;) {
		struct history_point own = next_own(reader), theirs = next_theirs(reader);

		if (own.time_ns > time_ns && theirs.time_ns > time_ns)
			return;
		if (own.time_ns < theirs.time_ns) {
			take(reader, &own);
			reader->own++;
		} else {
			take(reader, &theirs);
			reader->theirs++;
		}
	}
}

void history_read(const struct history *history, const struct profile *profile,
		  const struct history_cells *cells, uint64_t *live, uint64_t *rss)
{
	struct reader reader = {.history = history, .profile = profile};
	double width = (double)(cells->until_ns - cells->since_ns) / cells->count;

	for (unsigned i = 0; i < cells->count; i++) {
		uint64_t end = i + 1 == cells->count ? cells->until_ns
						     : cells->since_ns + (uint64_t)(width * (i + 1));
		bool any;

		read_until(&reader, end);
		any = reader.own + reader.theirs > 0;
		live[i] = any ? reader.last.live_bytes : SPARK_UNKNOWN;
		rss[i] = reader.last.rss_bytes ? reader.last.rss_bytes : SPARK_UNKNOWN;
	}
}
