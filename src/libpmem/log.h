/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * log.h - the file pmem.$pid.log.
 *
 * Called by snapshot.c under LOCK_SNAPSHOT, and by process.c at start.  The file is made in the
 * directory that was current at start, O_EXCL, 0600; where the name exists the next free suffix
 * is taken (pmem.$pid.2.log).  Before each write the descriptor is checked to still be this file
 * (the program may have closed or replaced it); if not, the file is reopened for appending
 * through the directory's descriptor or by its absolute path.  Between two snapshots
 * log_make_room() looks after the file: it is renamed to NAME.1 and begun anew where the next one
 * could take it beyond settings.log_max, and begun anew where somebody truncated, moved, deleted
 * or replaced it.
 */
#ifndef PMEM_LIBPMEM_LOG_H
#define PMEM_LIBPMEM_LOG_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Remembers what stderr is, and this image's path and start time.  After place_init().  Makes no file. */
void log_init(void);

/* Where there is no profile, and no log to say so: says it on stderr, as log_open() does. */
void log_warn_profile(void);

/* Creates the file if there is none yet, with the # lines that name the process image.  Falls
 * back to $TMPDIR; then gives up (returns false) and warns, once in the life of the process,
 * never in a forked child, and only if descriptor 2 still is what it was in log_init(). */
bool log_open(void);

/* Says on stderr, if that can be, that nothing is recorded under an RLIMIT_DATA below 64 MiB. */
void log_warn_data_limit(void);

/* The same where there is no memory for the recorder itself. */
void log_warn_memory(void);

/* Appends; opens the file if need be.  What cannot be written is counted as FORMAT_LOSS_LOG_BYTES; then
 * returns false.  So it does until log_begun_anew() told the caller that the beginning of its
 * snapshot is in another file.  The next write that works begins with a line that says how much is
 * missing. */
bool log_write(const char *bytes, size_t size);

/* Before each snapshot: makes sure that its name still leads to the file, which has its first
 * lines and room for size more bytes below settings.log_max; else begins a new one. */
void log_make_room(uint64_t size);

/* True once after the log began anew: the next snapshot must be complete. */
bool log_begun_anew(void);

/* Appends one whole line if the file is open, and changes nothing: for a caller that could not get
 * LOCK_SNAPSHOT.  What cannot be written is counted as FORMAT_LOSS_LOG_BYTES. */
void log_note(const char *line, size_t size);

/* When this process image began to be recorded (CLOCK_REALTIME, ns): log_init()'s time, not the
 * time of a fork. */
uint64_t log_image_start_ns(void);

/* Absolute path of the file; "" = none. */
const char *log_path(void);

/* The parent's file is the parent's: closes the copy of its descriptor if it still is that.  From
 * then on nothing is said on stderr. */
void log_fork_child(void);

#endif
