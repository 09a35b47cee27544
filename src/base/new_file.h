/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * new_file.h - a file that is there under its name only when it is complete.
 */
#ifndef PMEM_BASE_NEW_FILE_H
#define PMEM_BASE_NEW_FILE_H
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"

struct new_file {
	FILE *file;	  /* to write to */
	const char *path; /* as given */
	char *beside; /* what it is called until it is complete; NULL: it is written in its place */
};

/* Begins one.  "-" is standard output; what is there and no regular file, as a pipe, is written to; all else is replaced by a
 * file with that mode.  path must stay.  False: nothing is open. */
bool new_file_open(struct new_file *new, const char *path, mode_t mode, struct error *err);

/* Puts it in its place.  False: not all could be written, and what was there before still is; a reader of standard output
 * that has seen enough is a failure too. */
bool new_file_keep(struct new_file *new, struct error *err);

/* Leaves everything as it was. */
void new_file_drop(struct new_file *new);

#endif
