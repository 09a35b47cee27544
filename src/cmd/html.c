/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * html.c - `pmem html`: a profile as a page for a browser.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/new_file.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/info_text.h"
#include "cmd/overwrite.h"
#include "cmd/symbol_options.h"
#include "page/html.h"
#include "profile/find.h"

enum { NEXT = -1, OPTION_HELP = 256 };

struct request {
	const char *name;   /* of the profile; NULL = the newest */
	const char *output; /* NULL = named after the profile, in the current folder */
	bool quiet;
	struct symbol_options symbols;
};

static int set_option(struct request *request, int option, char **argv)
{
	if (option >= SYMBOL_OPTIONS_SYSROOT && option < SYMBOL_OPTIONS_END)
		return symbol_options_set(&request->symbols, "html", option, optarg);
	switch (option) {
	case 'o':
		request->output = optarg;
		return NEXT;
	case 'q':
		request->quiet = true;
		return NEXT;
	case OPTION_HELP:
		cmd_help_print(cmd_find("html"));
		return CMD_OK;
	case ':':
		return cmd_usage("html", "%s needs an argument", argv[optind - 1]);
	default:
		return cmd_usage("html", "unknown option %s", argv[optind - 1]);
	}
}

/* Returns NEXT or the exit code. */
static int parse(int argc, char **argv, struct request *request)
{
	static const struct option options[] = {
		{"output", required_argument, NULL, 'o'},
		SYMBOL_OPTIONS_ROWS,
		{"quiet", no_argument, NULL, 'q'},
		{"help", no_argument, NULL, OPTION_HELP},
		{NULL, 0, NULL, 0},
	};
	int option, code;

	opterr = 0;
	optind = 1;
	while ((option = getopt_long(argc, argv, ":o:q", options, NULL)) != -1) {
		code = set_option(request, option, argv);
		if (code != NEXT)
			return code;
	}
	if (argc - optind > 1)
		return cmd_usage("html", "one profile at a time, not %d", argc - optind);
	request->name = argv[optind];
	return NEXT;
}

/* "dir/pmem.11.prof" -> "pmem.11.html", in the current folder; of a running process's mapping "pmem.11.html" too; to be freed;
 * NULL: no memory. */
static char *default_output(const struct profile *profile)
{
	const char *slash = strrchr(profile->path, '/');
	const char *name = slash ? slash + 1 : profile->path, *dot = strrchr(name, '.');
	char *output;
	int length;

	if (strncmp(profile->path, "/proc/", 6) == 0)
		length = asprintf(&output, "pmem.%u.html", (unsigned)profile->header.pid);
	else
		length = asprintf(&output, "%.*s.html",
				  (int)(dot ? (size_t)(dot - name) : strlen(name)), name);
	return length < 0 ? NULL : output;
}

/* As private as the profile. */
static mode_t mode_of(const struct profile *profile)
{
	struct stat status;

	return stat(profile->path, &status) == 0 ? status.st_mode & 0666 : 0600;
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
static bool write_page(struct html_page *page, const char *output, struct error *err)
{
	struct new_file file;

	if (!overwrite_with_page(output, err) ||
	    !new_file_open(&file, output, mode_of(page->sides[0].report->profile), err))
		return false;
	if (html_write(page, file.file, err))
		return new_file_keep(&file, err);
	new_file_drop(&file);
	return false;
}

/* The lines of `pmem info`, to be freed; NULL: no memory. */
static char *facts_of(const struct profile *profile)
{
	struct output out = {.width = 80};
	char *text = NULL;
	size_t size;

	out.file = open_memstream(&text, &size);
	if (!out.file)
		return NULL;
	info_text_print(profile, &out);
	fclose(out.file);
	return text;
}

static bool make_page(const struct request *request, struct report *report, struct error *err)
{
	struct html_page page = {.sides = {{.report = report}}, .side_count = 1};
	char *facts = facts_of(report->profile), *made = NULL;
	const char *output = request->output;
	struct stat status = {0};
	bool ok = false;

	if (!output)
		output = made = default_output(report->profile);
	page.facts = facts ? facts : "";
	if (!output)
		error_set(err, "no memory");
	else
		ok = write_page(&page, output, err);
	if (ok) {
		(void)!stat(output, &status);
		say(request, output, &status);
	}
	free(facts);
	free(made);
	return ok;
}

static bool open_report(const struct request *request, const struct profile *profile,
			struct error *err)
{
	struct report_options options = {.view = "json", .key = SITES_KEYS};
	struct output out = {.file = stdout, .width = 80};
	struct report report = {.profile = profile, .options = &options, .out = &out};
	bool ok;

	report.names = names_new_with(profile, &request->symbols.symbols);
	if (!report.names)
		return error_set(err, "%s: no memory for names", profile->path);
	ok = report_open(&report, err) && make_page(request, &report, err);
	report_close(&report);
	names_free(report.names);
	return ok;
}

static int run(const struct request *request)
{
	struct profile *profile;
	struct error err = {""};
	bool ok;

	if (!find_and_open(request->name, &profile, &err))
		return cmd_fail("html", &err);
	ok = open_report(request, profile, &err);
	profile_close(profile);
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
