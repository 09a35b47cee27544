/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_map.h - reads /tmp/perf-PID.map, which just-in-time compilers write: lines "START SIZE NAME", numbers in hexadecimal.
 *
 * The format is that of the kernel's tools/perf/Documentation/jit-interface.txt.  Where code was replaced the later line
 * counts.  A line without an end is not complete yet; lines that are none are skipped.
 */
#ifndef PMEM_SYMBOL_PERF_MAP_H
#define PMEM_SYMBOL_PERF_MAP_H
#include <stdbool.h>

#include "symbol/jit_names.h"

/* Gives the addresses in names that the file open at fd covers their names.  False: no memory. */
bool perf_map_read(int fd, struct jit_names *names);

#endif
