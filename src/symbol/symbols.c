/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbols.c - see symbols.h.
 *
 * A module's file is read at the first question about it, and its table kept.  All results lie in an arena that is freed as a
 * whole.  Where memory runs out the answer is a nameless function, never a failure.
 */
#include "symbol/symbols.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/elf_view.h"
#include "symbol/demangle.h"
#include "symbol/short_name.h"
#include "symbol/symbol_file.h"

/* A longer name is no name: nobody reads it, and a hostile file could make each a gigabyte. */
enum { CHUNK_SIZE = 64 * 1024, ALIGN = 16, NAME_SIZE_MAX = 64 * 1024 };

struct chunk {
	struct chunk *next;
	size_t used;
	size_t size;
	_Alignas(ALIGN) char bytes[];
};

struct symbols_module {
	struct symbols *symbols;
	struct symbols_module *next;
	char *path;
	struct elf_build_id build_id;
	bool is_read;
	enum symbols_problem problem;
	struct symbol_file file;
	const char **functions; /* by entry: its demangled name, NULL = not asked yet; NULL if there was no memory */
	struct symbol nameless; /* where there is no memory for an answer */
};

struct symbols {
	char *root;
	struct chunk *chunks;
	struct symbols_module *modules;
	struct symbols_module nowhere; /* where there is no memory for a module */
};

static void *allocate(struct symbols *symbols, size_t size)
{
	struct chunk *chunk = symbols->chunks;
	size_t want = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);

	if (!chunk || want > chunk->size - chunk->used) {
		size_t room = want > CHUNK_SIZE ? want : CHUNK_SIZE;

		chunk = malloc(sizeof(*chunk) + room);
		if (!chunk)
			return NULL;
		*chunk = (struct chunk){.next = symbols->chunks, .size = room};
		symbols->chunks = chunk;
	}
	chunk->used += want;
	return chunk->bytes + chunk->used - want;
}

static const char *keep(struct symbols *symbols, const char *text, size_t length)
{
	char *copy = allocate(symbols, length + 1);

	if (copy) {
		memcpy(copy, text, length);
		copy[length] = 0;
	}
	return copy;
}

struct symbols *symbols_new(const struct symbols_options *options)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return NULL;
	symbols->root = strdup(options && options->root ? options->root : "");
	if (!symbols->root) {
		free(symbols);
		return NULL;
	}
	symbols->nowhere = (struct symbols_module){
		.symbols = symbols, .is_read = true, .problem = SYMBOLS_NO_FILE};
	return symbols;
}

static void free_module(struct symbols_module *module)
{
	symbol_file_free(&module->file);
	free(module->functions);
	free(module->path);
	free(module);
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	while (symbols->modules) {
		struct symbols_module *module = symbols->modules;

		symbols->modules = module->next;
		free_module(module);
	}
	while (symbols->chunks) {
		struct chunk *chunk = symbols->chunks;

		symbols->chunks = chunk->next;
		free(chunk);
	}
	free(symbols->root);
	free(symbols);
}

static bool is_module(const struct symbols_module *module, const char *path,
		      const struct elf_build_id *id)
{
	return module->build_id.size == id->size &&
	       memcmp(module->build_id.bytes, id->bytes, id->size) == 0 &&
	       strcmp(module->path, path) == 0;
}

struct symbols_module *symbols_module(struct symbols *symbols, const char *path,
				      const uint8_t *build_id, size_t build_id_size)
{
	struct symbols_module *module;
	struct elf_build_id id = {0};

	id.size = build_id_size < ELF_BUILD_ID_MAX ? (uint32_t)build_id_size : ELF_BUILD_ID_MAX;
	if (id.size > 0)
		memcpy(id.bytes, build_id, id.size);
	for (module = symbols->modules; module; module = module->next)
		if (is_module(module, path, &id))
			return module;
	module = calloc(1, sizeof(*module));
	if (!module)
		return &symbols->nowhere;
	module->path = strdup(path);
	if (!module->path) {
		free(module);
		return &symbols->nowhere;
	}
	module->symbols = symbols;
	module->build_id = id;
	module->next = symbols->modules;
	symbols->modules = module;
	return module;
}

/* O_NONBLOCK: the path may lead to a pipe by now.  symbol_file_read() takes regular files only. */
static int open_file(const struct symbols_module *module)
{
	char *path;
	int fd;

	if (asprintf(&path, "%s%s", module->symbols->root, module->path) < 0)
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	free(path);
	return fd;
}

/* "[vdso]", "linux-vdso.so.1" and "" have no file. */
static void read_module(struct symbols_module *module)
{
	int fd;

	if (module->is_read)
		return;
	module->is_read = true;
	module->problem = SYMBOLS_NO_FILE;
	if (!strchr(module->path, '/'))
		return;
	fd = open_file(module);
	if (fd < 0)
		return;
	module->problem = symbol_file_read(fd, &module->build_id, &module->file);
	close(fd);
	if (module->file.count > 0)
		module->functions = calloc(module->file.count, sizeof(*module->functions));
}

/* Without its version: "memcpy@@GLIBC_2.14". */
static const char *function_of(struct symbols *symbols, const char *raw_name)
{
	const char *version = strchr(raw_name, '@');
	const char *name = raw_name;

	if (version && version > raw_name)
		name = keep(symbols, raw_name, (size_t)(version - raw_name));
	return symbols_demangle(symbols, name ? name : raw_name);
}

static void name_symbol(struct symbols_module *module, const struct symbol_entry *entry,
			struct symbol *symbol)
{
	const char *raw_name = symbol_file_name(&module->file, entry);
	const char **known = NULL;

	if (strnlen(raw_name, NAME_SIZE_MAX) == NAME_SIZE_MAX)
		return;
	symbol->offset = symbol->offset - entry->address;
	symbol->raw_name = raw_name;
	if (module->functions)
		known = &module->functions[entry - module->file.entries];
	symbol->function = known && *known ? *known : function_of(module->symbols, symbol->raw_name);
	if (known)
		*known = symbol->function;
}

size_t symbols_find(struct symbols_module *module, uint64_t address, const struct symbol **found)
{
	struct symbol *symbol = allocate(module->symbols, sizeof(*symbol));
	const struct symbol_entry *entry = NULL;

	if (!symbol)
		symbol = &module->nameless;
	*symbol = (struct symbol){.offset = address};
	read_module(module);
	/* A call may be its function's last instruction: it is the call that counts, not what it returns to. */
	if (address > 0 && symbol != &module->nameless)
		entry = symbol_file_at(&module->file, address - 1);
	if (entry)
		name_symbol(module, entry, symbol);
	*found = symbol;
	return 1;
}

enum symbols_problem symbols_problem(struct symbols_module *module)
{
	read_module(module);
	return module->problem;
}

const char *symbols_problem_text(enum symbols_problem problem)
{
	switch (problem) {
	case SYMBOLS_OK:
		return "has names";
	case SYMBOLS_NO_FILE:
		return "is not there or cannot be read";
	case SYMBOLS_OTHER_FILE:
		return "was replaced since";
	case SYMBOLS_NOT_ELF:
		return "is no 64-bit ELF file";
	case SYMBOLS_STRIPPED:
		return "is stripped: it has no symbols";
	}
	return "has no names";
}

const char *symbols_demangle(struct symbols *symbols, const char *raw_name)
{
	char *text = demangle(raw_name);
	const char *kept;

	if (!text)
		return raw_name;
	kept = keep(symbols, text, strlen(text));
	free(text);
	return kept ? kept : raw_name;
}

const char *symbols_short(struct symbols *symbols, const char *function)
{
	size_t length = strlen(function);
	char *text = malloc(length + 16);
	const char *kept = function;

	if (!text)
		return function;
	length = short_name(function, text, length + 16);
	if (strcmp(text, function) != 0)
		kept = keep(symbols, text, length);
	free(text);
	return kept ? kept : function;
}
