/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.c - `pmem report`: who holds the memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/output.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "profile/find.h"
#include "profile/names.h"
#include "profile/profile.h"
#include "profile/when.h"
#include "report/report.h"

enum { NEXT = OPTIONS_NEXT }; /* no exit code: go on */

enum {
	OPTION_BY = 256,
	OPTION_TOP,
	OPTION_FOCUS,
	OPTION_IGNORE,
	OPTION_SINCE,
	OPTION_UNTIL,
	OPTION_ALL_FRAMES,
	OPTION_RAW_NAMES,
	OPTION_SOURCE,
	OPTION_FRAME_TABLE,
	OPTION_BOTTOM_UP,
	OPTION_VIEW, /* and on: one for each row of report_views */
};

static const struct option fixed_options[] = {
	{"by", required_argument, NULL, OPTION_BY},
	{"top", required_argument, NULL, OPTION_TOP},
	{"focus", required_argument, NULL, OPTION_FOCUS},
	{"ignore", required_argument, NULL, OPTION_IGNORE},
	{"since", required_argument, NULL, OPTION_SINCE},
	{"until", required_argument, NULL, OPTION_UNTIL},
	{"all-frames", no_argument, NULL, OPTION_ALL_FRAMES},
	{"raw-names", no_argument, NULL, OPTION_RAW_NAMES},
	{"source", no_argument, NULL, OPTION_SOURCE},
	{"frame-table", no_argument, NULL, OPTION_FRAME_TABLE},
	SYMBOL_OPTIONS_ROWS,
	{"help", no_argument, NULL, OPTIONS_HELP},
	{"bottom-up", no_argument, NULL, OPTION_BOTTOM_UP}, /* --callers */
};

enum { FIXED = sizeof(fixed_options) / sizeof(fixed_options[0]), OPTIONS_MAX = 64 };

/* Every view is an option of its name. */
static void list_options(struct option options[OPTIONS_MAX])
{
	unsigned i, count = FIXED;

	memcpy(options, fixed_options, sizeof(fixed_options));
	for (i = 0; report_views[i].name && count < OPTIONS_MAX - 1; i++)
		options[count++] = (struct option){report_views[i].name, no_argument, NULL,
						   (int)(OPTION_VIEW + i)};
	options[count] = (struct option){NULL, 0, NULL, 0};
}

/* What the command line says. */
struct request {
	struct report_options report;
	struct symbol_options symbols;
	const char *name; /* of the profile; NULL = the newest */
};

static int set_key(struct report_options *options, const char *name)
{
	if (!sites_key_find(name, &options->key))
		return cmd_usage("report",
				 "--by %s: no such key; there are live, peak, alloc, count, "
				 "temporary and growth",
				 name);
	return NEXT;
}

static int set_top(struct report_options *options, const char *text)
{
	unsigned long value;

	if (!cmd_parse_number(text, 1000000, &value) || value == 0)
		return cmd_usage("report", "--top %s: no number from 1 to 1000000", text);
	options->top = (unsigned)value;
	return NEXT;
}

static int add_pattern(const char *patterns[REPORT_PATTERNS], unsigned *count, const char *text)
{
	if (*count == REPORT_PATTERNS)
		return cmd_usage("report", "more than %d patterns", REPORT_PATTERNS);
	if (!text[0])
		return cmd_usage("report", "an empty pattern");
	patterns[(*count)++] = text;
	return NEXT;
}

/* For a program, of one subject only: "json" or "csv"; else NULL. */
static const char *data_of(const char *view, const char *other)
{
	static const char *const pairs[][2] = {{"rss", "json"},
					       {"mappings", "json"},
					       {"mappings", "csv"},
					       {"pinned", "json"},
					       {"advice", "json"}};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		if ((strcmp(view, pairs[i][0]) == 0 && strcmp(other, pairs[i][1]) == 0) ||
		    (strcmp(other, pairs[i][0]) == 0 && strcmp(view, pairs[i][1]) == 0))
			return pairs[i][1];
	return NULL;
}

static int set_view(struct report_options *options, const char *name)
{
	const char *data = options->view ? data_of(options->view, name) : NULL;

	options->rss |= strcmp(name, "rss") == 0;
	options->mappings |= strcmp(name, "mappings") == 0;
	options->pinned |= strcmp(name, "pinned") == 0;
	options->advice |= strcmp(name, "advice") == 0;
	if (data)
		name = options->view = data;
	if (options->view && strcmp(options->view, name) != 0)
		return cmd_usage("report", "--%s and --%s: one view at a time", options->view, name);
	options->view = name;
	return NEXT;
}

static int set_flag(struct report_options *options, int option)
{
	switch (option) {
	case OPTION_ALL_FRAMES:
		options->all_frames = true;
		return NEXT;
	case OPTION_RAW_NAMES:
		options->raw_names = true;
		return NEXT;
	case OPTION_SOURCE:
		options->source = true;
		return NEXT;
	case OPTION_FRAME_TABLE:
		options->frame_table = true;
		return NEXT;
	case OPTION_BOTTOM_UP:
		return set_view(options, "callers");
	default:
		return set_view(options, report_views[option - OPTION_VIEW].name);
	}
}

static int set_time(const char **time, const char *option, const char *text)
{
	if (!when_is_time(text))
		return cmd_usage("report", "%s %s: no time such as 90s, 10m, -10m or 10:42:13",
				 option, text);
	*time = text;
	return NEXT;
}

static int set_option(void *request, int option, const char *argument)
{
	struct report_options *options = &((struct request *)request)->report;

	switch (option) {
	case OPTION_BY:
		return set_key(options, argument);
	case OPTION_TOP:
		return set_top(options, argument);
	case OPTION_FOCUS:
		return add_pattern(options->focus, &options->focus_count, argument);
	case OPTION_IGNORE:
		return add_pattern(options->ignore, &options->ignore_count, argument);
	case OPTION_SINCE:
		return set_time(&options->since, "--since", argument);
	case OPTION_UNTIL:
		return set_time(&options->until, "--until", argument);
	default:
		return set_flag(options, option);
	}
}

/* True if the timeline does not have the key, so that it goes with no part of it. */
static bool is_unknown_of_time(enum sites_key key)
{
	return key == SITES_PEAK || key == SITES_COUNT || key == SITES_TEMPORARY;
}

/* Returns NEXT or the exit code. */
static int parse(int argc, char **argv, struct request *request)
{
	struct report_options *options = &request->report;
	struct option long_options[OPTIONS_MAX];
	const struct options known = {"report", ":", long_options, set_option, &request->symbols};
	int code;

	list_options(long_options);
	options->key = SITES_KEYS;
	code = options_parse(&known, argc, argv, request);
	if (code != NEXT)
		return code;
	if (argc - optind > 1)
		return cmd_usage("report", "one profile at a time, not %d", argc - optind);
	if (!options->view)
		options->view = "summary";
	if (options->frame_table && strcmp(options->view, "json") != 0)
		return cmd_usage("report", "--frame-table: goes with --json");
	if ((options->since || options->until) && is_unknown_of_time(options->key))
		return cmd_usage("report", "--by %s: the timeline has live, alloc and growth only",
				 sites_key_name(options->key));
	request->name = argv[optind];
	return NEXT;
}

static bool print_view(struct report *report, const struct report_view *view, struct error *err)
{
	struct output out = {.file = stdout, .colors = false, .width = 80};
	bool ok;

	if (view->is_data) {
		report->out = &out;
		return view->print(report, err) && output_finish(out.file, err);
	}
	output_begin(&out);
	report->out = &out;
	ok = view->print(report, err);
	if (out.file == stdout && ok)
		ok = output_finish(out.file, err);
	output_end(&out);
	return ok;
}

static bool print_report(const struct profile *profile, const struct request *request,
			 struct error *err)
{
	const struct report_options *options = &request->report;
	struct report report = {.profile = profile, .options = options};
	bool ok;

	/* JSON has both side by side. */
	if (options->mappings && strcmp(options->view, "json") != 0)
		report.profile = profile->mapped;

	report.names = names_new_with(profile, &request->symbols.symbols);
	if (!report.names)
		return error_set(err, "%s: no memory for names", profile->path);
	ok = report_open(&report, err) && print_view(&report, report_view_find(options->view), err);
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
		return cmd_fail("report", &err);
	ok = print_report(profile, request, &err);
	profile_close(profile);
	return ok ? CMD_OK : cmd_fail("report", &err);
}

int cmd_report(int argc, char **argv)
{
	struct request request = {0};
	int code = parse(argc, argv, &request);

	if (code == NEXT)
		code = symbol_options_finish("report");
	if (code == NEXT)
		code = run(&request);
	symbol_options_free(&request.symbols);
	return code;
}
