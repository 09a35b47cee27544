/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * documents.h - what was asked for, is being made, and was made lately.
 *
 * Requests come from the thread that talks to clients, documents are made by another one, one at a time: all who ask for the same meanwhile,
 * and for a while after, get the same.  That while is a second, or four times as long as it took: however many ask, and
 * however large a profile is, a fifth of a CPU is what it may cost.
 */
#ifndef PMEM_SERVE_DOCUMENTS_H
#define PMEM_SERVE_DOCUMENTS_H
#include <stdbool.h>
#include <stdint.h>

#include "serve/rendered.h"
#include "serve/route.h"

/* A request that waits for its answer. */
struct waiter {
	struct waiter *next;
	struct rendered *answer; /* set before it is woken; its own user */
};

struct document {
	struct document *next;
	struct route route;
	unsigned state; /* under lock */
	bool is_single; /* for one request: it changes something, or is of a time of its own */
	struct waiter *waiters;	   /* under lock */
	struct rendered *rendered; /* the last one; NULL = none yet */
	uint64_t order;
	uint64_t due_ns;
	uint64_t fresh_until_ns;
	uint64_t used_ns;
	void *kept; /* the maker's, from one call to the next */
};

struct documents;

/* Called with the lock held, in the thread that asks (suspend), or that makes (resume). */
struct documents_calls {
	void (*suspend)(struct waiter *waiter);
	void (*resume)(struct waiter *waiter);
	void (*wake)(void *argument); /* there is something to make */
	void *argument;
	void (*release)(void *kept); /* of a document that is forgotten; kept is not NULL */
};

/* NULL: no memory. */
struct documents *documents_new(const struct documents_calls *calls);
void documents_free(struct documents *documents);

/* The answer, which the caller releases; NULL: it was suspended, and will be resumed with an answer. */
struct rendered *documents_ask(struct documents *documents, const struct route *route,
			       struct waiter *waiter);

/* What is to be made now; NULL: nothing.  The caller then calls one of the two below. */
struct document *documents_next(struct documents *documents);

/* Gives it to all who wait, and takes rendered over (NULL: no memory).  began_ns: documents_now() when making it began. */
void documents_publish(struct documents *documents, struct document *document,
		       struct rendered *rendered, uint64_t began_ns);

/* It comes again at a time. */
void documents_postpone(struct documents *documents, struct document *document, uint64_t due_ns);

/* Forgets what nobody has asked for lately.  To be called now and then. */
void documents_tidy(struct documents *documents);

/* Everybody who waits, and asks from now on, is told that it is over. */
void documents_stop(struct documents *documents);

/* How many were made. */
uint64_t documents_made(const struct documents *documents);

/* CLOCK_MONOTONIC. */
uint64_t documents_now(void);

#endif
