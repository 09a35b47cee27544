/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unseen.h - what a process may have allocated past the recorder, by an allocator of its own.
 *
 * No guess at how much: a profile cannot know that.  Known from the profile itself if such a malloc()
 * was in front of the recorder's, else from the program's file, if that is still the one that ran.
 */
#ifndef PMEM_PROFILE_UNSEEN_H
#define PMEM_PROFILE_UNSEEN_H
#include <stdbool.h>

#include "profile/profile.h"

enum { UNSEEN_SIZE = 600 };

/* A sentence without its full stop, as in "what prog serves by its own malloc, free is not seen", and
 * what to do instead.  False: nothing speaks for an allocator of its own.  The text has bytes of
 * untrusted files in it. */
bool unseen_words(const struct profile *profile, char text[UNSEEN_SIZE]);

#endif
