/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_elf_view.c - ELF objects in memory and in files.
 *
 * Ground truth: what the loader says about the modules of this process (dl_iterate_phdr, dlsym) and
 * what the section headers of their files say; then objects made by hand, some of them malformed, in
 * front of pages that must not be touched.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/elf_view.h"

enum { PAGE = 4096 };

/* ---- the modules of this process ---- */

struct mapped_file {
	void *bytes;
	size_t size;
};

static struct mapped_file map_file(const char *path)
{
	struct mapped_file file = {0};
	struct stat st;
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	file.size = (size_t)st.st_size;
	file.bytes = mmap(NULL, file.size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(file.bytes, MAP_FAILED);
	close(fd);
	return file;
}

static const ElfW(Phdr) * find_phdr(const struct dl_phdr_info *info, uint32_t type)
{
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == type)
			return &info->dlpi_phdr[i];
	return NULL;
}

static void open_loaded(const struct dl_phdr_info *info, struct elf_image *image)
{
	uintptr_t start = UINTPTR_MAX;
	uintptr_t end = 0;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		uintptr_t addr = info->dlpi_addr + phdr->p_vaddr;

		if (phdr->p_type != PT_LOAD)
			continue;
		if (addr < start)
			start = addr & ~(uintptr_t)(PAGE - 1);
		if (addr + phdr->p_memsz > end)
			end = addr + phdr->p_memsz;
	}
	assert_true(elf_image_open(start, end, image));
	assert_true(image->start == start && image->end == end);
}

static void compare_symbols(const struct elf_symbols *memory, const struct elf_symbols *file)
{
	assert_true(memory->count > 0);
	assert_int_equal(memory->count, file->count);
	for (size_t i = 0; i < file->count; i++) {
		Elf64_Sym a;
		Elf64_Sym b;
		const char *name_a;
		const char *name_b;

		assert_true(elf_symbol_at(memory, i, &a, &name_a));
		assert_true(elf_symbol_at(file, i, &b, &name_b));
		assert_memory_equal(&a, &b, sizeof(a));
		assert_string_equal(name_a, name_b);
	}
}

static int compare_module(struct dl_phdr_info *info, size_t size, void *modules)
{
	const ElfW(Phdr) *eh_frame = find_phdr(info, PT_GNU_EH_FRAME);
	const char *path = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
	struct elf_image image;
	struct elf_file view;
	struct mapped_file file;

	(void)size;
	open_loaded(info, &image);
	assert_true(image.bias == info->dlpi_addr);
	if (eh_frame) {
		assert_true(image.eh_frame_hdr == info->dlpi_addr + eh_frame->p_vaddr);
		assert_true(image.eh_frame_start <= image.eh_frame_hdr);
		assert_true(image.eh_frame_hdr + eh_frame->p_filesz <= image.eh_frame_end);
		assert_true(image.eh_frame_end <= image.end);
	}
	if (path[0] != '/')
		return 0; /* the vDSO has no file */
	file = map_file(path);
	assert_true(elf_file_open(file.bytes, file.size, &view));
	assert_true(image.start - image.bias == view.first_load_vaddr);
	assert_memory_equal(&image.build_id, &view.build_id, sizeof(view.build_id));
	if (image.build_id.size > 0)
		assert_memory_equal((const void *)image.build_id_addr, view.build_id.bytes,
				    view.build_id.size);
	compare_symbols(&image.dynsym, &view.dynsym);
	munmap(file.bytes, file.size);
	++*(int *)modules;
	return 0;
}

static void loaded_modules_match_loader_and_files(void **state)
{
	int modules = 0;

	(void)state;
	dl_iterate_phdr(compare_module, &modules);
	assert_true(modules >= 3); /* this program, cmocka, libc */
}

/* Finds name among the functions of table; 0 = not there. */
static uint64_t value_of(const struct elf_symbols *table, const char *name)
{
	for (size_t i = 0; i < table->count; i++) {
		Elf64_Sym symbol;
		const char *found;

		if (elf_symbol_at(table, i, &symbol, &found) && strcmp(found, name) == 0 &&
		    symbol.st_shndx != SHN_UNDEF)
			return symbol.st_value;
	}
	return 0;
}

static int compare_getpid(struct dl_phdr_info *info, size_t size, void *found)
{
	struct elf_image image;

	(void)size;
	open_loaded(info, &image);
	if (value_of(&image.dynsym, "getpid") == 0)
		return 0;
	assert_true(image.bias + value_of(&image.dynsym, "getpid") ==
		    (uintptr_t)dlsym(RTLD_DEFAULT, "getpid"));
	*(int *)found = 1;
	return 0;
}

static void symbol_addresses_match_dlsym(void **state)
{
	int found = 0;

	(void)state;
	dl_iterate_phdr(compare_getpid, &found);
	assert_int_equal(found, 1);
}

static void static_functions_are_in_symtab(void **state)
{
	struct mapped_file file = map_file("/proc/self/exe");
	struct elf_file view;
	Dl_info info;

	(void)state;
	assert_true(elf_file_open(file.bytes, file.size, &view));
	assert_int_not_equal(dladdr((void *)(uintptr_t)map_file, &info), 0);
	assert_true(value_of(&view.symtab, "map_file") - view.first_load_vaddr ==
		    (uintptr_t)map_file - (uintptr_t)info.dli_fbase);
	munmap(file.bytes, file.size);
}

static void vdso_is_not_relocated(void **state)
{
	uintptr_t start = getauxval(AT_SYSINFO_EHDR);
	struct elf_image image;

	(void)state;
	if (start == 0)
		skip();
	assert_true(elf_image_open(start, start + PAGE, &image));
	assert_true(value_of(&image.dynsym, "__vdso_clock_gettime") > 0);
	assert_true(image.eh_frame_hdr > start);
}

/* ---- objects made by hand ---- */

/* Three pages: headers and tables; a hole; more.  Offsets in the file = addresses + 0x10000. */
enum {
	VADDR = 0x10000,
	NOTES = 0x200,
	DYNAMIC = 0x280,
	SYMBOLS = 0x300,
	STRINGS = 0x400,
	HASH = 0x480,
	GNU_HASH = 0x500,
	EH_FRAME = 0x600,
	SECTIONS = 0x700,
	TABLES_END = 0x900,
	HOLE = PAGE,
	OBJECT_SIZE = 3 * PAGE,
	SYMBOL_COUNT = 5,
};

static const char strings[] = "\0one\0two\0three\0four";

struct object {
	uint8_t *bytes;
	Elf64_Ehdr *header;
	Elf64_Phdr *load;
	Elf64_Phdr *late_load;
	Elf64_Phdr *note;
	Elf64_Phdr *dynamic;
	Elf64_Phdr *eh_frame;
};

static void set_segment(Elf64_Phdr *phdr, uint32_t type, uint64_t offset, uint64_t size)
{
	*phdr = (Elf64_Phdr){.p_type = type,
			     .p_flags = PF_R,
			     .p_offset = offset,
			     .p_vaddr = VADDR + offset,
			     .p_filesz = size,
			     .p_memsz = size};
}

static void fill_tables(uint8_t *bytes)
{
	/* An 18-byte note of another kind, then the build-id of 24 bytes. */
	static const uint32_t other[] = {4, 2, 5, 0x00554e47, 0x00001234};
	static const uint32_t build_id[] = {4, 24, NT_GNU_BUILD_ID, 0x00554e47, 1, 2, 3, 4, 5, 6};
	static const Elf64_Dyn dynamic[] = {{DT_SYMTAB, {VADDR + SYMBOLS}},
					    {DT_STRTAB, {VADDR + STRINGS}},
					    {DT_STRSZ, {sizeof(strings)}},
					    {DT_HASH, {VADDR + HASH}},
					    {DT_NULL, {0}}};
	static const uint32_t hash[] = {1, SYMBOL_COUNT, 1, 0, 0, 0, 0, 0};
	/* 2 buckets, first symbol 2, 1 bloom word; bucket 0: symbols 2-3, bucket 1: symbol 4 */
	static const uint32_t gnu_hash[] = {2, 2, 1, 0, 0, 0, 2, 4, 0x10, 0x11, 0x21};
	static const uint32_t names[SYMBOL_COUNT] = {0, 1, 5, 9, 15};

	memcpy(bytes + NOTES, other, sizeof(other));
	memcpy(bytes + NOTES + sizeof(other), build_id, sizeof(build_id));
	memcpy(bytes + DYNAMIC, dynamic, sizeof(dynamic));
	memcpy(bytes + STRINGS, strings, sizeof(strings));
	memcpy(bytes + HASH, hash, sizeof(hash));
	memcpy(bytes + GNU_HASH, gnu_hash, sizeof(gnu_hash));
	for (size_t i = 0; i < SYMBOL_COUNT; i++) {
		Elf64_Sym symbol = {.st_name = names[i], .st_shndx = 1, .st_value = 0x100 * i};

		memcpy(bytes + SYMBOLS + i * sizeof(symbol), &symbol, sizeof(symbol));
	}
}

static void fill_sections(uint8_t *bytes)
{
	const Elf64_Shdr sections[] = {
		{.sh_type = SHT_NULL},
		{.sh_type = SHT_SYMTAB,
		 .sh_offset = SYMBOLS,
		 .sh_size = SYMBOL_COUNT * sizeof(Elf64_Sym),
		 .sh_link = 2,
		 .sh_entsize = sizeof(Elf64_Sym)},
		{.sh_type = SHT_STRTAB, .sh_offset = STRINGS, .sh_size = sizeof(strings)},
		{.sh_type = SHT_NOTE, .sh_offset = NOTES, .sh_size = 60},
	};

	memcpy(bytes + SECTIONS, sections, sizeof(sections));
}

static void make_object(struct object *object, uint8_t *bytes)
{
	Elf64_Phdr *phdr = (Elf64_Phdr *)(void *)(bytes + sizeof(Elf64_Ehdr));

	*object = (struct object){
		bytes, (Elf64_Ehdr *)(void *)bytes, phdr, phdr + 1, phdr + 2, phdr + 3, phdr + 4};
	*object->header = (Elf64_Ehdr){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1},
				       .e_type = ET_DYN,
				       .e_machine = EM_X86_64,
				       .e_phoff = sizeof(Elf64_Ehdr),
				       .e_phentsize = sizeof(Elf64_Phdr),
				       .e_phnum = 5,
				       .e_shoff = SECTIONS,
				       .e_shentsize = sizeof(Elf64_Shdr),
				       .e_shnum = 4};
	set_segment(object->load, PT_LOAD, 0, TABLES_END);
	set_segment(object->late_load, PT_LOAD, 2 * PAGE, PAGE);
	set_segment(object->note, PT_NOTE, NOTES, 60);
	set_segment(object->dynamic, PT_DYNAMIC, DYNAMIC, 5 * sizeof(Elf64_Dyn));
	set_segment(object->eh_frame, PT_GNU_EH_FRAME, EH_FRAME, 8);
	fill_tables(bytes);
	fill_sections(bytes);
}

static int make_mapped_object(void **state)
{
	static struct object object;
	uint8_t *bytes = mmap(NULL, OBJECT_SIZE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(bytes, MAP_FAILED);
	assert_int_equal(mprotect(bytes + HOLE, PAGE, PROT_NONE), 0);
	make_object(&object, bytes);
	*state = &object;
	return 0;
}

static int drop_mapped_object(void **state)
{
	return munmap(((struct object *)*state)->bytes, OBJECT_SIZE);
}

static struct elf_image open_object(const struct object *object)
{
	struct elf_image image;
	uintptr_t start = (uintptr_t)object->bytes;

	assert_true(elf_image_open(start, start + OBJECT_SIZE, &image));
	return image;
}

static void set_dynamic(const struct object *object, size_t index, Elf64_Sxword tag, uint64_t value)
{
	Elf64_Dyn entry = {.d_tag = tag, .d_un = {.d_val = value}};

	memcpy(object->bytes + DYNAMIC + index * sizeof(entry), &entry, sizeof(entry));
}

static void image_fields(void **state)
{
	const struct object *object = *state;
	uintptr_t start = (uintptr_t)object->bytes;
	struct elf_image image = open_object(object);
	static const uint32_t id[] = {1, 2, 3, 4, 5};

	assert_true(image.bias == start - VADDR);
	assert_int_equal(image.build_id.size, ELF_BUILD_ID_MAX);
	assert_memory_equal(image.build_id.bytes, id, sizeof(id));
	assert_true(image.build_id_addr == start + NOTES + 36);
	assert_true(image.eh_frame_hdr == start + EH_FRAME);
	assert_true(image.eh_frame_start == start);
	assert_true(image.eh_frame_end == start + TABLES_END);
	assert_int_equal(image.dynsym.count, SYMBOL_COUNT);
	assert_int_equal(value_of(&image.dynsym, "three"), 0x300);
}

static void symbol_counts(void **state)
{
	const struct object *object = *state;
	const uint32_t endless = 0x20;

	set_dynamic(object, 3, DT_GNU_HASH, VADDR + GNU_HASH);
	assert_int_equal(open_object(object).dynsym.count, SYMBOL_COUNT);
	/* relocated by the loader */
	set_dynamic(object, 0, DT_SYMTAB, (uintptr_t)object->bytes + SYMBOLS);
	assert_int_equal(open_object(object).dynsym.count, SYMBOL_COUNT);
	memset(object->bytes + GNU_HASH + 24, 0, 8); /* empty buckets: only what precedes them */
	assert_int_equal(open_object(object).dynsym.count, 2);
	memset(object->bytes + GNU_HASH + 24, 0xff, 8); /* chains far away */
	assert_int_equal(open_object(object).dynsym.count, 0);
	memcpy(object->bytes + GNU_HASH + 24, "\2\0\0\0\4\0\0\0", 8);
	for (size_t at = GNU_HASH + 32; at < TABLES_END; at += 4) /* a chain without an end */
		memcpy(object->bytes + at, &endless, 4);
	assert_int_equal(open_object(object).dynsym.count, 0);
	memset(object->bytes + GNU_HASH, 0xff, 12);
	assert_int_equal(open_object(object).dynsym.count, 0);
	set_dynamic(object, 3, DT_NULL, 0);
	assert_int_equal(open_object(object).dynsym.count, 0);
}

static void symbol_count_is_bounded_by_the_segment(void **state)
{
	const struct object *object = *state;
	const uint32_t huge = 0x7fffffff;

	memcpy(object->bytes + HASH + 4, &huge, 4);
	assert_int_equal(open_object(object).dynsym.count, (TABLES_END - SYMBOLS) / 24);
	set_dynamic(object, 2, DT_STRSZ, TABLES_END - STRINGS + 1);
	assert_int_equal(open_object(object).dynsym.count, 0);
	set_dynamic(object, 2, DT_STRSZ, TABLES_END - STRINGS);
	assert_true(open_object(object).dynsym.count > 0);
}

static void assert_nothing_found(const struct object *object)
{
	struct elf_image image = open_object(object);

	assert_int_equal(image.build_id.size, 0);
	assert_true(image.build_id_addr == 0);
	assert_true(image.eh_frame_hdr == 0);
	assert_int_equal(image.dynsym.count, 0);
}

/* Each of these would be a fault if it were read. */
static void holes_are_not_read(void **state)
{
	const struct object *object = *state;

	object->note->p_vaddr = object->dynamic->p_vaddr = object->eh_frame->p_vaddr = VADDR + HOLE;
	assert_nothing_found(object);
	object->note->p_vaddr = object->dynamic->p_vaddr = object->eh_frame->p_vaddr = UINT64_MAX;
	assert_nothing_found(object);
	object->note->p_vaddr = object->dynamic->p_vaddr = object->eh_frame->p_vaddr = VADDR +
										       OBJECT_SIZE;
	assert_nothing_found(object);
	object->dynamic->p_vaddr = VADDR + DYNAMIC;
	for (size_t i = 0; i < 4; i++) {
		if (i == 2)
			continue;
		fill_tables(object->bytes);
		set_dynamic(object, i,
			    i == 0   ? DT_SYMTAB
			    : i == 1 ? DT_STRTAB
				     : DT_HASH,
			    VADDR + HOLE + 8);
		assert_nothing_found(object);
	}
}

static void unreadable_segments_are_not_read(void **state)
{
	const struct object *object = *state;

	object->load->p_flags = PF_X;
	assert_nothing_found(object);
}

static void notes_end_at_the_segment(void **state)
{
	const struct object *object = *state;
	const uint32_t huge = 0xffffffff;

	object->note->p_filesz = 59; /* one byte of the id is missing */
	assert_int_equal(open_object(object).build_id.size, 0);
	object->note->p_filesz = UINT64_MAX;
	assert_int_equal(open_object(object).build_id.size, ELF_BUILD_ID_MAX);
	memcpy(object->bytes + NOTES, &huge, 4);
	assert_int_equal(open_object(object).build_id.size, 0);
	fill_tables(object->bytes);
	memcpy(object->bytes + NOTES + 4, &huge, 4);
	assert_int_equal(open_object(object).build_id.size, 0);
}

static bool opens(const struct object *object, size_t size)
{
	struct elf_image image;

	return elf_image_open((uintptr_t)object->bytes, (uintptr_t)object->bytes + size, &image);
}

static void invalid_headers(void **state)
{
	const struct object *object = *state;

	assert_true(opens(object, OBJECT_SIZE));
	assert_false(opens(object, sizeof(Elf64_Ehdr) - 1));
	assert_false(opens(object, sizeof(Elf64_Ehdr) + 5 * sizeof(Elf64_Phdr) - 1));
	assert_false(opens(object, 0));
	object->header->e_phoff = PAGE; /* the hole */
	assert_false(opens(object, OBJECT_SIZE));
	object->header->e_phoff = UINT64_MAX;
	assert_false(opens(object, OBJECT_SIZE));
	object->header->e_phoff = sizeof(Elf64_Ehdr);
	object->header->e_phnum = PN_XNUM;
	assert_false(opens(object, OBJECT_SIZE));
	object->header->e_phnum = 5;
	object->header->e_phentsize = 32;
	assert_false(opens(object, OBJECT_SIZE));
	object->header->e_phentsize = sizeof(Elf64_Phdr);
	object->header->e_ident[EI_CLASS] = ELFCLASS32;
	assert_false(opens(object, OBJECT_SIZE));
	object->header->e_ident[EI_CLASS] = ELFCLASS64;
	object->load->p_type = object->late_load->p_type = PT_NULL;
	assert_false(opens(object, OBJECT_SIZE));
}

static void file_fields(void **state)
{
	const struct object *object = *state;
	struct elf_file view;

	assert_true(elf_file_open(object->bytes, TABLES_END, &view));
	assert_int_equal(view.first_load_vaddr, VADDR);
	assert_int_equal(view.build_id.size, ELF_BUILD_ID_MAX);
	assert_int_equal(view.symtab.count, SYMBOL_COUNT);
	assert_int_equal(value_of(&view.symtab, "three"), 0x300);
	assert_int_equal(view.dynsym.count, 0);
	object->note->p_type = PT_NULL; /* the section says it as well */
	assert_true(elf_file_open(object->bytes, TABLES_END, &view));
	assert_int_equal(view.build_id.size, ELF_BUILD_ID_MAX);
}

/* A copy that ends anywhere, in memory of just that size, so that ASan sees a read past it. */
static void file_cut_off_anywhere(void **state)
{
	const struct object *object = *state;

	for (size_t size = 0; size < TABLES_END; size++) {
		uint8_t *copy = malloc(size + 1);
		struct elf_file view;
		bool found;

		assert_non_null(copy);
		memcpy(copy, object->bytes, size);
		copy = realloc(copy, size ? size : 1);
		found = elf_file_open(copy, size, &view);
		assert_int_equal(found, size >= sizeof(Elf64_Ehdr) + 5 * sizeof(Elf64_Phdr));
		if (found)
			value_of(&view.symtab, "none of these");
		free(copy);
	}
}

static void symbol_names_stay_inside(void **state)
{
	static const char names[] = {0, 'a', 0, 'b'};
	const Elf64_Sym symbols[] = {
		{.st_name = 1}, {.st_name = 3}, {.st_name = 4}, {.st_name = 0xffffffff}};
	struct elf_symbols table = {symbols, 4, names, sizeof(names)};
	Elf64_Sym symbol;
	const char *name;

	(void)state;
	assert_true(elf_symbol_at(&table, 0, &symbol, &name));
	assert_string_equal(name, "a");
	assert_false(elf_symbol_at(&table, 1, &symbol, &name)); /* no 0 behind it */
	assert_false(elf_symbol_at(&table, 2, &symbol, &name));
	assert_false(elf_symbol_at(&table, 3, &symbol, &name));
	assert_false(elf_symbol_at(&table, 4, &symbol, &name));
	assert_string_equal(name, "a");
}

#define OBJECT_TEST(f) cmocka_unit_test_setup_teardown(f, make_mapped_object, drop_mapped_object)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loaded_modules_match_loader_and_files),
		cmocka_unit_test(symbol_addresses_match_dlsym),
		cmocka_unit_test(static_functions_are_in_symtab),
		cmocka_unit_test(vdso_is_not_relocated),
		OBJECT_TEST(image_fields),
		OBJECT_TEST(symbol_counts),
		OBJECT_TEST(symbol_count_is_bounded_by_the_segment),
		OBJECT_TEST(holes_are_not_read),
		OBJECT_TEST(unreadable_segments_are_not_read),
		OBJECT_TEST(notes_end_at_the_segment),
		OBJECT_TEST(invalid_headers),
		OBJECT_TEST(file_fields),
		OBJECT_TEST(file_cut_off_anywhere),
		cmocka_unit_test(symbol_names_stay_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
