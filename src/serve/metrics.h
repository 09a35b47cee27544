/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * metrics.h - figures of processes in Prometheus' text format (its documentation, "Exposition formats", version 0.0.4).
 */
#ifndef PMEM_SERVE_METRICS_H
#define PMEM_SERVE_METRICS_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "serve/known.h"
#include "serve/subjects.h"
#include "symbol/symbols.h"

struct metrics_query {
	struct subjects *subjects;
	struct known *known;
	unsigned sites; /* of a process, those with the most live bytes */
	uint64_t renderings;
};

/* Of the processes that run; of the subject that was named also when it has ended.  A process that cannot be read is left out.  False: no
 * memory. */
bool metrics_write(const struct metrics_query *query, FILE *file, struct error *err);

#endif
