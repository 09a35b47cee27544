/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbol_at - prints what symbols.h knows about addresses in a file; a helper of tests/test_symbols.py.
 *
 *   symbol_at FILE [BUILD-ID] < ADDRESSES
 *
 * First the problem's number; then a line for each hexadecimal return address: raw name, offset, function, short
 * name and whose code it is, with tabs between them; "-" is unknown.  BUILD-ID: in hexadecimal, what the module had.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/blame.h"
#include "symbol/symbols.h"

static size_t read_id(const char *text, uint8_t *id, size_t size)
{
	size_t count = 0;
	unsigned byte;

	while (text && count < size && sscanf(text + 2 * count, "%2x", &byte) == 1)
		id[count++] = (uint8_t)byte;
	return count;
}

static const char *or_dash(const char *text)
{
	return text ? text : "-";
}

static void print_symbol(struct symbols *symbols, const char *path, const struct symbol *symbol)
{
	const char *name = symbol->function ? symbols_short(symbols, symbol->function) : NULL;
	enum blame blame = blame_of(path, symbol->raw_name, symbol->function);

	printf("%s\t%llx\t%s\t%s\t%s\n", or_dash(symbol->raw_name),
	       (unsigned long long)symbol->offset, or_dash(symbol->function), or_dash(name),
	       blame_name(blame));
}

int main(int argc, char **argv)
{
	struct symbols *symbols = symbols_new(NULL);
	struct symbols_module *module;
	const struct symbol *found;
	uint8_t id[20];
	char line[64];

	if (argc < 2 || !symbols)
		return 2;
	module = symbols_module(symbols, argv[1], id,
				read_id(argc > 2 ? argv[2] : NULL, id, sizeof(id)));
	printf("%d\n", symbols_problem(module));
	while (fgets(line, sizeof(line), stdin)) {
		if (symbols_find(module, strtoull(line, NULL, 16), &found) != 1)
			return 1;
		print_symbol(symbols, argv[1], found);
	}
	symbols_free(symbols);
	return 0;
}
