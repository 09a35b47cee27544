/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * subjects.h - what is served: recorded processes that run or ran, profiles of a folder, remembered moments.
 *
 * A subject is a file with a profile.  Of a process that runs it is kept open, so that its last state can be read whatever becomes
 * of the name.  Used by one thread.
 */
#ifndef PMEM_SERVE_SUBJECTS_H
#define PMEM_SERVE_SUBJECTS_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "profile/profile.h"
#include "symbol/symbols.h"

/* What the list says of a subject. */
struct subject_summary {
	bool is_known;
	uint64_t stamp; /* subject_stamp() then */
	uint64_t live_bytes;
	uint64_t alloc_bytes;
	uint64_t start_realtime_ns;
	uint64_t duration_ns;
};

struct subject {
	struct subject *next;
	char *id;   /* unique; the file's name as a rule */
	char *path; /* where it was found */
	int fd;	    /* -1 = not kept open */
	dev_t device;
	ino_t inode;
	uint32_t pid; /* 0 = unknown: of a bundle that was not opened yet */
	bool is_running;
	bool was_running; /* while it was served */
	bool is_listed;	  /* in the folder, or named */
	bool is_moment;
	char *program;	     /* its name; NULL = not known yet */
	char *label;	     /* of a moment: the time of day */
	char *of;	     /* of a moment: the id of what was remembered */
	uint64_t changed_ns; /* of the file */
	uint64_t start_ns;   /* of recording, CLOCK_REALTIME; 0 = not known */
	struct subject_summary summary;
};

struct subjects;

enum { SUBJECTS_MOMENTS_MAX = 16, SUBJECT_PATH_SIZE = 4200 };

/* name as for find_profile(): a file or a process is all that is served; a folder, or NULL for the current one, is served together with the
 * processes that run. */
bool subjects_open(const char *name, struct subjects **subjects, struct error *err);
void subjects_close(struct subjects *subjects);

/* Looks what has come and gone, unless that was done just now. */
void subjects_refresh(struct subjects *subjects);

/* Running ones first, the youngest first.  NULL after the last. */
struct subject *subjects_first(struct subjects *subjects);

/* By id, or by the pid of a process, a running one first; NULL: there is none. */
struct subject *subjects_find(struct subjects *subjects, const char *id);

/* The one that was named; else the one that runs, the youngest of them; else the newest profile.  NULL: nothing is served. */
struct subject *subjects_main(struct subjects *subjects);

/* True if it is all that is served, but for moments. */
bool subjects_is_single(const struct subjects *subjects);

/* A path that leads to the subject's file now; made in text if need be. */
const char *subject_path(const struct subject *subject, char text[SUBJECT_PATH_SIZE]);

/* Changes whenever the file does.  It does not tell of writes through a mapping. */
uint64_t subject_stamp(const struct subject *subject);

/* Opens its profile as it is now, and notes what the list says of it. */
bool subject_open(struct subject *subject, struct profile **profile, struct error *err);

/* Remembers a subject as it is now.  Returns the moment; NULL: it is not to be had. */
struct subject *subjects_remember(struct subjects *subjects, struct subject *subject,
				  const struct symbols_options *symbols, struct error *err);
void subjects_forget(struct subjects *subjects, struct subject *moment);

#endif
