/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_names.c - function names: of this program, of files that changed, and of symbol tables made by hand.
 *
 * Ground truth: addresses of this file's own functions.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
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
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/elf_view.h"
#include "libpmem/log.h"
#include "libpmem/names.h"
#include "libpmem/settings.h"

struct settings settings;
static uint64_t image_start_ns;

uint64_t log_image_start_ns(void)
{
	return image_start_ns;
}

/* Not inlined, not merged with each other: each has an address and a size of its own. */
__attribute__((noinline)) static int static_function(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x * 3;
}

int twin_local(int x);
int __twin(int x);
int twin_global(int x);
int twin_weak(int x);

__attribute__((noinline)) int twin_global(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x * 5;
}

int __twin(int x) __attribute__((alias("twin_global")));
int twin_weak(int x) __attribute__((weak, alias("twin_global")));

static char program[4096];
static struct module module; /* this program, as modules.c would describe it */

/* The first object is the program. */
static int describe(struct dl_phdr_info *info, size_t size, void *data)
{
	uintptr_t start = UINTPTR_MAX, end = 0;
	struct elf_image image;
	int i;

	(void)size;
	(void)data;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD)
			continue;
		start = at < start ? at & ~(uintptr_t)4095 : start;
		end = at + segment->p_memsz > end ? at + segment->p_memsz : end;
	}
	assert_true(elf_image_open(start, end, &image));
	memset(&module, 0, sizeof(module));
	module.path = program;
	module.build_id = image.build_id;
	module.bias = image.bias;
	module.start = start;
	module.end = end;
	module.dynsym = image.dynsym;
	module.loaded = 1;
	return 1;
}

static int begin(void **state)
{
	ssize_t size = readlink("/proc/self/exe", program, sizeof(program) - 1);

	(void)state;
	assert_true(size > 0);
	program[size] = '\0';
	settings = (struct settings){.symtab_max = 32 << 20};
	image_start_ns = UINT64_MAX;
	dl_iterate_phdr(describe, NULL);
	assert_true(module.build_id.size > 0);
	names_fork_child(); /* forgets what the test before looked up */
	return 0;
}

/* The name of the function that contains the call before return address ra. */
static struct name find(uintptr_t ra)
{
	struct modules_location location = {.module = &module,
					    .module_id = 7,
					    .offset = ra - module.bias,
					    .address = ra};
	struct name name;

	names_find(&location, &name);
	return name;
}

static void expect(int (*function)(int), const char *want)
{
	struct name name = find((uintptr_t)function + 4);

	if (!want) {
		assert_null(name.symbol);
		return;
	}
	assert_non_null(name.symbol);
	assert_string_equal(name.symbol, want);
	assert_int_equal(name.offset, 4);
}

static void static_functions_have_names(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 3; i++) { /* the second time from the cache */
		expect(static_function, "static_function");
		expect(twin_global, "twin_global");
		expect(main_function_of_cmocka_is_elsewhere ? NULL : twin_global, "twin_global");
	}
}

int main(void)
{
	return 0;
}
