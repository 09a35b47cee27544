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
#include "symbol/arena.h"
#include "symbol/demangle.h"
#include "symbol/dwarf.h"
#include "symbol/mini_debug.h"
#include "symbol/short_name.h"
#include "symbol/symbol_file.h"
#include "symbol/symbol_search.h"

/* A longer name is no name: nobody reads it, and a hostile file could make each a gigabyte. */
enum { NAME_SIZE_MAX = 64 * 1024, PATH_SIZE_MAX = 8 * 1024 };

struct symbols_module {
	struct symbols *symbols;
	struct symbols_module *next;
	char *path;
	struct elf_build_id build_id;
	bool is_read;
	enum symbols_problem problem;
	struct symbol_file file;
	struct dwarf *dwarf; /* NULL: none */
};

struct symbols {
	char *root;
	bool debuginfod;
	struct symbol_search search;
	struct arena arena;  /* its texts: raw names with their demangled ones, and paths */
	struct arena shorts; /* its texts: demangled names with their short ones */
	struct symbols_module *modules;
	struct symbols_module nowhere; /* where there is no memory for a module */
	struct symbol nameless;	       /* where there is no memory for an answer */
	struct dwarf_found found;      /* of the question at hand */
};

/* --- modules --------------------------------------------------------------------------------- */

static void set_servers(const struct symbols_options *options)
{
	if (!options || !options->debuginfod)
		unsetenv("DEBUGINFOD_URLS");
	else
		setenv("DEBUGINFOD_TIMEOUT", "10", 0);
}

struct symbols *symbols_new(const struct symbols_options *options)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return NULL;
	set_servers(options);
	symbols->debuginfod = options && options->debuginfod;
	symbols->root = strdup(options && options->root ? options->root : "");
	if (!symbol_search_make(&symbols->search, options) || !symbols->root) {
		symbols_free(symbols);
		return NULL;
	}
	symbols->nowhere = (struct symbols_module){
		.symbols = symbols, .is_read = true, .problem = SYMBOLS_NO_FILE};
	return symbols;
}

static void free_module(struct symbols_module *module)
{
	dwarf_close(module->dwarf);
	symbol_file_free(&module->file);
	free(module->path);
	free(module);
}

void symbols_rest(struct symbols *symbols)
{
	while (symbols->modules) {
		struct symbols_module *module = symbols->modules;

		symbols->modules = module->next;
		free_module(module);
	}
}

size_t symbols_bytes(const struct symbols *symbols)
{
	return symbols->arena.bytes + symbols->shorts.bytes;
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	symbols_rest(symbols);
	arena_free(&symbols->arena);
	arena_free(&symbols->shorts);
	symbol_search_free(&symbols->search);
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

/* --- files ----------------------------------------------------------------------------------- */

/* O_NONBLOCK: the path may lead to a pipe by now.  symbol_file_read() takes regular files only. */
static int open_file(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/* The debug file has the symbols that were stripped off. */
static void add_stripped_symbols(struct symbols_module *module)
{
	int fd = dwarf_debug_file(module->dwarf);
	struct symbol_file more;

	if (fd < 0)
		return;
	if (symbol_file_read(fd, &module->build_id, &more) == SYMBOLS_OK && more.is_full) {
		symbol_file_free(&module->file);
		module->file = more;
		module->problem = SYMBOLS_OK;
	} else {
		symbol_file_free(&more);
	}
}

/* The symbols that were stripped off may lie in the file itself.  It was checked, so they are the right ones. */
static void add_packed_symbols(struct symbols_module *module, int fd)
{
	const struct elf_build_id any = {0};
	struct symbol_file more;
	int unpacked = mini_debug_open(fd);

	if (unpacked < 0)
		return;
	if (symbol_file_read(unpacked, &any, &more) != SYMBOLS_OK || !more.is_full)
		symbol_file_free(&more);
	else if (symbol_file_add(&module->file, &more))
		module->problem = SYMBOLS_OK;
	close(unpacked);
}

/* Reads the file open at fd, and closes it.  True: it is the right one. */
static bool read_file(struct symbols_module *module, int fd, const char *path)
{
	const struct dwarf_source source = {path, fd, module->symbols->search.text};

	if (fd < 0)
		return false;
	module->problem = symbol_file_read(fd, &module->build_id, &module->file);
	if (module->problem == SYMBOLS_OK || module->problem == SYMBOLS_STRIPPED) {
		module->dwarf = dwarf_open(&source);
		if (module->dwarf && !module->file.is_full)
			add_stripped_symbols(module);
		if (!module->file.is_full)
			add_packed_symbols(module, fd);
	}
	close(fd);
	return module->problem == SYMBOLS_OK || module->problem == SYMBOLS_STRIPPED;
}

/* The file at its path below root. */
static bool read_own_file(struct symbols_module *module, const char *root)
{
	char *path;
	bool good;

	if (asprintf(&path, "%s%s", root, module->path) < 0)
		return false;
	good = read_file(module, open_file(path), path);
	free(path);
	return good;
}

/* From the folders for debug files. */
static bool read_by_build_id(struct symbols_module *module)
{
	char *path;
	bool good = false;

	for (size_t i = 0; !good; i++) {
		path = symbol_search_path(&module->symbols->search, &module->build_id, i);
		if (!path)
			break;
		good = read_file(module, open_file(path), path);
		free(path);
	}
	return good;
}

static bool read_from_server(struct symbols_module *module)
{
	char *path;
	int fd;
	bool good;

	if (!module->symbols->debuginfod || module->build_id.size == 0)
		return false;
	fd = dwarf_fetch(module->build_id.bytes, module->build_id.size, &path);
	good = read_file(module, fd, path ? path : "");
	free(path);
	return good;
}

/* "[vdso]", "linux-vdso.so.1" and "" have no file. */
static void read_module(struct symbols_module *module)
{
	const char *root = module->symbols->root;
	enum symbols_problem own;

	if (module->is_read)
		return;
	module->is_read = true;
	module->problem = SYMBOLS_NO_FILE;
	if (!strchr(module->path, '/') || read_own_file(module, root))
		return;
	own = module->problem;
	if (read_by_build_id(module))
		return;
	/* Below a root may be one program only: what is the right file by its build-id is, wherever it lies. */
	if (root[0] && module->build_id.size > 0 && read_own_file(module, ""))
		return;
	if (!read_from_server(module))
		module->problem = own;
}

/* --- names ----------------------------------------------------------------------------------- */

/* The name without its version: "memcpy@@GLIBC_2.14", as only some tables have it.  NULL: too long, or no memory. */
static struct arena_text *keep_name(struct symbols *symbols, const char *raw_name)
{
	const char *version = strchr(raw_name, '@');
	struct arena_text *kept;
	char *plain;

	if (strnlen(raw_name, NAME_SIZE_MAX) == NAME_SIZE_MAX)
		return NULL;
	if (!version || version == raw_name)
		return arena_intern(&symbols->arena, raw_name);
	plain = strndup(raw_name, (size_t)(version - raw_name));
	kept = plain ? arena_intern(&symbols->arena, plain) : NULL;
	free(plain);
	return kept;
}

static void put_name(struct symbols *symbols, const char *raw_name, struct symbol *symbol)
{
	struct arena_text *kept = raw_name ? keep_name(symbols, raw_name) : NULL;

	if (!kept)
		return;
	if (!kept->value)
		kept->value = symbols_demangle(symbols, kept->text);
	symbol->raw_name = kept->text;
	symbol->function = kept->value;
}

/* From the symbol tables.  symbol->offset is the address. */
static void name_fast(struct symbols_module *module, struct symbol *symbol)
{
	uint64_t address = symbol->offset;
	const struct symbol_entry *entry = NULL;

	/* A call may be its function's last instruction: it is the call that counts, not what it returns to. */
	if (address > 0)
		entry = symbol_file_at(&module->file, address - 1);
	if (!entry)
		return;
	put_name(module->symbols, symbol_file_name(&module->file, entry), symbol);
	if (symbol->function)
		symbol->offset = address - entry->address;
}

const struct symbol *symbols_find_fast(struct symbols_module *module, uint64_t address)
{
	struct symbol *symbol = arena_allocate(&module->symbols->arena, sizeof(*symbol));

	if (!symbol) {
		module->symbols->nameless = (struct symbol){.offset = address};
		return &module->symbols->nameless;
	}
	*symbol = (struct symbol){.offset = address};
	read_module(module);
	name_fast(module, symbol);
	return symbol;
}

static void put_source(struct symbols *symbols, const struct dwarf_frame *frame,
		       struct symbol *symbol)
{
	const char *folder = frame->directory ? frame->directory : "";
	char path[PATH_SIZE_MAX];
	struct arena_text *kept;
	int length;

	if (!frame->file || frame->line == 0)
		return;
	length = snprintf(path, sizeof(path), "%s%s%s", folder, folder[0] ? "/" : "", frame->file);
	if (length <= 0 || length >= (int)sizeof(path))
		return;
	kept = arena_intern(&symbols->arena, path);
	if (!kept)
		return;
	symbol->file = kept->text;
	symbol->line = frame->line;
}

/* True if name is that of a part or a variant which the compiler made of the function: "load.part.0". */
static bool is_made_of(const char *name, const char *function)
{
	size_t length = strlen(function);

	return strncmp(name, function, length) == 0 && name[length] == '.';
}

/* Names the concrete function.  Of several names for it the symbol table's choice is better. */
static void name_concrete(struct symbols *symbols, const char *name, const struct symbol *fast,
			  struct symbol *symbol)
{
	if (fast->raw_name && (!name || !is_made_of(fast->raw_name, name))) {
		symbol->raw_name = fast->raw_name;
		symbol->function = fast->function;
	} else {
		put_name(symbols, name, symbol);
	}
}

size_t symbols_find(struct symbols_module *module, uint64_t address, const struct symbol **found)
{
	struct symbols *symbols = module->symbols;
	struct dwarf_found *dwarf = &symbols->found;
	const struct symbol *fast = symbols_find_fast(module, address);
	uint64_t offset = fast->offset;
	struct symbol *all;

	*found = fast;
	if (!module->dwarf || address == 0)
		return 1;
	dwarf_find(module->dwarf, address - 1, dwarf);
	all = dwarf->count > 0 ? arena_allocate(&symbols->arena, dwarf->count * sizeof(*all)) : NULL;
	if (!all)
		return 1;
	if (!fast->function && dwarf->start > 0 && dwarf->start < address)
		offset = address - dwarf->start;
	for (size_t i = 0; i < dwarf->count; i++) {
		bool inlined = i + 1 < dwarf->count;

		all[i] = (struct symbol){.inlined = inlined, .offset = offset};
		if (inlined)
			put_name(symbols, dwarf->frames[i].name, &all[i]);
		else
			name_concrete(symbols, dwarf->frames[i].name, fast, &all[i]);
		put_source(symbols, &dwarf->frames[i], &all[i]);
	}
	*found = all;
	return dwarf->count;
}

enum symbols_problem symbols_problem(struct symbols_module *module)
{
	read_module(module);
	if (module->problem == SYMBOLS_STRIPPED && module->dwarf && dwarf_has_any(module->dwarf))
		module->problem = SYMBOLS_OK;
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

const char *symbols_problem_words(struct symbols_module *module)
{
	enum symbols_problem problem = symbols_problem(module);
	const char *plain = symbols_problem_text(problem), *wanted = NULL, *kept;
	char *text;

	if (problem == SYMBOLS_STRIPPED && module->dwarf)
		wanted = dwarf_missing_file(module->dwarf);
	if (!wanted || asprintf(&text, "is stripped: its symbols are in %s", wanted) < 0)
		return plain;
	kept = arena_keep(&module->symbols->arena, text, strlen(text));
	free(text);
	return kept ? kept : plain;
}

const char *symbols_demangle(struct symbols *symbols, const char *raw_name)
{
	char *text = demangle(raw_name);
	const char *kept;

	if (!text)
		return raw_name;
	kept = arena_keep(&symbols->arena, text, strlen(text));
	free(text);
	return kept ? kept : raw_name;
}

const char *symbols_short(struct symbols *symbols, const char *function)
{
	struct arena_text *known = arena_intern(&symbols->shorts, function);
	size_t length = strlen(function);
	char *text;

	if (!known)
		return function;
	if (known->value)
		return known->value;
	text = malloc(length + 16);
	if (!text)
		return function;
	length = short_name(function, text, length + 16);
	if (strcmp(text, function) != 0)
		known->value = arena_keep(&symbols->shorts, text, length);
	else
		known->value = known->text;
	free(text);
	return known->value ? known->value : function;
}
