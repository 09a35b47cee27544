/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.h - the terminal views of a profile, and what all of them share.
 *
 * A view is a file src/report/NAME.c with view_NAME() and a row in the table of report.c; doc/HOWTO-view.md shows how
 * to add one.  Views only read struct report and print to its output.
 */
#ifndef PMEM_REPORT_REPORT_H
#define PMEM_REPORT_REPORT_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/output.h"
#include "base/units.h"
#include "profile/growth.h"
#include "profile/names.h"
#include "profile/places.h"
#include "profile/profile.h"
#include "profile/sites.h"
#include "profile/verdict.h"

enum { REPORT_PATTERNS = 32 };

struct report_options {
	const char *view;   /* name in report_views */
	enum sites_key key; /* SITES_KEYS: the view chooses */
	unsigned top;	    /* rows; 0: the view chooses */
	const char *focus[REPORT_PATTERNS];
	unsigned focus_count;
	const char *ignore[REPORT_PATTERNS];
	unsigned ignore_count;
	const char *since; /* as given; NULL = start */
	const char *until; /* NULL = end */
	bool all_frames;   /* do not hide those of libraries and runtimes */
	bool raw_names;	   /* as in the symbol tables */
	bool source;	   /* print source lines */
	bool rss;	   /* nothing else, in JSON too */
	bool mappings;	   /* likewise; in CSV too */
	bool pinned;	   /* likewise, in JSON */
	bool advice;	   /* likewise */
	bool frame_table;  /* in JSON: each frame once */
	bool file_is_gone; /* the profile's: its name leads nowhere */
	bool no_hints; /* sentences without options of pmem report: their reader has switches instead */
};

struct report {
	const struct profile *profile;
	struct names *names;
	const struct report_options *options;
	const struct output *out;
	struct places *places;
	bool *selected; /* by call stack: what --focus and --ignore leave; NULL = all */
	struct growth growth;
	struct growth_interval wanted; /* what the user asks for; all, if he does not say */
	struct growth_interval
		asked; /* that, from and to the nearest moments of which the timeline knows all */
	struct growth_interval interval; /* what growth is measured over */
	struct sites *sites;		 /* sorted by key */
	enum sites_key key;
	struct verdicts *verdicts; /* report_find_verdicts(); NULL before */
	/* Of what the program maps, by call stack: resident now, mappings_measure(); NULL = as recorded. */
	uint64_t *resident;
};

struct report_view {
	const char *name;
	bool (*print)(struct report *report, struct error *err);
	bool is_data; /* for programs: no pager, no colours */
};

/* A row without name ends the table. */
extern const struct report_view report_views[];

const struct report_view *report_view_find(const char *name);

/* Makes ready what views need.  The caller sets the first four fields before and closes also after a failure. */
bool report_open(struct report *report, struct error *err);
void report_close(struct report *report);

/* Finds verdicts.  The order of the sites is none then: report_sort() comes later. */
bool report_find_verdicts(struct report *report, struct error *err);

/* Sorts the sites by key, and has views print by it. */
void report_sort(struct report *report, enum sites_key key);

/* What is asked for unless the user says so: live bytes; of a process that gave most back before its end, the peak. */
enum sites_key report_main_key(const struct report *report);

/* A value of a key as text: bytes, a count, or a change of bytes per minute. */
const char *report_value(const struct report *report, enum sites_key key, int64_t value,
			 char text[UNITS_SIZE]);

/* The rate of growth as text: over the time for which it was measured, where that is not the interval. */
const char *report_growth(const struct report *report, const struct sites_counts *counts,
			  char text[UNITS_SIZE]);

/* Bytes for a sentence: of a sample with their error, "77.9 MiB +-1.8 MiB". */
const char *report_bytes(const struct report *report, uint64_t bytes, char text[UNITS_SIZE]);

/* Of a sample the error of a key's value as a share of it, "12 %"; "" if the key's values have none, or all was recorded. */
const char *report_error(const struct report *report, enum sites_key key, int64_t value,
			 char text[UNITS_SIZE]);

/* What a key's values are, for sentences: "live", "live at the peak" ... */
const char *report_key_words(enum sites_key key);

/* True if the user limits the report to a part of the timeline. */
bool report_has_interval(const struct report *report);

/* For views of what the timeline does not have: false, with a message, if the report is limited to a part of it. */
bool report_refuse_interval(const struct report *report, struct error *err);

bool view_summary(struct report *report, struct error *err);
bool view_tree(struct report *report, struct error *err);
bool view_callers(struct report *report, struct error *err);
bool view_leaks(struct report *report, struct error *err);
bool view_peak(struct report *report, struct error *err);
bool view_sizes(struct report *report, struct error *err);
bool view_lifetimes(struct report *report, struct error *err);
bool view_threads(struct report *report, struct error *err);
bool view_rss(struct report *report, struct error *err);
bool view_mappings(struct report *report, struct error *err);
bool view_pinned(struct report *report, struct error *err);
bool view_advice(struct report *report, struct error *err);
bool view_json(struct report *report, struct error *err);
bool view_csv(struct report *report, struct error *err);

#endif
