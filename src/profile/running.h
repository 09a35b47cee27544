/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * running.h - what /proc tells about a process that may be recorded (proc(5)).
 */
#ifndef PMEM_PROFILE_RUNNING_H
#define PMEM_PROFILE_RUNNING_H
#include <stdbool.h>
#include <stdint.h>

#include "core/format.h"

/* Whoever shows under /proc what the process's threads share: its first thread, or one that lives if that one has ended before
 * the others.  0: none lives. */
uint32_t running_thread(uint32_t pid);

/* Field 22 of /proc/PID/stat: when the process started.  0: there is none, or all of it has ended and nobody has waited for it. */
uint64_t running_start_ticks(uint32_t pid);

enum running_kind {
	RUNNING_NOTHING, /* that /proc shows */
	RUNNING_PROCESS,
	RUNNING_THREAD, /* of a process that has another id */
	RUNNING_ZOMBIE, /* all of it has ended, and nobody has waited for it */
	RUNNING_KERNEL, /* a thread of the kernel's */
};

enum running_kind running_kind(uint32_t pid);

/* A number in /proc/PID/status; fallback if there is none. */
uint64_t running_status(uint32_t pid, const char *field, uint64_t fallback);

/* A file mapped with MAP_SHARED. */
struct running_mapping {
	unsigned long start;
	unsigned long end;
	unsigned long inode;
	const char *path; /* as the process sees it; " (deleted)" may follow */
};

/* Calls visit() for each shared mapping of a file, until it returns false.  Returns false, with errno set, if the
 * process's mappings cannot be read. */
bool running_each_shared(uint32_t pid, bool (*visit)(const struct running_mapping *, void *),
			 void *argument);

/* True if the process that this profile is of runs and still records into the file, whose inode is given, at path. */
bool running_records(const struct format_header *header, const char *path, unsigned long inode);

#endif
