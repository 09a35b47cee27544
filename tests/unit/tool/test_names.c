/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_names.c - names of a profile's locations, allocation sites and modules' problems.
 *
 * The profile is made by hand; its modules are this program, which runs, and files that are missing or wrong.
 */
#include <dirent.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/elf_view.h"
#include "profile/names.h"

enum { NOWHERE, PROGRAM, LIBC, GONE, OTHER, VDSO, RELATIVE, MODULES };
enum {
	IN_MAIN,
	IN_HELPER,
	IN_XMALLOC,
	IN_LIBC,
	SPECIAL,
	IN_JIT,
	IN_GONE,
	IN_OTHER,
	IN_VDSO,
	IN_RELATIVE,
	IN_INLINED,
	LOCATIONS
};

static char program[4096];
static char folder[64];
static uint8_t wrong_id[20] = {1, 2, 3};
static struct elf_image image;
static struct profile_module modules[MODULES];
static struct profile_location locations[LOCATIONS];
static struct profile profile;

/* Of these the profile has call stacks. */
__attribute__((noinline, used)) static int helper(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

__attribute__((noinline, used)) void *xmalloc(size_t size);
void *xmalloc(size_t size)
{
	__asm__ volatile("" : "+r"(size));
	return NULL;
}

static uintptr_t returns_to;

__attribute__((noinline)) static void remember_return(void)
{
	returns_to = (uintptr_t)__builtin_return_address(0);
}

static inline __attribute__((always_inline)) void xcalloc(void)
{
	remember_return();
	__asm__ volatile("" ::: "memory");
}

static inline __attribute__((always_inline)) void remember_entry(void)
{
	xcalloc();
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void handle_request(void)
{
	remember_entry();
	__asm__ volatile("" ::: "memory");
}

int main(void);

static uint64_t in_file(const void *code)
{
	return (uintptr_t)code - image.bias;
}

static int find_image(struct dl_phdr_info *info, size_t size, void *data)
{
	uintptr_t end = 0;

	(void)size;
	(void)data;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD)
			end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr +
			      info->dlpi_phdr[i].p_memsz;
	/* The first object is the program. */
	return elf_image_open(info->dlpi_addr +
				      (info->dlpi_phdr[0].p_vaddr - info->dlpi_phdr[0].p_offset),
			      end, &image)
		       ? 1
		       : 2;
}

static void set_location(unsigned index, uint32_t module, uint64_t offset)
{
	locations[index] = (struct profile_location){.module = module, .offset = offset};
}

static int make_profile(void **state)
{
	ssize_t size = readlink("/proc/self/exe", program, sizeof(program) - 1);

	(void)state;
	if (size <= 0 || dl_iterate_phdr(find_image, NULL) != 1)
		return -1;
	snprintf(folder, sizeof(folder), "/tmp/pmem-names-%d", (int)getpid());
	modules[NOWHERE].path = "";
	modules[PROGRAM] = (struct profile_module){.path = program,
						   .build_id = image.build_id.bytes,
						   .build_id_size = image.build_id.size,
						   .start = image.start};
	modules[LIBC].path = "/nowhere/libc.so.6";
	modules[GONE].path = "/nowhere/libgone.so";
	modules[OTHER] = (struct profile_module){
		.path = program, .build_id = wrong_id, .build_id_size = sizeof(wrong_id)};
	modules[VDSO].path = "[vdso]";
	modules[RELATIVE] = modules[PROGRAM];
	modules[RELATIVE].path = "./link";
	set_location(IN_MAIN, PROGRAM, in_file((void *)main) + 2);
	set_location(IN_HELPER, PROGRAM, in_file((void *)helper) + 1);
	set_location(IN_XMALLOC, PROGRAM, in_file((void *)xmalloc) + 1);
	set_location(IN_LIBC, LIBC, 0x1000);
	locations[SPECIAL].special = "[truncated]";
	set_location(IN_JIT, NOWHERE, 0x7f0012345678);
	set_location(IN_GONE, GONE, 0x2000);
	set_location(IN_OTHER, OTHER, in_file((void *)helper) + 1);
	set_location(IN_VDSO, VDSO, 0x300);
	set_location(IN_RELATIVE, RELATIVE, in_file((void *)helper) + 1);
	handle_request();
	set_location(IN_INLINED, PROGRAM, returns_to - image.bias);
	profile = (struct profile){.program = program,
				   .directory = folder,
				   .modules = modules,
				   .module_count = MODULES,
				   .locations = locations,
				   .location_count = LOCATIONS};
	profile.header.pid = (uint32_t)getpid();
	return 0;
}

static const struct symbol *at(struct names *names, uint32_t location)
{
	const struct symbol *found = NULL;

	assert_int_equal(names_at(names, location, &found), 1);
	assert_non_null(found);
	return found;
}

static void functions_of_locations(void **state)
{
	struct names *names = names_new(&profile);
	const struct symbol *first;

	(void)state;
	assert_non_null(names);
	assert_string_equal(at(names, IN_MAIN)->function, "main");
	assert_int_equal(at(names, IN_MAIN)->offset, 2);
	first = at(names, IN_HELPER);
	assert_string_equal(first->function, "helper");
	assert_string_equal(first->raw_name, "helper");
	assert_ptr_equal(at(names, IN_HELPER), first);
	assert_string_equal(at(names, SPECIAL)->function, "[truncated]");
	for (uint32_t i = IN_JIT; i < IN_RELATIVE; i++) {
		assert_null(at(names, i)->function);
		assert_null(at(names, i)->raw_name);
		assert_int_equal(at(names, i)->offset, locations[i].offset);
	}
	assert_null(at(names, LOCATIONS)->function);
	assert_null(at(names, UINT32_MAX)->function);
	names_free(names);
}

/* Of functions inlined into each other the innermost own one is shown: the allocator's wrapper is passed. */
static void own_functions_that_are_inlined(void **state)
{
	struct names *names = names_new(&profile);
	const struct symbol *found;
	size_t count;

	(void)state;
	assert_string_equal(names_at_fast(names, IN_INLINED)->function, "handle_request");
	assert_true(names_is_own_fast(names, IN_INLINED));
	assert_false(names_is_unsettled(names, IN_INLINED));
	names_prepare(names, NULL);
	count = names_at(names, IN_INLINED, &found);
	/* The test may be built without debug information. */
	if (count == 1) {
		names_free(names);
		skip();
	}
	assert_int_equal(count, 3);
	assert_string_equal(found[0].function, "xcalloc");
	assert_string_equal(found[1].function, "remember_entry");
	assert_string_equal(found[2].function, "handle_request");
	assert_true(found[0].inlined && found[1].inlined && !found[2].inlined);
	assert_int_equal(names_shown(names, IN_INLINED), 1);
	assert_false(names_is_own_function(names, IN_INLINED, 0));
	assert_true(names_is_own_function(names, IN_INLINED, 1));
	assert_true(names_is_own_function(names, IN_INLINED, 2));
	assert_false(names_is_own_function(names, IN_INLINED, 3));
	assert_null(names_at_fast(names, IN_INLINED)->file);
	names_free(names);
}

/* Without own ones, and where nothing is known, the function that is not inlined is shown. */
static void shown_without_own_functions(void **state)
{
	static const uint32_t places[] = {IN_XMALLOC, IN_LIBC, SPECIAL, IN_JIT, IN_OTHER};
	struct names *names = names_new(&profile);

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		assert_int_equal(names_shown(names, places[i]), 0);
	assert_int_equal(names_shown(names, LOCATIONS), 0);
	names_free(names);
}

/* What compilers at run time gave is shown as it is, but for mangled names. */
static void short_names(void **state)
{
	static const char cxx[] = "std::vector<int>::push_back(int)";
	static const struct symbol plain = {.function = cxx, .raw_name = cxx};
	static const struct symbol inlined = {.function = cxx};
	static const struct symbol mangled = {.function = "void run<int>(int)",
					      .raw_name = "_Z3runIiEvT_"};
	static const struct symbol getter = {.function = "get size",
					     .raw_name = "JS:*get size /a.js:1:2"};
	struct names *names = names_new(&profile);

	(void)state;
	assert_string_equal(names_short(names, IN_MAIN, &plain), "std::vector<...>::push_back");
	assert_string_equal(names_short(names, IN_MAIN, &inlined), "std::vector<...>::push_back");
	assert_string_equal(names_short(names, IN_JIT, &plain), cxx);
	assert_string_equal(names_short(names, IN_JIT, &getter), "get size");
	assert_string_equal(names_short(names, IN_JIT, &mangled), "run<...>");
	assert_string_equal(names_short(names, LOCATIONS, &plain), "std::vector<...>::push_back");
	names_free(names);
}

static void own_code(void **state)
{
	struct names *names = names_new(&profile);

	(void)state;
	assert_true(names_is_own(names, IN_MAIN));
	assert_true(names_is_own(names, IN_HELPER));
	assert_true(names_is_own(names, IN_JIT));
	assert_true(names_is_own(names, IN_GONE));
	assert_false(names_is_own(names, IN_XMALLOC));
	assert_false(names_is_own(names, IN_LIBC));
	assert_false(names_is_own(names, SPECIAL));
	assert_false(names_is_own(names, IN_VDSO));
	assert_false(names_is_own(names, LOCATIONS));
	names_free(names);
}

/* A call stack of up to four locations, innermost first; returns the place of the site among them. */
static unsigned site_among(const uint32_t *stack, unsigned count)
{
	struct profile_node nodes[8] = {{0}};
	struct profile_stack last = {.node = count};
	struct names *names;
	uint32_t node;

	/* Node 1 is the outermost. */
	for (unsigned i = 0; i < count; i++)
		nodes[count - i] = (struct profile_node){.parent = count - i - 1,
							 .location = stack[i]};
	profile.nodes = nodes;
	profile.node_count = count + 1;
	names = names_new(&profile);
	node = names_site(names, &last);
	assert_int_equal(names_site(names, &last), node);
	names_free(names);
	profile.nodes = NULL;
	return count - node;
}

static void allocation_sites(void **state)
{
	(void)state;
	assert_int_equal(site_among((uint32_t[]){IN_XMALLOC, IN_HELPER, IN_MAIN}, 3), 1);
	assert_int_equal(site_among((uint32_t[]){IN_HELPER, IN_MAIN}, 2), 0);
	assert_int_equal(site_among((uint32_t[]){IN_LIBC, IN_XMALLOC, IN_MAIN, IN_LIBC}, 4), 2);
	/* Without own frames the innermost that is neither allocator nor C library; then the innermost. */
	modules[GONE].path = "/nowhere/libstdc++.so.6";
	assert_int_equal(site_among((uint32_t[]){IN_XMALLOC, IN_LIBC, IN_GONE, IN_LIBC}, 4), 2);
	modules[GONE].path = "/nowhere/libgone.so";
	assert_int_equal(site_among((uint32_t[]){IN_XMALLOC, IN_LIBC}, 2), 0);
	assert_int_equal(site_among((uint32_t[]){SPECIAL}, 1), 0);
	assert_int_equal(site_among((uint32_t[]){IN_XMALLOC, SPECIAL, IN_LIBC}, 3), 0);
	assert_int_equal(site_among(NULL, 0), 0);
}

/* A later opening: its places come in another order, and a new one; another file has the place of a module. */
static void names_follow_a_later_opening(void **state)
{
	struct profile_location later_locations[] = {locations[SPECIAL], locations[IN_JIT],
						     locations[IN_HELPER], locations[IN_LIBC],
						     locations[IN_MAIN]};
	struct profile_module later_modules[MODULES];
	struct profile later = profile;
	struct names *names = names_new(&profile);
	const struct symbol *helper_before, *main_before;

	(void)state;
	memcpy(later_modules, modules, sizeof(modules));
	later_modules[LIBC] = modules[PROGRAM];
	later_locations[3].offset = locations[IN_MAIN].offset;
	later.locations = later_locations;
	later.location_count = 5;
	later.modules = later_modules;
	helper_before = at(names, IN_HELPER);
	main_before = names_at_fast(names, IN_MAIN);
	assert_null(at(names, IN_LIBC)->function);
	assert_string_equal(at(names, SPECIAL)->function, "[truncated]");
	assert_non_null(names_problems(names)[0]);
	assert_true(names_follow(names, &later));
	assert_ptr_equal(at(names, 2), helper_before);
	assert_ptr_equal(names_at_fast(names, 4), main_before);
	assert_string_equal(at(names, 0)->function, "[truncated]");
	assert_null(at(names, 1)->function);
	assert_string_equal(at(names, 3)->function, "main");
	assert_null(at(names, 5)->function);
	assert_null(names_problems(names)[0]);
	names_free(names);
}

static unsigned open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static void copy_program(const char *path)
{
	char command[sizeof(program) + 256];

	snprintf(command, sizeof(command), "rm -f '%s' && cp '%s' '%s'", path, program, path);
	assert_int_equal(system(command), 0);
}

/* Rests, with the profile overwritten meanwhile; then goes over to one that has it all again. */
static void rest_and_follow(struct names *names)
{
	struct profile_location kept_locations[LOCATIONS];
	struct profile_module kept_modules[MODULES];

	memcpy(kept_locations, locations, sizeof(locations));
	memcpy(kept_modules, modules, sizeof(modules));
	assert_true(names_rest(names));
	memset(locations, 0x55, sizeof(locations));
	memset(modules, 0x55, sizeof(modules));
	assert_true(names_bytes(names) > sizeof(locations));
	memcpy(locations, kept_locations, sizeof(locations));
	memcpy(modules, kept_modules, sizeof(modules));
	assert_true(names_follow(names, &profile));
}

static void names_rest_between_openings(void **state)
{
	unsigned files_before = open_files();
	struct names *names = names_new(&profile);
	const struct symbol *helper_before = at(names, IN_HELPER), *inlined_before, *inlined;
	char problem[4200];

	(void)state;
	names_at(names, IN_INLINED, &inlined_before);
	assert_true(inlined_before->inlined);
	at(names, IN_GONE);
	assert_string_equal(at(names, SPECIAL)->function, "[truncated]");
	snprintf(problem, sizeof(problem), "%s", names_problems(names)[0]);
	assert_true(open_files() > files_before);
	for (int i = 0; i < 3; i++) {
		rest_and_follow(names);
		assert_ptr_equal(at(names, IN_HELPER), helper_before);
		names_at(names, IN_INLINED, &inlined);
		assert_ptr_equal(inlined, inlined_before);
		assert_string_equal(at(names, SPECIAL)->function, "[truncated]");
		assert_string_equal(names_problem(names, GONE), "is not there or cannot be read");
		assert_int_equal(open_files(), files_before);
	}
	/* What was not asked for yet. */
	assert_string_equal(at(names, IN_MAIN)->function, "main");
	assert_string_equal(names_problems(names)[0], problem);
	assert_null(names_problems(names)[1]);
	assert_true(names_rest(names));
	assert_int_equal(open_files(), files_before);
	names_free(names);
}

static void a_file_that_is_replaced_is_looked_into_anew(void **state)
{
	const char *gone = modules[GONE].path;
	const struct symbol *helper_before;
	struct names *names;
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/program", folder);
	assert_int_equal(mkdir(folder, 0700), 0);
	modules[GONE] = modules[PROGRAM];
	modules[GONE].path = path;
	locations[IN_GONE].offset = locations[IN_HELPER].offset;
	names = names_new(&profile);
	assert_null(at(names, IN_GONE)->function);
	helper_before = at(names, IN_HELPER);
	copy_program(path);
	rest_and_follow(names);
	assert_string_equal(at(names, IN_GONE)->function, "helper");
	assert_ptr_equal(at(names, IN_HELPER), helper_before);
	rest_and_follow(names);
	assert_string_equal(at(names, IN_GONE)->function, "helper");
	names_free(names);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
	modules[GONE] = (struct profile_module){.path = gone};
	locations[IN_GONE].offset = 0x2000;
}

static void problems_are_told(void **state)
{
	struct names *names = names_new(&profile);
	const char *const *lines = names_problems(names);
	char expected[4200];

	(void)state;
	assert_null(lines[0]);
	for (uint32_t i = 0; i < IN_RELATIVE; i++)
		at(names, i);
	lines = names_problems(names);
	assert_string_equal(lines[0], "libc.so.6: is not there or cannot be read");
	assert_string_equal(lines[1], "libgone.so: is not there or cannot be read");
	snprintf(expected, sizeof(expected), "%s: was replaced since", strrchr(program, '/') + 1);
	assert_string_equal(lines[2], expected);
	assert_null(lines[3]);
	assert_string_equal(names_problems(names)[2], expected);
	names_free(names);
}

static void relative_paths_begin_where_the_process_did(void **state)
{
	struct names *names;
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/link", folder);
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(symlink(program, path), 0);
	names = names_new(&profile);
	assert_string_equal(at(names, IN_RELATIVE)->function, "helper");
	names_free(names);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

/* Its path leads nowhere (another root, deleted, replaced), but the process is there. */
static void a_running_process_leads_to_its_files(void **state)
{
	struct names *names;

	(void)state;
	if (image.build_id.size == 0)
		skip();
	modules[PROGRAM].path = "/nowhere/program";
	profile.program = "/nowhere/program";
	names = names_new(&profile);
	assert_null(at(names, IN_HELPER)->function);
	names_free(names);
	profile.is_live = true;
	names = names_new(&profile);
	assert_string_equal(at(names, IN_HELPER)->function, "helper");
	assert_null(at(names, IN_OTHER)->function);
	assert_null(at(names, IN_GONE)->function);
	names_free(names);
	/* Never another file than that of the module. */
	modules[PROGRAM].build_id = wrong_id;
	names = names_new(&profile);
	assert_null(at(names, IN_HELPER)->function);
	names_free(names);
	profile.is_live = false;
	profile.program = program;
	modules[PROGRAM].path = program;
	modules[PROGRAM].build_id = image.build_id.bytes;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_locations),
		cmocka_unit_test(own_functions_that_are_inlined),
		cmocka_unit_test(shown_without_own_functions),
		cmocka_unit_test(short_names),
		cmocka_unit_test(own_code),
		cmocka_unit_test(allocation_sites),
		cmocka_unit_test(names_follow_a_later_opening),
		cmocka_unit_test(names_rest_between_openings),
		cmocka_unit_test(a_file_that_is_replaced_is_looked_into_anew),
		cmocka_unit_test(problems_are_told),
		cmocka_unit_test(relative_paths_begin_where_the_process_did),
		cmocka_unit_test(a_running_process_leads_to_its_files),
	};

	return cmocka_run_group_tests(tests, make_profile, NULL);
}
