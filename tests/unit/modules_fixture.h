/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * modules_fixture.h - what the tests of modules.c share: libraries made from plugin.c, and what is expected of an
 * address.
 *
 * The tests' arguments are the paths of four such libraries; the last two have no build-id and do not begin at
 * address 0 of the file.
 */
#ifndef PMEM_TESTS_UNIT_MODULES_FIXTURE_H
#define PMEM_TESTS_UNIT_MODULES_FIXTURE_H
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "libpmem/loss.h"
#include "libpmem/modules.h"
#include "libpmem/process.h"
#include "libpmem/store.h"
#include "tests/unit/store_reset.h"

enum { PLUGINS = 4, REGION = 1 << FORMAT_REGION_BITS, PLUGIN_SIZE = 3 << 20 };

static char *plugins[PLUGINS];
static uint32_t marks; /* how often the caches of all threads were declared stale */

void process_change_mark(void)
{
	marks++;
}

static inline int begin(void **state)
{
	(void)state;
	store_fork_child();
	store_reset();
	modules_fork_child();
	return 0;
}

static inline int begin_all(void **state)
{
	(void)state;
	modules_find_program();
	return !modules_init();
}

static inline bool same_file(const char *a, const char *b)
{
	struct stat one, other;

	return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
	       one.st_ino == other.st_ino;
}

static inline struct modules_location locate(uint32_t pc32)
{
	struct modules_location location;

	memset(&location, 0x55, sizeof(location));
	modules_locate(pc32, &location);
	return location;
}

/* Encodes ra, which lies in the file at path, and back. */
static inline uint32_t expect_code(uintptr_t ra, const char *path, uintptr_t bias)
{
	uint32_t pc32 = modules_encode(ra);
	struct modules_location location = locate(pc32);

	assert_int_equal(modules_encode(ra), pc32); /* now from the cache */
	assert_int_equal(location.address, ra);
	assert_int_equal(location.offset, ra - bias);
	assert_true(location.module_id > 0 && location.module_id < modules_count());
	assert_ptr_equal(location.module, modules_get(location.module_id));
	assert_true(same_file(location.module->path, path));
	assert_true(location.module->loaded);
	assert_true(location.module->start < ra && ra - 1 < location.module->end);
	return pc32;
}

static inline void expect_anonymous(uintptr_t ra)
{
	struct modules_location location = locate(modules_encode(ra));

	assert_int_equal(location.module_id, 0);
	assert_string_equal(location.module->path, "");
	assert_int_equal(location.address, ra);
	assert_int_equal(location.offset, ra);
}

static uint64_t seed = 1;

static inline uint64_t next_random(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return seed >> 24;
}

struct plugin {
	void *handle;
	uintptr_t bias;
	uintptr_t start;
	uintptr_t call;	  /* a return address in plugin_call() */
	uint32_t pc32[4]; /* of addresses in all its regions; the last one is of call */
};

static inline int zero(void)
{
	return 0;
}

static inline void open_file(struct plugin *plugin, const char *path, int number)
{
	int (*call)(int (*)(void));
	struct link_map *map;
	Dl_info info;

	plugin->handle = dlopen(path, RTLD_NOW);
	assert_non_null(plugin->handle);
	assert_int_equal(dlinfo(plugin->handle, RTLD_DI_LINKMAP, &map), 0);
	plugin->bias = map->l_addr;
	*(void **)&call = dlsym(plugin->handle, "plugin_call");
	assert_int_equal(call(zero), number + 1);
	plugin->call = (uintptr_t)call + 5;
	assert_int_not_equal(dladdr((void *)plugin->call, &info), 0);
	plugin->start = (uintptr_t)info.dli_fbase;
}

static inline void suspect(void)
{
	modules_suspect();
	modules_refresh();
}

static inline void open_plugin(struct plugin *plugin, int number)
{
	open_file(plugin, plugins[number], number);
	suspect();
}

static inline void close_plugin(struct plugin *plugin)
{
	uint32_t before = marks;

	assert_int_equal(dlclose(plugin->handle), 0);
	modules_suspect();
	assert_int_equal(marks, before + 1);
	modules_refresh();
}

#endif
