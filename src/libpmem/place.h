/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * place.h - where this process image's files go, and what they are called.
 *
 * In the current directory of the start (as a descriptor, so that chdir() and chroot() do not matter), else
 * in $TMPDIR: pmem.$pid.prof and pmem.$pid.log; or as PMEM_OUT says.  A name that is taken gets the
 * next free suffix: pmem.$pid.2.prof, with pmem.$pid.2.log beside it.  Set up while there is one thread;
 * place_dir() under its caller's lock.
 */
#ifndef PMEM_LIBPMEM_PLACE_H
#define PMEM_LIBPMEM_PLACE_H
#include <limits.h>
#include <stdbool.h>

#include "libpmem/kept.h"

/* A directory that may take files. */
struct place {
	struct kept dir;     /* O_PATH; opened when first needed */
	char path[PATH_MAX]; /* "" = none */
};

enum {
	PLACE_NAME_SIZE = 256,
	PLACE_SUFFIX_MAX = 9999,
};

extern struct place place_start; /* the current directory at start */
extern struct place place_out;	 /* where files go first: place_start's, or PMEM_OUT's directory */
extern struct place place_tmp;	 /* $TMPDIR */

/* Finds the directories, and makes the name from PMEM_OUT. */
void place_init(void);

/* The descriptor of a directory, or -errno. */
int place_dir(struct place *place);

/* Writes "pmem.4711" + suffix (if it is not 1) + end, as ".prof", into name, and its absolute path into path (NULL: no
 * path; "" if the directory's is not known). */
void place_name(unsigned suffix, const char *end, char name[PLACE_NAME_SIZE]);
void place_path(const struct place *place, const char *name, char path[PATH_MAX + PLACE_NAME_SIZE]);

/* The suffix that this image's first file got; others begin there. */
unsigned place_suffix(void);
void place_set_suffix(unsigned suffix);

/* A new name, for the child's pid; the directories are the parent's. */
void place_fork_child(void);

#endif
