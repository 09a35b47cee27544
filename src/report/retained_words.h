/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * retained_words.h - on the first page: free memory that stays resident, and who pins memory.
 */
#ifndef PMEM_REPORT_RETAINED_WORDS_H
#define PMEM_REPORT_RETAINED_WORDS_H
#include <stdio.h>

#include "profile/pinned.h"
#include "profile/retained.h"
#include "report/report.h"

struct retained_words {
	struct pinned *pinned; /* NULL: not known */
	struct retained retained;
	bool matters; /* retained is what the size is about */
};

/* As recorded; of a process that runs, if its size makes it likely, as measured now. */
void retained_words_open(struct retained_words *words, const struct profile *profile);
void retained_words_close(struct retained_words *words);

/* The sentences, if it matters. */
void retained_words_print(const struct retained_words *words, const struct report *report,
			  FILE *file);

#endif
