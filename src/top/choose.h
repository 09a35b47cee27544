/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * choose.h - which of several recorded processes to watch.
 */
#ifndef PMEM_TOP_CHOOSE_H
#define PMEM_TOP_CHOOSE_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/find.h"
#include "top/view.h"

struct choose_process {
	uint32_t pid;
	char *path; /* of the profile */
	char *text; /* a line about it */
};

struct choose {
	struct choose_process *items;
	unsigned count;
	unsigned selected;
	unsigned first; /* that is visible */
};

/* The recorded processes that run: all; of a folder those whose profile lies in it.  False: the folder or /proc cannot be read, or no
 * memory. */
bool choose_find(struct choose *choose, const char *folder, struct error *err);
void choose_end(struct choose *choose);

/* What a key means: TOP_QUIT, TOP_READ_NOW: this one, TOP_GO_ON. */
enum top_wish choose_key(struct choose *choose, int key, unsigned height);

/* The list as a screen. */
bool choose_view(struct choose *choose, struct view *view);

/* Lets the user choose, on the terminal.  *path, to be freed; NULL: none was chosen.  False: the terminal is of no use. */
bool choose_run(struct choose *choose, char **path, int *signal_number, struct error *err);

#endif
