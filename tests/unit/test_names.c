/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_names.c - function names: of this program, of changed files, of symbol tables made by hand.
 *
 * Ground truth: addresses of this file's own functions.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
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
#include "core/allocator_names.h"
#include "libpmem/log.h"
#include "libpmem/names.h"
#include "libpmem/place.h"
#include "libpmem/settings.h"
#include "libpmem/symbols.h"
#include "libpmem/sys.h"

enum { MADE_ID = 7 };

struct settings settings;
static uint64_t image_start_ns;
struct place place_start = {.dir = KEPT_NONE_INIT};

uint64_t log_image_start_ns(void)
{
	return image_start_ns;
}

/* Not inlined, not merged with others: it has an address and a size of its own. */
__attribute__((noinline)) static int static_function(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x * 3;
}

/* --- this program ---------------------------------------------------------------------------- */

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
	(void)state;
	settings = (struct settings){.symtab_max = 32 << 20};
	image_start_ns = UINT64_MAX;
	names_fork_child(); /* forgets what the test before looked up */
	return 0;
}

/* The name of the function that contains the call which returns to address ra of the file. */
static struct name find_in(const struct module *where, uint64_t ra)
{
	struct modules_location location = {
		.module = where, .module_id = MADE_ID, .offset = ra, .address = ra + where->bias};
	struct name name;

	names_find(&location, &name);
	return name;
}

static void test_own_static_function(void **state)
{
	ssize_t size = readlink("/proc/self/exe", program, sizeof(program) - 1);
	struct name name;
	int i;

	(void)state;
	assert_true(size > 0);
	program[size] = '\0';
	dl_iterate_phdr(describe, NULL);
	assert_true(module.build_id.size > 0);
	assert_int_equal(static_function(2), 6);
	for (i = 0; i < 3; i++) { /* the second time from the cache */
		name = find_in(&module, (uintptr_t)static_function + 4 - module.bias);
		assert_non_null(name.symbol);
		assert_string_equal(name.symbol, "static_function");
		assert_int_equal(name.offset, 4);
	}
	/* A return address equal to the function's start belongs to the function before. */
	name = find_in(&module, (uintptr_t)static_function - module.bias);
	assert_true(!name.symbol || strcmp(name.symbol, "static_function") != 0);
}

/* --- files made by hand ---------------------------------------------------------------------- */

enum { SYMBOLS_MAX = 4096, STRINGS_MAX = 1 << 16, ID_SIZE = 20 };

/* A symbol table in the making. */
struct table {
	Elf64_Sym symbols[SYMBOLS_MAX];
	size_t count;
	char strings[STRINGS_MAX];
	size_t strings_size;
};

static struct made_file {
	Elf64_Ehdr head;
	Elf64_Phdr segment;
	Elf64_Nhdr note;
	char note_name[4];
	uint8_t id[ID_SIZE];
	Elf64_Shdr sections[6];
	struct table symtab;
	struct table dynsym;
} file;

static struct module made;
static const struct module nameless = {.path = ""};
static char made_path[] = "names.XXXXXX";

uint32_t modules_count(void)
{
	return MADE_ID + 1;
}

const struct module *modules_get(uint32_t id)
{
	return id == MADE_ID ? &made : &nameless;
}

static const char *program_path = "/another";

const char *modules_program_path(void)
{
	return program_path;
}

static void add(struct table *table, const char *name, uint64_t addr, uint64_t size, unsigned info)
{
	Elf64_Sym *symbol = &table->symbols[table->count++];

	*symbol = (Elf64_Sym){.st_name = (Elf64_Word)table->strings_size,
			      .st_info = (unsigned char)info,
			      .st_shndx = 1,
			      .st_value = addr,
			      .st_size = size};
	strcpy(table->strings + table->strings_size, name);
	table->strings_size += strlen(name) + 1;
}

static void add_function(const char *name, uint64_t addr, uint64_t size, unsigned binding)
{
	add(&file.symtab, name, addr, size, ELF64_ST_INFO(binding, STT_FUNC));
}

static uint64_t offset_of(const void *part)
{
	return (uint64_t)((const char *)part - (const char *)&file);
}

/* Describes table in two section headers from sections[at] on. */
static void put_sections(unsigned at, const struct table *table, uint32_t type)
{
	file.sections[at] = (Elf64_Shdr){.sh_type = type,
					 .sh_offset = offset_of(table->symbols),
					 .sh_size = table->count * sizeof(Elf64_Sym),
					 .sh_link = at + 1};
	file.sections[at + 1] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
					     .sh_offset = offset_of(table->strings),
					     .sh_size = table->strings_size};
}

static int begin_file(void **state)
{
	begin(state);
	memset(&file, 0, sizeof(file));
	memcpy(file.head.e_ident, ELFMAG, SELFMAG);
	file.head.e_ident[EI_CLASS] = ELFCLASS64;
	file.head.e_ident[EI_DATA] = ELFDATA2LSB;
	file.head.e_phoff = offset_of(&file.segment);
	file.head.e_phnum = 1;
	file.head.e_phentsize = sizeof(Elf64_Phdr);
	file.head.e_shoff = offset_of(file.sections);
	file.head.e_shnum = 6;
	file.head.e_shentsize = sizeof(Elf64_Shdr);
	file.segment.p_vaddr = 0x1234;
	file.note = (Elf64_Nhdr){.n_namesz = 4, .n_descsz = ID_SIZE, .n_type = NT_GNU_BUILD_ID};
	memcpy(file.note_name, "GNU", 4);
	memset(file.id, 0xa5, ID_SIZE);
	add(&file.symtab, "", 0, 0, 0);
	add(&file.dynsym, "", 0, 0, 0);
	made = (struct module){.path = made_path, .bias = 0x7f0000000000};
	made.build_id.size = ID_SIZE;
	memset(made.build_id.bytes, 0xa5, ID_SIZE);
	return 0;
}

/* Writes the file; then its sections are final. */
static void write_file(void)
{
	int fd = open(made_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	file.sections[1] = (Elf64_Shdr){.sh_type = SHT_NOTE,
					.sh_offset = offset_of(&file.note),
					.sh_size = sizeof(file.note) + 4 + ID_SIZE};
	put_sections(2, &file.symtab, SHT_SYMTAB);
	put_sections(4, &file.dynsym, SHT_DYNSYM);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, &file, sizeof(file)), sizeof(file));
	close(fd);
}

static void expect(uint64_t ra, const char *symbol, uint64_t offset)
{
	struct name name = find_in(&made, ra);

	if (!symbol) {
		assert_null(name.symbol);
		return;
	}
	assert_non_null(name.symbol);
	assert_string_equal(name.symbol, symbol);
	assert_int_equal(name.offset, offset);
}

static void test_covers(void **state)
{
	(void)state;
	add_function("b", 0x2000, 0x10, STB_GLOBAL);
	add_function("a", 0x1000, 0x10, STB_LOCAL);
	add_function("outer", 0x3000, 0x100, STB_GLOBAL);
	add_function("inner", 0x3010, 0x10, STB_LOCAL);
	add_function("sizeless", 0x3040, 0, STB_GLOBAL);
	add(&file.symtab, "object", 0x3050, 0x10, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT));
	add(&file.symtab, "ifunc", 0x4000, 8, ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC));
	add_function("undefined", 0x5000, 8, STB_GLOBAL);
	file.symtab.symbols[file.symtab.count - 1].st_shndx = SHN_UNDEF;
	add_function("bad name", 0x6000, 8, STB_GLOBAL);
	file.symtab.symbols[file.symtab.count - 1].st_name = 1 << 30;
	write_file();
	expect(0x1000, NULL, 0);
	expect(0x1001, "a", 1);
	expect(0x1010, "a", 0x10); /* a call as the function's last instruction */
	expect(0x1011, NULL, 0);
	expect(0x2008, "b", 8);
	expect(0x3010, "outer", 0x10);
	expect(0x3018, "inner", 8);
	expect(0x3028, "outer", 0x28);
	expect(0x3042, "outer", 0x42);
	expect(0x3052, "outer", 0x52);
	expect(0x3101, NULL, 0);
	expect(0x4004, "ifunc", 4);
	expect(0x5004, NULL, 0);
	expect(0x6004, NULL, 0);
}

static void test_best_of_one_address(void **state)
{
	(void)state;
	add_function("local", 0x1000, 0x10, STB_LOCAL);
	add_function("_weak", 0x1000, 0x10, STB_WEAK);
	add_function("weak", 0x1000, 0x10, STB_WEAK);
	add_function("__libc_thing", 0x2000, 0x10, STB_GLOBAL);
	add_function("thing", 0x2000, 0x10, STB_WEAK);
	add_function("_thing", 0x2000, 0x10, STB_GLOBAL);
	add_function("short", 0x3000, 0x4, STB_GLOBAL);
	add_function("long", 0x3000, 0x20, STB_LOCAL);
	write_file();
	expect(0x1008, "weak", 8);
	expect(0x2008, "_thing", 8);
	expect(0x3002, "short", 2);
	expect(0x3008, "long", 8);
}

static void test_many(void **state)
{
	uint64_t i, count = 4000;

	(void)state;
	for (i = 0; i < count; i++) {
		uint64_t shuffled = i * 2741 % count; /* 2741 and 4000 have no common factor */
		char name[32];

		snprintf(name, sizeof(name), "f%u", (unsigned)shuffled);
		add_function(name, 0x400000 + shuffled * 0x12345, 0x100, STB_GLOBAL);
	}
	write_file();
	for (i = 0; i < count; i++) {
		char name[32];

		snprintf(name, sizeof(name), "f%u", (unsigned)i);
		expect(0x400000 + i * 0x12345 + 0x80, name, 0x80);
		expect(0x400000 + i * 0x12345 + 0x180, NULL, 0);
	}
}

static void test_other_build_id(void **state)
{
	(void)state;
	add_function("f", 0x1000, 0x10, STB_GLOBAL);
	file.id[19]++;
	write_file();
	expect(0x1008, NULL, 0);
}

/* The file does not fit: a copy of .dynsym from memory, which outlives the module. */
static void test_memory(void **state)
{
	static struct table *table;

	(void)state;
	table = mmap(NULL, sizeof(*table), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	add(table, "exported", 0x1000, 0x10, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC));
	made.path = "/nowhere/at/all";
	made.loaded = 1;
	made.dynsym = (struct elf_symbols){.symbols = table->symbols,
					   .count = table->count,
					   .strings = table->strings,
					   .strings_size = table->strings_size};
	expect(0x1008, "exported", 8);
	munmap(table, sizeof(*table));
	made.loaded = 0;
	expect(0x1009, "exported", 9);
	names_fork_child();
	made.loaded = 1; /* says modules.c, which has not noticed yet: no crash */
	expect(0x1008, NULL, 0);
}

static void test_tables_too_large(void **state)
{
	(void)state;
	add_function("from_symtab", 0x1000, 0x10, STB_GLOBAL);
	add_function("with_a_longer_table", 0x2000, 0x10, STB_GLOBAL);
	add(&file.dynsym, "from_dynsym", 0x1000, 0x10, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC));
	write_file();
	settings.symtab_max = file.sections[2].sh_size + file.sections[3].sh_size;
	expect(0x1008, "from_symtab", 8);
	settings.symtab_max--;
	names_fork_child();
	expect(0x1008, "from_dynsym", 8);
	settings.symtab_max = 0;
	names_fork_child();
	expect(0x1008, NULL, 0);
}

static void test_no_build_id(void **state)
{
	struct stat st;
	uint64_t mtime_ns;
	struct made_file *memory = malloc(sizeof(*memory));

	(void)state;
	add_function("f", 0x1000, 0x10, STB_GLOBAL);
	write_file();
	assert_int_equal(stat(made_path, &st), 0);
	mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
	memcpy(memory, &file, sizeof(file));
	made.build_id.size = 0;
	made.start = (uintptr_t)memory;
	made.loaded = 1;
	expect(0x1008, "f", 8);
	names_fork_child();
	image_start_ns = mtime_ns; /* written since the program began */
	expect(0x1008, NULL, 0);
	names_fork_child();
	image_start_ns = mtime_ns + 1;
	expect(0x1008, "f", 8);
	names_fork_child();
	memory->segment.p_vaddr++; /* what was loaded is another file */
	expect(0x1008, NULL, 0);
	free(memory);
}

/* Every byte that says where something lies, turned into nonsense: no crash. */
/* The file lies in the folder that was current at start, in whichever the program is now. */
static void test_other_folder(void **state)
{
	char folder[4096];

	(void)state;
	add_function("f", 0x1000, 0x10, STB_GLOBAL);
	write_file();
	assert_non_null(getcwd(folder, sizeof(folder)));
	assert_int_equal(chdir("/"), 0);
	expect(0x1008, NULL, 0);
	names_fork_child();
	assert_int_equal(kept_watch(&place_start.dir, open(folder, O_PATH | O_DIRECTORY)), 0);
	expect(0x1008, "f", 8);
	kept_close(&place_start.dir);
	assert_int_equal(chdir(folder), 0);
}

static void test_preload(void **state)
{
	(void)state;
	add_function("f", 0x1000, 0x10, STB_GLOBAL);
	write_file();
	names_preload();
	atomic_store_explicit(&sys_sandbox, true, memory_order_relaxed);
	expect(0x1008, "f", 8);
	names_fork_child();
	expect(0x1008, NULL, 0); /* it would have to be read */
	atomic_store_explicit(&sys_sandbox, false, memory_order_relaxed);
}

static void test_allocators_of_the_program(void **state)
{
	(void)state;
	add_function("mi_malloc", 0x1000, 0x10, STB_GLOBAL);
	add_function("malloc", 0x1010, 0x10, STB_LOCAL);
	add_function("malloc_usable_size", 0x1020, 0x10, STB_GLOBAL);
	add(&file.symtab, "free", 0x2000, 0x10, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT));
	write_file();
	expect(0x1008, "mi_malloc", 8);
	names_program();
	assert_int_equal(names_allocators(), 0); /* another module's */
	program_path = made.path;
	names_program();
	assert_int_equal(names_allocators(), 0); /* its index was made before */
	names_fork_child();
	names_program();
	program_path = "/another";
	assert_int_equal(names_allocators(),
			 allocator_names_bit("malloc") | allocator_names_bit("mi_malloc"));
}

static void test_malformed(void **state)
{
	static const uint8_t nonsense[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
	struct made_file *good = malloc(sizeof(*good));
	size_t at, i;

	(void)state;
	add_function("f", 0x1000, 0x10, STB_GLOBAL);
	write_file();
	memcpy(good, &file, sizeof(file));
	for (at = 0; at < offset_of(&file.symtab) + sizeof(Elf64_Sym) * 2; at++) {
		for (i = 0; i < sizeof(nonsense); i++) {
			uint8_t *bytes = (uint8_t *)&file;
			int fd = open(made_path, O_WRONLY);

			bytes[at] = nonsense[i];
			assert_int_equal(pwrite(fd, bytes, sizeof(file.head) + 4096, 0),
					 sizeof(file.head) + 4096);
			close(fd);
			names_fork_child();
			find_in(&made, 0x1008);
		}
		memcpy(&file, good, sizeof(file));
	}
	for (at = 0; at < sizeof(file); at = at * 2 + 1) {
		assert_int_equal(truncate(made_path, (off_t)at), 0);
		names_fork_child();
		find_in(&made, 0x1008);
		write_file();
	}
	names_fork_child();
	expect(0x1008, "f", 8);
	free(good);
}

static int make_path(void **state)
{
	int fd = mkstemp(made_path);

	(void)state;
	symbols_init();
	close(fd);
	return fd < 0;
}

static int remove_path(void **state)
{
	(void)state;
	return unlink(made_path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_own_static_function, begin),
		cmocka_unit_test_setup(test_covers, begin_file),
		cmocka_unit_test_setup(test_best_of_one_address, begin_file),
		cmocka_unit_test_setup(test_many, begin_file),
		cmocka_unit_test_setup(test_other_build_id, begin_file),
		cmocka_unit_test_setup(test_memory, begin_file),
		cmocka_unit_test_setup(test_tables_too_large, begin_file),
		cmocka_unit_test_setup(test_no_build_id, begin_file),
		cmocka_unit_test_setup(test_other_folder, begin_file),
		cmocka_unit_test_setup(test_preload, begin_file),
		cmocka_unit_test_setup(test_allocators_of_the_program, begin_file),
		cmocka_unit_test_setup(test_malformed, begin_file),
	};

	return cmocka_run_group_tests(tests, make_path, remove_path);
}
