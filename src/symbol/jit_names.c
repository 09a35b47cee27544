/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jit_names.c - see jit_names.h.
 */
#include "symbol/jit_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COVERS_MAX (UINT64_C(1) << 28)	 /* a second or two */
#define FUNCTION_MAX (UINT64_C(1) << 28) /* bytes; what says to be larger is no function */

static int compare(const void *left, const void *right)
{
	const struct jit_name *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

bool jit_names_begin(struct jit_names *names, const uint64_t *addresses, size_t count)
{
	size_t kept = 0;

	*names = (struct jit_names){.items = calloc(count + 1, sizeof(*names->items)),
				    .left = COVERS_MAX};
	if (!names->items)
		return false;
	for (size_t i = 0; i < count; i++)
		names->items[i].address = addresses[i];
	qsort(names->items, count, sizeof(*names->items), compare);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || names->items[kept - 1].address != names->items[i].address)
			names->items[kept++].address = names->items[i].address;
	names->count = kept;
	return true;
}

void jit_names_end(struct jit_names *names)
{
	for (size_t i = 0; i < names->count; i++) {
		free(names->items[i].raw_name);
		free(names->items[i].file);
	}
	free(names->items);
	*names = (struct jit_names){0};
}

/* The first address after start: a call at the function's first byte returns behind it. */
static size_t first_after(const struct jit_names *names, uint64_t start)
{
	size_t low = 0, high = names->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (names->items[middle].address > start)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static bool is_function(uint64_t start, uint64_t size)
{
	return start != 0 && size != 0 && size <= FUNCTION_MAX && size <= UINT64_MAX - start;
}

bool jit_names_wants(const struct jit_names *names, uint64_t start, uint64_t size)
{
	size_t first = first_after(names, start);

	return is_function(start, size) && first < names->count &&
	       names->items[first].address - start <= size;
}

bool jit_names_cover(struct jit_names *names, uint64_t size, const struct jit_record *record)
{
	size_t i = first_after(names, record->start);

	if (!is_function(record->start, size))
		return true;
	for (; i < names->count && names->items[i].address - record->start <= size; i++) {
		if (names->left == 0)
			return false;
		names->left--;
		names->items[i].record = *record;
	}
	return true;
}

/* What is left of length bytes if no character is torn. */
static size_t cut(const char *text, size_t length)
{
	size_t end = JIT_NAME_MAX;

	if (length <= JIT_NAME_MAX)
		return length;
	while (end > JIT_NAME_MAX - 4 && ((unsigned char)text[end] & 0xc0) == 0x80)
		end--;
	return end;
}

void jit_names_set(struct jit_names *names, struct jit_name *item, const char *text, size_t length)
{
	char *copy = strndup(text, cut(text, length));

	if (!copy)
		return;
	names->found += !item->raw_name;
	free(item->raw_name);
	free(item->file);
	item->raw_name = copy;
	item->file = NULL;
	item->line = 0;
	item->start = item->record.start;
}

size_t jit_names_read(int fd, uint64_t offset, void *bytes, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t got = pread(fd, (char *)bytes + done, size - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}
