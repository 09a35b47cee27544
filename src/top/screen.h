/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * screen.h - the terminal, by ncurses.
 *
 * However the program ends, the terminal is as it was: signals that end it are noted and the caller ends the screen; one that means a
 * bug of ours restores the terminal in its handler.  One screen at a time.
 */
#ifndef PMEM_TOP_SCREEN_H
#define PMEM_TOP_SCREEN_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "top/view.h"

/* False: the terminal is of an unknown type or cannot move its cursor; nothing has changed then. */
bool screen_begin(struct error *err);
void screen_end(void);

/* Writes the size into the view. */
void screen_size(struct view *view);
void screen_show(const struct view *view);

/* Everything anew: something else may have written to the terminal. */
void screen_redraw(void);

/* The next key, as for top_key(); TOP_KEY_NONE: the time is over, or a signal came; UINT64_MAX: wait for ever. */
int screen_key(uint64_t timeout_ns);

/* The signal that asks the program to end, SIGHUP also if the terminal went away; 0: none. */
int screen_signal(void);

#endif
