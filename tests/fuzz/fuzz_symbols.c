/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_symbols.c - fuzzes the reader of symbol tables, the demangler's guards, short names and the rules of blame.
 *
 * Input: an ELF object, which is read through a file in memory; each name found is demangled, shortened and looked up.  Any
 * other input is a name itself.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profile/blame.h"
#include "symbol/demangle.h"
#include "symbol/short_name.h"
#include "symbol/symbol_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

static void check_name(const char *raw_name)
{
	char *function = demangle(raw_name);
	const char *shown = function ? function : raw_name;
	size_t room = strlen(shown) + 16;
	char *text = malloc(room);

	require(text && short_name(shown, text, room) < room);
	require(strlen(text) < room);
	require(short_name(shown, text, 7) < 7 && strlen(text) < 7);
	require(blame_of("/bin/program", raw_name, function) < BLAME_COUNT);
	free(text);
	free(function);
}

static void check_entry(const struct symbol_file *file, size_t index)
{
	const struct symbol_entry *entry = &file->entries[index];
	const struct symbol_entry *found = symbol_file_at(file, entry->address);

	require(entry->name < file->strings_size);
	require(index == 0 || entry[-1].address <= entry->address);
	require(entry->around == UINT32_MAX || entry->around < index);
	if (!found)
		return;
	require(found->address <= entry->address);
	require(entry->address - found->address < found->size);
	check_name(symbol_file_name(file, found));
}

static void read_file(const uint8_t *data, size_t size)
{
	const struct elf_build_id any = {0};
	struct symbol_file file;
	int fd = memfd_create("input", MFD_CLOEXEC);

	require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	if (symbol_file_read(fd, &any, &file) == SYMBOLS_OK)
		require(file.count > 0);
	else
		require(file.count == 0 && !file.entries && !file.strings);
	for (size_t i = 0; i < file.count; i++)
		check_entry(&file, i);
	require(symbol_file_at(&file, UINT64_MAX) == NULL);
	symbol_file_free(&file);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name;

	if (size >= SELFMAG && memcmp(data, ELFMAG, SELFMAG) == 0) {
		read_file(data, size);
		return 0;
	}
	name = malloc(size + 1);
	require(name != NULL);
	memcpy(name, data, size);
	name[size] = 0;
	check_name(name);
	free(name);
	return 0;
}
