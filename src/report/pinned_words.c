/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pinned_words.c - see pinned_words.h.
 */
#include "report/pinned_words.h"

#include <stdlib.h>

#include "base/units.h"
#include "report/name.h"

enum { WORTH_SHARE = 20 }; /* percent of the resident set */

/* Less is in every process. */
#define WORTH_BYTES (UINT64_C(1) << 20)

/* Of a running process: what is worth the look at its memory. */
#define WORTH_MEASURING (UINT64_C(16) << 20)

static bool is_large_part(uint64_t part, uint64_t whole)
{
	return part >= WORTH_BYTES && part >= whole / 100 * WORTH_SHARE;
}

bool pinned_words_matter(const struct rss *rss)
{
	return is_large_part(rss->lines.lines[FORMAT_RSS_FRAGMENTS], rss->lines.total);
}

void pinned_words_site(const struct report *report, const struct pinned_site *site, FILE *file)
{
	struct name name = name_of_site(report, site->site);
	char live[UNITS_SIZE], pins[UNITS_SIZE];

	name_in_text(report, &name, file);
	fprintf(file, " holds %s live and pins %s. ",
		units_bytes(site->site->counts.live_bytes, live),
		units_bytes(site->part.bytes, pins));
}

/* Most processes have so few free bytes that nobody needs to look who pins them. */
static bool may_matter(const struct profile *profile)
{
	uint64_t live = profile_live_bytes(&profile->totals);
	uint64_t rss = rss_now(profile->header.pid);

	return rss > live + WORTH_MEASURING && is_large_part(rss - live, rss);
}

static struct pinned *find(const struct profile *profile)
{
	struct pinned *pinned = NULL;
	struct error err;

	if (!profile->is_live)
		return pinned_recorded(profile);
	/* Who may not look learns all else. */
	if (may_matter(profile))
		pinned_of(profile, &pinned, &err);
	return pinned;
}

void pinned_words_most(const struct report *report, const struct pinned *pinned, FILE *file)
{
	struct pinned_site *sites = NULL;
	uint32_t count = 0;

	if (pinned && pinned_words_matter(&pinned->rss))
		sites = pinned_sites(pinned, report->sites, &count);
	if (count && sites[0].part.bytes >= WORTH_BYTES)
		pinned_words_site(report, &sites[0], file);
	free(sites);
}

void pinned_words_first_page(const struct report *report, FILE *file)
{
	struct pinned *pinned = find(report->profile);

	pinned_words_most(report, pinned, file);
	pinned_free(pinned);
}
