/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_verdict.h - one sentence: who holds the memory, and whether it grows.
 */
#ifndef PMEM_CMD_RUN_VERDICT_H
#define PMEM_CMD_RUN_VERDICT_H
#include "profile/profile.h"

enum { RUN_VERDICT_SIZE = 512 };

/* Writes into text and returns it; no newline. */
const char *run_verdict(const struct profile *profile, char text[RUN_VERDICT_SIZE]);

#endif
