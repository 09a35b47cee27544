/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * moment.h - a profile as it is now, with all names, in a file that has no name and goes with the process.
 */
#ifndef PMEM_SERVE_MOMENT_H
#define PMEM_SERVE_MOMENT_H
#include <stdbool.h>

#include "base/error.h"
#include "symbol/symbols.h"

/* A bundle of the profile at path, which *fd reads.  Of a bundle there is none to be made. */
bool moment_make(const char *path, const struct symbols_options *symbols, int *fd,
		 struct error *err);

#endif
