/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * names.h - the functions at a profile's locations, and whose code they are.
 *
 * Looked up at the first question and kept, in two stages: symbol tables name any location in a microsecond, while lines and inlined
 * functions may take milliseconds, so that they are looked up only for what is shown.  Of a running process's deleted or
 * container's files the names come through /proc/PID/root.
 */
#ifndef PMEM_PROFILE_NAMES_H
#define PMEM_PROFILE_NAMES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"
#include "symbol/symbols.h"

struct names;

/* NULL: no memory.  profile must outlive it.  Names come from this machine's files, without servers. */
struct names *names_new(const struct profile *profile);

/* The same with options, of which a copy is made; their texts must outlive it. */
struct names *names_new_with(const struct profile *profile, const struct symbols_options *options);
void names_free(struct names *names);

/* Goes over to a later opening of the same process's profile, for who watches it: what was looked up in modules' files stays known, and the
 * symbols stay where they are.  The opening before may be closed then.  False: no memory, and nothing has changed. */
bool names_follow(struct names *names, const struct profile *later);

/* Until names_follow(): closes all files, and needs the profile no more.  A module whose file is another one by then is looked into
 * anew.  False: no memory, or the names came with the profile: there is nothing to be done then but names_free(). */
bool names_rest(struct names *names);

/* Memory of names that rest. */
size_t names_bytes(const struct names *names);

/* The functions of a location, innermost first; at least one.  A special location gives its name as function. */
size_t names_at(struct names *names, uint32_t location, const struct symbol **found);

/* The index in names_at() of the function that stands for a location: the innermost own one, so that what is inlined into it
 * from libraries is passed; if none is own the one that is not inlined. */
size_t names_shown(struct names *names, uint32_t location);

/* The function that is not inlined, by the symbol tables alone. */
const struct symbol *names_at_fast(struct names *names, uint32_t location);

/* True if the location is the user's own code: a function there is, inlined or not, that is not the allocator, the C library, a
 * language's standard library or runtime, or the loader (doc/BLAME.md has the rules). */
bool names_is_own(struct names *names, uint32_t location);
bool names_is_own_fast(struct names *names, uint32_t location);

/* True if names_is_own() needs more than names_is_own_fast() knows. */
bool names_is_unsettled(struct names *names, uint32_t location);

/* The same of one function at the location, an index in names_at(). */
bool names_is_own_function(struct names *names, uint32_t location, size_t index);

/* The allocation site of a call stack: the node of its innermost own frame; the innermost frame if it has none.  The fast one does
 * not see own functions that are inlined into a library's. */
uint32_t names_site(struct names *names, const struct profile_stack *stack);
uint32_t names_site_fast(struct names *names, const struct profile_stack *stack);

/* Looks up what names_site() and names_at() will be asked about the locations that are true in wanted[location_count], NULL = about
 * all, in the order of addresses.  In any other order DWARF that was let go may have to be read again and again. */
void names_prepare(struct names *names, const bool *wanted);

/* The function of a symbol at the location without return type, parameters and template arguments; lives as long as names.  What a
 * compiler at run time called its code stays whole, unless jit_label_has_types(). */
const char *names_short(struct names *names, uint32_t location, const struct symbol *symbol);

/* Why a module, of which a name was asked for, has none: "was replaced since"; NULL: it has names. */
const char *names_problem(struct names *names, uint32_t module);

/* Modules that have no names and why: one line each, "libx.so: replaced since", for the report's end; NULL ends the list. */
const char *const *names_problems(struct names *names);

#endif
