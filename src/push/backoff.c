/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * backoff.c - see backoff.h.
 */
#include "push/backoff.h"

uint64_t backoff_next(struct backoff *backoff, uint64_t random, uint64_t asked_ms)
{
	uint64_t longest = BACKOFF_FIRST_MS;
	unsigned i;

	for (i = 0; i < backoff->failures && longest < BACKOFF_MAX_MS; i++)
		longest *= 2;
	if (longest > BACKOFF_MAX_MS)
		longest = BACKOFF_MAX_MS;
	backoff->failures++;
	if (asked_ms) /* all who were told the same come spread over a tenth more */
		return asked_ms + random % (asked_ms / 10 + 1);
	return longest / 2 + random % (longest / 2 + 1);
}
