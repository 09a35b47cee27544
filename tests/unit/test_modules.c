/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_modules.c - code addresses in 32 bits, while libraries come and go.
 *
 * Built twice: with _dl_find_object() and, renamed so that it is missing, without.  Arguments: the paths of four
 * libraries made from plugin.c, the last two without a build-id.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/cfi.h"
#include "libpmem/loss.h"
#include "libpmem/modules.h"
#include "libpmem/process.h"
#include "libpmem/rules.h"
#include "libpmem/store.h"

enum { PLUGINS = 4, REGION = 1 << MODULES_REGION_BITS, PLUGIN_SIZE = 3 << 20 };

static char *plugins[PLUGINS];
static uint32_t marks;

void process_change_mark(void)
{
	marks++;
}

static int begin(void **state)
{
	(void)state;
	store_fork_child();
	modules_fork_child();
	loss_fork_child();
	return 0;
}

static int begin_all(void **state)
{
	(void)state;
	return !modules_init();
}

static bool same_file(const char *a, const char *b)
{
	struct stat one, other;

	return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
	       one.st_ino == other.st_ino;
}

static struct modules_location locate(uint32_t pc32)
{
	struct modules_location location;

	memset(&location, 0x55, sizeof(location));
	modules_locate(pc32, &location);
	return location;
}

/* Encodes ra, which lies in the file at path, and back. */
static uint32_t expect_code(uintptr_t ra, const char *path, uintptr_t bias)
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

/* --- what is loaded -------------------------------------------------------------------------- */

static uint64_t seed = 1;

static uint64_t next_random(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return seed >> 24;
}

static int expect_module(struct dl_phdr_info *info, size_t size, void *count)
{
	const char *path = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
	uint32_t before = modules_count();
	int i, j;

	(void)size;
	if (access(path, R_OK) != 0)
		return 0; /* the vDSO */
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		expect_code(start + 1, path, info->dlpi_addr);
		expect_code(start + segment->p_memsz, path, info->dlpi_addr);
		for (j = 0; j < 3000; j++)
			expect_code(start + 1 + next_random() % segment->p_memsz, path,
				    info->dlpi_addr);
	}
	assert_int_equal(modules_count(), before + 1);
	++*(int *)count;
	return 0;
}

static void round_trip_of_all_modules(void **state)
{
	void *plugin = dlopen(plugins[0], RTLD_NOW);
	int count = 0;

	(void)state;
	assert_non_null(plugin);
	assert_int_equal(modules_count(), 1);
	dl_iterate_phdr(expect_module, &count);
	assert_true(count >= 5);
	assert_int_equal(modules_count(), count + 1);
	assert_int_equal(loss_count(LOSS_MODULES), 0);
	dlclose(plugin);
	modules_suspect();
	modules_refresh();
}

static void vdso(void **state)
{
	uintptr_t start = getauxval(AT_SYSINFO_EHDR);
	struct modules_location location;

	(void)state;
	if (!start)
		skip();
	location = locate(modules_encode(start + 0x100));
	assert_int_equal(location.address, start + 0x100);
	assert_int_equal(location.module->start, start);
}

static void loader_range(void **state)
{
	uintptr_t inside = getauxval(AT_BASE);

	(void)state;
	assert_true(inside - modules_loader_start < modules_loader_size);
	assert_true(modules_loader_size > 64 * 1024 && modules_loader_size < 16 << 20);
	assert_false((uintptr_t)qsort - modules_loader_start < modules_loader_size);
	assert_false((uintptr_t)begin_all - modules_loader_start < modules_loader_size);
}

static void unwind_tables(void **state)
{
	struct cfi_section section;
	struct cfi_rule rule;
	int local;

	(void)state;
	assert_true(modules_cfi((uintptr_t)qsort, &section));
	assert_true(cfi_rule_at(&section, (uintptr_t)qsort, &rule));
	assert_int_equal(rule.kind, CFI_SP);
	assert_int_equal(rule.cfa_offset, 8);
	assert_true(modules_cfi((uintptr_t)begin_all, &section));
	assert_true(cfi_rule_at(&section, (uintptr_t)begin_all, &rule));
	assert_false(modules_cfi((uintptr_t)&local, &section));
	assert_false(modules_cfi(UINTPTR_MAX, &section));
}

/* --- names instead of code ------------------------------------------------------------------- */

static void special_names(void **state)
{
	static const char *const names[] = {NULL,	   "[signal handler]", "[beyond budget]",
					    "[truncated]", "[unknown module]", NULL};
	uint32_t number;

	(void)state;
	for (number = 0; number < 6; number++) {
		struct modules_location location = locate(number);

		assert_null(location.module);
		assert_int_equal(location.offset, number);
		if (names[number])
			assert_string_equal(modules_special_name(number), names[number]);
		else
			assert_null(modules_special_name(number));
	}
	assert_int_equal(modules_encode((uintptr_t)1 << 47 | 0x1000), MODULES_SPECIAL_UNKNOWN);
	assert_int_equal(modules_encode(UINTPTR_MAX), MODULES_SPECIAL_UNKNOWN);
	assert_null(locate(UINT32_MAX).module);
}

/* --- anonymous code -------------------------------------------------------------------------- */

static void expect_anonymous(uintptr_t ra)
{
	struct modules_location location = locate(modules_encode(ra));

	assert_int_equal(location.module_id, 0);
	assert_string_equal(location.module->path, "");
	assert_int_equal(location.address, ra);
	assert_int_equal(location.offset, ra);
}

static void anonymous_code(void **state)
{
	uintptr_t code = (uintptr_t)mmap(NULL, 3 * REGION, PROT_READ | PROT_EXEC,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i;

	(void)state;
	for (i = 0; i < 500; i++)
		expect_anonymous(code + 1 + next_random() % (3 * REGION - 1));
	munmap((void *)code, 3 * REGION);
	/* As long as there is room for regions. */
	for (i = 0; i < MODULES_REGIONS_MAX - 10; i++)
		expect_anonymous(0x100000000000 + (uintptr_t)i * REGION + 123);
	assert_int_equal(loss_count(LOSS_MODULES), 0);
	for (; i < MODULES_REGIONS_MAX; i++)
		modules_encode(0x100000000000 + (uintptr_t)i * REGION + 123);
	assert_int_equal(modules_encode(0x120000000000), MODULES_SPECIAL_UNKNOWN);
	assert_int_equal(modules_encode((uintptr_t)qsort), MODULES_SPECIAL_UNKNOWN);
	assert_true(loss_count(LOSS_MODULES) > 2);
	for (i = 0; i < MODULES_REGIONS_MAX - 10; i += 7)
		expect_anonymous(0x100000000000 + (uintptr_t)i * REGION + 456);
}

/* --- libraries that come and go -------------------------------------------------------------- */

struct plugin {
	void *handle;
	uintptr_t bias;
	uintptr_t start;
	uintptr_t call;	  /* a return address in plugin_call() */
	uint32_t pc32[4]; /* of addresses in all its regions; the last one is of call */
};

static int zero(void)
{
	return 0;
}

static void open_file(struct plugin *plugin, const char *path, int number)
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

static void open_plugin(struct plugin *plugin, int number)
{
	open_file(plugin, plugins[number], number);
}

static uintptr_t address_in(const struct plugin *plugin, int region)
{
	return region == 3 ? plugin->call : plugin->start + (uintptr_t)region * REGION + 0x12345;
}

static void encode_plugin(struct plugin *plugin, int number)
{
	int i;

	for (i = 0; i < 4; i++)
		plugin->pc32[i] = expect_code(address_in(plugin, i), plugins[number], plugin->bias);
}

static void close_plugin(struct plugin *plugin)
{
	uint32_t before = marks;

	assert_int_equal(dlclose(plugin->handle), 0);
	modules_suspect();
	assert_int_equal(marks, before + 1);
	modules_refresh();
}

/* Where the library lay last can still be told. */
static void expect_unloaded(const struct plugin *plugin, int number)
{
	struct cfi_section section;
	int i;

	for (i = 0; i < 4; i++) {
		struct modules_location location = locate(plugin->pc32[i]);

		assert_true(same_file(location.module->path, plugins[number]));
		assert_false(location.module->loaded);
		assert_int_equal(location.offset, address_in(plugin, i) - plugin->bias);
		assert_int_equal(location.address, address_in(plugin, i));
	}
	assert_false(modules_cfi(plugin->call, &section));
	assert_int_equal(rules_at(plugin->call - 1), CFI_NONE);
}

static void expect_same_ids(const struct plugin *a, const struct plugin *b)
{
	assert_memory_equal(a->pc32, b->pc32, sizeof(a->pc32));
}

static void *block_addresses(const struct plugin *plugin)
{
	void *blocked = mmap((void *)plugin->start, PLUGIN_SIZE, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	assert_ptr_equal(blocked, plugin->start);
	return blocked;
}

static void reopened_elsewhere(void **state)
{
	struct plugin first, second;
	uint32_t generation, count, other = modules_encode((uintptr_t)qsort);
	void *blocked;
	int number;

	(void)state;
	for (number = 0; number < PLUGINS; number++) {
		open_plugin(&first, number);
		encode_plugin(&first, number);
		generation = modules_generation();
		count = modules_count();
		close_plugin(&first);
		assert_int_not_equal(modules_generation(), generation);
		expect_unloaded(&first, number);
		blocked = block_addresses(&first);
		open_plugin(&second, number);
		assert_int_not_equal(second.start, first.start);
		encode_plugin(&second, number);
		expect_same_ids(&first, &second);
		assert_int_equal(modules_count(), count);
		assert_int_equal(modules_get(count - 1)->instance, 0);
		close_plugin(&second);
		expect_unloaded(&second, number);
		munmap(blocked, PLUGIN_SIZE);
		assert_int_equal(locate(other).address, (uintptr_t)qsort);
	}
}

/* Two libraries in turn, of the same layout, mostly at the same address. */
static void in_turn(int a, int b, int rounds)
{
	struct plugin first = {0}, now[2] = {{0}, {0}};
	int i, same_place = 0, number;

	for (i = 0; i < rounds; i++) {
		number = i % 2 ? b : a;
		open_plugin(&now[i % 2], number);
		encode_plugin(&now[i % 2], number);
		same_place += i && now[0].start == now[1].start;
		if (i == 0)
			first = now[0];
		if (i % 2 == 0)
			expect_same_ids(&first, &now[0]);
		else
			assert_memory_not_equal(&first.pc32[3], &now[1].pc32[3], 4);
		close_plugin(&now[i % 2]);
		expect_unloaded(&now[i % 2], number);
	}
	if (same_place < rounds / 2)
		skip(); /* this kernel does not reuse addresses: nothing was tested */
}

static void two_libraries_in_turn(void **state)
{
	(void)state;
	in_turn(0, 1, 10);
}

static void two_libraries_in_turn_without_build_id(void **state)
{
	(void)state;
	in_turn(2, 3, 10);
}

static void replaced_while_nobody_looked(void **state)
{
	struct plugin first, second;

	(void)state;
	open_plugin(&first, 0);
	encode_plugin(&first, 0);
	dlclose(first.handle);
	open_plugin(&second, 1);
	modules_suspect();
	modules_refresh();
	encode_plugin(&second, 1);
	assert_memory_not_equal(&first.pc32[3], &second.pc32[3], 4);
	assert_true(same_file(locate(first.pc32[3]).module->path, plugins[0]));
	close_plugin(&second);
	if (first.start != second.start)
		skip();
}

/* Nobody suspected anything either: the first address that is looked at tells. */
static void replaced_unnoticed(void **state)
{
	struct plugin first, second;
	uint32_t generation;

	(void)state;
	open_plugin(&first, 0);
	modules_encode(first.call);
	generation = modules_generation();
	dlclose(first.handle);
	open_plugin(&second, 1);
	expect_code(second.start + 2 * REGION + 5, plugins[1], second.bias);
	assert_int_not_equal(modules_generation(), generation);
	encode_plugin(&second, 1);
	close_plugin(&second);
	if (first.start != second.start)
		skip();
}

static void copy_file(const char *from, const char *to)
{
	static char bytes[1 << 16];
	FILE *in = fopen(from, "r"), *out = fopen(to, "w");
	size_t size;

	assert_true(in && out);
	while ((size = fread(bytes, 1, sizeof(bytes), in)) > 0)
		fwrite(bytes, 1, size, out);
	fclose(in);
	assert_int_equal(fclose(out), 0);
}

/* A new build of a library under the old name is another module. */
static void rebuilt_file(void **state)
{
	char path[] = "./modules.XXXXXX";
	struct plugin plugin;
	uint32_t pc32[2];
	int i, fd = mkstemp(path);

	(void)state;
	close(fd);
	for (i = 0; i < 2; i++) {
		unlink(path);
		copy_file(plugins[i], path);
		open_file(&plugin, path, i);
		pc32[i] = expect_code(plugin.call, path, plugin.bias);
		close_plugin(&plugin);
	}
	assert_int_not_equal(pc32[0], pc32[1]);
	assert_string_equal(locate(pc32[0]).module->path, locate(pc32[1]).module->path);
	assert_int_equal(locate(pc32[1]).module->instance, 0);
	unlink(path);
}

/* Code that was anonymous gives way to a library: no cache may remember. */
static void library_where_anonymous_code_was(void **state)
{
	struct plugin plugin;
	void *code;
	int i;

	(void)state;
	open_plugin(&plugin, 0);
	close_plugin(&plugin);
	code = block_addresses(&plugin);
	for (i = 0; i < 3; i++)
		expect_anonymous(address_in(&plugin, i));
	munmap(code, PLUGIN_SIZE);
	open_plugin(&plugin, 0);
	encode_plugin(&plugin, 0);
	close_plugin(&plugin);
	if ((void *)plugin.start != code)
		skip();
}

static void nothing_changed(void **state)
{
	struct plugin plugin;
	uint32_t generation;

	(void)state;
	open_plugin(&plugin, 0);
	encode_plugin(&plugin, 0);
	generation = modules_generation();
	modules_refresh();
	modules_suspect();
	modules_refresh();
	modules_refresh();
	assert_int_equal(modules_generation(), generation);
	/* Unloaded, but nobody suspects it. */
	dlclose(plugin.handle);
	modules_refresh();
	assert_int_equal(modules_generation(), generation);
	modules_suspect();
	modules_refresh();
	assert_int_not_equal(modules_generation(), generation);
}

/* One file in two namespaces at the same moment: two modules. */
static void loaded_twice(void **state)
{
	struct plugin first;
	void *handle;
	struct link_map *map;
	uint32_t pc32;

	(void)state;
	open_plugin(&first, 0);
	encode_plugin(&first, 0);
	handle = dlmopen(LM_ID_NEWLM, plugins[0], RTLD_NOW);
	assert_non_null(handle);
	assert_int_equal(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
	assert_int_not_equal(map->l_addr, first.bias);
	pc32 = expect_code(map->l_addr + 0x12345, plugins[0], map->l_addr);
	assert_int_not_equal(pc32, first.pc32[0]);
	assert_int_equal(locate(pc32).module->instance, 1);
	assert_int_equal(locate(first.pc32[0]).module->instance, 0);
	encode_plugin(&first, 0);
	dlclose(handle);
	modules_suspect();
	modules_refresh();
	assert_int_equal(locate(pc32).module->loaded, 0);
	encode_plugin(&first, 0);
	close_plugin(&first);
}

static void forked_child_begins_anew(void **state)
{
	struct plugin plugin;
	uint32_t generation;

	(void)state;
	open_plugin(&plugin, 1);
	modules_encode((uintptr_t)qsort);
	encode_plugin(&plugin, 1);
	generation = modules_generation();
	assert_int_equal(modules_count(), 3);
	store_fork_child();
	modules_fork_child();
	assert_int_equal(modules_count(), 1);
	assert_int_not_equal(modules_generation(), generation);
	encode_plugin(&plugin, 1);
	assert_int_equal(modules_count(), 2);
	close_plugin(&plugin);
}

/* --- threads --------------------------------------------------------------------------------- */

enum { THREADS = 4, ADDRESSES = 20000 };

static uintptr_t addresses[ADDRESSES];
static uint32_t encoded[THREADS][ADDRESSES];
static pthread_barrier_t barrier;

static void *encode_all(void *number)
{
	static const uint32_t strides[THREADS] = {1, 7919, 7907, 3};
	uintptr_t me = (uintptr_t)number;
	uint32_t i, at;

	pthread_barrier_wait(&barrier);
	for (i = 0; i < ADDRESSES; i++) {
		at = (uint32_t)((uint64_t)i * strides[me] % ADDRESSES);
		encoded[me][at] = modules_encode(addresses[at]);
	}
	return NULL;
}

static void threads_agree(void **state)
{
	struct plugin plugin;
	pthread_t threads[THREADS];
	uintptr_t t;
	int i;

	(void)state;
	open_plugin(&plugin, 0);
	for (i = 0; i < ADDRESSES; i++)
		addresses[i] = i % 8 ? plugin.start + 0x2000 + next_random() % (PLUGIN_SIZE - 0x4000)
				     : (uintptr_t)qsort + next_random() % 10000;
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (t = 0; t < THREADS; t++)
		pthread_create(&threads[t], NULL, encode_all, (void *)t);
	for (t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);
	pthread_barrier_destroy(&barrier);
	for (i = 0; i < ADDRESSES; i++) {
		assert_int_equal(locate(encoded[0][i]).address, addresses[i]);
		for (t = 1; t < THREADS; t++)
			assert_int_equal(encoded[t][i], encoded[0][i]);
	}
	close_plugin(&plugin);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(round_trip_of_all_modules, begin),
		cmocka_unit_test_setup(vdso, begin),
		cmocka_unit_test_setup(loader_range, begin),
		cmocka_unit_test_setup(unwind_tables, begin),
		cmocka_unit_test_setup(special_names, begin),
		cmocka_unit_test_setup(anonymous_code, begin),
		cmocka_unit_test_setup(reopened_elsewhere, begin),
		cmocka_unit_test_setup(two_libraries_in_turn, begin),
		cmocka_unit_test_setup(two_libraries_in_turn_without_build_id, begin),
		cmocka_unit_test_setup(replaced_while_nobody_looked, begin),
		cmocka_unit_test_setup(replaced_unnoticed, begin),
		cmocka_unit_test_setup(rebuilt_file, begin),
		cmocka_unit_test_setup(library_where_anonymous_code_was, begin),
		cmocka_unit_test_setup(nothing_changed, begin),
		cmocka_unit_test_setup(loaded_twice, begin),
		cmocka_unit_test_setup(forked_child_begins_anew, begin),
		cmocka_unit_test_setup(threads_agree, begin),
	};

	if (argc != 1 + PLUGINS)
		return 2;
	memcpy(plugins, argv + 1, sizeof(plugins));
	return cmocka_run_group_tests_name("modules", tests, begin_all, NULL);
}
