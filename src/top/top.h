/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * top.h - the state of `pmem top`: what is watched as it is now, and how the user wants to see it.
 *
 * Knows neither the terminal nor where profiles come from: top_update() gets each opening, top_key() each key, view.h makes lines of
 * text of it.  So all of it can be tested without a process and without a screen.
 */
#ifndef PMEM_TOP_TOP_H
#define PMEM_TOP_TOP_H
#include <stdbool.h>
#include <stdint.h>

#include "report/report.h"
#include "top/history.h"
#include "top/lines.h"
#include "top/moment.h"
#include "top/rows.h"
#include "top/spark.h"

enum { TOP_FILTER_SIZE = 128 };

struct top_options {
	enum rows_column sort;
	enum rows_group group;
	bool all_frames;
	const char *filter; /* NULL = none */
	uint64_t interval_ns;
	enum spark_form form;
	bool maps; /* what the program maps itself, instead of the heap */
};

/* An opening of the profile. */
struct top_reading {
	const struct profile *profile; /* until the next top_update() */
	struct names *names;
	uint64_t time_ns;   /* CLOCK_MONOTONIC, when it was read */
	uint64_t rss_bytes; /* 0 = not known */
};

struct top {
	struct report_options report_options;
	struct output out;    /* where names are written to: view.c sets it */
	struct report report; /* of the latest opening; sites NULL: there is none yet */
	uint64_t rss_bytes;
	struct moment now;
	struct moment before;
	struct moment mark;
	uint64_t freed_total;
	uint64_t freed_bytes; /* between before and now */
	struct history history;
	char *warnings;	       /* paragraphs, one a line; NULL = none */
	char *words;	       /* the verdict, likewise */
	uint64_t words_due_ns; /* CLOCK_MONOTONIC */

	enum rows_column sort;
	enum rows_order order;
	enum rows_group group;
	char filter[TOP_FILTER_SIZE];
	bool is_typing; /* the filter */
	bool is_paused;
	bool is_help;
	bool maps; /* see struct top_options */
	uint64_t interval_ns;
	enum spark_form form;

	struct rows rows;
	struct lines lines;
	struct lines_open open;
	unsigned height;   /* lines of the table that are visible */
	uint32_t first;	   /* index in lines of the first one */
	uint32_t selected; /* index in lines */
	uint64_t selected_key; /* what is selected stays so when it moves; 0: the line, not what is in it */
};

void top_begin(struct top *top, const struct top_options *options);
void top_end(struct top *top);

/* Goes over to another opening; nothing of the one before is needed any longer.  False: no memory; only top_end() may follow. */
bool top_update(struct top *top, const struct top_reading *reading, struct error *err);

/* The heap instead of what the program maps, or the other way round; top_update() must follow. */
void top_switch(struct top *top);

/* Makes the table anew, for height visible lines.  False: no memory. */
bool top_arrange(struct top *top, unsigned height);

/* Nanoseconds between the last two openings; 0: there was one only, or none. */
uint64_t top_elapsed_ns(const struct top *top);

/* Keys that are no character. */
enum top_key {
	TOP_KEY_NONE = 0x200000,
	TOP_KEY_UP,
	TOP_KEY_DOWN,
	TOP_KEY_LEFT,
	TOP_KEY_RIGHT,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_ENTER,
	TOP_KEY_BACKSPACE,
	TOP_KEY_ESCAPE,
	TOP_KEY_RESIZE,
};

enum top_wish { TOP_GO_ON, TOP_READ_NOW, TOP_QUIT };

/* Does what a key means: one of the above, or a byte of a character.  top_arrange() must follow. */
enum top_wish top_key(struct top *top, int key);

#endif
