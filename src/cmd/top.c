/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * top.c - `pmem top`: a recorded process, live on the terminal.
 */
#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "profile/find.h"
#include "top/choose.h"
#include "top/live.h"

enum { NEXT = OPTIONS_NEXT }; /* no exit code: go on */

enum {
	OPTION_BY = 256,
	OPTION_GROUP,
	OPTION_FILTER,
	OPTION_ALL_FRAMES,
	OPTION_MAPPINGS,
	OPTION_TOP
};

enum {
	ROWS_DEFAULT = 20,
	ROWS_MAX = 1000000,
	WIDTH_MIN = 20,
};

#define SECOND_NS UINT64_C(1000000000)

/* What the command line says. */
struct request {
	struct top_options top;
	struct live_batch batch;
	bool is_batch;
	const char *only_batch; /* an option that was given and goes with --batch only */
	struct symbol_options symbols;
	const char *name; /* NULL: what runs */
};

static int set_number(struct request *request, const char *option, const char *text,
		      unsigned *number)
{
	unsigned long value;

	request->only_batch = option;
	if (!cmd_parse_number(text, ROWS_MAX, &value) || value == 0)
		return cmd_usage("top", "%s %s: no number from 1 to %d", option, text, ROWS_MAX);
	*number = (unsigned)value;
	return NEXT;
}

static int set_delay(struct request *request, const char *text)
{
	uint64_t interval_ns;

	if (!units_parse_duration(text, &interval_ns) || interval_ns < SECOND_NS / 10 ||
	    interval_ns > 3600 * SECOND_NS)
		return cmd_usage("top", "-d %s: no time from 0.1 s to 1 h", text);
	request->top.interval_ns = interval_ns;
	return NEXT;
}

static int set_view(struct request *request, int option, const char *argument)
{
	switch (option) {
	case OPTION_BY:
		if (rows_column_find(argument, &request->top.sort))
			return NEXT;
		return cmd_usage("top",
				 "--by %s: no such key; there are live, growth, churn, blocks, "
				 "alloc and temporary",
				 argument);
	case OPTION_GROUP:
		if (rows_group_find(argument, &request->top.group))
			return NEXT;
		return cmd_usage("top", "--group %s: there are site, function and module", argument);
	case OPTION_FILTER:
		if (argument[0] && strlen(argument) < TOP_FILTER_SIZE) {
			request->top.filter = argument;
			return NEXT;
		}
		return cmd_usage("top", "--filter: 1 to %d bytes", TOP_FILTER_SIZE - 1);
	case OPTION_MAPPINGS:
		request->top.maps = true;
		return NEXT;
	default:
		request->top.all_frames = true;
		return NEXT;
	}
}

static int take_option(void *to, int option, const char *argument)
{
	struct request *request = to;

	switch (option) {
	case 'd':
		return set_delay(request, argument);
	case 'b':
		request->is_batch = true;
		return NEXT;
	case 'n':
		return set_number(request, "-n", argument, &request->batch.rounds);
	case OPTION_TOP:
		return set_number(request, "--top", argument, &request->batch.rows);
	default:
		return set_view(request, option, argument);
	}
}

static const struct option long_options[] = {
	{"delay", required_argument, NULL, 'd'},
	{"batch", no_argument, NULL, 'b'},
	{"count", required_argument, NULL, 'n'},
	{"top", required_argument, NULL, OPTION_TOP},
	{"by", required_argument, NULL, OPTION_BY},
	{"group", required_argument, NULL, OPTION_GROUP},
	{"filter", required_argument, NULL, OPTION_FILTER},
	{"all-frames", no_argument, NULL, OPTION_ALL_FRAMES},
	{"mappings", no_argument, NULL, OPTION_MAPPINGS},
	SYMBOL_OPTIONS_ROWS,
	OPTIONS_LAST_ROWS,
};

/* Returns NEXT or the exit code. */
static int parse(int argc, char **argv, struct request *request)
{
	const struct options options = {"top", ":d:bn:", long_options, take_option,
					&request->symbols};
	int code = options_parse(&options, argc, argv, request);

	if (code != NEXT)
		return code;
	if (argc - optind > 1)
		return cmd_usage("top", "one process at a time, not %d", argc - optind);
	if (request->only_batch && !request->is_batch)
		return cmd_usage("top", "%s goes with --batch", request->only_batch);
	request->name = argv[optind];
	return NEXT;
}

/* The screen needs both. */
static int check_terminal(const struct request *request)
{
	if (request->is_batch)
		return NEXT;
	if (!isatty(STDOUT_FILENO))
		return cmd_usage("top",
				 "standard output is no terminal; --batch prints plain text");
	if (!isatty(STDIN_FILENO))
		return cmd_usage("top", "standard input is no terminal; --batch needs none");
	return NEXT;
}

/* --- which process --------------------------------------------------------------------------- */

static int ended_by(int signal_number)
{
	signal(signal_number, SIG_DFL);
	raise(signal_number);
	return CMD_FAILED;
}

static int refuse_several(const struct choose *choose)
{
	fprintf(stderr, "pmem top: %u processes are recorded: name one of them\n", choose->count);
	for (unsigned i = 0; i < choose->count; i++)
		fprintf(stderr, "  %s\n", choose->items[i].text);
	return CMD_USAGE;
}

/* One of several. */
static int choose_one(const struct request *request, struct choose *choose, char **path)
{
	int signal_number;
	struct error err;

	if (request->is_batch)
		return refuse_several(choose);
	if (!choose_run(choose, path, &signal_number, &err))
		return cmd_fail("top", &err);
	if (signal_number)
		return ended_by(signal_number);
	return *path ? NEXT : CMD_OK;
}

/* What runs, all or of a folder; what has ended if nothing does. */
static int find_among(const struct request *request, char **path)
{
	struct choose choose;
	struct error err;
	int code = NEXT;

	if (!choose_find(&choose, request->name, &err))
		return cmd_fail("top", &err);
	*path = NULL;
	if (choose.count > 1)
		code = choose_one(request, &choose, path);
	else if (choose.count == 1)
		*path = strdup(choose.items[0].path);
	else if (!find_profile(request->name, path, &err))
		code = cmd_fail("top", &err);
	choose_end(&choose);
	if (code == NEXT && !*path) {
		error_set(&err, "no memory");
		code = cmd_fail("top", &err);
	}
	return code;
}

static int find(const struct request *request, char **path)
{
	struct stat status;
	struct error err;

	if (!request->name || (stat(request->name, &status) == 0 && S_ISDIR(status.st_mode)))
		return find_among(request, path);
	return find_profile(request->name, path, &err) ? NEXT : cmd_fail("top", &err);
}

/* --------------------------------------------------------------------------------------------- */

static int watch(const struct request *request, char *path)
{
	struct watch watched;
	struct top top;
	struct error err;
	int signal_number = 0;
	bool ok;

	watch_begin(&watched, path, &request->symbols.symbols);
	top_begin(&top, &request->top);
	if (request->is_batch)
		ok = live_print(&watched, &top, &request->batch, &err);
	else
		ok = live_run(&watched, &top, &signal_number, &err);
	top_end(&top);
	watch_end(&watched);
	if (signal_number)
		return ended_by(signal_number);
	return ok ? CMD_OK : cmd_fail("top", &err);
}

int cmd_top(int argc, char **argv)
{
	struct request request = {
		.top.interval_ns = 2 * SECOND_NS,
		.batch = {.rows = ROWS_DEFAULT, .width = output_width(WIDTH_MIN)},
	};
	char *path;
	int code = parse(argc, argv, &request);

	if (code == NEXT)
		code = symbol_options_finish("top");
	if (code == NEXT)
		code = check_terminal(&request);
	setlocale(LC_CTYPE, "");
	request.top.form = strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? SPARK_UTF8 : SPARK_ASCII;
	if (code == NEXT)
		code = find(&request, &path);
	if (code == NEXT)
		code = watch(&request, path);
	symbol_options_free(&request.symbols);
	return code;
}
