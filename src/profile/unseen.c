/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unseen.c - see unseen.h.
 */
#include "profile/unseen.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "core/allocator_names.h"
#include "symbol/allocators.h"

enum { NAME_MAX_SHOWN = 100 };

/* The build-id of the program's module; size 0: none known. */
static struct elf_build_id build_id_of(const struct profile *profile)
{
	struct elf_build_id id = {0};
	const struct profile_module *module;
	uint32_t i;

	for (i = 1; i < profile->module_count && !id.size; i++) {
		module = &profile->modules[i];
		if (strcmp(module->path, profile->program) != 0 ||
		    module->build_id_size > sizeof(id.bytes))
			continue;
		id.size = (uint32_t)module->build_id_size;
		memcpy(id.bytes, module->build_id, id.size);
	}
	return id;
}

/* What a file said.  Who watches a process asks for its words again and again. */
struct reading {
	struct stat status;
	struct elf_build_id id;
	struct allocators found;
	bool done;
};

enum { READINGS = 16 };

static struct reading readings[READINGS];
static unsigned reading_count; /* in all; the oldest goes */

static bool is_of(const struct reading *reading, const struct stat *status,
		  const struct elf_build_id *id)
{
	const struct stat *known = &reading->status;

	return known->st_dev == status->st_dev && known->st_ino == status->st_ino &&
	       known->st_size == status->st_size &&
	       known->st_ctim.tv_sec == status->st_ctim.tv_sec &&
	       known->st_ctim.tv_nsec == status->st_ctim.tv_nsec && reading->id.size == id->size &&
	       memcmp(reading->id.bytes, id->bytes, id->size) == 0;
}

static const struct reading *find_reading(const struct stat *status, const struct elf_build_id *id)
{
	for (unsigned i = 0; i < READINGS && i < reading_count; i++)
		if (is_of(&readings[i], status, id))
			return &readings[i];
	return NULL;
}

/* Without a build-id a file that was changed since is another one. */
static bool is_that_file(const struct stat *status, const struct profile *profile,
			 const struct elf_build_id *id)
{
	return S_ISREG(status->st_mode) &&
	       (id->size || (uint64_t)status->st_mtim.tv_sec * UINT64_C(1000000000) <
				    profile->header.start_realtime_ns);
}

/* NULL: it is not there, or no longer what ran. */
static const struct reading *read_file(const struct profile *profile, const struct elf_build_id *id)
{
	int fd = open(profile->program, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct reading *reading = &readings[reading_count % READINGS];
	struct stat status;
	bool is_right;

	if (fd < 0)
		return NULL;
	is_right = fstat(fd, &status) == 0 && is_that_file(&status, profile, id);
	if (is_right) {
		*reading = (struct reading){.status = status, .id = *id};
		reading->done = allocators_read(fd, id, &reading->found);
		reading_count++;
	}
	close(fd);
	return is_right ? reading : NULL;
}

static bool read_program(const struct profile *profile, struct allocators *found)
{
	const struct elf_build_id id = build_id_of(profile);
	const struct reading *reading;
	struct stat status;

	if (profile->program[0] != '/' || stat(profile->program, &status) != 0 ||
	    !is_that_file(&status, profile, &id))
		return false;
	reading = find_reading(&status, &id);
	if (!reading)
		reading = read_file(profile, &id);
	if (!reading || !reading->done)
		return false;
	*found = reading->found;
	return true;
}

static void say_library(const struct profile *profile, char text[UNSEEN_SIZE])
{
	snprintf(text, UNSEEN_SIZE,
		 "what %.*s serves is not seen, as it was loaded first (do this instead: name "
		 "libpmem.so first in LD_PRELOAD)",
		 NAME_MAX_SHOWN, path_last_part(profile->own_malloc));
}

static void say_new(const struct profile *profile, char text[UNSEEN_SIZE])
{
	const char *name = path_last_part(profile->own_new);

	snprintf(text, UNSEEN_SIZE,
		 "what C++ code allocates by new is not seen, as %.*s has its own operator new (do "
		 "this instead: LD_PRELOAD=libpmem.so:libstdc++.so.6:%.*s, in this order)",
		 NAME_MAX_SHOWN, name, NAME_MAX_SHOWN, name);
}

static void say_program(const struct profile *profile, const struct allocators *found,
			char text[UNSEEN_SIZE])
{
	char names[ALLOCATOR_NAMES_TEXT];

	snprintf(text, UNSEEN_SIZE,
		 "what %.*s serves by its own %s is not seen (do this instead: link that "
		 "allocator as a shared library, or leave it out)",
		 NAME_MAX_SHOWN, profile->program_name,
		 found->names ? allocator_names_text(found->names, names) : "malloc");
}

static void say_go(const struct profile *profile, char text[UNSEEN_SIZE])
{
	snprintf(text, UNSEEN_SIZE,
		 "what Go code in %.*s allocates is not seen, only what C code does (do this "
		 "instead: see Go's heap by its profiler, runtime/pprof)",
		 NAME_MAX_SHOWN, profile->program_name);
}

bool unseen_words(const struct profile *profile, char text[UNSEEN_SIZE])
{
	struct allocators found = {0};
	bool is_first = profile->own_malloc[0];

	if (is_first && strcmp(profile->own_malloc, profile->program) != 0) {
		say_library(profile, text);
		return true;
	}
	if (profile->own_new[0]) {
		say_new(profile, text);
		return true;
	}
	read_program(profile, &found);
	if (found.is_go && !is_first)
		say_go(profile, text);
	else if (found.names || is_first)
		say_program(profile, &found, text);
	else
		return false;
	return true;
}
