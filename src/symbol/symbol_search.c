/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbol_search.c - see symbol_search.h.
 */
#include "symbol/symbol_search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char system_folder[] = "/usr/lib/debug";

/* Skips what libdwfl would take apart.  False: no memory. */
static bool add_folder(struct symbol_search *search, const char *root, const char *folder)
{
	char *path;

	if (asprintf(&path, "%s%s", root, folder) < 0)
		return false;
	if (path[0] != '/' || strchr(path, ':')) {
		free(path);
		return true;
	}
	search->folders[search->count++] = path;
	return true;
}

/* ":.debug:/a:/b": beside the file, in .debug there, and in the folders. */
static bool join(struct symbol_search *search)
{
	size_t size = sizeof(":.debug");

	for (size_t i = 0; i < search->count; i++)
		size += strlen(search->folders[i]) + 1;
	search->text = malloc(size);
	if (!search->text)
		return false;
	strcpy(search->text, ":.debug");
	for (size_t i = 0; i < search->count; i++) {
		strcat(search->text, ":");
		strcat(search->text, search->folders[i]);
	}
	return true;
}

bool symbol_search_make(struct symbol_search *search, const struct symbols_options *options)
{
	*search = (struct symbol_search){0};
	for (size_t i = 0; options && i < SYMBOLS_DEBUG_DIRS && options->debug_dirs[i]; i++)
		if (!add_folder(search, "", options->debug_dirs[i]))
			return false;
	if (options && options->root && options->root[0] &&
	    !add_folder(search, options->root, system_folder))
		return false;
	return add_folder(search, "", system_folder) && join(search);
}

void symbol_search_free(struct symbol_search *search)
{
	for (size_t i = 0; i < search->count; i++)
		free(search->folders[i]);
	free(search->text);
	*search = (struct symbol_search){0};
}

char *symbol_search_path(const struct symbol_search *search, const struct elf_build_id *id,
			 size_t number)
{
	static const char *const endings[] = {".debug", ""};
	char digits[2 * ELF_BUILD_ID_MAX + 1];
	char *path;

	if (id->size < 2 || id->size > ELF_BUILD_ID_MAX || number >= 2 * search->count)
		return NULL;
	for (uint32_t i = 0; i < id->size; i++)
		sprintf(digits + 2 * i, "%02x", id->bytes[i]);
	if (asprintf(&path, "%s/.build-id/%.2s/%s%s", search->folders[number / 2], digits,
		     digits + 2, endings[number % 2]) < 0)
		return NULL;
	return path;
}
