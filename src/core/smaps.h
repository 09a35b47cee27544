/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * smaps.h - reads /proc/PID/smaps (proc(5)): mappings by address, with what of them is resident.
 *
 * Freestanding; texts come in parts of any size.  A line that is longer than SMAPS_LINE is cut: of a path the beginning and, apart,
 * the last part matter.
 */
#ifndef PMEM_CORE_SMAPS_H
#define PMEM_CORE_SMAPS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SMAPS_LINE = 4096 + 256 };

enum smaps_flag {
	SMAPS_READABLE = 1,
	SMAPS_WRITABLE = 2,
	SMAPS_EXECUTABLE = 4,
	SMAPS_SHARED = 8,
	SMAPS_NORESERVE = 16, /* MAP_NORESERVE: "nr" of VmFlags */
	SMAPS_RANDOM = 32,    /* MADV_RANDOM: "rr" */
};

struct smaps_mapping {
	uint64_t start;
	uint64_t end;
	uint64_t rss;
	uint64_t shared; /* bytes of it that other processes map too */
	uint64_t swap;
	uint32_t flags;	       /* enum smaps_flag */
	char path[SMAPS_LINE]; /* "" = anonymous; "[heap]" and the like */
};

struct smaps_reader {
	/* Copies the next bytes; returns how many, 0 at the end, negative after a failure. */
	long (*read)(void *context, void *buffer, size_t size);
	void *context;
	bool failed;
	bool has_next; /* the line is the first of the next mapping */
	size_t at;     /* in buffer */
	size_t filled;
	char buffer[4096];
	char line[SMAPS_LINE];
};

/* The next mapping.  False at the end, and after a failure (reader->failed).  The reader begins zeroed, but for read and context. */
bool smaps_next(struct smaps_reader *reader, struct smaps_mapping *mapping);

/* The part of a path after its last slash. */
const char *smaps_name(const struct smaps_mapping *mapping);

#endif
