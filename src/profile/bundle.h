/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bundle.h - a profile together with the names of all its places, in one compressed file (doc/BUNDLE.md).
 *
 * profile_open() reads bundles as it reads profiles.
 */
#ifndef PMEM_PROFILE_BUNDLE_H
#define PMEM_PROFILE_BUNDLE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/profile.h"
#include "symbol/symbols.h"

#define BUNDLE_MAGIC "pmembndl" /* 8 bytes, no terminator */

enum {
	BUNDLE_VERSION = 1,	   /* grows with every change that an older reader would misread */
	BUNDLE_FRAME = 0x184d2a5b, /* a skippable frame of zstd: what unpacks one skips the header */
	BUNDLE_SECTIONS_MAX = 64,
	BUNDLE_RATIO_MAX = 2048,	 /* unpacked to packed bytes ... */
	BUNDLE_SMALL = 16 * 1024 * 1024, /* ... of sections larger than this */
	BUNDLE_STRING_MAX = 64 * 1024,	 /* bytes of a string */
};

#define BUNDLE_UNPACKED_MAX (UINT64_C(2) << 30) /* bytes of all sections */

enum bundle_kind {
	BUNDLE_PROFILE = 1, /* the bytes of the profile's file */
	BUNDLE_STRINGS = 2,
	BUNDLE_FACTS = 3,
	BUNDLE_NAMES = 4,
	BUNDLE_MODULES = 5,
	BUNDLE_SOURCES = 6,
	BUNDLE_KINDS,
};

/* At the file's beginning.  Little-endian, as all numbers in a bundle. */
struct bundle_header {
	uint32_t frame;	     /* BUNDLE_FRAME */
	uint32_t frame_size; /* bytes of this and of the sections' table that follow */
	char magic[8];
	uint32_t version;
	uint32_t section_count;
};

/* The table: in the order of the sections in the file, which follow one another. */
struct bundle_section {
	uint32_t kind;
	uint32_t reserved; /* 0 */
	uint64_t packed;   /* bytes of its zstd frame */
	uint64_t size;	   /* bytes when unpacked */
};

/* --- reading --------------------------------------------------------------------------------- */

struct bundle_part {
	char *bytes; /* a NUL follows the last */
	size_t size;
};

struct bundle {
	struct bundle_part parts[BUNDLE_KINDS]; /* by kind; bytes NULL = not there */
	uint64_t file_bytes;
};

/* True if a bundle begins with these bytes. */
bool bundle_begins(const void *bytes, size_t size);

/* True if the file at path begins as a bundle does. */
bool bundle_is_at(const char *path);

/* Unpacks all sections, checked against the table.  path names it in messages. */
bool bundle_read(const char *path, struct bundle *bundle, struct error *err);
bool bundle_read_memory(const void *bytes, size_t size, struct bundle *bundle, struct error *err);
void bundle_end(struct bundle *bundle);

/* Gives an opened profile what its bundle says of names and facts. */
bool bundle_apply(const struct bundle *bundle, struct profile *profile, struct error *err);

/* --- writing --------------------------------------------------------------------------------- */

struct bundle_request {
	const char *path;		       /* of the profile's file */
	const char *output;		       /* "-" = standard output */
	const struct symbols_options *symbols; /* where names come from; NULL = from this machine */
	bool with_source;		       /* source lines too: those around the own frames */
	void (*progress)(const char *what, unsigned long done, unsigned long total); /* or NULL */
};

struct bundle_result {
	uint64_t bytes; /* of the file written */
	uint64_t profile_bytes;
	uint32_t places; /* that have a name */
	uint32_t nameless;
	uint32_t kept; /* of those with a name: it, or its line, is from the bundle that was replaced */
	uint64_t source_lines;
};

/* Writes a new file; one that is there is replaced when the new one is complete.  Of a bundle of the same process the names that
 * cannot be found any more are kept. */
bool bundle_write(const struct bundle_request *request, struct bundle_result *result,
		  struct error *err);

#endif
