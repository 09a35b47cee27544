/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * opened.h - what must be open of a profile, or of two, to make a page of them.
 */
#ifndef PMEM_PAGE_OPENED_H
#define PMEM_PAGE_OPENED_H
#include <stdbool.h>

#include "base/error.h"
#include "base/output.h"
#include "page/html.h"
#include "profile/profile.h"
#include "profile/rss.h"
#include "symbol/symbols.h"

/* What is known of a process from one page to the next. */
struct opened_keeper {
	/* Names of a profile; NULL: no memory. */
	struct names *(*take)(struct opened_keeper *keeper, const struct profile *profile);
	/* Takes names over; the profile, which they were taken for, is closed next. */
	void (*give)(struct opened_keeper *keeper, struct names *names,
		     const struct profile *profile);
	/* As rss_of(), or what that was a moment ago. */
	bool (*rss)(struct opened_keeper *keeper, const struct profile *profile, struct rss *rss);
};

struct opened_how {
	const struct symbols_options *symbols; /* where names come from */
	/* Prints the lines of `pmem info`. */
	void (*print_facts)(const struct profile *profile, const struct output *out);
	struct opened_keeper *keeper; /* NULL: all is found out for this page; else it must outlive the page */
};

/* All 0 = nothing is open. */
struct opened {
	struct profile *profiles[HTML_SIDES];
	struct report reports[HTML_SIDES];
	struct report mapped_reports[HTML_SIDES]; /* of what the programs map themselves */
	struct side mapped_sides[HTML_SIDES];
	char *facts[HTML_SIDES];
	struct rss rss[HTML_SIDES];
	struct opened_keeper *keeper;
	const char *times[HTML_SIDES]; /* for opened_compare(): of the moments, as given; NULL = the end */
	struct side_moment moments[HTML_SIDES];
	struct report_options options;
	struct diff_options diff_options;
	struct diff_page diff;
	struct output out;
	struct html_page page; /* for html_write() */
};

/* Adds a side.  The profile is closed by opened_close(), also if this fails. */
bool opened_add(struct opened *opened, struct profile *profile, const struct opened_how *how,
		struct error *err);

/* Adds another moment of the profile of the side that is there. */
bool opened_add_again(struct opened *opened, const struct opened_how *how, struct error *err);

/* Of two sides: compares them.  labels: what they are called; NULL = after their files. */
bool opened_compare(struct opened *opened, const char *const labels[HTML_SIDES], struct error *err);
void opened_close(struct opened *opened);

#endif
