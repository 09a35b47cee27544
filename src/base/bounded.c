/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bounded.c - see bounded.h.
 */
#include "base/bounded.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { FIRST = 64 * 1024 };

static bool make_room(struct bounded *bounded, size_t size)
{
	size_t room = bounded->room ? bounded->room : FIRST;
	char *bytes;

	if (size > bounded->limit - bounded->size)
		return false;
	while (room < bounded->size + size)
		room *= 2;
	if (room == bounded->room)
		return true;
	bytes = realloc(bounded->bytes, room);
	if (!bytes)
		return false;
	bounded->bytes = bytes;
	bounded->room = room;
	return true;
}

/* 0 is a failure here: the stream has its error set from then on. */
static ssize_t write_some(void *cookie, const char *bytes, size_t size)
{
	struct bounded *bounded = cookie;

	if (!make_room(bounded, size))
		return 0;
	memcpy(bounded->bytes + bounded->size, bytes, size);
	bounded->size += size;
	return (ssize_t)size;
}

bool bounded_open(struct bounded *bounded, size_t limit)
{
	*bounded = (struct bounded){.limit = limit};
	bounded->file = fopencookie(bounded, "w", (cookie_io_functions_t){.write = write_some});
	return bounded->file != NULL;
}

bool bounded_close(struct bounded *bounded)
{
	bool failed = ferror(bounded->file);

	/* An empty stream gives bytes too. */
	failed |= fclose(bounded->file) != 0 || !make_room(bounded, bounded->size < bounded->limit);
	bounded->file = NULL;
	if (!failed)
		return true;
	free(bounded->bytes);
	bounded->bytes = NULL;
	return false;
}
