/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * given_write.h - adds names of code compiled at run time to the profile of an ended process (doc/FORMAT.md, "Added names").
 *
 * The file is a valid profile at every moment: what is written first counts for nothing until the header says so.
 */
#ifndef PMEM_PROFILE_GIVEN_WRITE_H
#define PMEM_PROFILE_GIVEN_WRITE_H
#include <stdbool.h>

#include "base/error.h"
#include "symbol/jit_names.h"

/* Those without a name are left out.  The file's times stay as they were.  False: nothing was added. */
bool given_write(const char *path, const struct jit_names *names, struct error *err);

#endif
