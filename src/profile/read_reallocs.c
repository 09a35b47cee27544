/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * read_reallocs.c - what realloc() did for each call stack.
 */
#include <stdlib.h>

#include "profile/read.h"

static const struct image_array reallocs_array = {FORMAT_REALLOCS, sizeof(struct format_realloc),
						  "counts of realloc()", 0};

/* A running process may have counted the one and not the other. */
static void take(const struct format_realloc *from, struct profile_realloc *to)
{
	add_limited(&to->count, plain64(&from->count));
	add_limited(&to->moved_count, plain64(&from->moved_count));
	add_limited(&to->copied_bytes, plain64(&from->copied_bytes));
	add_limited(&to->chained_count, plain64(&from->chained_count));
	add_limited(&to->chained_bytes, plain64(&from->chained_bytes));
	if (to->moved_count > to->count)
		to->moved_count = to->count;
	if (to->chained_count > to->count)
		to->chained_count = to->count;
}

bool read_reallocs(struct reader *reader)
{
	struct profile *profile = &reader->profile;
	uint32_t count = image_limit(&reader->image, &reallocs_array,
				     plain32(&profile->header.realloc_count));
	struct format_realloc *raw = image_items(&reader->image, &reallocs_array, count);
	struct profile_realloc *reallocs = reader_alloc(reader, (size_t)count + 1,
							sizeof(*reallocs));

	for (uint32_t i = 0; raw && reallocs && i < count; i++) {
		struct profile_stack *stack = reader_stack(reader, plain32(&raw[i].stack_id));

		if (!stack)
			continue;
		take(&raw[i], &reallocs[i + 1]);
		stack->reallocs = i + 1;
	}
	profile->reallocs = reallocs;
	free(raw);
	return raw && reallocs;
}
