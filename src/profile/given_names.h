/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * given_names.h - names that come with a profile instead of from modules' files.
 *
 * Those of a bundle (doc/BUNDLE.md), which has all; those that `pmem run` has added for code compiled at run time (doc/FORMAT.md); or
 * the same, looked up now in the maps that the process's compiler has left.  They belong to the profile and live as
 * long as it does.
 */
#ifndef PMEM_PROFILE_GIVEN_NAMES_H
#define PMEM_PROFILE_GIVEN_NAMES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"
#include "symbol/jit_names.h"
#include "symbol/symbols.h"

enum given_from { GIVEN_FROM_FILE, GIVEN_FROM_MAPS, GIVEN_FROM_BUNDLE };

struct given_frames {
	const struct symbol *symbols; /* innermost first */
	const struct symbol *fast;    /* the function that is not inlined, without file and line */
	uint32_t count;		      /* 0: the place has no names here */
};

/* Lines of one source file. */
struct given_source {
	const char *file;
	uint32_t first; /* number of the first line */
	uint32_t count;
	const char *const *lines; /* without their ends */
};

/* What struct profile's given points to.  Made while the profile is opened. */
struct given_names {
	enum given_from from;
	struct given_frames *by_location; /* [profile.location_count] */
	bool has_compiled;		  /* a place outside of modules has a name */
	const char **problems; /* [profile.module_count]: why it has no names; NULL entry = it has.  Of a bundle only */
	struct given_source *sources; /* by file, then by first line */
	uint32_t source_count;
	struct jit_names jit; /* of GIVEN_FROM_MAPS */
	void **owned;	      /* what the above lies in */
	size_t owned_count;
};

/* The functions of a location, innermost first; 0 = none came with the profile. */
size_t given_names_at(const struct profile *profile, uint32_t location, const struct symbol **found);

/* Of these the one that is not inlined, as names_at_fast() has it; NULL = none came with the profile. */
const struct symbol *given_names_fast(const struct profile *profile, uint32_t location);

/* True if names of code outside of modules came with the profile: what has none there, the compiler does not tell of. */
bool given_names_compiled(const struct profile *profile);

/* True if the profile came with all its names, so that its modules' files are not asked. */
bool given_names_all(const struct profile *profile);

/* Why a module of such a profile has no names; NULL: it has. */
const char *given_names_problem(const struct profile *profile, uint32_t module);

/* A line of a source file, without its end, that came with the profile; NULL: it did not. */
const char *given_names_line(const struct profile *profile, const char *file, uint32_t line);

/* --- for the makers -------------------------------------------------------------------------- */

/* Empty; freed by given_names_free().  NULL: no memory. */
struct given_names *given_names_new(const struct profile *profile, enum given_from from);
void given_names_free(struct given_names *given);

/* Kept until it is freed; returns memory, or NULL if that is NULL or cannot be kept (then it was freed). */
void *given_names_own(struct given_names *given, void *memory);

/* Gives all places outside of modules the names in names.  False: no memory. */
bool given_names_add_jit(struct given_names *given, const struct profile *profile,
			 const struct jit_names *names);

/* Looks for the maps of the process's compiler, if the profile has code outside of modules and no names for it.
 * False: no memory. */
bool given_names_look_up(struct profile *profile);

#endif
