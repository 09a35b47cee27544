/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * known.c - see known.h.
 */
#include "serve/known.h"

#include <stdlib.h>

#include "base/clock.h"
#include "profile/given_names.h"

#define SECOND_NS UINT64_C(1000000000)

/* Whose profile it is. */
struct identity {
	uint32_t pid;
	uint32_t image;
	uint64_t start_ns;
	bool is_live;
};

struct process {
	struct process *next;
	struct identity identity;
	struct names *names; /* NULL: taken, or none */
	size_t bytes;	     /* of names */
	struct rss rss;
	bool has_rss;
	uint64_t rss_until_ns; /* 0: not measured yet */
};

struct known {
	struct opened_keeper keeper; /* first */
	const struct symbols_options *symbols;
	struct process *list; /* who was asked for last is first */
};

static struct identity identity_of(const struct profile *profile)
{
	return (struct identity){profile->header.pid, profile->header.image,
				 profile->header.start_realtime_ns, profile->is_live};
}

static bool is_same(const struct identity *a, const struct identity *b)
{
	return a->pid == b->pid && a->image == b->image && a->start_ns == b->start_ns &&
	       a->is_live == b->is_live;
}

static void free_process(struct process *process)
{
	names_free(process->names);
	free(process);
}

/* The process of a profile, which becomes the first.  NULL: it is not there. */
static struct process *find(struct known *known, const struct profile *profile)
{
	struct identity identity = identity_of(profile);
	struct process **at = &known->list, *found;

	while (*at && !is_same(&(*at)->identity, &identity))
		at = &(*at)->next;
	found = *at;
	if (!found)
		return NULL;
	*at = found->next;
	found->next = known->list;
	known->list = found;
	return found;
}

static struct process *find_or_add(struct known *known, const struct profile *profile)
{
	struct process *process = find(known, profile);

	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->identity = identity_of(profile);
	process->next = known->list;
	known->list = process;
	return process;
}

static void drop_names(struct process *process)
{
	names_free(process->names);
	process->names = NULL;
	process->bytes = 0;
}

/* Of names those that do not fit any more beside those asked for later; of processes those that are too many. */
static void forget(struct known *known)
{
	struct process **at = &known->list;
	unsigned count = 0;
	size_t bytes = 0;

	while (*at) {
		struct process *process = *at;

		if (bytes + process->bytes > KNOWN_BYTES_MAX)
			drop_names(process);
		bytes += process->bytes;
		if (++count <= KNOWN_MAX) {
			at = &process->next;
			continue;
		}
		*at = process->next;
		free_process(process);
	}
}

struct names *known_take(struct known *known, const struct profile *profile)
{
	struct process *process = find(known, profile);
	struct names *names = process ? process->names : NULL;

	if (process) {
		process->names = NULL;
		process->bytes = 0;
	}
	if (names && !given_names_all(profile) && names_follow(names, profile))
		return names;
	names_free(names);
	return names_new_with(profile, known->symbols);
}

/* Those of a bundle came with it, and do not rest. */
void known_give(struct known *known, struct names *names, const struct profile *profile)
{
	struct process *process = names && !given_names_all(profile) ? find_or_add(known, profile)
								     : NULL;

	if (!process || process->names || !names_rest(names)) {
		names_free(names);
		return;
	}
	process->names = names;
	process->bytes = names_bytes(names);
	forget(known);
}

size_t known_bytes(const struct known *known)
{
	size_t bytes = 0;

	for (const struct process *process = known->list; process; process = process->next)
		bytes += process->bytes;
	return bytes;
}

/* --- the resident set ------------------------------------------------------------------------ */

static void measure(struct process *process, const struct profile *profile)
{
	uint64_t began_ns = clock_monotonic_ns(), pause_ns;
	struct error ignored;

	process->has_rss = rss_of(profile, &process->rss, &ignored);
	pause_ns = KNOWN_RSS_SHARE * (clock_monotonic_ns() - began_ns);
	process->rss_until_ns = began_ns + (pause_ns > KNOWN_RSS_S * SECOND_NS
						    ? pause_ns
						    : KNOWN_RSS_S * SECOND_NS);
}

/* What is recorded costs nothing. */
static bool find_rss(struct known *known, const struct profile *profile, struct rss *rss)
{
	struct process *process = profile->is_live && !given_names_all(profile)
					  ? find_or_add(known, profile)
					  : NULL;

	if (!process)
		return rss_of(profile, rss, &(struct error){""});
	if (clock_monotonic_ns() >= process->rss_until_ns)
		measure(process, profile);
	if (process->has_rss)
		*rss = process->rss;
	return process->has_rss;
}

/* --- for pages ------------------------------------------------------------------------------- */

static struct names *take(struct opened_keeper *keeper, const struct profile *profile)
{
	return known_take((struct known *)keeper, profile);
}

static void give(struct opened_keeper *keeper, struct names *names, const struct profile *profile)
{
	known_give((struct known *)keeper, names, profile);
}

static bool rss(struct opened_keeper *keeper, const struct profile *profile, struct rss *found)
{
	return find_rss((struct known *)keeper, profile, found);
}

struct opened_keeper *known_keeper(struct known *known)
{
	return &known->keeper;
}

struct known *known_new(const struct symbols_options *symbols)
{
	struct known *known = calloc(1, sizeof(*known));

	if (known)
		*known = (struct known){.keeper = {take, give, rss}, .symbols = symbols};
	return known;
}

void known_free(struct known *known)
{
	if (!known)
		return;
	while (known->list) {
		struct process *process = known->list;

		known->list = process->next;
		free_process(process);
	}
	free(known);
}
