/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_maps.c - objects found in /proc/self/maps: the loader's, and mappings made by hand.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "libpmem/maps.h"
#include "tests/unit/memory_limit.h"

enum { PAGE = 4096, PAGES = 8 };

static char path[MAPS_PATH_MAX];
static struct maps_object object = {.path = path};
static char folder[] = "maps.XXXXXX";

static bool find(uintptr_t addr)
{
	object = (struct maps_object){.path = path};
	memset(path, 'x', sizeof(path));
	return maps_find(addr, &object);
}

/* Whatever addr of the object is asked for. */
static void expect(uintptr_t addr, uintptr_t start, uintptr_t end)
{
	assert_true(find(addr));
	assert_int_equal(object.start, start);
	assert_int_equal(object.end, end);
}

/* --- what the loader mapped ------------------------------------------------------------------ */

static int expect_module(struct dl_phdr_info *info, size_t size, void *count)
{
	uintptr_t start = UINTPTR_MAX, end = 0, first, at;
	char real[PATH_MAX];
	int i;

	(void)size;
	if (!realpath(*info->dlpi_name ? info->dlpi_name : "/proc/self/exe", real))
		return 0; /* the vDSO */
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type != PT_LOAD)
			continue;
		first = (info->dlpi_addr + segment->p_vaddr) & ~(uintptr_t)(PAGE - 1);
		start = first < start ? first : start;
		at = info->dlpi_addr + segment->p_vaddr + segment->p_filesz;
		end = (at + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	}
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		at = info->dlpi_addr + segment->p_vaddr;
		if (segment->p_type != PT_LOAD || segment->p_filesz == 0)
			continue;
		expect(at, start, end);
		expect(at + segment->p_filesz - 1, start, end);
		assert_string_equal(path, real);
	}
	++*(int *)count;
	return 0;
}

static void modules_of_this_program(void **state)
{
	int count = 0;

	(void)state;
	dl_iterate_phdr(expect_module, &count);
	assert_true(count >= 4); /* the program, cmocka, libc, the loader */
}

static void vdso(void **state)
{
	uintptr_t start = getauxval(AT_SYSINFO_EHDR);

	(void)state;
	if (!start)
		skip();
	assert_true(find(start + 16));
	assert_int_equal(object.start, start);
	assert_true(object.end > start && object.end <= start + 4 * PAGE);
	assert_string_equal(path, "[vdso]");
}

static void no_object(void **state)
{
	char *mapped = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int local;

	(void)state;
	assert_false(find((uintptr_t)mapped));
	assert_false(find((uintptr_t)&local));
	assert_false(find(0));
	assert_false(find(UINTPTR_MAX));
	munmap(mapped, PAGE);
	assert_false(find((uintptr_t)mapped));
}

/* --- mappings made by hand ------------------------------------------------------------------- */

/* Reserved addresses: 2 + PAGES + 2 pages. */
static char *room;

static int make_file(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, PAGES * PAGE), 0);
	return fd;
}

static uintptr_t page(int number)
{
	return (uintptr_t)(room + number * PAGE);
}

static void put(int at, int pages, int fd, int offset)
{
	int protection = offset % 2 ? PROT_READ : PROT_READ | PROT_WRITE; /* lines do not merge */
	char *mapped = mmap(room + at * PAGE, (size_t)pages * PAGE, protection,
			    MAP_PRIVATE | MAP_FIXED, fd, offset * PAGE);

	assert_ptr_equal(mapped, room + at * PAGE);
}

static int begin(void **state)
{
	(void)state;
	room = mmap(NULL, (PAGES + 4) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return room == MAP_FAILED;
}

static int end(void **state)
{
	(void)state;
	return munmap(room, (PAGES + 4) * PAGE);
}

static void gaps_belong_to_the_object(void **state)
{
	int a = make_file("a");

	(void)state;
	put(2, 1, a, 0);
	put(3, 1, a, 1);
	munmap(room + 4 * PAGE, PAGE);
	put(5, 2, a, 2);
	munmap(room + 7 * PAGE, PAGE);
	expect(page(2), page(2), page(7));
	expect(page(3) + 5, page(2), page(7));
	expect(page(6) + PAGE - 1, page(2), page(7));
	assert_false(find(page(4))); /* the gap itself is nothing's */
	assert_false(find(page(1)));
	assert_false(find(page(7)));
	close(a);
}

/* Zeroed memory behind a segment that is larger than its part of the file. */
static void anonymous_memory_in_between(void **state)
{
	int a = make_file("a");

	(void)state;
	put(2, 1, a, 0);
	put(3, 1, a, 1);
	put(5, 1, a, 2); /* page 4 is reserved, anonymous */
	put(8, 1, a, 3); /* page 6 is, 7 is not */
	munmap(room + 7 * PAGE, PAGE);
	expect(page(2), page(2), page(9));
	expect(page(8), page(2), page(9));
	assert_false(find(page(4)));
	assert_false(find(page(6)));
	close(a);
}

/* Not mapped from its beginning: a file of data. */
static void part_of_a_file(void **state)
{
	int a = make_file("a"), b = make_file("b");

	(void)state;
	put(2, 1, a, 0);
	put(3, 2, b, 1);
	expect(page(2), page(2), page(3));
	expect(page(4), page(3), page(5));
	assert_string_equal(strrchr(path, '/'), "/b");
	close(a);
	close(b);
}

static void another_file_ends_it(void **state)
{
	int a = make_file("a"), b = make_file("b");

	(void)state;
	put(2, 1, a, 0);
	put(3, 1, a, 1);
	put(4, 1, b, 0);
	put(5, 1, b, 1);
	put(6, 1, a, 0); /* the same file once more */
	put(7, 1, a, 1);
	put(8, 1, a, 0); /* and again, right behind */
	put(9, 1, a, 3);
	expect(page(2), page(2), page(4));
	expect(page(3), page(2), page(4));
	expect(page(4), page(4), page(6));
	assert_string_equal(strrchr(path, '/'), "/b");
	expect(page(5), page(4), page(6));
	expect(page(7), page(6), page(8));
	assert_string_equal(strrchr(path, '/'), "/a");
	expect(page(9), page(8), page(10));
	close(a);
	close(b);
}

static void unusual_names(void **state)
{
	static const char *const names[][2] = {
		{"with blank", "/with blank"},	{"  two  ", "/  two  "},
		{"new\nline", "/new\\012line"}, /* as the kernel writes it */
		{"[vdso]", "/[vdso]"},		{"0123 r-xp", "/0123 r-xp"},
	};
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		int fd = make_file(names[i][0]);

		put(2, 1, fd, 0);
		expect(page(2), page(2), page(3));
		assert_string_equal(strrchr(path, '/'), names[i][1]);
		unlink(names[i][0]);
		expect(page(2), page(2), page(3));
		assert_non_null(strstr(path, " (deleted)"));
		close(fd);
	}
}

/* Longer than the room for it, and with the kernel's own bound. */
static void long_paths_are_cut(void **state)
{
	char name[201], whole[PATH_MAX];
	int depth, fd, back = open(".", O_PATH | O_DIRECTORY);

	(void)state;
	memset(name, 'n', 200);
	name[200] = '\0';
	for (depth = 0; depth < 8; depth++) {
		mkdir(name, 0700);
		assert_int_equal(chdir(name), 0);
	}
	fd = make_file("f");
	put(2, 1, fd, 0);
	put(3, 1, fd, 1);
	assert_non_null(getcwd(whole, sizeof(whole)));
	expect(page(2), page(2), page(4));
	assert_int_equal(strlen(path), MAPS_PATH_MAX - 1);
	assert_memory_equal(path, whole, MAPS_PATH_MAX - 1);
	close(fd);
	unlink("f");
	for (; depth > 0; depth--) {
		assert_int_equal(chdir(".."), 0);
		rmdir(name);
	}
	assert_int_equal(fchdir(back), 0);
	close(back);
}

/* More lines than one read() returns, before and behind. */
static void many_mappings(void **state)
{
	enum { COUNT = 6000 };
	int fd = make_file("a"), i;
	char *many = mmap(NULL, (size_t)COUNT * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	for (i = 0; i < COUNT; i++)
		mmap(many + (size_t)i * PAGE, PAGE, i % 2 ? PROT_READ : PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_FIXED, fd, (off_t)(i % PAGES) * PAGE);
	for (i = 0; i < COUNT; i += 97) {
		uintptr_t at = (uintptr_t)many + (size_t)i * PAGE;

		expect(at, at - (size_t)(i % PAGES) * PAGE, at + (size_t)(PAGES - i % PAGES) * PAGE);
	}
	munmap(many, (size_t)COUNT * PAGE);
	close(fd);
}

static int open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static unsigned mapped_pages(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned pages = 0;

	assert_int_equal(fscanf(file, "%u", &pages), 1);
	fclose(file);
	return pages;
}

static void nothing_is_left_behind(void **state)
{
	int before = open_descriptors(), fd = make_file("a"), i;
	unsigned pages;

	(void)state;
	put(2, 1, fd, 0);
	close(fd);
	mapped_pages(); /* what stdio keeps */
	pages = mapped_pages();
	for (i = 0; i < 50; i++) {
		assert_true(find(page(2)));
		assert_false(find(page(0)));
	}
	assert_int_equal(open_descriptors(), before);
	assert_in_range(mapped_pages(), 0, pages + 40);
}

static void no_descriptor_and_no_memory(void **state)
{
	int fd = make_file("a");
	struct rlimit before, none;
	bool found;

	(void)state;
	put(2, 1, fd, 0);
	close(fd);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_false(find(page(2)));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	before = memory_exhaust();
	found = find(page(2));
	memory_restore(before);
	assert_false(found);
	assert_true(find(page(2)));
}

static int enter_folder(void **state)
{
	(void)state;
	return !mkdtemp(folder) || chdir(folder);
}

static int leave_folder(void **state)
{
	(void)state;
	unlink("a");
	unlink("b");
	return chdir("..") || rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modules_of_this_program),
		cmocka_unit_test(vdso),
		cmocka_unit_test(no_object),
		cmocka_unit_test_setup_teardown(gaps_belong_to_the_object, begin, end),
		cmocka_unit_test_setup_teardown(anonymous_memory_in_between, begin, end),
		cmocka_unit_test_setup_teardown(part_of_a_file, begin, end),
		cmocka_unit_test_setup_teardown(another_file_ends_it, begin, end),
		cmocka_unit_test_setup_teardown(unusual_names, begin, end),
		cmocka_unit_test_setup_teardown(long_paths_are_cut, begin, end),
		cmocka_unit_test_setup_teardown(many_mappings, begin, end),
		cmocka_unit_test_setup_teardown(nothing_is_left_behind, begin, end),
		cmocka_unit_test_setup_teardown(no_descriptor_and_no_memory, begin, end),
	};

	return cmocka_run_group_tests_name("maps", tests, enter_folder, leave_folder);
}
