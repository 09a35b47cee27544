/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbol_options.c - see symbol_options.h.
 */
#include "cmd/symbol_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/cmd.h"
#include "profile/blame_file.h"

enum { NEXT = -1 }; /* no exit code: go on */

/* Keeps the folder's real path.  NULL: there is no such folder, see errno. */
static const char *keep_folder(struct symbol_options *options, const char *folder)
{
	char *path = realpath(folder, NULL);
	struct stat status;

	if (!path)
		return NULL;
	if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode)) {
		free(path);
		errno = ENOTDIR;
		return NULL;
	}
	options->paths[options->path_count++] = path;
	return path;
}

static int set_sysroot(struct symbol_options *options, const char *verb, const char *folder)
{
	if (options->symbols.root)
		return cmd_usage(verb, "--sysroot: one at a time");
	options->symbols.root = keep_folder(options, folder);
	if (!options->symbols.root)
		return cmd_usage(verb, "--sysroot %s: %s", folder, strerror(errno));
	return NEXT;
}

static int add_debug_dir(struct symbol_options *options, const char *verb, const char *folder)
{
	const char **dirs = options->symbols.debug_dirs;
	unsigned count = 0;

	while (dirs[count])
		count++;
	if (count == SYMBOLS_DEBUG_DIRS)
		return cmd_usage(verb, "--debug-dir: more than %d", SYMBOLS_DEBUG_DIRS);
	dirs[count] = keep_folder(options, folder);
	if (!dirs[count])
		return cmd_usage(verb, "--debug-dir %s: %s", folder, strerror(errno));
	if (strchr(dirs[count], ':'))
		return cmd_usage(verb, "--debug-dir %s: no colon may be in it", folder);
	return NEXT;
}

int symbol_options_set(struct symbol_options *options, const char *verb, int option,
		       const char *argument)
{
	const char *servers = getenv("DEBUGINFOD_URLS");
	struct error err;

	switch (option) {
	case SYMBOL_OPTIONS_SYSROOT:
		return set_sysroot(options, verb, argument);
	case SYMBOL_OPTIONS_DEBUG_DIR:
		return add_debug_dir(options, verb, argument);
	case SYMBOL_OPTIONS_BLAME:
		return blame_file_use(argument, &err) ? NEXT : cmd_fail(verb, &err);
	default:
		if (!servers || !servers[0])
			return cmd_usage(verb, "--debuginfod: $DEBUGINFOD_URLS names no server");
		options->symbols.debuginfod = true;
		return NEXT;
	}
}

int symbol_options_finish(const char *verb)
{
	struct error err;

	return blame_file_use(NULL, &err) ? NEXT : cmd_fail(verb, &err);
}

void symbol_options_free(struct symbol_options *options)
{
	for (unsigned i = 0; i < options->path_count; i++)
		free(options->paths[i]);
	*options = (struct symbol_options){0};
}
