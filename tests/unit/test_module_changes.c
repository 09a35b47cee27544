/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_module_changes.c - code addresses in 32 bits, while libraries come and go.
 *
 * Built twice, as test_modules.c.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "libpmem/rules.h"
#include "tests/unit/modules_fixture.h"

static uintptr_t address_in(const struct plugin *plugin, int region)
{
	return region == 3 ? plugin->call : plugin->start + (uintptr_t)region * REGION + 0x12345;
}

static void encode_plugin(struct plugin *plugin, int number)
{
	int i;

	for (i = 0; i < 4; i++)
		plugin->pc32[i] = expect_code(address_in(plugin, i), plugins[number], plugin->bias);
	for (i = 1; i < 4; i++) { /* the last call of a region, and the first of the next */
		expect_code(plugin->start + (uintptr_t)i * REGION, plugins[number], plugin->bias);
		expect_code(plugin->start + (uintptr_t)i * REGION + 1, plugins[number],
			    plugin->bias);
	}
	assert_int_equal(rule_kind(rules_at(plugin->call - 1)), CFI_SP);
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

/* Most often the second library comes to lie where the first one was.  Only then something was tested. */
static void until_it_lies_there(bool (*try)(void))
{
	int i;

	for (i = 0; i < 50; i++)
		if (try())
			return;
	skip();
}

static bool replace(int a, int b)
{
	struct plugin first, second;

	open_plugin(&first, a);
	encode_plugin(&first, a);
	dlclose(first.handle);
	open_plugin(&second, b);
	suspect();
	encode_plugin(&second, b);
	assert_memory_not_equal(&first.pc32[3], &second.pc32[3], 4);
	assert_true(same_file(locate(first.pc32[3]).module->path, plugins[a]));
	close_plugin(&second);
	return first.start == second.start;
}

static bool replace_with_build_id(void)
{
	return replace(0, 1);
}

static bool replace_without_build_id(void)
{
	return replace(2, 3);
}

static void replaced_while_nobody_looked(void **state)
{
	(void)state;
	until_it_lies_there(replace_with_build_id);
	/* Without the loader's word a build-id is all there is to tell them apart. */
	if (modules_get(1)->link_map)
		until_it_lies_there(replace_without_build_id);
}

/* Nobody suspected anything either: the first address that is looked at tells. */
static bool replace_unnoticed(void)
{
	struct plugin first, second;
	uint32_t generation;

	open_plugin(&first, 0);
	modules_encode(first.call);
	generation = modules_generation();
	dlclose(first.handle);
	open_file(&second, plugins[1], 1);
	expect_code(second.start + 2 * REGION + 5, plugins[1], second.bias);
	if (first.start == second.start)
		assert_int_not_equal(modules_generation(), generation);
	encode_plugin(&second, 1);
	close_plugin(&second);
	return first.start == second.start;
}

static void replaced_unnoticed(void **state)
{
	(void)state;
	until_it_lies_there(replace_unnoticed);
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
static bool load_where_anonymous_code_was(void)
{
	struct plugin plugin;
	void *code;
	int i;

	open_plugin(&plugin, 0);
	close_plugin(&plugin);
	code = block_addresses(&plugin);
	for (i = 0; i < 3; i++)
		expect_anonymous(address_in(&plugin, i));
	munmap(code, PLUGIN_SIZE);
	open_plugin(&plugin, 0);
	encode_plugin(&plugin, 0);
	close_plugin(&plugin);
	return (void *)plugin.start == code;
}

static void library_where_anonymous_code_was(void **state)
{
	(void)state;
	until_it_lies_there(load_where_anonymous_code_was);
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
	suspect();
	modules_refresh();
	assert_int_equal(modules_generation(), generation);
	/* Unloaded, but nobody suspects it. */
	dlclose(plugin.handle);
	modules_refresh();
	assert_int_equal(modules_generation(), generation);
	suspect();
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
	suspect();
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
	assert_int_equal(modules_count(), 4);
	store_fork_child();
	modules_fork_child();
	assert_int_equal(modules_count(), 2); /* the recorder's own */
	assert_int_not_equal(modules_generation(), generation);
	encode_plugin(&plugin, 1);
	assert_int_equal(modules_count(), 3);
	close_plugin(&plugin);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
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
	};

	if (argc != 1 + PLUGINS)
		return 2;
	memcpy(plugins, argv + 1, sizeof(plugins));
	return cmocka_run_group_tests_name("module_changes", tests, begin_all, NULL);
}
