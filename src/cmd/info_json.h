/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * info_json.h - the facts about a profile, as JSON.
 */
#ifndef PMEM_CMD_INFO_JSON_H
#define PMEM_CMD_INFO_JSON_H
#include <stdio.h>

#include "profile/profile.h"

void info_json_print(const struct profile *profile, FILE *file);

#endif
