/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * moment.c - see moment.h.
 *
 * Made in a folder of its own in $TMPDIR, which is gone when the file is open: nothing is left behind, however this process ends.
 */
#include "serve/moment.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "profile/bundle.h"

static bool make_in(const char *folder, const char *path, const struct symbols_options *symbols,
		    int *fd, struct error *err)
{
	struct bundle_request request = {.path = path, .symbols = symbols};
	struct bundle_result result;
	char *output;
	bool ok;

	if (asprintf(&output, "%s/moment.bundle", folder) < 0)
		return error_set(err, "no memory");
	request.output = output;
	ok = bundle_write(&request, &result, err);
	if (ok) {
		*fd = open(output, O_RDONLY | O_CLOEXEC);
		ok = *fd >= 0 || error_set_errno(err, "%s", output);
		unlink(output);
	}
	free(output);
	return ok;
}

bool moment_make(const char *path, const struct symbols_options *symbols, int *fd, struct error *err)
{
	const char *parent = getenv("TMPDIR");
	char *folder;
	bool ok;

	if (bundle_is_at(path))
		return error_set(err, "a bundle does not change: it is a moment already");
	if (asprintf(&folder, "%s/pmem-serve.XXXXXX", parent && parent[0] ? parent : "/tmp") < 0)
		return error_set(err, "no memory");
	ok = mkdtemp(folder) ? make_in(folder, path, symbols, fd, err)
			     : error_set_errno(err, "%s", folder);
	rmdir(folder);
	free(folder);
	return ok;
}
