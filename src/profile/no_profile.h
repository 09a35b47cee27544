/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * no_profile.h - why a process id leads to no profile, and what to do.
 *
 * The same words for all commands that take a process id.  All return false.
 */
#ifndef PMEM_PROFILE_NO_PROFILE_H
#define PMEM_PROFILE_NO_PROFILE_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* It does not run, and left no profile in the current folder. */
bool no_profile_left(uint32_t pid, struct error *err);

/* What it maps, or another file of it in /proc, could not be read for the reason (errno). */
bool no_profile_shown(uint32_t pid, int reason, struct error *err);

/* It runs, and records nowhere; unreadable: or into this file, which cannot be read for the reason.  NULL: there is none. */
bool no_profile_mapped(uint32_t pid, const char *unreadable, int reason, struct error *err);

#endif
