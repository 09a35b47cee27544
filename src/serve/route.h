/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * route.h - what the part of an address behind the token asks for.
 *
 * No part of it is ever used as the path of a file: names are compared with those of what is served.
 */
#ifndef PMEM_SERVE_ROUTE_H
#define PMEM_SERVE_ROUTE_H
#include <stdbool.h>
#include <stdint.h>

enum route_kind {
	ROUTE_HOME,	    /* "": the page of the only profile, or the list */
	ROUTE_LIST,	    /* "list" */
	ROUTE_METRICS,	    /* "metrics" */
	ROUTE_HEAP,	    /* "debug/pprof/heap", also below "p/ID/" */
	ROUTE_ALLOCS,	    /* "debug/pprof/allocs", likewise */
	ROUTE_PAGE,	    /* "p/ID/" */
	ROUTE_DATA,	    /* "p/ID/data": what changes of it */
	ROUTE_COMPARE,	    /* "compare/" */
	ROUTE_COMPARE_DATA, /* "compare/data" */
	ROUTE_REMEMBER,	    /* POST "p/ID/remember" */
	ROUTE_FORGET,	    /* POST "p/ID/forget" */
	ROUTE_REDIRECT,	    /* "p/ID" or "compare": a "/" is missing */
	ROUTE_NOTHING,
};

enum { ROUTE_ID_SIZE = 256, ROUTE_SECONDS_MAX = 600 };

/* A request. */
struct route {
	enum route_kind kind;
	char id[ROUTE_ID_SIZE]; /* of a profile: ID, or before= of a comparison; "" = not given */
	char other[ROUTE_ID_SIZE]; /* after= of a comparison */
	unsigned seconds;	   /* seconds=: what happens in so many; 0 = since the start */
};

/* path: decoded, without the token and the slash behind it. */
void route_parse(const char *path, struct route *route);

/* Adds an argument of the query.  False: it means something, and is wrong.  Unknown ones are passed over. */
bool route_argument(struct route *route, const char *name, const char *value);

/* True if it changes something, and so is asked for by POST. */
bool route_changes(const struct route *route);

#endif
