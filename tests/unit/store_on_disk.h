/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * store_on_disk.h - a store with a real file in an empty folder, and a second view of that file.
 *
 * For tests of store_file.c.  All in one process, one after another: store_fork_child() forgets the file before.
 */
#ifndef PMEM_TESTS_UNIT_STORE_ON_DISK_H
#define PMEM_TESTS_UNIT_STORE_ON_DISK_H
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "libpmem/loss.h"
#include "libpmem/place.h"
#include "libpmem/settings.h"
#include "libpmem/store.h"
#include "tests/unit/in_child.h"

enum { STORE_FIRST_SIZE = 256 * 1024, STORE_EXTENT_SIZE = 1 << 20 };

static char store_folder[256]; /* the current one, empty at the start of each test */
static char store_name[64];    /* "pmem.4711.prof" */

/* What place_init() does in a new process. */
static inline void store_find_places(const char *out)
{
	place_start = place_out = place_tmp = (struct place){.dir = KEPT_NONE_INIT};
	snprintf(settings.out, sizeof(settings.out), "%s", out);
	place_set_suffix(1);
	place_init();
}

static inline int store_in_new_folder(void **state)
{
	const char *base = getenv("TMPDIR_OF_TEST");

	(void)state;
	if (!base) {
		base = getenv("TMPDIR");
		setenv("TMPDIR_OF_TEST", base ? base : "/tmp", 1);
		base = getenv("TMPDIR_OF_TEST");
	}
	unsetenv("TMPDIR");
	snprintf(store_folder, sizeof(store_folder), "%s/pmem-store-XXXXXX", base);
	if (!mkdtemp(store_folder) || chmod(store_folder, 0755) != 0 || chdir(store_folder) != 0)
		return -1;
	snprintf(store_name, sizeof(store_name), "pmem.%d.prof", (int)getpid());
	store_fork_child();
	store_find_places("");
	return 0;
}

static inline int store_remove_folder(void **state)
{
	char command[sizeof(store_folder) + 16];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", store_folder);
	return chdir("/") != 0 || system(command) != 0;
}

/* A test in a child has another pid. */
static inline void store_begin_here(void)
{
	snprintf(store_name, sizeof(store_name), "pmem.%d.prof", (int)getpid());
	store_find_places("");
	store_begin();
}

/* RLIMIT_FSIZE: beyond it SIGXFSZ ends the process. */
static inline void limit_files(rlim_t size)
{
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = size;
	setrlimit(RLIMIT_FSIZE, &limit);
}

static inline long long store_size_of(const char *name)
{
	struct stat st;

	return stat(name, &st) == 0 ? (long long)st.st_size : -1;
}

/* The file as a reader sees it. */
struct store_view {
	const struct format_first_block *first;
	size_t size;
};

static inline struct store_view store_view(const char *name)
{
	struct store_view view = {0};
	int fd = open(name, O_RDONLY | O_CLOEXEC);

	view.size = (size_t)store_size_of(name);
	view.first = mmap(NULL, view.size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	return view.first == MAP_FAILED ? (struct store_view){0} : view;
}

static inline void store_view_close(struct store_view *view)
{
	munmap((void *)view->first, view->size);
}

/* Block number of the file, or NULL beyond its end. */
static inline const void *store_view_block(const struct store_view *view, uint32_t number)
{
	size_t at = (size_t)number * FORMAT_BLOCK_SIZE;

	return at + FORMAT_BLOCK_SIZE <= view->size ? (const char *)view->first + at : NULL;
}

/* The directory's entry for that block, by doc/FORMAT.md. */
static inline uint32_t store_view_entry(const struct store_view *view, uint32_t number)
{
	const uint32_t *part;
	uint32_t beyond = number - FORMAT_FIRST_ENTRIES, at;

	if (number < FORMAT_FIRST_ENTRIES)
		return atomic_load(&view->first->blocks[number]);
	at = atomic_load(&view->first->header.directories[beyond / FORMAT_ENTRIES]);
	part = at ? store_view_block(view, at) : NULL;
	return part ? part[beyond % FORMAT_ENTRIES] : 0;
}

/* The only block of that kind and index; NULL: none or several. */
static inline const uint32_t *store_view_find(const struct store_view *view, enum format_kind kind,
					      uint32_t index)
{
	const uint32_t *found = NULL;

	for (uint32_t number = 0; number < view->size / FORMAT_BLOCK_SIZE; number++) {
		if (store_view_entry(view, number) != ((uint32_t)kind << FORMAT_INDEX_BITS | index))
			continue;
		if (found)
			return NULL;
		found = store_view_block(view, number);
	}
	return found;
}

/* Takes blocks [from, to) of a kind; each begins and ends with its index + seed.  False: no memory. */
static inline bool store_fill(enum format_kind kind, uint32_t from, uint32_t to, uint32_t seed)
{
	for (uint32_t index = from; index < to; index++) {
		uint32_t *words = store_block(kind, index);

		if (!words)
			return false;
		words[0] = words[FORMAT_ENTRIES - 1] = index + seed;
	}
	return true;
}

/* How many of these blocks the file has as they were filled. */
static inline uint32_t store_count_filled(const struct store_view *view, enum format_kind kind,
					  uint32_t count, uint32_t seed)
{
	uint32_t good = 0;

	for (uint32_t number = 0; number < view->size / FORMAT_BLOCK_SIZE; number++) {
		uint32_t entry = store_view_entry(view, number);
		uint32_t index = entry & ((1u << FORMAT_INDEX_BITS) - 1);
		const uint32_t *words = store_view_block(view, number);

		if (entry >> FORMAT_INDEX_BITS == (uint32_t)kind && index < count)
			good += words[0] == index + seed &&
				words[FORMAT_ENTRIES - 1] == index + seed;
	}
	return good;
}

#endif
