/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * no_names.h - what helps against a report of bare addresses.
 */
#ifndef PMEM_REPORT_NO_NAMES_H
#define PMEM_REPORT_NO_NAMES_H
#include <stdbool.h>

#include "profile/profile.h"

/* What to do, as a sentence without its full stop, about a problem as names_problems() words it. */
const char *no_names_advice(const struct profile *profile, const char *problem);

/* True if the profile has places in code that was compiled at run time. */
bool no_names_has_compiled(const struct profile *profile);

#endif
