/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lines.h - what can be scrolled through: rows, under an expanded one its call stacks, under an expanded one of these its frames.
 */
#ifndef PMEM_TOP_LINES_H
#define PMEM_TOP_LINES_H
#include <stdbool.h>
#include <stdint.h>

#include "report/stack.h"
#include "top/rows.h"

enum { LINES_STACKS = 50 }; /* shown of one row */

enum lines_kind {
	LINES_ROW,
	LINES_STACK,
	LINES_MORE, /* other call stacks of the row */
	LINES_FRAME,
	LINES_HIDDEN, /* frames of libraries and runtimes */
};

struct lines_line {
	enum lines_kind kind;
	uint64_t key;	/* of the same thing in each opening the same */
	uint64_t above; /* key of the line that it belongs to; of a row 0 */
	bool open;
	uint32_t row;		 /* that it belongs to, or is */
	uint32_t stack;		 /* of LINES_STACK and below */
	uint32_t count;		 /* of LINES_MORE and LINES_HIDDEN: how many */
	struct stack_line frame; /* of LINES_FRAME */
};

struct lines {
	struct lines_line *items;
	uint32_t count;
	uint32_t room;
};

/* Keys of the rows and call stacks that are expanded. */
struct lines_open {
	uint64_t *keys;
	unsigned count;
};

/* False: no memory, and there are no lines. */
bool lines_build(struct lines *lines, const struct rows *rows, const struct lines_open *open);
void lines_end(struct lines *lines);

bool lines_is_open(const struct lines_open *open, uint64_t key);

/* Expands what is not, and the other way round.  Without memory nothing happens. */
void lines_toggle(struct lines_open *open, uint64_t key);
void lines_close_all(struct lines_open *open);

#endif
