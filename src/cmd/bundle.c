/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bundle.c - `pmem bundle`: a profile and all its names in one file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/output.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/overwrite.h"
#include "profile/bundle.h"
#include "profile/find.h"

enum { NEXT = OPTIONS_NEXT, OPTION_SOURCE = 256 };

struct request {
	const char *name;   /* of the profile; NULL = the newest */
	const char *output; /* NULL = named after the profile, in the current folder */
	bool with_source;
	bool quiet;
	struct symbol_options symbols;
};

static int set_option(void *to, int option, const char *argument)
{
	struct request *request = to;

	switch (option) {
	case 'o':
		request->output = argument;
		return NEXT;
	case 'q':
		request->quiet = true;
		return NEXT;
	default:
		request->with_source = true;
		return NEXT;
	}
}

/* Returns NEXT or the exit code. */
static int parse(int argc, char **argv, struct request *request)
{
	static const struct option options[] = {
		{"output", required_argument, NULL, 'o'},
		{"source", no_argument, NULL, OPTION_SOURCE},
		SYMBOL_OPTIONS_ROWS,
		{"quiet", no_argument, NULL, 'q'},
		OPTIONS_LAST_ROWS,
	};
	const struct options known = {"bundle", ":o:q", options, set_option, &request->symbols};
	int code = options_parse(&known, argc, argv, request);

	if (code != NEXT)
		return code;
	if (argc - optind > 1)
		return cmd_usage("bundle", "one profile at a time, not %d", argc - optind);
	request->name = argv[optind];
	return NEXT;
}

/* "dir/pmem.11.prof" -> "pmem.11.bundle", in the current folder; to be freed; NULL: no memory. */
static char *default_output(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t length = strlen(name);
	char *output;

	if (length > 5 && strcmp(name + length - 5, ".prof") == 0)
		length -= 5;
	return asprintf(&output, "%.*s.bundle", (int)length, name) < 0 ? NULL : output;
}

static void say(const struct request *request, const char *output,
		const struct bundle_result *result)
{
	char bytes[UNITS_SIZE], profile[UNITS_SIZE], places[UNITS_SIZE], other[UNITS_SIZE];

	if (request->quiet || strcmp(output, "-") == 0)
		return;
	output_safe(&(struct output){.file = stdout}, output);
	printf(": %s (the profile alone: %s); %s places with names",
	       units_bytes(result->bytes, bytes), units_bytes(result->profile_bytes, profile),
	       units_count(result->places, places));
	if (result->nameless > 0)
		printf(", %s without", units_count(result->nameless, other));
	if (result->kept > 0)
		printf(", %s kept from the bundle that was there", units_count(result->kept, other));
	if (request->with_source)
		printf(", %s source lines", units_count(result->source_lines, other));
	printf("\n");
}

static bool write_bundle(const struct request *request, const char *path, struct error *err)
{
	struct bundle_request order = {.path = path,
				       .output = request->output,
				       .with_source = request->with_source,
				       .symbols = &request->symbols.symbols,
				       .progress = output_progress};
	struct bundle_result result;
	char *output = NULL;
	bool done;

	if (!order.output) {
		order.output = output = default_output(path);
		if (!output)
			return error_set(err, "no memory");
	}
	done = overwrite_with_bundle(order.output, err) && bundle_write(&order, &result, err);
	output_progress_end();
	if (done)
		say(request, order.output, &result);
	free(output);
	return done;
}

static int run(const struct request *request)
{
	struct error err = {""};
	char *path;
	bool ok;

	if (!find_unbundled(request->name, &path, &err))
		return cmd_fail("bundle", &err);
	ok = write_bundle(request, path, &err);
	free(path);
	return ok ? CMD_OK : cmd_fail("bundle", &err);
}

int cmd_bundle(int argc, char **argv)
{
	struct request request = {0};
	int code = parse(argc, argv, &request);

	if (code == NEXT)
		code = symbol_options_finish("bundle");
	if (code == NEXT)
		code = run(&request);
	symbol_options_free(&request.symbols);
	return code;
}
