/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * retained_words.c - see retained_words.h.
 */
#include "report/retained_words.h"

#include "report/pinned_words.h"
#include "report/rss_words.h"

enum { WORTH_PARTS = 5 }; /* one of so many of the resident set */

/* Of a running process: what is worth the look at its memory. */
#define WORTH_MEASURING (UINT64_C(16) << 20)

/* Most processes have so few free bytes that nobody needs to look where they are. */
static bool may_matter(const struct profile *profile)
{
	uint64_t live = profile_live_bytes(&profile->totals);
	uint64_t rss = rss_now(profile->header.pid);

	return rss > live + WORTH_MEASURING && rss - live >= rss / WORTH_PARTS;
}

/* Without pins, if the file has none. */
static bool find_rss(const struct retained_words *words, const struct profile *profile,
		     struct rss *rss)
{
	if (!words->pinned)
		return !profile->is_live && rss_recorded(profile, rss);
	*rss = words->pinned->rss;
	return true;
}

void retained_words_open(struct retained_words *words, const struct profile *profile)
{
	struct error ignored;
	struct rss rss;

	*words = (struct retained_words){.pinned = NULL};
	if (!profile->is_live)
		words->pinned = pinned_recorded(profile);
	else if (may_matter(profile) && !pinned_of(profile, &words->pinned, &ignored))
		words->pinned = NULL; /* who may not look learns all else */
	words->matters = find_rss(words, profile, &rss) &&
			 retained_find(profile, &rss, &words->retained);
}

void retained_words_close(struct retained_words *words)
{
	pinned_free(words->pinned);
	words->pinned = NULL;
}

void retained_words_print(const struct retained_words *words, const struct report *report,
			  FILE *file)
{
	bool grows = verdicts_culprit(report->verdicts) != NULL;

	if (words->matters)
		rss_words_retained(report->profile, &words->retained,
				   rss_words_begin(&report->growth, grows), file);
	pinned_words_most(report, words->pinned, file);
}
