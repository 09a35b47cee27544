/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * export.h - profiles in other formats.
 *
 * A format is a file src/export/NAME.c with export_NAME() and a row in the table of formats.c; doc/HOWTO-format.md
 * shows how to add one.  A format only reads the profile, and writes from the beginning to the end of a file, which may be a
 * pipe.
 */
#ifndef PMEM_EXPORT_EXPORT_H
#define PMEM_EXPORT_EXPORT_H
#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "profile/names.h"
#include "profile/profile.h"

/* What a format that has one number for each call stack takes. */
enum export_value {
	EXPORT_LIVE, /* bytes, as all that is not called blocks */
	EXPORT_LIVE_BLOCKS,
	EXPORT_ALLOC,
	EXPORT_ALLOC_BLOCKS,
	EXPORT_PEAK,
	EXPORT_TEMPORARY, /* blocks */
	EXPORT_VALUES,
};

/* Where a format has what the program maps itself (profile->mapped), which is no part of the heap. */
enum export_kinds {
	EXPORT_HEAP,   /* nowhere */
	EXPORT_ONE,    /* in a document of its own: source->profile is that one then */
	EXPORT_BESIDE, /* in the same document, apart */
};

struct export_source {
	const struct profile *profile;
	struct names *names;
	enum export_value value; /* for formats with takes_value; pprof: what a viewer shows first */
	/* pprof: the same process some time before, whose figures are taken away; NULL = nothing is. */
	const struct profile *base;
	/* pprof: its time is that of the state, and it has no duration, as Go's own profiles of the heap; not with a base. */
	bool is_state;
	struct error *note; /* receives what the format could not hold, one line; NULL = not wanted */
};

struct export_format {
	const char *name;
	const char *summary; /* one line */
	/* Writes everything to file.  Errors of the file are the caller's to see. */
	bool (*write)(const struct export_source *source, FILE *file, struct error *err);
	bool takes_value;
	bool is_binary; /* nothing for a terminal */
	enum export_kinds kinds;
};

/* A row without name ends the table. */
extern const struct export_format export_formats[];

/* NULL: there is none of this name. */
const struct export_format *export_find(const char *name);

/* "live" and so on; NULL after the last. */
const char *export_value_name(enum export_value value);

/* False: no value has this name. */
bool export_value_find(const char *name, enum export_value *value);

/* Never negative. */
uint64_t export_value_of(enum export_value value, const struct profile_counts *counts);

/* A field of the profile's header. */
uint64_t export_header(const _Atomic uint64_t *field);

/* The largest number of live bytes, as in every report; and when that was, at the latest at the profile's end. */
uint64_t export_peak(const struct profile *profile);
uint64_t export_peak_ns(const struct profile *profile);

bool export_log(const struct export_source *source, FILE *file, struct error *err);
bool export_collapsed(const struct export_source *source, FILE *file, struct error *err);
bool export_pprof(const struct export_source *source, FILE *file, struct error *err);
bool export_speedscope(const struct export_source *source, FILE *file, struct error *err);
bool export_massif(const struct export_source *source, FILE *file, struct error *err);
bool export_dhat(const struct export_source *source, FILE *file, struct error *err);
bool export_firefox(const struct export_source *source, FILE *file, struct error *err);
bool export_heaptrack(const struct export_source *source, FILE *file, struct error *err);

#endif
