/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * match.h - which call stacks a filter leaves.
 */
#ifndef PMEM_TOP_MATCH_H
#define PMEM_TOP_MATCH_H
#include <stdbool.h>

#include "report/report.h"

/* True, by index of the call stack, for those with a frame whose function or module has the text in its name, or whose site has it in
 * the name of its function or file; upper and lower case are the same.  To be freed; NULL: no memory.
 *
 * Of frames other than the site only what symbol tables say is looked at: DWARF takes too long for what is not shown. */
bool *match_stacks(const struct report *report, const char *text);

#endif
