/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * turn.h - only one pmem leaks at a time stops a process.
 *
 * A lock on its profile (flock(2)), which the recorder does not look at; it ends with whoever has it.
 */
#ifndef PMEM_LEAKS_TURN_H
#define PMEM_LEAKS_TURN_H
#include <stdbool.h>

#include "base/error.h"

/* Waits some seconds at most.  *turn is for turn_end(), also where the file system has no locks: -1. */
bool turn_begin(const char *profile, int *turn, struct error *err);
void turn_end(int turn);

#endif
