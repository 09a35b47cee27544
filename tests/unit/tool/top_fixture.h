/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * top_fixture.h - `pmem top` over the profile of report_fixture.h: readings two seconds apart, and what is on the screen then.
 */
#ifndef PMEM_TESTS_TOP_FIXTURE_H
#define PMEM_TESTS_TOP_FIXTURE_H
#include "report_fixture.h"

#include "top/view.h"

enum { TOP_RSS = 30 };

static struct top *top;
static struct view screen;
static uint64_t reading_ns;

/* A reading of the model two seconds after the one before. */
static inline void read_again(struct model *model)
{
	struct top_reading reading = {.profile = &model->profile,
				      .names = names_new(&model->profile),
				      .rss_bytes = TOP_RSS * MIB};
	struct error err = {""};

	reading_ns += 2 * SECOND;
	reading.time_ns = reading_ns;
	if (!top_update(top, &reading, &err))
		fail_msg("%s", err.text);
}

static inline struct model *top_start(void)
{
	const struct top_options options = {.interval_ns = 2 * SECOND, .form = SPARK_ASCII};
	struct model *model = model_new();

	top = calloc(1, sizeof(*top));
	assert_non_null(top);
	reading_ns = 1000 * SECOND;
	top_begin(top, &options);
	read_again(model);
	screen = (struct view){.width = 80, .height = 24};
	return model;
}

static inline void top_stop(struct model *model)
{
	view_end(&screen);
	top_end(top);
	free(top);
	free(model);
}

static inline void draw(void)
{
	assert_true(view_screen(&screen, top));
}

static inline void press(const char *keys)
{
	for (; *keys; keys++) {
		assert_int_equal(top_key(top, (unsigned char)*keys), TOP_GO_ON);
		draw();
	}
}

static inline void press_key(int key)
{
	assert_int_equal(top_key(top, key), TOP_GO_ON);
	draw();
}

/* The index of the first line from a given one on that has the text; fails if there is none. */
static inline unsigned line_with(const char *text)
{
	for (unsigned i = 0; i < screen.count; i++)
		if (strstr(screen.lines[i].text, text))
			return i;
	for (unsigned i = 0; i < screen.count; i++)
		print_message("%s\n", screen.lines[i].text);
	fail_msg("no line with \"%s\"", text);
	return 0;
}

static inline bool has_line(const char *text)
{
	for (unsigned i = 0; i < screen.count; i++)
		if (strstr(screen.lines[i].text, text))
			return true;
	return false;
}

/* The lines of the table below its head, up to the first that is empty. */
static inline void assert_table(const char *const *wanted)
{
	unsigned line = 0, i;

	while (line < screen.count && screen.lines[line].style != VIEW_HEAD)
		line++;
	for (i = 0; wanted[i]; i++) {
		assert_true(line + i < screen.count);
		assert_string_equal(screen.lines[line + i].text, wanted[i]);
	}
	assert_true(line + i == screen.count || !screen.lines[line + i].text[0] ||
		    line + i + 1 == screen.count);
}

/* Changes a call stack of the model, and the totals. */
static inline void grow_stack(struct model *model, uint32_t stack, struct profile_counts more)
{
	struct profile_counts *sums[] = {&model->stacks[stack].counts, &model->profile.totals};

	for (unsigned i = 0; i < 2; i++) {
		sums[i]->alloc_bytes += more.alloc_bytes;
		sums[i]->alloc_count += more.alloc_count;
		sums[i]->free_bytes += more.free_bytes;
		sums[i]->free_count += more.free_count;
		sums[i]->temporary_count += more.temporary_count;
	}
}

#endif
