/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jitdump.h - reads jit-PID.dump, in which just-in-time compilers log the functions they make, with lines.
 *
 * The format is that of the kernel's tools/perf/Documentation/jitdump-specification.txt, version 1, in this machine's byte
 * order.  Where code was replaced the later record counts; a function that was moved keeps its name.
 */
#ifndef PMEM_SYMBOL_JITDUMP_H
#define PMEM_SYMBOL_JITDUMP_H
#include <stdbool.h>

#include "symbol/jit_names.h"

/* Gives the addresses in names that the file open at fd covers their names, and lines where it has them.  A file that is no such
 * log covers nothing.  False: no memory. */
bool jitdump_read(int fd, struct jit_names *names);

#endif
