/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * source_file.c - reads source files line by line.
 */
#include "profile/source_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	LINE_SIZE_MAX = 1000,		  /* longer lines are cut */
	FILE_SIZE_MAX = 64 * 1024 * 1024, /* larger files are no source */
};

static FILE *open_regular(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;
	FILE *file;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= FILE_SIZE_MAX) {
		file = fdopen(fd, "r");
		if (file)
			return file;
	}
	close(fd);
	return NULL;
}

void source_file_open(struct source_file *source, const char *path)
{
	if (source->path && strcmp(source->path, path) == 0)
		return;
	if (source->file)
		fclose(source->file);
	source->path = path;
	source->file = open_regular(path);
	source->line = 0;
}

bool source_file_next(struct source_file *source)
{
	ssize_t length = source->file ? getline(&source->text, &source->size, source->file) : -1;

	if (length < 0)
		return false;
	source->line++;
	source->read += (uint64_t)length;
	source->text[strcspn(source->text, "\r\n")] = '\0';
	if (strlen(source->text) > LINE_SIZE_MAX)
		source->text[LINE_SIZE_MAX] = '\0';
	return true;
}

void source_file_close(struct source_file *source)
{
	if (source->file)
		fclose(source->file);
	free(source->text);
	*source = (struct source_file){0};
}
