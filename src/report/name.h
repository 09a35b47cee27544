/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * name.h - what a frame is called on a screen.
 */
#ifndef PMEM_REPORT_NAME_H
#define PMEM_REPORT_NAME_H
#include <stdio.h>

#include "report/report.h"

enum { NAME_IN_TEXT = 44 }; /* columns of a name in a sentence */

/* One function at a location. */
struct name {
	uint32_t location;
	const struct symbol *symbol;
};

struct name name_of_place(const struct report *report, uint32_t place);
struct name name_of_site(const struct report *report, const struct site *site);

/* The function, else "libx.so+0x1f", to be freed; NULL: no memory.  On screens without return type, parameters and template
 * arguments; for programs in full. */
char *name_function(const struct report *report, const struct name *name);
char *name_function_full(const struct report *report, const struct name *name);

/* "session.rs:88" if the line is known, else the module's file name if it is not the program; "" if there is nothing to
 * say.  To be freed; NULL: no memory. */
char *name_where(const struct report *report, const struct name *name);

/* "function" or "function (where)", cut for a sentence. */
void name_in_text(const struct report *report, const struct name *name, FILE *file);

/* A function's name in width columns: if it does not fit without scopes in its middle, "app::...::Index::load", then without outer ones, "...::load"; if
 * not even the last part does, that cut in the middle. */
void name_cut(const struct output *out, const char *function, unsigned width);

/* Function in width columns, two blanks, where.  All is cut to what remains of the line after used columns. */
void name_line(const struct report *report, const struct name *name, unsigned used);

#endif
