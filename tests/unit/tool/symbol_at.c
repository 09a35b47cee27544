/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbol_at - prints what symbols.h knows about addresses in a file; a helper of tests/test_symbols.py.
 *
 *   symbol_at FILE [BUILD-ID [DEBUG-DIR]] < ADDRESSES
 *   symbol_at -i FILE [BUILD-ID [DEBUG-DIR]] < ADDRESSES
 *
 * First the problem's number; then a line for each hexadecimal return address: raw name, offset, function, short
 * name and whose code it is, with tabs between them; "-" is unknown.  BUILD-ID: in hexadecimal, what the module had; "" =
 * none.  DEBUG-DIR: a folder for debug files, or "debuginfod".  -i: a line for each function at the address, innermost first, with file
 * and line behind, and an empty line after the last.
 */
#include <stdbool.h>
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

	printf("%s\t%llx\t%s\t%s\t%s", or_dash(symbol->raw_name), (unsigned long long)symbol->offset,
	       or_dash(symbol->function), or_dash(name), blame_name(blame));
}

static void print_all(struct symbols *symbols, const char *path, struct symbols_module *module,
		      uint64_t address)
{
	const struct symbol *found;
	size_t count = symbols_find(module, address, &found);

	for (size_t i = 0; i < count; i++) {
		print_symbol(symbols, path, &found[i]);
		printf("\t%s\t%u\n", or_dash(found[i].file), found[i].line);
	}
	putchar('\n');
}

int main(int argc, char **argv)
{
	bool all = argc > 1 && strcmp(argv[1], "-i") == 0;
	char **words = argv + all;
	int count = argc - all;
	const char *folder = count > 3 ? words[3] : NULL;
	bool ask = folder && strcmp(folder, "debuginfod") == 0;
	struct symbols *symbols = symbols_new(
		&(struct symbols_options){.debug_dirs = {ask ? NULL : folder}, .debuginfod = ask});
	struct symbols_module *module;
	uint8_t id[20];
	char line[64];

	if (count < 2 || !symbols)
		return 2;
	module = symbols_module(symbols, words[1], id,
				read_id(count > 2 ? words[2] : NULL, id, sizeof(id)));
	printf("%d\n", symbols_problem(module));
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t address = strtoull(line, NULL, 16);

		if (all) {
			print_all(symbols, words[1], module, address);
			continue;
		}
		print_symbol(symbols, words[1], symbols_find_fast(module, address));
		putchar('\n');
	}
	symbols_free(symbols);
	return 0;
}
