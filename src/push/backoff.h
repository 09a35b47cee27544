/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * backoff.h - how long to wait before a server is tried again.
 *
 * Twice as long each time, up to a limit, and by chance between half of that and all of it: many pushers whose server was away must not
 * come back at one moment.
 */
#ifndef PMEM_PUSH_BACKOFF_H
#define PMEM_PUSH_BACKOFF_H
#include <stdint.h>

enum { BACKOFF_FIRST_MS = 1000, BACKOFF_MAX_MS = 60000 };

/* Zeroed: nothing has failed. */
struct backoff {
	unsigned failures;
};

/* After a failure.  random is any number; asked_ms what the server asked for, which is the least, 0 = nothing. */
uint64_t backoff_next(struct backoff *backoff, uint64_t random, uint64_t asked_ms);

#endif
