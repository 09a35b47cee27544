/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live.c - `pmem top` on a terminal, and as plain text.
 */
#include "top/live.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "top/screen.h"

static bool show(struct top *top, struct error *err)
{
	struct view view = {.width = 0};
	bool done;

	screen_size(&view);
	done = view_screen(&view, top);
	if (done)
		screen_show(&view);
	view_end(&view);
	return done || error_set(err, "no memory for the screen");
}

/* Until the next reading; UINT64_MAX: there is none. */
static uint64_t time_left(const struct watch *watch, const struct top *top, uint64_t read_ns)
{
	uint64_t due = read_ns + top->interval_ns, now = clock_monotonic_ns();

	if (top->is_paused || watch_is_over(watch))
		return UINT64_MAX;
	return due > now ? due - now : 0;
}

/* The time until the next reading begins when this one is done: a slow one does not follow on its own heels. */
static bool loop(struct watch *watch, struct top *top, struct error *err)
{
	uint64_t read_ns = clock_monotonic_ns();

	while (!screen_signal()) {
		uint64_t left = time_left(watch, top, read_ns);
		enum top_wish wish;

		if (!show(top, err))
			return false;
		wish = left > 0 ? top_key(top, screen_key(left)) : TOP_READ_NOW;
		if (wish == TOP_QUIT)
			return true;
		if (wish != TOP_READ_NOW && time_left(watch, top, read_ns) > 0)
			continue;
		if (!watch_read(watch, top, err))
			return false;
		read_ns = clock_monotonic_ns();
	}
	return true;
}

bool live_run(struct watch *watch, struct top *top, int *signal_number, struct error *err)
{
	bool done;

	*signal_number = 0;
	if (!watch_read(watch, top, err) || !screen_begin(err))
		return false;
	done = loop(watch, top, err);
	*signal_number = screen_signal();
	screen_end();
	return done;
}

/* --- plain text ------------------------------------------------------------------------------ */

/* *is_over: who read it has seen enough. */
static bool print(struct top *top, const struct live_batch *batch, bool *is_over, struct error *err)
{
	struct view view = {.width = batch->width, .height = batch->rows};
	bool done = view_batch(&view, top);

	for (unsigned i = 0; done && i < view.count; i++)
		puts(view.lines[i].text);
	view_end(&view);
	if (!done)
		return error_set(err, "no memory for the rows");
	*is_over = false;
	if (output_flush(stdout))
		return true;
	*is_over = errno == EPIPE;
	return *is_over || error_set_errno(err, "standard output");
}

static void sleep_until(uint64_t time_ns)
{
	const struct timespec until = {(time_t)(time_ns / 1000000000), (long)(time_ns % 1000000000)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

bool live_print(struct watch *watch, struct top *top, const struct live_batch *batch,
		struct error *err)
{
	bool is_over;

	for (unsigned round = 1;; round++) {
		if (!watch_read(watch, top, err) || !print(top, batch, &is_over, err))
			return false;
		if (is_over || round == batch->rounds || watch_is_over(watch))
			return true;
		sleep_until(clock_monotonic_ns() + top->interval_ns);
	}
}
