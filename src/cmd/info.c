/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * info.c - `pmem info`: what was recorded, by which version, at which cost, with which losses.
 */
#include <stdlib.h>

#include "base/output.h"
#include "cmd/cmd.h"
#include "cmd/info_json.h"
#include "cmd/info_text.h"
#include "cmd/options.h"
#include "profile/find.h"
#include "profile/profile.h"

enum { NEXT = OPTIONS_NEXT, OPTION_JSON = 256 };

struct request {
	const char *name; /* of the profile; NULL = the newest */
	bool as_json;
};

/* There is but one. */
static int set_option(void *request, int option, const char *argument)
{
	(void)option;
	(void)argument;
	((struct request *)request)->as_json = true;
	return NEXT;
}

/* Returns NEXT or the exit code. */
static int parse(int argc, char **argv, struct request *request)
{
	static const struct option rows[] = {{"json", no_argument, NULL, OPTION_JSON},
					     OPTIONS_LAST_ROWS};
	static const struct options options = {"info", ":", rows, set_option, NULL};
	int code;

	*request = (struct request){0};
	code = options_parse(&options, argc, argv, request);
	if (code != NEXT)
		return code;
	if (argc - optind > 1)
		return cmd_usage("info", "one profile at a time, not %d", argc - optind);
	request->name = argv[optind];
	return NEXT;
}

/* Returns the exit code. */
static int print_json(const struct profile *profile)
{
	struct error err = {""};

	info_json_print(profile, stdout);
	return output_finish(stdout, &err) ? CMD_OK : cmd_fail("info", &err);
}

static int print(const struct profile *profile, const struct request *request)
{
	struct output out;

	if (request->as_json)
		return print_json(profile);
	output_begin(&out);
	info_text_print(profile, &out);
	output_end(&out);
	return CMD_OK;
}

int cmd_info(int argc, char **argv)
{
	struct request request;
	struct profile *profile;
	struct error err = {""};
	int code = parse(argc, argv, &request);
	char *path;
	bool ok;

	if (code != NEXT)
		return code;
	if (!find_profile(request.name, &path, &err))
		return cmd_fail("info", &err);
	ok = profile_open(path, &profile, &err);
	free(path);
	if (!ok)
		return cmd_fail("info", &err);
	code = print(profile, &request);
	profile_close(profile);
	return code;
}
