/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * names.c - see names.h.
 *
 * A module's file is looked for at its path; of a running process also below /proc/PID/root (a container's file), as
 * /proc/PID/exe and as /proc/PID/map_files/START-END (replaced or deleted since).  A file with another build-id is never
 * used, so trying is safe; a module without a build-id is looked for by path alone.
 *
 * A function that is own by its symbol decides for its location: what is inlined into it only says which of its functions is shown.
 * One of a library may have own code inlined into it (a thread's or an algorithm's closure), which only the DWARF knows.
 */
#include "profile/names.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/blame.h"
#include "profile/given_names.h"
#include "profile/names_parts.h"
#include "profile/running.h"
#include "symbol/jit_label.h"

static const struct symbol nameless;

uint32_t names_shown_by(const struct names *names)
{
	return running_thread(names->profile->header.pid);
}

static struct symbols *new_inside(const struct names *names)
{
	struct symbols_options options = names->options;
	char root[64];

	snprintf(root, sizeof(root), "/proc/%u/root", names_shown_by(names));
	options.root = root;
	return symbols_new(&options);
}

struct names *names_new(const struct profile *profile)
{
	static const struct symbols_options none;

	return names_new_with(profile, &none);
}

struct names *names_new_with(const struct profile *profile, const struct symbols_options *options)
{
	struct names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	names->profile = profile;
	names->options = *options;
	names->symbols = symbols_new(options);
	if (profile->is_live)
		names->inside = new_inside(names);
	names->modules = calloc((size_t)profile->module_count + 1, sizeof(*names->modules));
	names->entries = calloc((size_t)profile->location_count + 1, sizeof(*names->entries));
	if (!names->symbols || (profile->is_live && !names->inside) || !names->modules ||
	    !names->entries) {
		names_free(names);
		return NULL;
	}
	return names;
}

void names_free_specials(struct names *names)
{
	while (names->specials) {
		struct names_special *special = names->specials;

		names->specials = special->next;
		free(special);
	}
}

void names_free_problems(struct names *names)
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
	names_free_specials(names);
	names_free_problems(names);
	names_free_outline(names);
	symbols_free(names->symbols);
	symbols_free(names->inside);
	free(names->modules);
	free(names->entries);
	free(names);
}

bool names_absolute_path(const struct profile *profile, const char *path, char *absolute)
{
	const char *folder = "";
	int length;

	if (path[0] != '/' && strchr(path, '/') && profile->directory[0] == '/')
		folder = profile->directory;
	length = snprintf(absolute, NAMES_PATH_SIZE, "%s%s%s", folder, *folder ? "/" : "", path);
	return length < NAMES_PATH_SIZE;
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
	const uint32_t tid = names_shown_by(names);
	struct symbols_module *found = NULL;
	struct dirent *file;
	char path[NAMES_PATH_SIZE];
	char start[32];
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%u/map_files", tid);
	snprintf(start, sizeof(start), "%llx-", (unsigned long long)module->start);
	folder = opendir(path);
	if (!folder)
		return NULL;
	while (!found && (file = readdir(folder))) {
		if (strncmp(file->d_name, start, strlen(start)) != 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%u/map_files/%s", tid, file->d_name);
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
		snprintf(exe, sizeof(exe), "/proc/%u/exe", names_shown_by(names));
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
	struct symbols_module *found = names->modules[index].file;
	struct symbols_module *better;
	char path[NAMES_PATH_SIZE];

	if (found)
		return found;
	/* Of names that rested it stays that of the file they were found in. */
	if (!names->modules[index].is_asked)
		names->modules[index].stamp = names_stamp(names, module);
	if (!names_absolute_path(names->profile, module->path, path))
		path[0] = 0;
	found = open_module(names->symbols, path, module);
	if (!is_good(found) && names->inside && strchr(path, '/')) {
		better = open_inside(names, path, module);
		found = better ? better : found;
	}
	names->modules[index].file = found;
	names->modules[index].is_asked = true;
	return found;
}

static void look_up_special(struct names *names, const char *name, struct names_entry *entry)
{
	struct names_special *special = calloc(1, sizeof(*special));

	entry->count = 1;
	entry->fast = entry->found = &nameless;
	entry->blame = BLAME_COUNT; /* nobody's */
	if (!special)
		return;
	special->symbol.function = name;
	special->symbol.raw_name = name;
	special->next = names->specials;
	names->specials = special;
	entry->fast = entry->found = &special->symbol;
}

static enum blame blame_at(const struct names *names, uint32_t location, const struct symbol *symbol)
{
	const struct profile_location *place = &names->profile->locations[location];

	/* Where a compiler tells the names of its code, code without a name is its own: stubs. */
	if (place->module == 0 && !symbol->raw_name && given_names_compiled(names->profile))
		return BLAME_RUNTIME;
	return blame_of(names->profile->modules[place->module].path, symbol->raw_name,
			symbol->function);
}

static void look_up_fast(struct names *names, uint32_t location, struct names_entry *entry)
{
	const struct profile_location *place = &names->profile->locations[location];

	if (place->special) {
		look_up_special(names, place->special, entry);
		return;
	}
	entry->fast = given_names_fast(names->profile, location);
	if (!entry->fast)
		entry->fast = symbols_find_fast(module_at(names, place->module), place->offset);
	entry->blame = (uint8_t)blame_at(names, location, entry->fast);
}

/* Chooses what is shown of found. */
static void choose(struct names *names, uint32_t location, struct names_entry *entry)
{
	for (uint32_t i = 0; i < entry->count; i++) {
		enum blame blame = blame_at(names, location, &entry->found[i]);

		entry->shown = i;
		if (blame == BLAME_OWN) {
			entry->blame = BLAME_OWN;
			return;
		}
		if (i + 1 == entry->count)
			entry->blame = (uint8_t)blame;
	}
}

/* NULL: the profile has no such location. */
static struct names_entry *entry_fast(struct names *names, uint32_t location)
{
	struct names_entry *entry;

	if (location >= names->profile->location_count)
		return NULL;
	entry = &names->entries[location];
	if (!entry->fast)
		look_up_fast(names, location, entry);
	return entry;
}

static struct names_entry *entry_of(struct names *names, uint32_t location)
{
	struct names_entry *entry = entry_fast(names, location);
	const struct profile_location *place;

	if (!entry || entry->found)
		return entry;
	place = &names->profile->locations[location];
	entry->count = (uint32_t)given_names_at(names->profile, location, &entry->found);
	if (entry->count == 0)
		entry->count = (uint32_t)symbols_find(module_at(names, place->module),
						      place->offset, &entry->found);
	choose(names, location, entry);
	return entry;
}

bool names_is_unsettled(struct names *names, uint32_t location)
{
	const struct names_entry *entry = entry_fast(names, location);

	return entry && !entry->found &&
	       (entry->blame == BLAME_CXX || entry->blame == BLAME_RUST || !entry->fast->function);
}

/* The DWARF is read only where it may say something else about whose code it is. */
static struct names_entry *entry_settled(struct names *names, uint32_t location)
{
	if (names_is_unsettled(names, location))
		return entry_of(names, location);
	return entry_fast(names, location);
}

size_t names_at(struct names *names, uint32_t location, const struct symbol **found)
{
	const struct names_entry *entry = entry_of(names, location);

	*found = entry ? entry->found : &nameless;
	return entry ? entry->count : 1;
}

size_t names_shown(struct names *names, uint32_t location)
{
	const struct names_entry *entry = entry_of(names, location);

	return entry ? entry->shown : 0;
}

const struct symbol *names_at_fast(struct names *names, uint32_t location)
{
	const struct names_entry *entry = entry_fast(names, location);

	return entry ? entry->fast : &nameless;
}

bool names_is_own(struct names *names, uint32_t location)
{
	const struct names_entry *entry = entry_settled(names, location);

	return entry && entry->blame == BLAME_OWN;
}

bool names_is_own_fast(struct names *names, uint32_t location)
{
	const struct names_entry *entry = entry_fast(names, location);

	return entry && entry->blame == BLAME_OWN;
}

bool names_is_own_function(struct names *names, uint32_t location, size_t index)
{
	const struct names_entry *entry = entry_of(names, location);

	return entry && entry->blame == BLAME_OWN && index < entry->count &&
	       blame_at(names, location, &entry->found[index]) == BLAME_OWN;
}

/* May stand for a call stack without own frames. */
static bool is_fallback(const struct names_entry *entry)
{
	return entry && entry->blame != BLAME_ALLOCATOR && entry->blame != BLAME_LIBC &&
	       entry->blame != BLAME_START && entry->blame != BLAME_COUNT;
}

typedef struct names_entry *look_up(struct names *names, uint32_t location);

static uint32_t find_site(struct names *names, const struct profile_stack *stack, look_up *entry_at)
{
	const struct profile_node *nodes = names->profile->nodes;
	uint32_t fallback = stack->node;
	bool has_fallback = false;

	for (uint32_t node = stack->node; node != 0; node = nodes[node].parent) {
		const struct names_entry *entry = entry_at(names, nodes[node].location);

		if (entry && entry->blame == BLAME_OWN)
			return node;
		if (!has_fallback && is_fallback(entry)) {
			fallback = node;
			has_fallback = true;
		}
	}
	return fallback;
}

uint32_t names_site(struct names *names, const struct profile_stack *stack)
{
	return find_site(names, stack, entry_settled);
}

uint32_t names_site_fast(struct names *names, const struct profile_stack *stack)
{
	return find_site(names, stack, entry_fast);
}

static int by_address(const void *left, const void *right, void *all)
{
	const struct profile_location *locations = all;
	const struct profile_location *a = &locations[*(const uint32_t *)left];
	const struct profile_location *b = &locations[*(const uint32_t *)right];

	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

void names_prepare(struct names *names, const bool *wanted)
{
	const struct profile *profile = names->profile;
	uint32_t *sorted = malloc(((size_t)profile->location_count + 1) * sizeof(*sorted));
	uint32_t count = 0;

	/* Then they are looked up in the order of the questions. */
	if (!sorted)
		return;
	for (uint32_t i = 0; i < profile->location_count; i++)
		if ((!wanted || wanted[i]) && !names->entries[i].found)
			sorted[count++] = i;
	if (count > 0)
		qsort_r(sorted, count, sizeof(*sorted), by_address, profile->locations);
	for (uint32_t i = 0; i < count; i++)
		entry_of(names, sorted[i]);
	free(sorted);
}

const char *names_short(struct names *names, uint32_t location, const struct symbol *symbol)
{
	const struct profile *profile = names->profile;
	bool is_given = location < profile->location_count &&
			profile->locations[location].module == 0 && symbol->raw_name;

	if (is_given && !jit_label_has_types(symbol->raw_name))
		return symbol->function;
	return symbols_short(names->symbols, symbol->function);
}

const char *names_problem(struct names *names, uint32_t module)
{
	const struct profile *profile = names->profile;
	struct symbols_module *found = names->modules[module].file;

	if (given_names_all(profile))
		return given_names_problem(profile, module);
	if (!found)
		return names->modules[module].problem;
	if (!strchr(profile->modules[module].path, '/') || symbols_problem(found) == SYMBOLS_OK)
		return NULL;
	return symbols_problem_words(found);
}

bool names_is_same_file(const struct profile_module *left, const struct profile_module *right)
{
	return left->build_id_size == right->build_id_size && strcmp(left->path, right->path) == 0 &&
	       (left->build_id_size == 0 ||
		memcmp(left->build_id, right->build_id, left->build_id_size) == 0);
}

/* True if a name in the module was looked for. */
static bool was_asked(const struct names *names, uint32_t module)
{
	const struct profile *profile = names->profile;

	for (uint32_t i = 0; i < profile->location_count; i++)
		if (names->entries[i].fast && profile->locations[i].module == module &&
		    !profile->locations[i].special)
			return true;
	return false;
}

static bool has_problem(struct names *names, uint32_t index)
{
	const struct profile_module *modules = names->profile->modules;

	if (!names_problem(names, index) || !was_asked(names, index))
		return false;
	for (uint32_t i = 0; i < index; i++)
		if (names_is_same_file(&modules[i], &modules[index]) && names_problem(names, i) &&
		    was_asked(names, i))
			return false;
	return true;
}

static char *problem_line(struct names *names, uint32_t index)
{
	const char *path = names->profile->modules[index].path;
	const char *slash = strrchr(path, '/');
	char *line;

	if (asprintf(&line, "%s: %s", slash ? slash + 1 : path, names_problem(names, index)) < 0)
		return NULL;
	return line;
}

const char *const *names_problems(struct names *names)
{
	static const char *const none[] = {NULL};
	uint32_t count = 0;

	names_free_problems(names);
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
