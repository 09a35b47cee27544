/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * names_later.c - from one opening of a profile to the next: names_rest(), names_follow().
 *
 * What was found lies in memory of its own, so it needs neither the files it was found in nor the profile, of which an outline is enough
 * to find the same places again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "profile/former.h"
#include "profile/given_names.h"
#include "profile/names_parts.h"

/* --- resting --------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t number)
{
	hash = (hash ^ number) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

uint64_t names_stamp(const struct names *names, const struct profile_module *module)
{
	const char *root = names->options.root ? names->options.root : "";
	char absolute[NAMES_PATH_SIZE], path[2 * NAMES_PATH_SIZE];
	struct stat status;
	bool is_there;

	if (!names_absolute_path(names->profile, module->path, absolute) || !strchr(absolute, '/'))
		return 0;
	snprintf(path, sizeof(path), "%s%s", root, absolute);
	is_there = stat(path, &status) == 0;
	if (!is_there && names->inside) {
		snprintf(path, sizeof(path), "/proc/%u/root%s", names_shown_by(names), absolute);
		is_there = stat(path, &status) == 0;
	}
	if (!is_there)
		return 0;
	return mix(mix(mix(mix(status.st_dev, status.st_ino), (uint64_t)status.st_size),
		       (uint64_t)status.st_ctim.tv_sec),
		   (uint64_t)status.st_ctim.tv_nsec);
}

static void rest_modules(struct names *names)
{
	for (uint32_t i = 0; i < names->profile->module_count; i++) {
		struct names_module *module = &names->modules[i];

		if (module->file)
			module->problem = names_problem(names, i);
		module->file = NULL;
	}
	symbols_rest(names->symbols);
	if (names->inside)
		symbols_rest(names->inside);
}

static const char *keep(struct arena *arena, const char *text)
{
	return arena_keep(arena, text, strlen(text));
}

static bool outline_modules(struct names_outline *outline, const struct profile *profile)
{
	size_t count = profile->module_count;
	struct profile_module *modules = arena_allocate(&outline->arena,
							(count + 1) * sizeof(*modules));

	for (size_t i = 0; modules && i < count; i++) {
		const struct profile_module *from = &profile->modules[i];

		modules[i] = *from;
		modules[i].path = keep(&outline->arena, from->path);
		modules[i].build_id = (const uint8_t *)arena_keep(
			&outline->arena, from->build_id ? (const char *)from->build_id : "",
			from->build_id ? from->build_id_size : 0);
		if (!modules[i].path || !modules[i].build_id)
			return false;
	}
	outline->profile.modules = modules;
	outline->profile.module_count = (uint32_t)count;
	return modules != NULL;
}

/* That a place is special is enough: it is looked up anew. */
static bool outline_locations(struct names_outline *outline, const struct profile *profile)
{
	size_t count = profile->location_count;
	struct profile_location *locations = arena_allocate(&outline->arena,
							    (count + 1) * sizeof(*locations));

	for (size_t i = 0; locations && i < count; i++) {
		locations[i] = profile->locations[i];
		locations[i].special = locations[i].special ? "" : NULL;
	}
	outline->profile.locations = locations;
	outline->profile.location_count = (uint32_t)count;
	return locations != NULL;
}

static struct names_outline *new_outline(const struct profile *profile)
{
	struct names_outline *outline = calloc(1, sizeof(*outline));

	if (!outline)
		return NULL;
	outline->profile.header.pid = profile->header.pid;
	outline->profile.program = keep(&outline->arena, profile->program);
	outline->profile.directory = keep(&outline->arena, profile->directory);
	if (outline->profile.program && outline->profile.directory &&
	    outline_modules(outline, profile) && outline_locations(outline, profile))
		return outline;
	arena_free(&outline->arena);
	free(outline);
	return NULL;
}

void names_free_outline(struct names *names)
{
	if (names->outline)
		arena_free(&names->outline->arena);
	free(names->outline);
	names->outline = NULL;
}

bool names_rest(struct names *names)
{
	struct names_outline *outline;

	if (given_names_all(names->profile))
		return false;
	outline = new_outline(names->profile);
	if (!outline)
		return false;
	rest_modules(names);
	names_free_specials(names);
	names_free_problems(names);
	names_free_outline(names);
	names->outline = outline;
	names->profile = &outline->profile;
	return true;
}

size_t names_bytes(const struct names *names)
{
	const struct profile *profile = names->profile;

	return symbols_bytes(names->symbols) + (names->inside ? symbols_bytes(names->inside) : 0) +
	       (names->outline ? names->outline->arena.bytes : 0) +
	       profile->location_count * sizeof(*names->entries) +
	       profile->module_count * sizeof(*names->modules);
}

/* --- a later opening ------------------------------------------------------------------------- */

/* Names of code outside of modules belong to the profile, and may change. */
static bool can_keep(const struct names *names, const struct profile *later, uint32_t module)
{
	const struct profile_module *modules = names->profile->modules;

	return module != 0 && module < names->profile->module_count &&
	       names_is_same_file(&modules[module], &later->modules[module]) &&
	       (!names->modules[module].is_asked ||
		names->modules[module].stamp == names_stamp(names, &modules[module]));
}

/* What names are for the later opening. */
struct following {
	struct names_module *modules;
	struct names_entry *entries;
	bool *kept; /* by module */
};

static void free_following(struct following *following)
{
	free(following->modules);
	free(following->entries);
	free(following->kept);
}

/* False: no memory. */
static bool new_following(struct following *following, const struct profile *later)
{
	size_t modules = (size_t)later->module_count + 1;

	*following = (struct following){
		.modules = calloc(modules, sizeof(*following->modules)),
		.entries = calloc((size_t)later->location_count + 1, sizeof(*following->entries)),
		.kept = calloc(modules, sizeof(*following->kept)),
	};
	return following->modules && following->entries && following->kept;
}

static void keep_modules(const struct names *names, const struct profile *later,
			 struct following *following)
{
	for (uint32_t i = 0; i < later->module_count; i++) {
		following->kept[i] = can_keep(names, later, i);
		if (following->kept[i])
			following->modules[i] = names->modules[i];
	}
}

static void keep_entries(const struct names *names, const struct profile *later,
			 const struct former *former, struct following *following)
{
	for (uint32_t i = 0; i < later->location_count; i++) {
		uint32_t known;

		if (!later->locations[i].special && following->kept[later->locations[i].module] &&
		    former_find(former, &later->locations[i], &known))
			following->entries[i] = names->entries[known];
	}
}

bool names_follow(struct names *names, const struct profile *later)
{
	struct following following;
	struct former former;

	if (!new_following(&following, later) || !former_begin(&former, names->profile)) {
		free_following(&following);
		return false;
	}
	keep_modules(names, later, &following);
	if (!given_names_all(names->profile) && !given_names_all(later))
		keep_entries(names, later, &former, &following);
	former_end(&former);
	names_free_problems(names);
	names_free_specials(names);
	names_free_outline(names);
	free(names->modules);
	free(names->entries);
	free(following.kept);
	names->modules = following.modules;
	names->entries = following.entries;
	names->profile = later;
	return true;
}
