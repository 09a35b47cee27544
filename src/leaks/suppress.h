/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * suppress.h - leaks that are known: the file format of LeakSanitizer's suppressions.
 *
 * Lines "leak:PATTERN": a call stack is known if PATTERN occurs in the name of a function, a source file or a module of one of its frames.  * stands
 * for any text, ^ at the beginning and $ at the end for those of the name.  # begins a comment line.
 */
#ifndef PMEM_LEAKS_SUPPRESS_H
#define PMEM_LEAKS_SUPPRESS_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/names.h"
#include "profile/profile.h"

struct suppress_rule {
	char *pattern;
	uint64_t bytes; /* that it matched */
	uint64_t blocks;
};

struct suppress {
	struct suppress_rule *rules;
	uint32_t count;
	uint32_t room;
};

/* Adds the rules of a file. */
bool suppress_read(struct suppress *suppress, const char *path, struct error *err);
void suppress_free(struct suppress *suppress);

/* The first rule that knows the call stack; NULL: none does. */
struct suppress_rule *suppress_find(const struct suppress *suppress, struct names *names,
				    const struct profile *profile, uint32_t stack);

/* True if the pattern matches the text. */
bool suppress_matches(const char *pattern, const char *text);

#endif
