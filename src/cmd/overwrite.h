/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * overwrite.h - which files that exist an output may replace.
 *
 * A name that was mistyped, or not given at all, must not cost anybody a file.
 */
#ifndef PMEM_CMD_OVERWRITE_H
#define PMEM_CMD_OVERWRITE_H
#include <stdbool.h>

#include "base/error.h"

/* A bundle takes the place of another bundle, of an empty file, and of what is no regular file (a device, a pipe).  "-" is
 * standard output. */
bool overwrite_with_bundle(const char *path, struct error *err);

/* True if a page may be written to path: no file is there, or it is empty, a page that pmem has made, or no regular file. */
bool overwrite_with_page(const char *path, struct error *err);

/* Anything but a profile: its owner may be running, and a mapped file that is made shorter kills it (SIGBUS). */
bool overwrite_with_export(const char *path, struct error *err);

#endif
