/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frame_lines.c - see frame_lines.h.
 *
 * A module that was loaded again lies elsewhere, and its frames have other addresses: the address is a part of the key.
 */
#include "libpmem/frame_lines.h"

#include <string.h>

#include "libpmem/sys.h"

enum {
	LINES_LOG2 = 12,
	LINES = 1 << LINES_LOG2,
	ROOM = 512 * 1024,
	LINE_MAX_SIZE = 8192,
	ALIGN = 8,
};

struct line {
	uintptr_t address;
	uint32_t pc32;
	uint32_t size;
	char bytes[];
};

struct lines {
	uint32_t offsets[LINES]; /* of the line in room, + 1; 0 = nothing here */
	char room[ROOM] __attribute__((aligned(ALIGN)));
};

/* Under LOCK_SNAPSHOT. */
static struct lines *lines; /* NULL = not made yet */
static uint32_t used;	    /* of its room */

static uint32_t *slot_of(uint32_t pc32)
{
	return &lines->offsets[pc32 * 0x9e3779b1u >> (32 - LINES_LOG2)];
}

static struct line *line_at(uint32_t offset)
{
	return (struct line *)(lines->room + offset);
}

static void forget(void)
{
	memset(lines->offsets, 0, sizeof(lines->offsets));
	used = 0;
}

bool frame_lines_copy(struct text *text, uint32_t pc32, uintptr_t address)
{
	uint32_t offset = lines ? *slot_of(pc32) : 0;
	const struct line *line;

	if (!offset)
		return false;
	line = line_at(offset - 1);
	if (line->pc32 != pc32 || line->address != address)
		return false;
	text_bytes(text, line->bytes, line->size);
	return true;
}

void frame_lines_keep(const struct text *text, size_t start, uint32_t pc32, uintptr_t address)
{
	size_t size = text->size - start;
	uint32_t room = (uint32_t)(sizeof(struct line) + size + ALIGN - 1) & ~(uint32_t)(ALIGN - 1);
	struct line *line;

	if (!lines)
		lines = sys_map(sizeof(*lines));
	if (!lines || text->truncated || size > LINE_MAX_SIZE)
		return;
	if (room > ROOM - used)
		forget();
	line = line_at(used);
	*line = (struct line){.address = address, .pc32 = pc32, .size = (uint32_t)size};
	memcpy(line->bytes, text->bytes + start, size);
	*slot_of(pc32) = used + 1;
	used += room;
}

void frame_lines_fork_child(void)
{
	if (lines)
		forget();
}
