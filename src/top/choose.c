/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * choose.c - which of several recorded processes to watch.
 */
#include "top/choose.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/units.h"
#include "top/screen.h"

/* --- the list -------------------------------------------------------------------------------- */

static void put_arguments(const struct profile *profile, const struct output *out)
{
	const char *at = profile->command, *end = at + profile->command_size;

	for (; at < end && *at; at += strlen(at) + 1) {
		fputc(' ', out->file);
		output_safe(out, at);
	}
}

/* "4711  412.3 MiB  29 Nov 10:31:02  server: server --port 80", to be freed; NULL: it cannot be read, or runs no longer. */
static char *describe(const char *path)
{
	char live[UNITS_SIZE], date[UNITS_SIZE], *text = NULL;
	struct output out = {.width = 80};
	struct profile *profile;
	struct error ignored;
	size_t size;

	if (!profile_open(path, &profile, &ignored))
		return NULL;
	out.file = profile->is_live ? open_memstream(&text, &size) : NULL;
	if (out.file) {
		fprintf(out.file, "%7" PRIu32 " %10s  %15s ", profile->header.pid,
			units_bytes(profile_live_bytes(&profile->totals), live),
			units_date(profile->header.start_realtime_ns, date));
		put_arguments(profile, &out);
		fclose(out.file);
	}
	profile_close(profile);
	return text;
}

/* True if the profile lies in the folder. */
static bool lies_in(const char *path, const struct stat *folder)
{
	const char *slash = strrchr(path, '/');
	char *parent = strndup(path, slash ? (size_t)(slash - path) + 1 : 0);
	struct stat status;
	bool same = parent && stat(parent, &status) == 0 && status.st_dev == folder->st_dev &&
		    status.st_ino == folder->st_ino;

	free(parent);
	return same;
}

static void add(struct choose *choose, const struct find_running *running)
{
	struct choose_process *process = &choose->items[choose->count];

	*process = (struct choose_process){.pid = running->pid, .path = strdup(running->path)};
	process->text = process->path ? describe(process->path) : NULL;
	if (process->text)
		choose->count++;
	else
		free(process->path);
}

bool choose_find(struct choose *choose, const char *folder, struct error *err)
{
	struct find_running *found;
	struct stat status;
	unsigned count;

	*choose = (struct choose){.items = NULL};
	if (folder && stat(folder, &status) != 0)
		return error_set_errno(err, "%s", folder);
	if (!find_running(&found, &count, err))
		return false;
	choose->items = calloc((size_t)count + 1, sizeof(*choose->items));
	for (unsigned i = 0; choose->items && i < count; i++)
		if (!folder || lies_in(found[i].path, &status))
			add(choose, &found[i]);
	find_running_free(found, count);
	return choose->items || error_set(err, "no memory for the list of processes");
}

void choose_end(struct choose *choose)
{
	for (unsigned i = 0; i < choose->count; i++) {
		free(choose->items[i].path);
		free(choose->items[i].text);
	}
	free(choose->items);
	*choose = (struct choose){.items = NULL};
}

/* --- the screen ------------------------------------------------------------------------------ */

enum top_wish choose_key(struct choose *choose, int key, unsigned height)
{
	unsigned last = choose->count ? choose->count - 1 : 0;

	switch (key) {
	case TOP_KEY_UP:
	case 'k':
		choose->selected -= choose->selected > 0;
		break;
	case TOP_KEY_DOWN:
	case 'j':
		choose->selected += choose->selected < last;
		break;
	case TOP_KEY_HOME:
		choose->selected = 0;
		break;
	case TOP_KEY_END:
		choose->selected = last;
		break;
	case TOP_KEY_PAGE_UP:
		choose->selected -= choose->selected < height ? choose->selected : height;
		break;
	case TOP_KEY_PAGE_DOWN:
		choose->selected += last - choose->selected < height ? last - choose->selected
								     : height;
		break;
	case TOP_KEY_ENTER:
		return choose->count ? TOP_READ_NOW : TOP_GO_ON;
	case 'q':
	case TOP_KEY_ESCAPE:
		return TOP_QUIT;
	}
	return TOP_GO_ON;
}

bool choose_view(struct choose *choose, struct view *view)
{
	unsigned height = view->height > 3 ? view->height - 3 : 1;

	if (!view_begin(view))
		return false;
	if (choose->selected < choose->first)
		choose->first = choose->selected;
	if (choose->selected >= choose->first + height)
		choose->first = choose->selected - height + 1;
	fprintf(view->file, "%u recorded processes: which one?  Enter watches it, q quits",
		choose->count);
	view_line(view, VIEW_TITLE);
	fprintf(view->file, "%7s %10s  %15s  %s", "pid", "live", "since", "command");
	view_line(view, VIEW_HEAD);
	for (unsigned i = choose->first; i < choose->count && i < choose->first + height; i++) {
		fputs(choose->items[i].text, view->file);
		view_line(view, i == choose->selected ? VIEW_SELECTED : VIEW_PLAIN);
	}
	return view_finish(view);
}

/* Returns what the user wants in the end. */
static enum top_wish ask(struct choose *choose)
{
	struct view view = {.width = 0};
	enum top_wish wish = TOP_GO_ON;

	while (wish == TOP_GO_ON && !screen_signal()) {
		screen_size(&view);
		if (!choose_view(choose, &view))
			break;
		screen_show(&view);
		wish = choose_key(choose, screen_key(UINT64_MAX), view.height);
	}
	view_end(&view);
	return wish;
}

bool choose_run(struct choose *choose, char **path, int *signal_number, struct error *err)
{
	enum top_wish wish;

	*path = NULL;
	*signal_number = 0;
	if (!screen_begin(err))
		return false;
	wish = ask(choose);
	*signal_number = screen_signal();
	screen_end();
	if (wish != TOP_READ_NOW || *signal_number)
		return true;
	*path = strdup(choose->items[choose->selected].path);
	return *path || error_set(err, "no memory");
}
