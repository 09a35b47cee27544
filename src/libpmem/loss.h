/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loss.h - counts what the recorder could not do, so that no partial profile passes for a full one.
 */
#ifndef PMEM_LIBPMEM_LOSS_H
#define PMEM_LIBPMEM_LOSS_H
#include <stdint.h>

#include "core/format.h"

void loss_add(enum format_loss kind, uint64_t count);
uint64_t loss_count(enum format_loss kind);

/* Lower-case name, as printed in the log. */
const char *loss_name(enum format_loss kind);

/* Sum of the kinds that make figures wrong or missing: FORMAT_LOSS_EVENTS, FORMAT_LOSS_LOG_BYTES, FORMAT_LOSS_INTERNAL. */
uint64_t loss_total(void);

#endif
