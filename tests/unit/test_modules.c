/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_modules.c - code addresses in 32 bits and back, against what the loader says.
 *
 * Built twice: with _dl_find_object() and, renamed so that it is missing, without.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "libpmem/rules.h"
#include "tests/unit/modules_fixture.h"

/* --- what is loaded -------------------------------------------------------------------------- */

static int expect_module(struct dl_phdr_info *info, size_t size, void *count)
{
	const char *path = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
	bool known = !*info->dlpi_name; /* the recorder is a part of this program */
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
	assert_int_equal(modules_count(), before + !known);
	++*(int *)count;
	return 0;
}

static void round_trip_of_all_modules(void **state)
{
	void *plugin = dlopen(plugins[0], RTLD_NOW);
	int count = 0;

	(void)state;
	assert_non_null(plugin);
	assert_int_equal(modules_count(), 2);
	assert_string_equal(modules_library_path(), modules_program_path());
	dl_iterate_phdr(expect_module, &count);
	assert_true(count >= 5);
	assert_int_equal(modules_count(), count + 1);
	assert_int_equal(loss_count(FORMAT_LOSS_MODULES), 0);
	dlclose(plugin);
	suspect();
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
					    "[truncated]", "[unknown module]", "[not taken]",
					    NULL};
	uint32_t number;

	(void)state;
	for (number = 0; number < sizeof(names) / sizeof(*names); number++) {
		struct modules_location location = locate(number);

		assert_null(location.module);
		assert_int_equal(location.offset, number);
		if (names[number])
			assert_string_equal(modules_special_name(number), names[number]);
		else
			assert_null(modules_special_name(number));
	}
	assert_int_equal(modules_encode((uintptr_t)1 << 47 | 0x1000), FORMAT_SPECIAL_UNKNOWN);
	assert_int_equal(modules_encode(UINTPTR_MAX), FORMAT_SPECIAL_UNKNOWN);
	assert_null(locate(UINT32_MAX).module);
}

/* --- anonymous code -------------------------------------------------------------------------- */

static void anonymous_code(void **state)
{
	enum { ANONYMOUS_MAX = MODULES_REGIONS_MAX / 2 };
	uintptr_t code = (uintptr_t)mmap(NULL, 3 * REGION, PROT_READ | PROT_EXEC,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i;

	(void)state;
	for (i = 0; i < 500; i++)
		expect_anonymous(code + 1 + next_random() % (3 * REGION - 1));
	munmap((void *)code, 3 * REGION);
	/* As long as there is room for regions; the modules' share stays theirs. */
	for (i = 0; i < ANONYMOUS_MAX - 10; i++)
		expect_anonymous(0x100000000000 + (uintptr_t)i * REGION + 123);
	assert_int_equal(loss_count(FORMAT_LOSS_MODULES), 0);
	for (; i < ANONYMOUS_MAX; i++)
		modules_encode(0x100000000000 + (uintptr_t)i * REGION + 123);
	assert_int_equal(modules_encode(0x120000000000), FORMAT_SPECIAL_UNKNOWN);
	assert_int_equal(modules_encode(0x120000000000), FORMAT_SPECIAL_UNKNOWN);
	assert_true(loss_count(FORMAT_LOSS_MODULES) > 2);
	for (i = 0; i < ANONYMOUS_MAX - 10; i += 7)
		expect_anonymous(0x100000000000 + (uintptr_t)i * REGION + 456);
	assert_int_equal(locate(modules_encode((uintptr_t)qsort)).address, (uintptr_t)qsort);
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
		cmocka_unit_test_setup(threads_agree, begin),
	};

	if (argc != 1 + PLUGINS)
		return 2;
	memcpy(plugins, argv + 1, sizeof(plugins));
	return cmocka_run_group_tests_name("modules", tests, begin_all, NULL);
}
