/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * version.h - the version of pmem.  The only place that has it: meson.build reads this line.
 */
#ifndef PMEM_CORE_VERSION_H
#define PMEM_CORE_VERSION_H

#define PMEM_VERSION "0.1.0"

#endif
