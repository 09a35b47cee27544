/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * view_help.c - what the keys do.
 */
#include "top/view.h"

static const char *const lines[] = {
	"  Up Down PgUp PgDn Home End   move; also k j",
	"  Enter, Space                 a site's call stacks, a call stack's frames, or",
	"                               away with them; also Right, Left; x closes all",
	"  L G C B A T                  sort by live bytes, growth, bytes allocated per",
	"                               second, blocks, bytes allocated, temporary",
	"                               allocations; < and > the column left, right",
	"  r                            the smallest first, or the largest",
	"  g                            rows are sites, functions or modules",
	"  v                            what the program maps itself (mmap), or the heap",
	"  / (or f)                     only call stacks with this text in the name of a",
	"                               function, module or source file; Esc drops it",
	"  a                            frames of libraries and runtimes too",
	"  m, M                         mark this moment: columns with + show what",
	"                               changed since then; no mark",
	"  p                            pause, go on",
	"  u                            read again now",
	"  + -                          read less, more often",
	"  q                            quit",
	"",
	"  ~ estimated; - not known yet.  growth/min is over the time of which the lines",
	"  above the table speak.  The bars are the last ten minutes of live bytes and",
	"  resident set.  Nothing is written to the process.",
};

void view_help(struct view *view)
{
	unsigned count = sizeof(lines) / sizeof(lines[0]);

	fputs("pmem top: keys", view->file);
	view_line(view, VIEW_TITLE);
	for (unsigned i = 0; i < count && view->count + 1 < view->height; i++) {
		fputs(lines[i], view->file);
		view_line(view, VIEW_PLAIN);
	}
	fputs("Any key goes back.", view->file);
	view_line(view, VIEW_DIM);
}
