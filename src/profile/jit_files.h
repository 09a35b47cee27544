/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jit_files.h - the maps that a process's just-in-time compiler has left for profilers.
 *
 * They lie in folders that anyone may write to and are named by a process id, which other processes had or will have: only files
 * are taken that belong to who runs pmem, to whom the profile belongs or to root, and that were written while the
 * process ran.
 */
#ifndef PMEM_PROFILE_JIT_FILES_H
#define PMEM_PROFILE_JIT_FILES_H
#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"
#include "symbol/jit_names.h"

/* Reads perf-PID.map and jit-PID.dump of the profile's process, where they are.  False: no memory. */
bool jit_files_read(const struct profile *profile, struct jit_names *names);

/* False: there are no such files for a process that began in directory. */
bool jit_files_exist(uint32_t pid, const char *directory);

#endif
