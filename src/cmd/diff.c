/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diff.c - `pmem diff`: what changed between two profiles, or two moments of one.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/output.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "profile/diff.h"
#include "profile/diff_moment.h"
#include "profile/names.h"
#include "profile/profile.h"
#include "report/diff.h"

enum { NEXT = OPTIONS_NEXT }; /* no exit code: go on */

enum {
	OPTION_BY = 256,
	OPTION_TOP,
	OPTION_STACKS,
	OPTION_FOCUS,
	OPTION_IGNORE,
	OPTION_FOLD,
	OPTION_ALL_FRAMES,
	OPTION_RAW_NAMES,
	OPTION_FAIL_OVER,
	OPTION_MAPPINGS,
	OPTION_JSON,
	OPTION_CSV,
};

static const struct option long_options[] = {
	{"by", required_argument, NULL, OPTION_BY},
	{"top", required_argument, NULL, OPTION_TOP},
	{"stacks", no_argument, NULL, OPTION_STACKS},
	{"focus", required_argument, NULL, OPTION_FOCUS},
	{"ignore", required_argument, NULL, OPTION_IGNORE},
	{"fold-recursion", no_argument, NULL, OPTION_FOLD},
	{"all-frames", no_argument, NULL, OPTION_ALL_FRAMES},
	{"raw-names", no_argument, NULL, OPTION_RAW_NAMES},
	{"fail-over", required_argument, NULL, OPTION_FAIL_OVER},
	{"mappings", no_argument, NULL, OPTION_MAPPINGS},
	{"json", no_argument, NULL, OPTION_JSON},
	{"csv", no_argument, NULL, OPTION_CSV},
	SYMBOL_OPTIONS_ROWS,
	OPTIONS_LAST_ROWS,
};

struct request {
	struct diff_options options;
	struct symbol_options symbols;
	bool json;
	bool csv;
	bool mappings; /* what the programs map themselves, instead of the heap */
	bool has_limit;
	uint64_t limit;		       /* bytes that live may grow by */
	const char *names[DIFF_SIDES]; /* of the profiles, as given */
};

/* What was opened; both sides may be one profile. */
struct opened {
	struct diff_moment moments[DIFF_SIDES];
	struct profile *profiles[DIFF_SIDES];
	struct names *names[DIFF_SIDES];
	struct diff_page page;
};

/* --- arguments ------------------------------------------------------------------------------- */

static int set_key(struct report_options *options, const char *name)
{
	if (!sites_key_find(name, &options->key) || options->key == SITES_GROWTH)
		return cmd_usage("diff",
				 "--by %s: no such key; there are live, peak, alloc, count and "
				 "temporary",
				 name);
	return NEXT;
}

static int set_top(struct report_options *options, const char *text)
{
	unsigned long value;

	if (!cmd_parse_number(text, 1000000, &value) || value == 0)
		return cmd_usage("diff", "--top %s: no number from 1 to 1000000", text);
	options->top = (unsigned)value;
	return NEXT;
}

static int add_pattern(const char *patterns[REPORT_PATTERNS], unsigned *count, const char *text)
{
	if (*count == REPORT_PATTERNS)
		return cmd_usage("diff", "more than %d patterns", REPORT_PATTERNS);
	if (!text[0])
		return cmd_usage("diff", "an empty pattern");
	patterns[(*count)++] = text;
	return NEXT;
}

static int set_limit(struct request *request, const char *text)
{
	if (!units_parse_bytes(text, &request->limit))
		return cmd_usage("diff", "--fail-over %s: no size such as 512k or 8MiB", text);
	request->has_limit = true;
	return NEXT;
}

static int set_flag(struct request *request, int option)
{
	switch (option) {
	case OPTION_STACKS:
		request->options.stacks = true;
		return NEXT;
	case OPTION_FOLD:
		request->options.fold_recursion = true;
		return NEXT;
	case OPTION_ALL_FRAMES:
		request->options.report.all_frames = true;
		return NEXT;
	case OPTION_RAW_NAMES:
		request->options.report.raw_names = true;
		return NEXT;
	case OPTION_MAPPINGS:
		request->mappings = true;
		return NEXT;
	case OPTION_JSON:
		request->json = true;
		return NEXT;
	default:
		request->csv = true;
		return NEXT;
	}
}

static int set_option(void *to, int option, const char *argument)
{
	struct request *request = to;
	struct report_options *options = &request->options.report;

	switch (option) {
	case OPTION_BY:
		return set_key(options, argument);
	case OPTION_TOP:
		return set_top(options, argument);
	case OPTION_FOCUS:
		return add_pattern(options->focus, &options->focus_count, argument);
	case OPTION_IGNORE:
		return add_pattern(options->ignore, &options->ignore_count, argument);
	case OPTION_FAIL_OVER:
		return set_limit(request, argument);
	default:
		return set_flag(request, option);
	}
}

/* Returns NEXT or the exit code. */
static int parse(int argc, char **argv, struct request *request)
{
	const struct options options = {"diff", ":", long_options, set_option, &request->symbols};
	int code;

	request->options.report.key = SITES_LIVE;
	code = options_parse(&options, argc, argv, request);
	if (code != NEXT)
		return code;
	if (request->json && request->csv)
		return cmd_usage("diff", "--json and --csv: one at a time");
	if (request->json && request->mappings)
		return cmd_usage("diff",
				 "--mappings: JSON has both, the heap and what the programs "
				 "map");
	if (request->mappings && request->options.report.key == SITES_TEMPORARY)
		return cmd_usage("diff",
				 "--by temporary: mappings have live, peak, alloc and count");
	if (argc - optind != DIFF_SIDES)
		return cmd_usage("diff", "two profiles, not %d", argc - optind);
	request->names[DIFF_A] = argv[optind];
	request->names[DIFF_B] = argv[optind + 1];
	code = options_check_moment("diff", request->names[DIFF_A]);
	return code == NEXT ? options_check_moment("diff", request->names[DIFF_B]) : code;
}

/* --- profiles -------------------------------------------------------------------------------- */

static bool open_profiles(const struct request *request, struct opened *opened, struct error *err)
{
	struct diff_moment *moments = opened->moments;

	for (unsigned side = 0; side < DIFF_SIDES; side++)
		if (!diff_moment_find(request->names[side], &moments[side], err))
			return false;
	if (!profile_open(moments[DIFF_A].path, &opened->profiles[DIFF_A], err))
		return false;
	if (diff_moment_is_one_file(&moments[DIFF_A], &moments[DIFF_B]))
		opened->profiles[DIFF_B] = opened->profiles[DIFF_A];
	else if (!profile_open(moments[DIFF_B].path, &opened->profiles[DIFF_B], err))
		return false;
	for (unsigned side = 0; side < DIFF_SIDES; side++)
		if (!diff_moment_time(opened->profiles[side], moments[side].time,
				      &opened->page.times_ns[side], err))
			return false;
	return true;
}

static bool open_names(const struct request *request, struct opened *opened, struct error *err)
{
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		if (side == DIFF_B && opened->profiles[DIFF_A] == opened->profiles[DIFF_B])
			opened->names[side] = opened->names[DIFF_A];
		else
			opened->names[side] = names_new_with(opened->profiles[side],
							     &request->symbols.symbols);
		if (!opened->names[side])
			return error_set(err, "%s: no memory for names",
					 opened->profiles[side]->path);
	}
	return true;
}

static void close_all(struct opened *opened)
{
	diff_page_close(&opened->page);
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		if (side == DIFF_A || opened->names[DIFF_A] != opened->names[DIFF_B])
			names_free(opened->names[side]);
		if (opened->profiles[side] &&
		    (side == DIFF_A || opened->profiles[DIFF_A] != opened->profiles[DIFF_B]))
			profile_close(opened->profiles[side]);
		diff_moment_free(&opened->moments[side]);
	}
}

/* --- output ---------------------------------------------------------------------------------- */

static bool print(const struct request *request, struct diff_page *page, struct output *out,
		  struct error *err)
{
	bool ok = true;

	if (request->json || request->csv) {
		*out = (struct output){.file = stdout, .width = 80};
		if (request->json && !diff_page_json(page, err))
			return false;
		if (request->csv)
			diff_page_csv(page);
		return output_finish(out->file, err);
	}
	output_begin(out);
	diff_page_print(page);
	if (out->file == stdout)
		ok = output_finish(out->file, err);
	output_end(out);
	return ok;
}

/* The exit code of --fail-over. */
static int judge(const struct request *request, const struct diff_page *page)
{
	int64_t change = diff_change(page->diff->totals, SITES_LIVE);
	char grown[UNITS_SIZE], limit[UNITS_SIZE];
	struct error err;

	if (!request->has_limit || change < 0 || (uint64_t)change <= request->limit)
		return CMD_OK;
	error_set(&err, "%s bytes grew by %s, more than %s", request->mappings ? "mapped" : "live",
		  units_bytes((uint64_t)change, grown), units_bytes(request->limit, limit));
	return cmd_fail("diff", &err);
}

/* Returns the exit code. */
static int compare(const struct request *request, struct opened *opened)
{
	enum sites_key key = request->options.report.key;
	struct diff_page *page = &opened->page;
	struct output out = {.file = stdout, .width = 80};
	struct error err = {""};

	if (!open_profiles(request, opened, &err) || !open_names(request, opened, &err))
		return cmd_fail("diff", &err);
	page->options = &request->options;
	page->out = &out;
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		page->sides[side].profile = request->mappings ? opened->profiles[side]->mapped
							      : opened->profiles[side];
		page->sides[side].names = opened->names[side];
		page->times[side] = opened->moments[side].time;
	}
	if (!diff_page_open(page, &err))
		return cmd_fail("diff", &err);
	if (page->diff->is_timed && key != SITES_LIVE && key != SITES_ALLOC)
		return cmd_usage("diff", "--by %s: of a moment only live and alloc are known",
				 sites_key_name(key));
	if (!print(request, page, &out, &err))
		return cmd_fail("diff", &err);
	return judge(request, page);
}

int cmd_diff(int argc, char **argv)
{
	struct opened opened = {0};
	struct request request = {0};
	int code = parse(argc, argv, &request);

	if (code == NEXT)
		code = symbol_options_finish("diff");
	if (code == NEXT)
		code = compare(&request, &opened);
	close_all(&opened);
	symbol_options_free(&request.symbols);
	return code;
}
