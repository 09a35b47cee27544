/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * new_file.c - a file that is there under its name only when it is complete.
 */
#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output.h"

static bool failed(const struct new_file *new, struct error *err)
{
	return error_set_errno(err, "%s", new->file == stdout ? "standard output" : new->path);
}

/* What is no regular file must not be replaced by one. */
static bool is_special(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

/* A file of its own beside the path. */
static bool open_beside(struct new_file *new, mode_t mode)
{
	int fd;

	if (asprintf(&new->beside, "%s.XXXXXX", new->path) < 0) {
		new->beside = NULL;
		return false;
	}
	fd = mkostemp(new->beside, O_CLOEXEC);
	if (fd < 0)
		return false;
	(void)!fchmod(fd, mode);
	new->file = fdopen(fd, "w");
	if (new->file)
		return true;
	close(fd);
	unlink(new->beside);
	return false;
}

bool new_file_open(struct new_file *new, const char *path, mode_t mode, struct error *err)
{
	bool ok;

	*new = (struct new_file){.path = path};
	if (strcmp(path, "-") == 0) {
		new->file = stdout;
		return true;
	}
	if (is_special(path)) {
		new->file = fopen(path, "we");
		ok = new->file != NULL;
	} else {
		ok = open_beside(new, mode);
	}
	if (ok)
		return true;
	failed(new, err);
	free(new->beside);
	new->beside = NULL;
	return false;
}

bool new_file_keep(struct new_file *new, struct error *err)
{
	bool ok = output_flush(new->file) || failed(new, err);

	if (new->file != stdout && fclose(new->file) != 0 && ok)
		ok = failed(new, err);
	if (new->beside && ok &&rename(new->beside, new->path) != 0)
		ok = failed(new, err);
	if (new->beside && !ok)
		unlink(new->beside);
	free(new->beside);
	*new = (struct new_file){0};
	return ok;
}

void new_file_drop(struct new_file *new)
{
	if (new->file &&new->file != stdout)
		fclose(new->file);
	if (new->beside)
		unlink(new->beside);
	free(new->beside);
	*new = (struct new_file){0};
}
