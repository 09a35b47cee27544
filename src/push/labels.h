/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * labels.h - names and values by which a server tells profiles apart.
 *
 * The grammar is that of Prometheus, which Pyroscope and Parca took over: a name is [a-zA-Z_][a-zA-Z0-9_]*, and those that begin
 * with "__" are the server's own; a value is UTF-8.  A label without value is one that is not there.
 */
#ifndef PMEM_PUSH_LABELS_H
#define PMEM_PUSH_LABELS_H
#include <stdbool.h>

#include "base/error.h"
#include "profile/profile.h"

/* Pyroscope takes 30 labels, of which the protocol needs some itself, names of up to 1024 bytes and values of up to 2048. */
enum { LABELS_MAX = 24, LABELS_NAME_MAX = 1024, LABELS_VALUE_MAX = 2048 };

struct label {
	char *name;
	char *value;
};

/* Zeroed is empty. */
struct labels {
	struct label items[LABELS_MAX];
	unsigned count;
};

void labels_free(struct labels *labels);

/* Adds "name=value" as a person gave it; an empty value takes a default away.  False: not of the grammar, there twice, or too many. */
bool labels_parse(struct labels *labels, const char *text, struct error *err);

/* What a profile is pushed with, by name: service_name (the program), pid and host, but for those that are given, and all that are
 * given. */
bool labels_of(struct labels *labels, const struct labels *given, const struct profile *profile,
	       struct error *err);

/* NULL: there is none. */
const char *labels_find(const struct labels *labels, const char *name);

#endif
