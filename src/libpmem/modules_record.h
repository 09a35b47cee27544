/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * modules_record.h - what the profile says of modules and regions; for modules.c only, under its lock.
 *
 * Where there is no memory the profile does not know the module: its frames will be "[unknown module]" there.
 */
#ifndef PMEM_LIBPMEM_MODULES_RECORD_H
#define PMEM_LIBPMEM_MODULES_RECORD_H
#include <stdbool.h>
#include <stdint.h>

#include "core/format.h"
#include "libpmem/modules.h"

/* Module 0 and the region 0, which is none.  False: no memory. */
bool modules_record_begin(void);

/* A module that was not there before, and where it lies (again). */
void modules_record_new(uint32_t id, const struct module *module, struct format_text path);
void modules_record_place(uint32_t id, const struct module *module);
void modules_record_unload(uint32_t id);

void modules_record_region(uint32_t index, const struct format_region *region);

#endif
