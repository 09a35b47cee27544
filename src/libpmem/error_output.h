/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * error_output.h - lines on the program's stderr that can do it no harm.
 *
 * The descriptor is the program's.  A line goes only to what it was at the start: a file, a pipe or a device; of sockets, behind
 * which somebody may expect a protocol, only that of systemd's journal ($JOURNAL_STREAM, systemd.exec(5)).  What cannot be written
 * at once is dropped: nobody waits, no flag of the shared description changes, and no signal comes of it.
 */
#ifndef PMEM_LIBPMEM_ERROR_OUTPUT_H
#define PMEM_LIBPMEM_ERROR_OUTPUT_H
#include <stdbool.h>
#include <stddef.h>

enum { ERROR_OUTPUT_MAX = 4096 }; /* PIPE_BUF: so much is written whole or not at all (pipe(7)) */

/* Remembers what descriptor 2 is; once, while there is one thread.  It stays so in forked children. */
void error_output_init(void);

/* A line with its newline, at most ERROR_OUTPUT_MAX bytes, in one write.  False: it is dropped.  Not in a sandbox. */
bool error_output_line(const char *line, size_t size);

#endif
