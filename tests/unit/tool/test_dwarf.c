/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_dwarf.c - functions, inlined calls and lines of this program's own code, and of damaged copies of it.
 *
 * Other compilers and languages: tests/test_symbols.py.
 */
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "symbol/dwarf.h"

enum { COPIES = 60, CHANGES = 40 };

static uintptr_t returns_to;
static struct dwarf_found found;

__attribute__((noinline)) static void remember_return(void)
{
	returns_to = (uintptr_t)__builtin_return_address(0);
}

static int inner_line, outer_line, concrete_line;

/* Code behind the calls keeps them from becoming jumps, and the return addresses inside. */
static inline __attribute__((always_inline)) void inner(void)
{
	inner_line = __LINE__ + 1;
	remember_return();
	__asm__ volatile("" ::: "memory");
}

static inline __attribute__((always_inline)) void outer(void)
{
	outer_line = __LINE__ + 1;
	inner();
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void concrete(void)
{
	concrete_line = __LINE__ + 1;
	outer();
	__asm__ volatile("" ::: "memory");
}

static int find_bias(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	*(uint64_t *)data = info->dlpi_addr;
	return 1;
}

/* The address of the call that remember_return() saw, in the terms of the file. */
static uint64_t call_address(void)
{
	uint64_t bias = 0;

	dl_iterate_phdr(find_bias, &bias);
	return returns_to - bias - 1;
}

static struct dwarf *open_path(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct dwarf_source source = {path, fd, ":.debug:/usr/lib/debug"};
	struct dwarf *dwarf = dwarf_open(&source);

	close(fd);
	return dwarf;
}

static struct dwarf *open_self(void)
{
	struct dwarf *dwarf = open_path("/proc/self/exe");

	assert_non_null(dwarf);
	if (!dwarf_has_any(dwarf)) {
		dwarf_close(dwarf);
		skip();
	}
	return dwarf;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), size = strlen(end);

	return length >= size && strcmp(text + length - size, end) == 0;
}

static void assert_frame(size_t index, const char *name, int line)
{
	const struct dwarf_frame *frame = &found.frames[index];

	assert_non_null(frame->name);
	assert_string_equal(frame->name, name);
	assert_non_null(frame->file);
	assert_true(ends_with(frame->file, "test_dwarf.c"));
	assert_true(frame->file[0] == '/' || frame->directory);
	assert_int_equal(frame->line, line);
}

static void inlined_calls_innermost_first(void **state)
{
	struct dwarf *dwarf = open_self();

	(void)state;
	concrete();
	dwarf_find(dwarf, call_address(), &found);
	assert_int_equal(found.count, 3);
	assert_frame(0, "inner", inner_line);
	assert_frame(1, "outer", outer_line);
	assert_frame(2, "concrete", concrete_line);
	assert_true(found.start > 0 && found.start < call_address());
	assert_int_equal(dwarf_debug_file(dwarf), -1);
	dwarf_close(dwarf);
}

static void addresses_outside_of_code(void **state)
{
	static const uint64_t addresses[] = {0, 1, 0x40, UINT64_MAX, UINT64_MAX / 2};
	struct dwarf *dwarf = open_self();

	(void)state;
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		dwarf_find(dwarf, addresses[i], &found);
		assert_int_equal(found.count, 0);
	}
	dwarf_close(dwarf);
}

static void files_that_are_none(void **state)
{
	static const char *const paths[] = {"/dev/null", "/etc/passwd", "/"};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		assert_null(open_path(paths[i]));
	assert_null(dwarf_open(&(struct dwarf_source){"/nowhere", -1, ""}));
	dwarf_close(NULL);
}

static char *read_self(size_t *size)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat status;
	char *bytes;

	assert_int_equal(fstat(fd, &status), 0);
	*size = (size_t)status.st_size;
	bytes = malloc(*size);
	assert_non_null(bytes);
	assert_int_equal(read(fd, bytes, *size), (ssize_t)*size);
	close(fd);
	return bytes;
}

/* Looks up what it can in a file with these bytes; returns whether any function was found. */
static bool use_copy(const char *bytes, size_t size, uint64_t address)
{
	char path[] = "/tmp/pmem-dwarf-XXXXXX";
	int fd = mkstemp(path);
	struct dwarf *dwarf;
	bool any = false;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
	close(fd);
	dwarf = open_path(path);
	for (uint64_t i = 0; dwarf && i < 40; i++) {
		dwarf_find(dwarf, address + i * 16, &found);
		any |= found.count > 0;
		for (size_t j = 0; j < found.count; j++)
			assert_true(!found.frames[j].name || strlen(found.frames[j].name) < size);
	}
	if (dwarf)
		dwarf_debug_file(dwarf);
	dwarf_close(dwarf);
	unlink(path);
	return any;
}

/* The debug sections are behind the code: that is where most of the bytes are changed. */
static void damaged_files_do_no_harm(void **state)
{
	struct timespec begin, end;
	size_t size;
	char *bytes = read_self(&size);
	char *copy = malloc(size);
	unsigned found_count = 0;

	(void)state;
	concrete();
	srandom(1);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (unsigned i = 0; i < COPIES; i++) {
		size_t length = i % 4 == 0 ? (size_t)random() % size : size;

		memcpy(copy, bytes, size);
		for (unsigned j = 0; i % 4 != 0 && j < CHANGES; j++)
			copy[size / 4 + (size_t)random() % (size * 3 / 4)] = (char)random();
		found_count += use_copy(copy, length, call_address());
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	assert_true(end.tv_sec - begin.tv_sec < 60);
	assert_true(found_count > 0 || !use_copy(bytes, size, call_address()));
	free(copy);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inlined_calls_innermost_first),
		cmocka_unit_test(addresses_outside_of_code),
		cmocka_unit_test(files_that_are_none),
		cmocka_unit_test(damaged_files_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
