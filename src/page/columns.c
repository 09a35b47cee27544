/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * columns.c - named arrays of numbers, as small as their largest value allows.
 */
#include "page/columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNED = 8 };

void columns_free(struct columns *columns)
{
	for (unsigned i = 0; i < columns->count; i++)
		free(columns->items[i].bytes);
	*columns = (struct columns){0};
}

/* A column with room for count values; NULL: it failed. */
static struct column *new_column(struct columns *columns, const char *name, size_t count,
				 unsigned width)
{
	struct column *column = &columns->items[columns->count];

	if (columns->failed || columns->count == COLUMNS_MAX) {
		columns->failed = true;
		return NULL;
	}
	column->bytes = malloc(count * width + 1);
	if (!column->bytes) {
		columns->failed = true;
		return NULL;
	}
	snprintf(column->name, sizeof(column->name), "%s", name);
	column->count = count;
	column->width = width;
	columns->count++;
	return column;
}

static unsigned width_of(uint64_t largest)
{
	if (largest <= UINT8_MAX)
		return 1;
	if (largest <= UINT16_MAX)
		return 2;
	return largest <= UINT32_MAX ? 4 : 8;
}

static void put(struct column *column, size_t at, uint64_t value)
{
	switch (column->width) {
	case 1:
		((uint8_t *)column->bytes)[at] = (uint8_t)value;
		break;
	case 2:
		((uint16_t *)column->bytes)[at] = (uint16_t)value;
		break;
	case 4:
		((uint32_t *)column->bytes)[at] = (uint32_t)value;
		break;
	default:
		((double *)column->bytes)[at] = (double)value;
	}
}

/* Numbers of either size. */
struct numbers {
	const uint64_t *large; /* NULL: small */
	const uint32_t *small;
	size_t count;
};

static uint64_t number_at(const struct numbers *numbers, size_t i)
{
	return numbers->large ? numbers->large[i] : numbers->small[i];
}

static void add(struct columns *columns, const char *name, const struct numbers *numbers)
{
	struct column *column;
	uint64_t largest = 0;

	for (size_t i = 0; i < numbers->count; i++)
		largest = number_at(numbers, i) > largest ? number_at(numbers, i) : largest;
	column = new_column(columns, name, numbers->count, width_of(largest));
	for (size_t i = 0; column && i < numbers->count; i++)
		put(column, i, number_at(numbers, i));
}

void columns_add(struct columns *columns, const char *name, const uint64_t *values, size_t count)
{
	add(columns, name, &(struct numbers){.large = values, .count = count});
}

void columns_add_small(struct columns *columns, const char *name, const uint32_t *values,
		       size_t count)
{
	add(columns, name, &(struct numbers){.small = values, .count = count});
}

void columns_add_bytes(struct columns *columns, const char *name, const void *bytes, size_t count)
{
	struct column *column = new_column(columns, name, count, 1);

	if (column && count)
		memcpy(column->bytes, bytes, count);
}

static size_t padding(size_t size)
{
	return (ALIGNED - size % ALIGNED) % ALIGNED;
}

static size_t size_of(const struct column *column)
{
	return column->count * column->width;
}

void columns_list(const struct columns *columns, struct json *json)
{
	size_t offset = 0;

	json_array(json);
	for (unsigned i = 0; i < columns->count; i++) {
		const struct column *column = &columns->items[i];
		char type[] = "u1";

		if (column->width == sizeof(double))
			type[0] = 'f';
		type[1] = (char)('0' + column->width);
		json_object(json);
		json_key_string(json, "name", column->name);
		json_key_string(json, "type", type);
		json_key_uint(json, "count", column->count);
		json_key_uint(json, "offset", offset);
		json_end(json);
		offset += size_of(column) + padding(size_of(column));
	}
	json_end(json);
}

void columns_write(const struct columns *columns, const char *head, size_t head_size,
		   struct pack *pack)
{
	static const char zeros[ALIGNED];
	uint32_t size[2] = {(uint32_t)head_size, 0};

	pack_write(pack, size, sizeof(size));
	pack_write(pack, head, head_size);
	pack_write(pack, zeros, padding(head_size));
	for (unsigned i = 0; i < columns->count; i++) {
		const struct column *column = &columns->items[i];

		pack_write(pack, column->bytes, size_of(column));
		pack_write(pack, zeros, padding(size_of(column)));
	}
}
