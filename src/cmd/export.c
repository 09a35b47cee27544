/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * export.c - `pmem export`: a profile in another format.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "export/export.h"
#include "profile/find.h"

enum { NEXT = -1, OPTION_FORMAT = 256, OPTION_HELP };

struct request {
	const struct export_format *format;
	const char *output; /* NULL = standard output */
	const char *name;   /* of the profile; NULL = the newest */
};

/* "log, pprof" */
static const char *format_list(char *text, size_t size)
{
	const struct export_format *format;
	size_t used = 0;

	text[0] = '\0';
	for (format = export_formats; format->name && used < size; format++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
					 format->name);
	return text;
}

static int set_format(struct request *request, const char *name)
{
	char list[256];

	request->format = export_find(name);
	if (!request->format)
		return cmd_usage("export", "--format %s: no such format; there are: %s", name,
				 format_list(list, sizeof(list)));
	return NEXT;
}

static int set_option(struct request *request, int option, char **argv)
{
	switch (option) {
	case OPTION_FORMAT:
		return set_format(request, optarg);
	case 'o':
		request->output = strcmp(optarg, "-") == 0 ? NULL : optarg;
		return NEXT;
	case OPTION_HELP:
		cmd_help_print(cmd_find("export"));
		return CMD_OK;
	case ':':
		return cmd_usage("export", "%s needs an argument", argv[optind - 1]);
	default:
		return cmd_usage("export", "unknown option %s", argv[optind - 1]);
	}
}

/* Returns NEXT or the exit code. */
static int parse(int argc, char **argv, struct request *request)
{
	static const struct option options[] = {
		{"format", required_argument, NULL, OPTION_FORMAT},
		{"output", required_argument, NULL, 'o'},
		{"help", no_argument, NULL, OPTION_HELP},
		{NULL, 0, NULL, 0},
	};
	char list[256];
	int option, code;

	*request = (struct request){0};
	opterr = 0;
	optind = 1;
	while ((option = getopt_long(argc, argv, ":o:", options, NULL)) != -1) {
		code = set_option(request, option, argv);
		if (code != NEXT)
			return code;
	}
	if (argc - optind > 1)
		return cmd_usage("export", "one profile at a time, not %d", argc - optind);
	if (!request->format)
		return cmd_usage("export", "no --format; there are: %s",
				 format_list(list, sizeof(list)));
	request->name = argv[optind];
	return NEXT;
}

/* Closes file, unless it is standard output.  A reader of a pipe that has seen enough is no failure. */
static bool finish(FILE *file, const char *path, struct error *err)
{
	bool ok = !ferror(file);

	errno = 0;
	ok = (file == stdout ? fflush(file) : fclose(file)) == 0 && ok;
	if (ok || (file == stdout && errno == EPIPE))
		return true;
	return error_set_errno(err, "%s", path ? path : "standard output");
}

static bool write_profile(const struct request *request, const struct profile *profile,
			  struct error *err)
{
	struct export_source source = {profile, names_new(profile)};
	FILE *file = stdout;
	bool ok;

	if (!source.names)
		return error_set(err, "%s: no memory for names", profile->path);
	if (request->output)
		file = fopen(request->output, "we");
	if (!file) {
		names_free(source.names);
		return error_set_errno(err, "%s", request->output);
	}
	ok = request->format->write(&source, file, err);
	if (!finish(file, request->output, ok ? err : &(struct error){""}))
		ok = false;
	names_free(source.names);
	return ok;
}

int cmd_export(int argc, char **argv)
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
		return cmd_fail("export", &err);
	ok = profile_open(path, &profile, &err);
	free(path);
	if (!ok)
		return cmd_fail("export", &err);
	ok = write_profile(&request, profile, &err);
	profile_close(profile);
	return ok ? CMD_OK : cmd_fail("export", &err);
}
