/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * names_parts.h - what names.c (looking up) and names_later.c (from one opening of a profile to the next) share.
 */
#ifndef PMEM_PROFILE_NAMES_PARTS_H
#define PMEM_PROFILE_NAMES_PARTS_H
#include "profile/names.h"
#include "symbol/arena.h"

enum { NAMES_PATH_SIZE = 4096 };

/* What is known of a location. */
struct names_entry {
	const struct symbol *fast;  /* NULL: not looked up yet */
	const struct symbol *found; /* with inlined functions; NULL: not looked up yet */
	uint32_t count;
	uint32_t shown; /* index in found */
	uint8_t blame; /* enum blame; OWN if any function is known to be own, else that of the one that is not inlined */
};

/* The function of a special location. */
struct names_special {
	struct names_special *next;
	struct symbol symbol;
};

/* A module that was asked for. */
struct names_module {
	struct symbols_module *file; /* NULL: not looked for, or names_rest() closed it */
	const char *problem;	     /* of a file that was closed: names_problem() */
	uint64_t stamp;		     /* names_stamp() when it was looked for */
	bool is_asked;
};

/* What is needed of a profile that was closed. */
struct names_outline {
	struct profile profile; /* modules, locations, and whose it is */
	struct arena arena;	/* that all of it lies in */
};

struct names {
	const struct profile *profile;
	struct symbols *symbols;
	struct symbols_options options;
	struct symbols *inside;	      /* below /proc/PID/root; NULL: the process is gone */
	struct names_module *modules; /* by index */
	struct names_entry *entries;  /* by location */
	struct names_special *specials;
	char **problems;
	struct names_outline *outline; /* NULL: the profile is open */
};

/* Whose files /proc shows as the process's. */
uint32_t names_shown_by(const struct names *names);

/* The loader's name of a library may be relative to where the process started.  absolute[NAMES_PATH_SIZE]; false: too long. */
bool names_absolute_path(const struct profile *profile, const char *path, char *absolute);

/* Of the file that a module's names are looked for in first, below the root of a container too: another one if the file is replaced.  0: there is
 * none. */
uint64_t names_stamp(const struct names *names, const struct profile_module *module);

/* A module that was loaded again is one file. */
bool names_is_same_file(const struct profile_module *left, const struct profile_module *right);

void names_free_specials(struct names *names);
void names_free_problems(struct names *names);
void names_free_outline(struct names *names);

#endif
