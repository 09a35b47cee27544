/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * branches.h - an indented tree of places with shares, from the top down or from a site outwards.
 *
 * One level of it is a set of twigs; an expand function gives the twigs one step further.  Those at one place become a line.
 */
#ifndef PMEM_REPORT_BRANCHES_H
#define PMEM_REPORT_BRANCHES_H
#include "report/report.h"

struct branches_twig {
	uint32_t place;
	uint32_t node;
	uint32_t function; /* index in names_at() of the node's location */
	int64_t value;
};

struct branches_set {
	struct branches_twig *items;
	size_t count;
	size_t capacity;
	bool failed; /* no memory: something is missing */
};

struct branches {
	const struct report *report;
	void *data;	/* of expand */
	int64_t total;	/* 100 % */
	unsigned lines; /* that may still be printed */
	unsigned cut;	/* lines that were not */
	/* Adds to further what is one step from the twigs of from, which are all at one place; from NULL: the first level. */
	void (*expand)(struct branches *branches, const struct branches_set *from,
		       struct branches_set *further);
};

void branches_add(struct branches_set *set, const struct branches_twig *twig);

/* The number of functions at a node: the one that is not inlined is the last. */
uint32_t branches_functions(const struct branches *branches, uint32_t node);

/* Sets place and function of a twig whose node is set.  False: the function is left out, as it is of a library or runtime and
 * --all-frames was not given (the site of call stacks that have no other frames is not), or as it is that of from, a place: it calls
 * itself.  from BRANCHES_ROOT: no function. */
bool branches_step(const struct branches *branches, uint32_t from, uint32_t function,
		   struct branches_twig *twig);

#define BRANCHES_ROOT UINT32_MAX

/* Prints all levels from from on, and a line about what was left out. */
bool branches_print(struct branches *branches, const struct branches_set *from, struct error *err);

#endif
