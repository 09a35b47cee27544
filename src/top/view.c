/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * view.c - the screen from top to bottom: title, warnings, verdict, totals, table, keys.
 *
 * A low terminal gets less of what stands above the table: mappings and rates go first, who grows last.
 */
#include "top/view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/utf8.h"
#include "report/page.h"

enum {
	CELLS_MAX = 60,
	CELLS_MIN = 4,
	WARNINGS_MAX = 2,
	WORDS_MAX = 5,
	STATE_MIN = 48,
};

#define MINUTE_NS (UINT64_C(60) * 1000000000)

/* --- lines ----------------------------------------------------------------------------------- */

bool view_begin(struct view *view)
{
	unsigned width = view->width, height = view->height;

	view_end(view);
	view->width = width;
	view->height = height;
	view->file = open_memstream(&view->text, &view->size);
	return view->file != NULL;
}

void view_line(struct view *view, enum view_style style)
{
	unsigned room = view->room ? view->room * 2 : 64;
	struct view_line *grown;

	fputc('\n', view->file);
	if (view->count == view->room) {
		grown = realloc(view->lines, room * sizeof(*grown));
		if (!grown) {
			view->failed = true;
			return;
		}
		view->lines = grown;
		view->room = room;
	}
	view->lines[view->count++] = (struct view_line){.style = style};
}

/* Behind so many characters. */
static char *skip(char *text, unsigned width)
{
	while (*text && width--) {
		unsigned length = utf8_length(text);

		text += length ? length : 1;
	}
	return text;
}

static void end_at(char *text, char *end)
{
	while (end > text && end[-1] == ' ')
		end--;
	*end = '\0';
}

/* Ends the text after so many characters; blanks at its end go too. */
static void cut(char *text, unsigned width)
{
	end_at(text, skip(text, width));
}

/* The same between two words, unless the first one is longer. */
static void cut_words(char *text, unsigned width)
{
	char *most = skip(text, width), *first = text + strspn(text, " "), *end = most;

	while (*most && *most != ' ' && end > first && end[-1] != ' ')
		end--;
	end_at(text, end > first ? end : most);
}

bool view_finish(struct view *view)
{
	char *at;

	if (fclose(view->file) != 0 || !view->text)
		view->failed = true;
	view->file = NULL;
	at = view->text;
	for (unsigned i = 0; !view->failed && i < view->count; i++) {
		char *end = strchr(at, '\n');

		if (end)
			*end = '\0';
		view->lines[i].text = at;
		cut(at, view->width);
		at = end ? end + 1 : at + strlen(at);
	}
	return !view->failed;
}

void view_end(struct view *view)
{
	free(view->lines);
	free(view->text);
	*view = (struct view){.width = 0};
}

static struct output output_of(const struct view *view)
{
	return (struct output){.file = view->file, .width = view->width};
}

/* --- title ----------------------------------------------------------------------------------- */

static uint32_t state_of(const struct profile *profile)
{
	return atomic_load_explicit(&profile->header.state, memory_order_relaxed);
}

/* What became of the process, and of the recording, which may have stopped before. */
static const char *end_word(const struct profile *profile)
{
	switch (state_of(profile)) {
	case FORMAT_STATE_ENDED:
		return "ended";
	case FORMAT_STATE_STOPPED:
		return "stopped";
	default:
		return "gone";
	}
}

/* On a narrow screen only what is out of the ordinary. */
static void put_state(const struct top *top, unsigned width, FILE *file)
{
	const struct profile *profile = top->report.profile;
	char time[UNITS_SIZE];

	if (!profile->is_live)
		fputs(end_word(profile), file);
	else if (top->is_paused)
		fputs("paused", file);
	else if (width >= STATE_MIN)
		fprintf(file, "every %s", units_duration(top->interval_ns, time));
}

/* To be freed; NULL: no memory. */
static char *title_of(const struct top *top)
{
	const struct profile *profile = top->report.profile;
	const char *name = profile->program_name[0] ? profile->program_name : "unknown program";
	const char *end = profile->is_live ? "running for" : end_word(profile);
	char *text, time[UNITS_SIZE];

	if (asprintf(&text, "%s (pid %" PRIu32 "), %s %s%s", name, profile->header.pid, end,
		     profile->is_live ? "" : "after ",
		     units_duration(profile->duration_ns, time)) < 0)
		return NULL;
	return text;
}

static void put_title(struct view *view, const struct top *top)
{
	struct output out = output_of(view);
	char *title = title_of(top), *state = NULL;
	unsigned columns;
	size_t size;
	FILE *file = open_memstream(&state, &size);

	if (file) {
		put_state(top, view->width, file);
		fclose(file);
	}
	/* Two blanks before it. */
	columns = state && state[0] ? output_columns(state) + 2 : 0;
	if (title && view->width > columns)
		page_padded(&out, title, view->width - columns);
	fprintf(view->file, "%s%s", columns ? "  " : "", columns ? state : "");
	free(title);
	free(state);
	view_line(view, VIEW_TITLE);
}

/* --- sentences ------------------------------------------------------------------------------- */

/* One paragraph, wrapped; at most *left lines, which is how many may follow then. */
static void put_paragraph(struct view *view, const char *text, enum view_style style, unsigned *left)
{
	static const char more[] = " ...";
	struct output out = {.width = view->width};
	char *wrapped = NULL, *at, *next;
	struct page_text page;
	bool is_cut;
	size_t size;

	out.file = open_memstream(&wrapped, &size);
	if (!out.file) {
		view->failed = true;
		return;
	}
	page_text_begin(&page, &out);
	fputs(text, page.file);
	page_text_end(&page, &out, PAGE_INDENT);
	fclose(out.file);
	for (at = wrapped; at && *at && *left; at = next) {
		next = strchr(at, '\n');
		if (next)
			*next++ = '\0';
		(*left)--;
		is_cut = !*left && next && *next;
		if (is_cut && view->width > sizeof(more))
			cut_words(at, view->width - (unsigned)sizeof(more) + 1);
		fprintf(view->file, "%s%s", at, is_cut ? more : "");
		view_line(view, style);
	}
	free(wrapped);
}

static unsigned count_paragraphs(const char *text)
{
	unsigned count = 0;

	while (text && *text) {
		count += text[strspn(text, " ")] != '\n';
		text = strchr(text, '\n');
		text += text != NULL;
	}
	return count;
}

/* Paragraphs, one in a line of text.  The first ones leave a line to each that follows: who grows is seldom the first. */
static void put_paragraphs(struct view *view, const char *text, enum view_style style, unsigned left)
{
	char *copy = text ? strdup(text) : NULL, *rest = copy, *line;

	while (rest && left && (line = strsep(&rest, "\n")) != NULL) {
		unsigned after = count_paragraphs(rest), room = left > after ? left - after : 1;

		line += strspn(line, " ");
		if (!*line)
			continue;
		left -= room;
		put_paragraph(view, line, style, &room);
		left += room;
	}
	free(copy);
}

static void put_warnings(struct view *view, const struct top *top, unsigned left)
{
	const struct profile *profile = top->report.profile;

	if (!profile->is_live && state_of(profile) == FORMAT_STATE_ENDED && left) {
		fputs("  The process has ended: this is its final state.", view->file);
		view_line(view, VIEW_WARNING);
		left--;
	}
	put_paragraphs(view, top->warnings, VIEW_WARNING, left);
}

/* --- totals ---------------------------------------------------------------------------------- */

/* The last ten minutes, or all there is. */
static void read_history(const struct top *top, unsigned count, uint64_t *live, uint64_t *rss)
{
	uint64_t until = top->report.profile->duration_ns;
	struct history_cells cells = {.until_ns = until, .count = count};

	cells.since_ns = until > 10 * MINUTE_NS ? until - 10 * MINUTE_NS : 0;
	history_read(&top->history, top->report.profile, &cells, live, rss);
}

static void put_live(struct view *view, const struct top *top)
{
	const struct profile *profile = top->report.profile;
	uint64_t live[CELLS_MAX], rss[CELLS_MAX];
	char text[UNITS_SIZE];
	unsigned used = profile->is_mapped ? 40 : 38;
	unsigned cells = view->width > used ? (view->width - used) / 2 : 0;

	cells = cells > CELLS_MAX ? CELLS_MAX : cells < CELLS_MIN ? 0 : cells;
	if (cells)
		read_history(top, cells, live, rss);
	fprintf(view->file, "%s%s %s ", cells ? "  " : "", profile->is_mapped ? "mapped" : "live",
		units_bytes(profile_live_bytes(&profile->totals), text));
	spark_put(live, cells, top->form, view->file);
	fprintf(view->file, "%srss %s ", cells ? "  " : "",
		top->rss_bytes ? units_bytes(top->rss_bytes, text) : "-");
	spark_put(rss, cells, top->form, view->file);
	view_line(view, VIEW_PLAIN);
}

/* What the program maps itself, which is no part of what is live. */
static void put_mapped(struct view *view, const struct top *top)
{
	const struct profile *profile = top->report.profile;
	char bytes[UNITS_SIZE];

	if (profile->is_mapped || !profile_maps(profile))
		return;
	fprintf(view->file, "  mapped %s by the program itself (mmap), no part of the heap: %s",
		units_bytes(profile_live_bytes(&profile->mapped->totals), bytes),
		view->is_plain ? "--mappings" : "key v");
	view_line(view, VIEW_PLAIN);
}

static void put_all(struct view *view, const struct profile *profile)
{
	const struct profile_counts *totals = &profile->totals;
	char bytes[UNITS_SIZE], calls[UNITS_SIZE], share[UNITS_SIZE];

	fprintf(view->file, "  %s %s in %s call%s since the start",
		profile->is_mapped ? "mapped" : "allocated", units_bytes(totals->alloc_bytes, bytes),
		units_count(totals->alloc_count, calls), totals->alloc_count == 1 ? "" : "s");
	if (!profile->is_mapped)
		fprintf(view->file, ", %s temporary",
			units_share(totals->temporary_count, totals->alloc_count, share));
	view_line(view, VIEW_PLAIN);
}

static void put_rates(struct view *view, const struct top *top)
{
	const struct profile *profile = top->report.profile;
	uint64_t elapsed = top_elapsed_ns(top);
	uint64_t bytes = moment_more(top->now.totals.alloc_bytes, top->before.totals.alloc_bytes);
	uint64_t calls = moment_more(top->now.totals.alloc_count, top->before.totals.alloc_count);
	char alloc[UNITS_SIZE], count[UNITS_SIZE], freed[UNITS_SIZE], churn[UNITS_SIZE];

	if (!elapsed || !profile->is_live) {
		put_all(view, profile);
		return;
	}
	fprintf(view->file,
		profile->is_mapped ? "  mapped %s/s in %s calls/s, unmapped %s/s, churn %s/s"
				   : "  alloc %s/s in %s calls/s, free %s/s, churn %s/s",
		units_bytes(columns_per_second(bytes, elapsed), alloc),
		units_count(columns_per_second(calls, elapsed), count),
		units_bytes(columns_per_second(top->freed_bytes, elapsed), freed),
		units_bytes(columns_per_second(bytes + top->freed_bytes, elapsed), churn));
	view_line(view, VIEW_PLAIN);
}

static void put_mark(struct view *view, const struct top *top)
{
	const struct moment_counts *now = &top->now.totals, *then = &top->mark.totals;
	int64_t blocks = (int64_t)(now->live_count - then->live_count);
	char time[UNITS_SIZE], live[UNITS_SIZE], alloc[UNITS_SIZE], calls[UNITS_SIZE];

	fprintf(view->file, "  since mark %s ago: ",
		units_duration(moment_more(top->now.time_ns, top->mark.time_ns), time));
	units_bytes_change((int64_t)(now->live_bytes - then->live_bytes), live);
	if (top->report.profile->is_mapped)
		fprintf(view->file, "mapped %s, in all", live);
	else
		fprintf(view->file, "live %s, blocks %+" PRId64 ", alloc", live, blocks);
	fprintf(view->file, " %s in %s calls",
		units_bytes(moment_more(now->alloc_bytes, then->alloc_bytes), alloc),
		units_count(moment_more(now->alloc_count, then->alloc_count), calls));
	view_line(view, VIEW_PLAIN);
}

/* --- all of it ------------------------------------------------------------------------------- */

/* How many lines of sentences go above the table. */
static unsigned words_room(unsigned height)
{
	unsigned room = (height + 4) / 5;

	return height < 8 ? 0 : room < WORDS_MAX ? room : WORDS_MAX;
}

static void put_top(struct view *view, const struct top *top, unsigned height)
{
	put_title(view, top);
	if (height >= 14)
		put_warnings(view, top, WARNINGS_MAX);
	put_paragraphs(view, top->words, VIEW_PLAIN, words_room(height));
	if (height >= 5)
		put_live(view, top);
	if (height >= 16)
		put_mapped(view, top);
	if (height >= 14)
		put_rates(view, top);
	if (height >= 6 && top->mark.time_ns)
		put_mark(view, top);
}

static void put_filter(struct view *view, const struct top *top)
{
	struct output out = output_of(view);
	char bytes[UNITS_SIZE], share[UNITS_SIZE];
	uint64_t live = (uint64_t)top->rows.totals[ROWS_LIVE];

	fputs("filter: ", view->file);
	output_safe(&out, top->filter);
	if (top->is_typing)
		fputs("_  (Enter keeps it, Esc drops it)", view->file);
	else
		fprintf(view->file, "  (%s %s, %s; Esc drops it)", units_bytes(live, bytes),
			top->report.profile->is_mapped ? "mapped" : "live",
			units_share(live, profile_live_bytes(&top->report.profile->totals), share));
}

static void put_bottom(struct view *view, const struct top *top)
{
	enum view_style style = VIEW_DIM;

	if (top->is_typing || top->filter[0]) {
		put_filter(view, top);
		style = VIEW_TITLE;
	} else {
		fprintf(view->file,
			"h help  / filter  < > sort  Enter expand  %s  p pause  m mark  q quit",
			top->maps ? "v heap" : "g group");
	}
	view_line(view, style);
}

bool view_screen(struct view *view, struct top *top)
{
	unsigned bottom = view->height >= 4, head = view->height >= 3, used;

	if (!view_begin(view))
		return false;
	if (top->is_help) {
		view_help(view);
		return view_finish(view);
	}
	top->out = output_of(view);
	put_top(view, top, view->height);
	used = view->count + head + bottom;
	if (!top_arrange(top, view->height > used ? view->height - used : 1))
		view->failed = true;
	if (head)
		view_table_head(view, top);
	view_table(view, top, VIEW_SELECTED);
	while (bottom && view->count + 1 < view->height && !view->failed)
		view_line(view, VIEW_PLAIN);
	if (bottom)
		put_bottom(view, top);
	return view_finish(view);
}

bool view_batch(struct view *view, struct top *top)
{
	if (!view_begin(view))
		return false;
	view->is_plain = true;
	top->out = output_of(view);
	put_top(view, top, UINT16_MAX);
	view_line(view, VIEW_PLAIN);
	if (!top_arrange(top, view->height))
		view->failed = true;
	view_table_head(view, top);
	view_table(view, top, VIEW_PLAIN);
	view_table_rest(view, top);
	view_line(view, VIEW_PLAIN);
	return view_finish(view);
}
