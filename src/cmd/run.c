/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run.c - `pmem run`: starts a program with the recorder, and says at its end what was seen.
 *
 * Order: everything that can be refused is refused before anything is changed; an older profile is moved last.
 */
#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/run_child.h"
#include "cmd/run_env.h"
#include "cmd/run_names.h"
#include "cmd/run_output.h"
#include "cmd/run_say.h"
#include "cmd/run_summary.h"
#include "cmd/run_target.h"
#include "cmd/run_variables.h"
#include "profile/blame_file.h"

struct options {
	const char *output; /* NULL = default */
	const char *only;
	const char *sample; /* mean distance; NULL = not asked for */
	char overhead[8];   /* tenths of a percent; "" = not asked for */
	bool quiet;
	bool no_log;
	bool no_children;
	bool help;
};

/* Everything of one run. */
struct run {
	struct options options;
	char **argv; /* of the program */
	char *library;
	struct run_target target;
	struct run_output output;
	uint64_t run_id;
	struct run_child child;
};

static const char default_sample[] = "512k";

enum { DISTANCE_MIN = 1024, DISTANCE_MAX = 1 << 30 };

enum { ONLY_MAX = 255 }; /* what the recorder has room for */

enum {
	OPTION_NO_LOG = 256,
	OPTION_ONLY,
	OPTION_NO_CHILDREN,
	OPTION_SAMPLE,
	OPTION_MAX_OVERHEAD,
	OPTION_HELP
};

static const struct option long_options[] = {
	{"output", required_argument, NULL, 'o'},
	{"quiet", no_argument, NULL, 'q'},
	{"no-log", no_argument, NULL, OPTION_NO_LOG},
	{"only", required_argument, NULL, OPTION_ONLY},
	{"no-children", no_argument, NULL, OPTION_NO_CHILDREN},
	{"sample", optional_argument, NULL, OPTION_SAMPLE},
	{"max-overhead", required_argument, NULL, OPTION_MAX_OVERHEAD},
	{"help", no_argument, NULL, OPTION_HELP},
	{NULL, 0, NULL, 0}};

/* run's own errors must not look like an exit code of the program. */
static int usage_error(const char *before, const char *argument, const char *after)
{
	cmd_usage("run", "%s%s%s", before, argument, after);
	return CMD_RUN_FAILED;
}

/* optopt is 0 for an unknown word; else the letter or the number of an option: an unknown letter, or a known option that was
 * written --word=argument and takes none. */
static int bad_option(int code, char **argv)
{
	char letter[3] = {'-', (char)optopt, 0};
	const char *word = argv[optind - 1];

	if (code == ':')
		return usage_error("", word, " needs an argument");
	if (!optopt)
		return usage_error("unknown option ", word, "");
	if (optopt >= 256 || strchr("qh", optopt))
		return usage_error("", word, " takes no argument");
	return usage_error("unknown option ", letter, "");
}

/* A percentage as people write it, "3%", "0.5": to tenths of a percent, 0 to 1000, as text.  Else false. */
static bool parse_overhead(const char *text, char tenths[8])
{
	char *end;
	unsigned long whole = strtoul(text, &end, 10), tenth = 0;

	if (!isdigit((unsigned char)*text) || whole > 100)
		return false;
	if (end[0] == '.' && isdigit((unsigned char)end[1])) {
		tenth = (unsigned long)(end[1] - '0');
		end += 2;
	}
	if (*end == '%')
		end++;
	snprintf(tenths, 8, "%lu", whole * 10 + tenth);
	return !*end && whole * 10 + tenth <= 1000;
}

/* Fills options; optind is then the program's index.  Returns 0 or an exit code. */
static int parse_options(int argc, char **argv, struct options *options)
{
	int code;

	optind = 1;
	opterr = 0;
	while ((code = getopt_long(argc, argv, "+:o:qh", long_options, NULL)) != -1) {
		if (code == 'o')
			options->output = optarg;
		else if (code == 'q')
			options->quiet = true;
		else if (code == OPTION_NO_LOG)
			options->no_log = true;
		else if (code == OPTION_ONLY)
			options->only = optarg;
		else if (code == OPTION_NO_CHILDREN)
			options->no_children = true;
		else if (code == OPTION_SAMPLE)
			options->sample = optarg ? optarg : default_sample;
		else if (code == OPTION_MAX_OVERHEAD && !parse_overhead(optarg, options->overhead))
			return usage_error("--max-overhead=", optarg,
					   " is not a percentage like 3% or 0.5%");
		else if (code == OPTION_MAX_OVERHEAD)
			continue;
		else if (code == OPTION_HELP || code == 'h')
			options->help = true;
		else
			return bad_option(code, argv);
	}
	return 0;
}

/* What PMEM_SAMPLE takes: bytes, with k, m or g. */
static bool is_distance(const char *text)
{
	static const char suffixes[] = "kmg";
	char *end;
	unsigned long value = strtoul(text, &end, 10);
	const char *suffix = *end ? strchr(suffixes, *end | 0x20) : NULL;
	unsigned shift = suffix ? 10 * (unsigned)(suffix - suffixes + 1) : 0;

	if (!isdigit((unsigned char)*text) || (*end && (!suffix || end[1])))
		return false;
	return !value ||
	       (value <= (unsigned long)DISTANCE_MAX >> shift && value << shift >= DISTANCE_MIN);
}

static int fail(int code, const struct error *err)
{
	cmd_fail("run", err);
	return code;
}

/* A refusal: the sentence begins with what matters most. */
static int refuse(int code, const struct error *err)
{
	run_say(stderr, err->text);
	return code;
}

static int find_program(struct run *run, const char *called_as)
{
	struct error err;
	int code = run_target_find(&run->target, &err);

	if (code == CMD_RUN_NOT_FOUND && run->options.sample == default_sample &&
	    is_distance(run->target.name))
		error_set(&err, "%s; did you mean --sample=%s?", err.text, run->target.name);
	else if (code == CMD_RUN_NOT_FOUND && strcmp(called_as, "run") != 0)
		error_set(&err, "%s, and no command of pmem either (pmem help lists them)",
			  err.text);
	return code ? fail(code, &err) : 0;
}

/* Returns 0 or an exit code, after a message. */
static int prepare(struct run *run, const char *called_as)
{
	struct error err;
	int code = find_program(run, called_as);

	if (code)
		return code;
	if (!run_env_library(&run->library, &err))
		return fail(CMD_RUN_FAILED, &err);
	run->target.library = run->library;
	code = run_target_check(&run->target, &err);
	if (code)
		return refuse(code, &err);
	if (!run_env_new_id(&run->run_id, &err) ||
	    !run_output_prepare(run->options.output, &run->output, &err))
		return fail(CMD_RUN_FAILED, &err);
	return 0;
}

static int execute(struct run *run)
{
	const struct run_env env = {.library = run->library,
				    .output = run->output.pattern,
				    .run_id = run->run_id,
				    .only = run->options.only,
				    .sample = run->options.sample,
				    .overhead = run->options.overhead[0] ? run->options.overhead
									 : NULL,
				    .no_log = run->options.no_log,
				    .no_children = run->options.no_children,
				    .libstdcxx = run_target_wants_libstdcxx(&run->target)};
	struct error err;
	int code;

	if (!run_env_set(&env, &err))
		return fail(CMD_RUN_FAILED, &err);
	code = run_child(run->target.path, run->argv, &run->child, &err);
	return code ? fail(code, &err) : 0;
}

static void summarize(const struct run *run)
{
	const struct run_summary summary = {.program = run->target.name,
					    .folder = run->output.folder,
					    .moved = run->output.moved,
					    .only = run->options.only,
					    .run_id = run->run_id,
					    .child = &run->child};
	struct error err;

	if (run->options.quiet)
		return;
	/* The program has run: a mistake in the user's rules does not make that a failure. */
	if (!blame_file_use(NULL, &err))
		fprintf(stderr, "pmem: %s\n", err.text);
	run_summary_print(&summary, stderr);
}

int cmd_run(int argc, char **argv)
{
	struct run run = {.argv = NULL};
	int code = parse_options(argc, argv, &run.options);

	if (code)
		return code;
	if (run.options.help) {
		cmd_help_print(cmd_find("run"));
		return CMD_OK;
	}
	if (run.options.only && strlen(run.options.only) > ONLY_MAX)
		return usage_error("--only: ", "the pattern is too long", "");
	if (run.options.sample && !is_distance(run.options.sample))
		return usage_error("--sample=", run.options.sample,
				   " is not a size from 1k to 1g (0: record all)");
	if (optind >= argc)
		return usage_error("which program?", "", "");
	run.argv = argv + optind;
	run.target.name = run.argv[0];
	if (!run.options.quiet)
		run_variables_warn(environ, stderr);
	code = prepare(&run, argv[0]);
	if (!code)
		code = execute(&run);
	if (!code) {
		run_names_keep(run.output.folder, run.run_id, run.child.pid);
		summarize(&run);
		code = run_child_exit_code(&run.child);
	}
	run_output_free(&run.output);
	free(run.library);
	return code;
}
