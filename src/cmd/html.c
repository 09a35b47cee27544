/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * html.c - `pmem html`: a profile, or two compared, as a page for a browser.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/new_file.h"
#include "base/path.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/info_text.h"
#include "cmd/options.h"
#include "cmd/overwrite.h"
#include "page/html.h"
#include "page/opened.h"
#include "profile/diff_moment.h"
#include "profile/find.h"
#include "profile/profile.h"

enum { NEXT = OPTIONS_NEXT, OPTION_NO_SOURCE = 256, OPTION_FORCE };

struct request {
	const char *names[HTML_SIDES]; /* of the profiles; NULL = the newest */
	unsigned name_count;
	const char *output; /* NULL = named after the profile, in the current folder */
	bool force;
	bool quiet;
	bool no_source;
	struct symbol_options symbols;
};

static int set_option(void *to, int option, const char *argument)
{
	struct request *request = to;

	switch (option) {
	case 'o':
		request->output = argument;
		return NEXT;
	case OPTION_FORCE:
		request->force = true;
		return NEXT;
	case 'q':
		request->quiet = true;
		return NEXT;
	default:
		request->no_source = true;
		return NEXT;
	}
}

/* Returns NEXT or the exit code. */
static int parse(int argc, char **argv, struct request *request)
{
	static const struct option options[] = {
		{"output", required_argument, NULL, 'o'},
		{"force", no_argument, NULL, OPTION_FORCE},
		SYMBOL_OPTIONS_ROWS,
		{"no-source", no_argument, NULL, OPTION_NO_SOURCE},
		{"quiet", no_argument, NULL, 'q'},
		OPTIONS_LAST_ROWS,
	};
	const struct options known = {"html", ":o:q", options, set_option, &request->symbols};
	int code = options_parse(&known, argc, argv, request);

	if (code != NEXT)
		return code;
	if (argc - optind > HTML_SIDES)
		return cmd_usage("html", "one profile, or two to compare, not %d", argc - optind);
	while (optind < argc && code == NEXT) {
		code = options_check_moment("html", argv[optind]);
		request->names[request->name_count++] = argv[optind++];
	}
	return code;
}

/* "pmem.11" of "dir/pmem.11.prof", and of a running process's mapping too; with "@10m" if that is its moment. */
static void put_stem(const struct profile *profile, const char *time, FILE *file)
{
	const char *name = path_last_part(profile->path), *dot = strrchr(name, '.');

	if (strncmp(profile->path, "/proc/", 6) == 0)
		fprintf(file, "pmem.%u", (unsigned)profile->header.pid);
	else
		fprintf(file, "%.*s", (int)(dot ? (size_t)(dot - name) : strlen(name)), name);
	if (!time)
		return;
	fputc('@', file);
	/* No colon: not all systems that a page is sent to have them in names. */
	for (; *time; time++)
		fputc(*time == ':' ? '-' : *time, file);
}

/* "pmem.11.html", of two "pmem.11..pmem.12.html", in the current folder; to be freed; NULL: no memory. */
static char *default_output(const struct opened *opened)
{
	char *output = NULL;
	size_t size;
	FILE *file = open_memstream(&output, &size);

	if (!file)
		return NULL;
	for (unsigned side = 0; side < opened->page.side_count; side++) {
		fputs(side > 0 ? ".." : "", file);
		put_stem(opened->page.sides[side].report->profile, opened->times[side], file);
	}
	fputs(".html", file);
	return fclose(file) == 0 ? output : NULL;
}

/* As private as the profiles. */
static mode_t mode_of(const struct html_page *page)
{
	mode_t mode = 0666;
	struct stat status;

	for (unsigned side = 0; side < page->side_count; side++)
		mode &= stat(page->sides[side].report->profile->path, &status) == 0 ? status.st_mode
										    : 0600;
	return mode;
}

static void say(const struct request *request, const char *output, const struct stat *status)
{
	char bytes[UNITS_SIZE];

	if (request->quiet || strcmp(output, "-") == 0)
		return;
	output_safe(&(struct output){.file = stdout}, output);
	if (S_ISREG(status->st_mode))
		printf(": %s; open it in a browser", units_bytes((uint64_t)status->st_size, bytes));
	printf("\n");
}

/* Writes the page to output, which is complete or not there. */
static bool write_page(const struct request *request, struct html_page *page, const char *output,
		       struct error *err)
{
	struct new_file file;

	if (!(request->force ? overwrite_with_export(output, err)
			     : overwrite_with_page(output, err)) ||
	    !new_file_open(&file, output, mode_of(page), err))
		return false;
	if (html_write(page, file.file, err))
		return new_file_keep(&file, err);
	new_file_drop(&file);
	return false;
}

/* Named after the profiles unless the user has named it. */
static bool write_output(const struct request *request, struct opened *opened, struct error *err)
{
	const char *output = request->output;
	char *made = NULL;
	struct stat status = {0};
	bool ok;

	if (!output)
		output = made = default_output(opened);
	if (!output)
		return error_set(err, "no memory");
	ok = write_page(request, &opened->page, output, err);
	if (ok && stat(output, &status) == 0)
		say(request, output, &status);
	free(made);
	return ok;
}

/* --------------------------------------------------------------------------------------------- */

/* What is made into a page. */
struct work {
	struct opened opened;
	struct diff_moment moments[HTML_SIDES];
};

static bool open_one(const struct request *request, struct work *work, struct error *err)
{
	struct opened_how how = {&request->symbols.symbols, info_text_print, NULL};
	const char *name = request->names[0];
	struct profile *profile;

	if (name && !diff_moment_find(name, &work->moments[0], err))
		return false;
	if (work->moments[0].time)
		return error_set(err, "%s: a moment is compared with another one: give two", name);
	return (name ? profile_open(work->moments[0].path, &profile, err)
		     : find_and_open(NULL, &profile, err)) &&
	       opened_add(&work->opened, profile, &how, err);
}

static bool open_two(const struct request *request, struct work *work, struct error *err)
{
	struct opened_how how = {&request->symbols.symbols, info_text_print, NULL};
	struct diff_moment *moments = work->moments;
	struct profile *profile;

	for (unsigned side = 0; side < HTML_SIDES; side++) {
		if (!diff_moment_find(request->names[side], &moments[side], err))
			return false;
		work->opened.times[side] = moments[side].time;
	}
	if (!profile_open(moments[0].path, &profile, err) ||
	    !opened_add(&work->opened, profile, &how, err))
		return false;
	if (diff_moment_is_one_file(&moments[0], &moments[1]))
		return opened_add_again(&work->opened, &how, err) &&
		       opened_compare(&work->opened, NULL, err);
	return profile_open(moments[1].path, &profile, err) &&
	       opened_add(&work->opened, profile, &how, err) &&
	       opened_compare(&work->opened, NULL, err);
}

static bool make_page(const struct request *request, struct work *work, struct error *err)
{
	work->opened.page.no_source = request->no_source;
	return (request->name_count == HTML_SIDES ? open_two(request, work, err)
						  : open_one(request, work, err)) &&
	       write_output(request, &work->opened, err);
}

static int run(const struct request *request)
{
	struct work *work = calloc(1, sizeof(*work));
	struct error err = {""};
	bool ok = work ? make_page(request, work, &err) : error_set(&err, "no memory");

	if (work) {
		opened_close(&work->opened);
		for (unsigned side = 0; side < HTML_SIDES; side++)
			diff_moment_free(&work->moments[side]);
	}
	free(work);
	return ok ? CMD_OK : cmd_fail("html", &err);
}

int cmd_html(int argc, char **argv)
{
	struct request request = {0};
	int code = parse(argc, argv, &request);

	if (code == NEXT)
		code = symbol_options_finish("html");
	if (code == NEXT)
		code = run(&request);
	symbol_options_free(&request.symbols);
	return code;
}
