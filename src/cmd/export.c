/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * export.c - `pmem export`: a profile in another format.
 *
 * The formats of `pmem report` for programs, JSON and CSV, are made by its views.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/overwrite.h"
#include "export/export.h"
#include "profile/find.h"
#include "report/mappings.h"
#include "report/report.h"

enum { NEXT = OPTIONS_NEXT, OPTION_FORMAT = 256, OPTION_VALUE, OPTION_MAPPINGS, OPTION_LIST };

struct request {
	struct symbol_options symbols;
	const struct export_format *format;
	const char *value;  /* name of an export_value; NULL = not given */
	bool mappings;	    /* instead of the heap */
	const char *output; /* NULL = standard output */
	const char *name;   /* of the profile; NULL = the newest */
};

static bool write_view(const char *view, const struct export_source *source, FILE *file,
		       struct error *err)
{
	struct report_options options = {.view = view, .key = SITES_KEYS};
	struct output out = {.file = file, .width = 80};
	struct report report = {
		.profile = source->profile, .names = source->names, .options = &options, .out = &out};
	bool ok = report_open(&report, err) && report_view_find(view)->print(&report, err);

	report_close(&report);
	return ok;
}

static bool write_csv(const struct export_source *source, FILE *file, struct error *err)
{
	return write_view("csv", source, file, err);
}

static bool write_json(const struct export_source *source, FILE *file, struct error *err)
{
	return write_view("json", source, file, err);
}

static const struct export_format views[] = {
	{"csv", "one row for each call stack, as pmem report --csv", write_csv, false, false,
	 EXPORT_ONE},
	{"json", "the whole profile, as pmem report --json (doc/JSON.md)", write_json, false, false,
	 EXPORT_BESIDE},
};

enum { VIEWS = sizeof(views) / sizeof(*views) };

/* The nth of all formats; NULL: there are not so many. */
static const struct export_format *format_at(unsigned n)
{
	unsigned i;

	for (i = 0; export_formats[i].name; i++)
		if (i == n)
			return &export_formats[i];
	return n - i < VIEWS ? &views[n - i] : NULL;
}

static const struct export_format *find_format(const char *name)
{
	const struct export_format *format;
	unsigned i;

	for (i = 0; (format = format_at(i)); i++)
		if (strcmp(format->name, name) == 0)
			return format;
	return NULL;
}

static int list_formats(void)
{
	const struct export_format *format;
	unsigned i;

	for (i = 0; (format = format_at(i)); i++)
		printf("%-10s  %s\n", format->name, format->summary);
	return CMD_OK;
}

/* "log, pprof" */
static const char *format_list(char *text, size_t size)
{
	const struct export_format *format;
	size_t used = 0;
	unsigned i;

	text[0] = '\0';
	for (i = 0; (format = format_at(i)) && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
					 format->name);
	return text;
}

static int set_format(struct request *request, const char *name)
{
	char list[256];

	request->format = find_format(name);
	if (!request->format)
		return cmd_usage("export", "--format %s: no such format; there are: %s", name,
				 format_list(list, sizeof(list)));
	return NEXT;
}

static int set_option(void *to, int option, const char *argument)
{
	struct request *request = to;

	switch (option) {
	case OPTION_FORMAT:
		return set_format(request, argument);
	case OPTION_VALUE:
		request->value = argument;
		return NEXT;
	case OPTION_MAPPINGS:
		request->mappings = true;
		return NEXT;
	case OPTION_LIST:
		return list_formats();
	default:
		request->output = strcmp(argument, "-") == 0 ? NULL : argument;
		return NEXT;
	}
}

/* What the program maps is no blocks, and has no peak as a whole that would be made of its call stacks'. */
static int check_mappings(const struct request *request)
{
	const struct export_format *format = request->format;

	if (format->kinds == EXPORT_BESIDE)
		return cmd_usage("export",
				 "--mappings: the format %s has what the program maps beside the "
				 "heap, without this option",
				 format->name);
	if (format->kinds == EXPORT_HEAP)
		return cmd_usage("export", "--mappings: the format %s is of blocks of the heap only",
				 format->name);
	if (request->value && strcmp(request->value, "live") != 0 &&
	    strcmp(request->value, "alloc") != 0 && strcmp(request->value, "alloc_blocks") != 0)
		return cmd_usage("export",
				 "--value %s: of what the program maps there are live (mapped "
				 "now), alloc (mapped in all) and alloc_blocks (calls)",
				 request->value);
	return NEXT;
}

/* Whether the options go together. */
static int check(const struct request *request)
{
	enum export_value value;
	char list[256];

	if (!request->format)
		return cmd_usage("export", "no --format; there are: %s",
				 format_list(list, sizeof(list)));
	if (request->value && !request->format->takes_value)
		return cmd_usage("export", "--value: the format %s has all that it can hold",
				 request->format->name);
	if (request->value && !export_value_find(request->value, &value))
		return cmd_usage("export",
				 "--value %s: no such value; there are live, live_blocks, alloc, "
				 "alloc_blocks, peak and temporary",
				 request->value);
	if (request->format->is_binary && !request->output && isatty(STDOUT_FILENO))
		return cmd_usage("export", "%s is nothing for a terminal: use -o FILE",
				 request->format->name);
	return request->mappings ? check_mappings(request) : NEXT;
}

/* Returns NEXT or the exit code. */
static int parse(int argc, char **argv, struct request *request)
{
	static const struct option options[] = {
		{"format", required_argument, NULL, OPTION_FORMAT},
		{"value", required_argument, NULL, OPTION_VALUE},
		{"mappings", no_argument, NULL, OPTION_MAPPINGS},
		{"list-formats", no_argument, NULL, OPTION_LIST},
		{"output", required_argument, NULL, 'o'},
		SYMBOL_OPTIONS_ROWS,
		OPTIONS_LAST_ROWS,
	};
	const struct options known = {"export", ":o:", options, set_option, &request->symbols};
	int code = options_parse(&known, argc, argv, request);

	if (code != NEXT)
		return code;
	if (argc - optind > 1)
		return cmd_usage("export", "one profile at a time, not %d", argc - optind);
	request->name = argv[optind];
	return check(request);
}

/* Closes file, unless it is standard output.  A reader of a pipe that has seen enough is no failure. */
static bool finish(FILE *file, const char *path, struct error *err)
{
	bool ok = output_flush(file) || (file == stdout && errno == EPIPE) ||
		  error_set_errno(err, "%s", path ? path : "standard output");

	if (file != stdout && fclose(file) != 0 && ok)
		ok = error_set_errno(err, "%s", path);
	return ok;
}

static bool write_file(const struct request *request, const struct export_source *source,
		       struct error *err)
{
	FILE *file;
	bool ok;

	if (request->output && !overwrite_with_export(request->output, err))
		return false;
	file = request->output ? fopen(request->output, "we") : stdout;
	if (!file)
		return error_set_errno(err, "%s", request->output);
	ok = request->format->write(source, file, err);
	return finish(file, request->output, ok ? err : &(struct error){""}) && ok;
}

/* That something considerable is missing. */
static void note_mappings(const struct request *request, const struct profile *profile)
{
	const struct export_format *format = request->format;
	struct error note;
	char bytes[UNITS_SIZE];

	if (request->mappings || format->kinds == EXPORT_BESIDE || !mappings_matter(profile))
		return;
	error_set(&note, "what the program mapped itself, %s by mmap, is not in it: %s",
		  units_bytes(profile_live_bytes(&profile->mapped->totals), bytes),
		  format->kinds == EXPORT_ONE ? "--mappings" : "pmem report --mappings");
	cmd_fail("export", &note);
}

static bool write_profile(const struct request *request, const struct profile *profile,
			  struct error *err)
{
	struct error note = {""};
	struct export_source source = {.profile = request->mappings ? profile->mapped : profile,
				       .note = &note};
	bool ok;

	source.names = names_new_with(profile, &request->symbols.symbols);
	if (!source.names)
		return error_set(err, "%s: no memory for names", profile->path);
	if (request->value)
		export_value_find(request->value, &source.value);
	ok = write_file(request, &source, err);
	if (ok && note.text[0])
		cmd_fail("export", &note);
	if (ok)
		note_mappings(request, profile);
	names_free(source.names);
	return ok;
}

static int run(const struct request *request)
{
	struct profile *profile;
	struct error err = {""};
	bool ok;

	if (!find_and_open(request->name, &profile, &err))
		return cmd_fail("export", &err);
	ok = write_profile(request, profile, &err);
	profile_close(profile);
	return ok ? CMD_OK : cmd_fail("export", &err);
}

int cmd_export(int argc, char **argv)
{
	struct request request = {0};
	int code = parse(argc, argv, &request);

	if (code == NEXT)
		code = symbol_options_finish("export");
	if (code == NEXT)
		code = run(&request);
	symbol_options_free(&request.symbols);
	return code;
}
