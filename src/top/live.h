/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live.h - `pmem top` on a terminal, and as plain text.
 */
#ifndef PMEM_TOP_LIVE_H
#define PMEM_TOP_LIVE_H
#include "base/error.h"
#include "top/watch.h"

/* Shows what is watched until the user quits.  *signal_number: the signal that ended it, 0: none; the terminal is as before.  False: it
 * could not begin, or not go on. */
bool live_run(struct watch *watch, struct top *top, int *signal_number, struct error *err);

struct live_batch {
	unsigned rounds; /* 0: until the process ends */
	unsigned rows;
	unsigned width;
};

/* Prints count times, one interval apart, and at the end of the process for the last time.  False: it cannot be read, or not be written. */
bool live_print(struct watch *watch, struct top *top, const struct live_batch *batch,
		struct error *err);

#endif
