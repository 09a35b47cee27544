/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * facts.h - what the profile's header says about the process: who it is, where it runs, under which limits.
 *
 * Raw system calls only.  What cannot be found out stays 0 or empty.
 */
#ifndef PMEM_LIBPMEM_FACTS_H
#define PMEM_LIBPMEM_FACTS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/format.h"

/* Fills the fields from machine to refused_setting, but image.  While there is one thread, or under LOCK_PROCESS. */
void facts_fill(struct format_header *head);

/* In a forked child, before facts_fill(): from now on it says so. */
void facts_fork_child(void);

enum { FACTS_FOLDER_MAX = 4096 + 64 };

/* Where the limit on memory is set: this cgroup, or one above it. */
struct facts_memory {
	char folder[FACTS_FOLDER_MAX]; /* "" = there is no limit */
	bool is_v1;
};

/* As facts_fill() found it. */
const struct facts_memory *facts_memory(void);

/* For facts_fill(), and its test: parsers of what the kernel writes, whatever it is. */

/* Field 22 of /proc/PID/stat, the start of the process in clock ticks; 0 if there is none.  Field 2 is the program's name in
 * parentheses, which may have blanks, newlines and parentheses in it (proc(5)). */
uint64_t facts_start_ticks(const char *bytes, size_t size);

struct facts_cgroup {
	const char *path; /* "/..." in the bytes */
	size_t size;
	bool is_v1; /* in the hierarchy of the memory controller; else in the unified one */
};

/* The cgroup that limits memory, from /proc/PID/cgroup (cgroups(7)): that of the v1 memory controller if there is one, else
 * the unified one.  False: none, *found is untouched. */
bool facts_find_cgroup(const char *bytes, size_t size, struct facts_cgroup *found);

/* A limit as in memory.max or memory.limit_in_bytes; 0 = none ("max", v1's largest number, or no number). */
uint64_t facts_limit(const char *bytes, size_t size);

#endif
