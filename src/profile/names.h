/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * names.h - the functions at a profile's locations, and whose code they are.
 *
 * Looked up at the first question and kept.  Of a running process's deleted or container's files the names come through
 * /proc/PID/root.
 */
#ifndef PMEM_PROFILE_NAMES_H
#define PMEM_PROFILE_NAMES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"
#include "symbol/symbols.h"

struct names;

/* NULL: no memory.  profile must outlive it. */
struct names *names_new(const struct profile *profile);
void names_free(struct names *names);

/* The functions of a location, innermost first; at least one.  A special location gives its name as function. */
size_t names_at(struct names *names, uint32_t location, const struct symbol **found);

/* True if the location is the user's own code: not the allocator, the C library, a language's standard library or runtime, or
 * the loader (doc/BLAME.md has the rules). */
bool names_is_own(struct names *names, uint32_t location);

/* The allocation site of a call stack: the node of its innermost own frame; the innermost frame if it has none. */
uint32_t names_site(struct names *names, const struct profile_stack *stack);

/* Modules that have no names and why: one line each, "libx.so: replaced since", for the report's end; NULL ends the list. */
const char *const *names_problems(struct names *names);

#endif
