/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * last_words.h - who grew, said once when memory is about to run out: a container's log may be all that is left.
 *
 * The limits (headroom.h) are looked at now and then, at moments that are slow anyway; when PMEM_LAST_WORDS percent of one are used, the
 * call stacks that grew most since half of that was used are named: on stderr, in the log, and a mark on the timeline says when.
 */
#ifndef PMEM_LIBPMEM_LAST_WORDS_H
#define PMEM_LIBPMEM_LAST_WORDS_H
#include <stdbool.h>

#include "libpmem/text.h"

enum {
	LAST_WORDS_GROWERS = 5,
	LAST_WORDS_LINE_MAX = 400, /* with its newline */
};

/* Once, while there is one thread: after facts_fill() and rss_init(). */
void last_words_init(void);

/* Looks at the limits if it is time to.  True: it is time for last words.  Any thread, also inside a signal handler. */
bool last_words_check(void);

/* Says them, on stderr and as a mark.  Returns the same as lines of the log; NULL: they were said before.  Inside an event, under
 * LOCK_SNAPSHOT. */
const struct text *last_words_say(void);

/* In a forked child, which has last words of its own. */
void last_words_fork_child(void);

#endif
