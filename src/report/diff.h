/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diff.h - what changed between two profiles, on a screen and for programs.
 *
 * The two sides are struct reports, for names and call stacks; their sites are not used, a comparison has its own.
 */
#ifndef PMEM_REPORT_DIFF_H
#define PMEM_REPORT_DIFF_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/output.h"
#include "profile/diff.h"
#include "report/name.h"
#include "report/report.h"

struct diff_options {
	struct report_options report; /* key, top, focus, ignore, all_frames, raw_names */
	bool stacks;		      /* call stacks instead of sites */
	bool fold_recursion;
};

struct diff_page {
	struct report sides[DIFF_SIDES]; /* profile and names may be those of the other side */
	uint64_t times_ns[DIFF_SIDES];	 /* as in struct diff_side */
	const char *times[DIFF_SIDES];	 /* as given: "10m"; NULL = the end */
	const struct diff_options *options;
	const struct output *out;
	char *labels[DIFF_SIDES]; /* what the sides are called */
	struct diff *diff;	  /* sorted by key */
	enum sites_key key;
};

/* Compares.  The caller sets profile and names of the sides and the fields up to out before, and closes also after a failure. */
bool diff_page_open(struct diff_page *page, struct error *err);
void diff_page_close(struct diff_page *page);

/* The whole page. */
void diff_page_print(const struct diff_page *page);

/* The same of what the programs map themselves: no part of the heap.  Opens *mapped beside page, with its options; diff_page_close() ends
 * it.  Only if diff_page_maps(). */
bool diff_page_open_mapped(const struct diff_page *page, struct diff_page *mapped,
			   struct error *err);

/* True if a program of the two maps memory itself. */
bool diff_page_maps(const struct diff_page *page);

/* True if the page is of what the programs map, not of the heap. */
bool diff_page_is_mapped(const struct diff_page *page);

/* doc/JSON.md describes it. */
bool diff_page_json(const struct diff_page *page, struct error *err);

/* One row for each site, with --stacks for each call stack: RFC 4180, lines end with CR LF. */
void diff_page_csv(const struct diff_page *page);

/* The site of a row: its name as the side of the row that is shown has it, which is returned in *report. */
struct name diff_page_name(const struct diff_page *page, const struct diff_row *row,
			   const struct report **report);

/* The number of rows to show of count: --top, else usual; 0 = all. */
uint32_t diff_page_rows(const struct diff_page *page, uint32_t count, uint32_t usual);

/* "matched", "new" or "gone". */
const char *diff_page_state(enum diff_state state);

/* What makes the figures of a side wrong or missing, as sentences on one line, to be freed; "" = nothing; NULL: no memory. */
char *diff_page_flaws(const struct diff_page *page, unsigned side);

/* One of the sides is a sample: its figures, and so all changes, are estimates. */
bool diff_page_sampled(const struct diff_page *page);

/* How far the change of a key's bytes may be from the truth (profile/estimate.h); 0 for keys that are not live, allocated or peak bytes. */
uint64_t diff_page_error(const struct diff_page *page, const struct sites_counts counts[DIFF_SIDES],
			 enum sites_key key);

#endif
