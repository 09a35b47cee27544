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

bool pinned_words_find(const struct report *report, const struct pinned *pinned,
		       struct pinned_site *site)
{
	struct pinned_site *sites = NULL;
	uint32_t count = 0;
	bool found;

	if (pinned && pinned_words_matter(&pinned->rss))
		sites = pinned_sites(pinned, report->sites, &count);
	found = count && sites[0].part.bytes >= WORTH_BYTES;
	if (found)
		*site = sites[0];
	free(sites);
	return found;
}

void pinned_words_most(const struct report *report, const struct pinned *pinned, FILE *file)
{
	struct pinned_site site;

	if (pinned_words_find(report, pinned, &site))
		pinned_words_site(report, &site, file);
}
