/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * documents.c - see documents.h.
 *
 * The lock is held for moments only, never while something is made.
 */
#include "serve/documents.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define SECOND_NS UINT64_C(1000000000)

enum { FRESH_S = 1, FRESH_TIMES = 5, FORGET_S = 60, SINGLES_MAX = 8, BUSY = 503 };

#define BYTES_MAX ((size_t)256 << 20) /* of documents that nobody uses now */

enum state { IDLE, QUEUED, MAKING, POSTPONED };

struct documents {
	struct documents_calls calls;
	pthread_mutex_t mutex;
	/* All below: under lock. */
	struct document *list;
	uint64_t order; /* the last one */
	uint64_t made;
	bool stopped;
};

uint64_t documents_now(void)
{
	return clock_monotonic_ns();
}

static void lock(const struct documents *documents)
{
	pthread_mutex_lock((pthread_mutex_t *)(uintptr_t)&documents->mutex);
}

static void unlock(const struct documents *documents)
{
	pthread_mutex_unlock((pthread_mutex_t *)(uintptr_t)&documents->mutex);
}

struct documents *documents_new(const struct documents_calls *calls)
{
	struct documents *documents = calloc(1, sizeof(*documents));

	if (!documents)
		return NULL;
	documents->calls = *calls;
	pthread_mutex_init(&documents->mutex, NULL);
	return documents;
}

static void free_document(const struct documents *documents, struct document *document)
{
	if (document->kept)
		documents->calls.release(document->kept);
	rendered_release(document->rendered);
	free(document);
}

void documents_free(struct documents *documents)
{
	if (!documents)
		return;
	while (documents->list) {
		struct document *document = documents->list;

		documents->list = document->next;
		free_document(documents, document);
	}
	pthread_mutex_destroy(&documents->mutex);
	free(documents);
}

/* --- asking ---------------------------------------------------------------------------------- */

static bool is_same(const struct route *a, const struct route *b)
{
	return a->kind == b->kind && a->seconds == b->seconds && strcmp(a->id, b->id) == 0 &&
	       strcmp(a->other, b->other) == 0;
}

static bool is_single(const struct route *route)
{
	return route_changes(route) || route->seconds > 0;
}

/* NULL: there is none. */
static struct document *find(const struct documents *documents, const struct route *route)
{
	struct document *document = documents->list;

	while (document && (document->is_single || !is_same(&document->route, route)))
		document = document->next;
	return document;
}

static unsigned count_singles(const struct documents *documents)
{
	unsigned count = 0;

	for (const struct document *d = documents->list; d; d = d->next)
		count += d->is_single;
	return count;
}

/* NULL: no memory, or too many. */
static struct document *add(struct documents *documents, const struct route *route)
{
	struct document *document;

	if (is_single(route) && count_singles(documents) >= SINGLES_MAX)
		return NULL;
	document = calloc(1, sizeof(*document));
	if (!document)
		return NULL;
	document->route = *route;
	document->is_single = is_single(route);
	document->next = documents->list;
	documents->list = document;
	return document;
}

static struct rendered *busy(void)
{
	return rendered_text(BUSY, "pmem serve is busy, or ends; try again\n");
}

static void enqueue(struct documents *documents, struct document *document, struct waiter *waiter)
{
	waiter->answer = NULL;
	waiter->next = document->waiters;
	document->waiters = waiter;
	documents->calls.suspend(waiter);
	if (document->state != IDLE)
		return;
	document->state = QUEUED;
	document->order = ++documents->order;
	documents->calls.wake(documents->calls.argument);
}

static struct rendered *ask(struct documents *documents, const struct route *route,
			    struct waiter *waiter)
{
	struct document *document = is_single(route) ? NULL : find(documents, route);
	uint64_t now = documents_now();

	if (documents->stopped)
		return busy();
	if (!document)
		document = add(documents, route);
	if (!document)
		return busy();
	document->used_ns = now;
	if (document->rendered && now < document->fresh_until_ns)
		return rendered_share(document->rendered);
	enqueue(documents, document, waiter);
	return NULL;
}

struct rendered *documents_ask(struct documents *documents, const struct route *route,
			       struct waiter *waiter)
{
	struct rendered *rendered;

	lock(documents);
	rendered = ask(documents, route, waiter);
	unlock(documents);
	return rendered;
}

/* --- making ---------------------------------------------------------------------------------- */

static bool is_ready(const struct document *document, uint64_t now)
{
	return document->state == QUEUED ||
	       (document->state == POSTPONED && document->due_ns <= now);
}

struct document *documents_next(struct documents *documents)
{
	struct document *first = NULL;
	uint64_t now = documents_now();

	lock(documents);
	for (struct document *d = documents->list; d; d = d->next)
		if (is_ready(d, now) && (!first || d->order < first->order))
			first = d;
	if (first)
		first->state = MAKING;
	unlock(documents);
	return first;
}

static void answer_all(struct documents *documents, struct document *document,
		       struct rendered *rendered)
{
	while (document->waiters) {
		struct waiter *waiter = document->waiters;

		document->waiters = waiter->next;
		waiter->answer = rendered ? rendered_share(rendered) : busy();
		documents->calls.resume(waiter);
	}
}

static void drop(struct documents *documents, struct document *document)
{
	struct document **at = &documents->list;

	while (*at != document)
		at = &(*at)->next;
	*at = document->next;
	free_document(documents, document);
}

void documents_publish(struct documents *documents, struct document *document,
		       struct rendered *rendered, uint64_t began_ns)
{
	uint64_t took = documents_now() - began_ns;
	bool same = rendered == document->rendered;

	lock(documents);
	answer_all(documents, document, rendered);
	documents->made += !same;
	if (!same) {
		rendered_release(document->rendered);
		document->rendered = rendered;
	}
	document->state = IDLE;
	document->fresh_until_ns = began_ns + (FRESH_TIMES * took > FRESH_S * SECOND_NS
						       ? FRESH_TIMES * took
						       : FRESH_S * SECOND_NS);
	/* What was not found, or failed, is looked for anew. */
	if (document->is_single || !rendered || rendered->status >= 400)
		drop(documents, document);
	unlock(documents);
}

void documents_postpone(struct documents *documents, struct document *document, uint64_t due_ns)
{
	lock(documents);
	document->due_ns = due_ns;
	document->state = POSTPONED;
	unlock(documents);
}

/* --- forgetting ------------------------------------------------------------------------------ */

/* Of documents that are not being made the one that was asked for longest ago; sums up their bytes. */
static struct document *oldest(const struct documents *documents, size_t *bytes)
{
	struct document *found = NULL;

	*bytes = 0;
	for (struct document *d = documents->list; d; d = d->next) {
		if (d->state != IDLE)
			continue;
		*bytes += d->rendered ? d->rendered->size : 0;
		if (!found || d->used_ns < found->used_ns)
			found = d;
	}
	return found;
}

void documents_tidy(struct documents *documents)
{
	uint64_t now = documents_now();
	struct document *document;
	size_t bytes;

	lock(documents);
	while ((document = oldest(documents, &bytes)) &&
	       (bytes > BYTES_MAX || document->used_ns + FORGET_S * SECOND_NS < now))
		drop(documents, document);
	unlock(documents);
}

void documents_stop(struct documents *documents)
{
	lock(documents);
	documents->stopped = true;
	for (struct document *d = documents->list; d; d = d->next)
		answer_all(documents, d, NULL);
	unlock(documents);
}

uint64_t documents_made(const struct documents *documents)
{
	uint64_t made;

	lock(documents);
	made = documents->made;
	unlock(documents);
	return made;
}
