/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * names.c - see names.h.
 *
 * A module's file is looked for at its path; of a running process also below /proc/PID/root (a container's file), as
 * /proc/PID/exe and as /proc/PID/map_files/START-END (replaced or deleted since).  A file with another build-id is never
 * used, so trying is safe; a module without a build-id is looked for by path alone.
 */
#include "profile/names.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/blame.h"

enum { PATH_SIZE = 4096 };

/* What is known of a location. */
struct entry {
	const struct symbol *found; /* NULL: not looked up yet */
	uint32_t count;
	uint8_t blame; /* enum blame of what is own, else of the innermost function */
};

/* The function of a special location. */
struct special {
	struct special *next;
	struct symbol symbol;
};

struct names {
	const struct profile *profile;
	struct symbols *symbols;
	struct symbols *inside;		 /* below /proc/PID/root; NULL: the process is gone */
	struct symbols_module **modules; /* by index; NULL: not looked for yet */
	struct entry *entries;		 /* by location */
	struct special *specials;
	char **problems;
};

static const struct symbol nameless;

static struct symbols *new_inside(const struct profile *profile)
{
	char root[64];
	struct symbols_options options = {.root = root};

	snprintf(root, sizeof(root), "/proc/%u/root", profile->header.pid);
	return symbols_new(&options);
}

struct names *names_new(const struct profile *profile)
{
	struct names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	names->profile = profile;
	names->symbols = symbols_new(NULL);
	if (profile->is_live)
		names->inside = new_inside(profile);
	names->modules = calloc((size_t)profile->module_count + 1, sizeof(*names->modules));
	names->entries = calloc((size_t)profile->location_count + 1, sizeof(*names->entries));
	if (!names->symbols || (profile->is_live && !names->inside) || !names->modules ||
	    !names->entries) {
		names_free(names);
		return NULL;
	}
	return names;
}

static void free_problems(struct names *names)
{
	for (size_t i = 0; names->problems && names->problems[i]; i++)
		free(names->problems[i]);
	free(names->problems);
	names->problems = NULL;
}

void names_free(struct names *names)
{
	if (!names)
		return;
	while (names->specials) {
		struct special *special = names->specials;

		names->specials = special->next;
		free(special);
	}
	free_problems(names);
	symbols_free(names->symbols);
	symbols_free(names->inside);
	free(names->modules);
	free(names->entries);
	free(names);
}

/* The loader's name of a library may be relative to where the process started.  False: too long. */
static bool absolute_path(const struct profile *profile, const char *path, char *absolute)
{
	const char *folder = "";
	int length;

	if (path[0] != '/' && strchr(path, '/') && profile->directory[0] == '/')
		folder = profile->directory;
	length = snprintf(absolute, PATH_SIZE, "%s%s%s", folder, *folder ? "/" : "", path);
	return length < PATH_SIZE;
}

static bool is_good(struct symbols_module *found)
{
	enum symbols_problem problem = symbols_problem(found);

	return problem == SYMBOLS_OK || problem == SYMBOLS_STRIPPED;
}

static struct symbols_module *open_module(struct symbols *symbols, const char *path,
					  const struct profile_module *module)
{
	return symbols_module(symbols, path, module->build_id, module->build_id_size);
}

/* The mapped file itself, whatever became of its name.  Needs the right to look at the process.  NULL: not there. */
static struct symbols_module *open_mapped(struct names *names, const struct profile_module *module)
{
	struct symbols_module *found = NULL;
	struct dirent *file;
	char path[PATH_SIZE];
	char start[32];
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%u/map_files", names->profile->header.pid);
	snprintf(start, sizeof(start), "%llx-", (unsigned long long)module->start);
	folder = opendir(path);
	if (!folder)
		return NULL;
	while (!found && (file = readdir(folder))) {
		if (strncmp(file->d_name, start, strlen(start)) != 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%u/map_files/%s", names->profile->header.pid,
			 file->d_name);
		found = open_module(names->symbols, path, module);
	}
	closedir(folder);
	return found;
}

/* Other ways to the file of a running process's module.  NULL: none leads to the right one. */
static struct symbols_module *open_inside(struct names *names, const char *path,
					  const struct profile_module *module)
{
	struct symbols_module *found = open_module(names->inside, path, module);
	char exe[64];

	if (is_good(found))
		return found;
	if (module->build_id_size == 0)
		return NULL;
	if (strcmp(module->path, names->profile->program) == 0) {
		snprintf(exe, sizeof(exe), "/proc/%u/exe", names->profile->header.pid);
		found = open_module(names->symbols, exe, module);
		if (is_good(found))
			return found;
	}
	found = open_mapped(names, module);
	return found && is_good(found) ? found : NULL;
}

static struct symbols_module *module_at(struct names *names, uint32_t index)
{
	const struct profile_module *module = &names->profile->modules[index];
	struct symbols_module *found = names->modules[index];
	struct symbols_module *better;
	char path[PATH_SIZE];

	if (found)
		return found;
	if (!absolute_path(names->profile, module->path, path))
		path[0] = 0;
	found = open_module(names->symbols, path, module);
	if (!is_good(found) && names->inside && strchr(path, '/')) {
		better = open_inside(names, path, module);
		found = better ? better : found;
	}
	names->modules[index] = found;
	return found;
}

static void look_up_special(struct names *names, const char *name, struct entry *entry)
{
	struct special *special = calloc(1, sizeof(*special));

	entry->count = 1;
	entry->found = &nameless;
	entry->blame = BLAME_COUNT; /* nobody's */
	if (!special)
		return;
	special->symbol.function = name;
	special->symbol.raw_name = name;
	special->next = names->specials;
	names->specials = special;
	entry->found = &special->symbol;
}

static void look_up(struct names *names, uint32_t location, struct entry *entry)
{
	const struct profile_location *place = &names->profile->locations[location];
	const char *path = names->profile->modules[place->module].path;
	size_t count = symbols_find(module_at(names, place->module), place->offset, &entry->found);

	entry->count = (uint32_t)count;
	for (size_t i = count; i-- > 0;) {
		const struct symbol *symbol = &entry->found[i];

		entry->blame = (uint8_t)blame_of(path, symbol->raw_name, symbol->function);
		if (entry->blame == BLAME_OWN)
			return;
	}
}

/* Never NULL inside the entry.  NULL: the profile has no such location. */
static const struct entry *entry_of(struct names *names, uint32_t location)
{
	struct entry *entry;
	const char *special;

	if (location >= names->profile->location_count)
		return NULL;
	entry = &names->entries[location];
	if (entry->found)
		return entry;
	special = names->profile->locations[location].special;
	if (special)
		look_up_special(names, special, entry);
	else
		look_up(names, location, entry);
	return entry;
}

size_t names_at(struct names *names, uint32_t location, const struct symbol **found)
{
	const struct entry *entry = entry_of(names, location);

	*found = entry ? entry->found : &nameless;
	return entry ? entry->count : 1;
}

bool names_is_own(struct names *names, uint32_t location)
{
	const struct entry *entry = entry_of(names, location);

	return entry && entry->blame == BLAME_OWN;
}

/* May stand for a call stack without own frames. */
static bool is_fallback(const struct entry *entry)
{
	return entry && entry->blame != BLAME_ALLOCATOR && entry->blame != BLAME_LIBC &&
	       entry->blame != BLAME_START && entry->blame != BLAME_COUNT;
}

uint32_t names_site(struct names *names, const struct profile_stack *stack)
{
	const struct profile_node *nodes = names->profile->nodes;
	uint32_t fallback = stack->node;
	bool has_fallback = false;

	for (uint32_t node = stack->node; node != 0; node = nodes[node].parent) {
		const struct entry *entry = entry_of(names, nodes[node].location);

		if (entry && entry->blame == BLAME_OWN)
			return node;
		if (!has_fallback && is_fallback(entry)) {
			fallback = node;
			has_fallback = true;
		}
	}
	return fallback;
}

static bool has_problem(const struct names *names, uint32_t index)
{
	const char *path = names->profile->modules[index].path;

	if (!names->modules[index] || !strchr(path, '/') ||
	    symbols_problem(names->modules[index]) == SYMBOLS_OK)
		return false;
	/* A module that was loaded again is one file. */
	for (uint32_t i = 0; i < index; i++)
		if (names->modules[i] == names->modules[index])
			return false;
	return true;
}

static char *problem_line(const struct names *names, uint32_t index)
{
	const char *path = names->profile->modules[index].path;
	char *line;

	if (asprintf(&line, "%s: %s", strrchr(path, '/') + 1,
		     symbols_problem_text(symbols_problem(names->modules[index]))) < 0)
		return NULL;
	return line;
}

const char *const *names_problems(struct names *names)
{
	static const char *const none[] = {NULL};
	uint32_t count = 0;

	free_problems(names);
	names->problems = calloc((size_t)names->profile->module_count + 1, sizeof(*names->problems));
	if (!names->problems)
		return none;
	for (uint32_t i = 0; i < names->profile->module_count; i++) {
		char *line = has_problem(names, i) ? problem_line(names, i) : NULL;

		if (line)
			names->problems[count++] = line;
	}
	return (const char *const *)names->problems;
}
