/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * info_text.h - the facts about a profile, for a person.
 */
#ifndef PMEM_CMD_INFO_TEXT_H
#define PMEM_CMD_INFO_TEXT_H
#include "base/output.h"
#include "profile/profile.h"

void info_text_print(const struct profile *profile, const struct output *out);

/* "running", "ended", "stopped" or "cut off" (killed, or another image took the process). */
const char *info_text_state(const struct profile *profile);

#endif
