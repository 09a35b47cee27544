/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_run_elf.c - what kind of program a file is, and files that lie about themselves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cmd/run_elf.h"

static char path[] = "/tmp/pmem-test-run-elf-XXXXXX";

/* An ELF file with a loader, a dynamic section and strings. */
struct made {
	Elf64_Ehdr elf;
	Elf64_Phdr headers[3];
	char loader[32];
	Elf64_Dyn dynamic[4];
	char strings[32];
};

static struct made make(void)
{
	struct made made;

	memset(&made, 0, sizeof(made));
	memcpy(made.elf.e_ident, ELFMAG, SELFMAG);
	made.elf.e_ident[EI_CLASS] = ELFCLASS64;
	made.elf.e_ident[EI_DATA] = ELFDATA2LSB;
	made.elf.e_type = ET_DYN;
	made.elf.e_machine = EM_X86_64;
	made.elf.e_phoff = offsetof(struct made, headers);
	made.elf.e_phentsize = sizeof(Elf64_Phdr);
	made.elf.e_phnum = 3;
	made.headers[0] = (Elf64_Phdr){.p_type = PT_LOAD,
				       .p_vaddr = 0x1000,
				       .p_filesz = sizeof(made),
				       .p_memsz = sizeof(made)};
	made.headers[1] = (Elf64_Phdr){
		.p_type = PT_INTERP, .p_offset = offsetof(struct made, loader), .p_filesz = 32};
	made.headers[2] = (Elf64_Phdr){.p_type = PT_DYNAMIC,
				       .p_offset = offsetof(struct made, dynamic),
				       .p_filesz = sizeof(made.dynamic)};
	strcpy(made.loader, "/lib64/ld-linux-x86-64.so.2");
	strcpy(made.strings + 1, "libc.so.6");
	strcpy(made.strings + 11, "libc.so");
	made.dynamic[0] = (Elf64_Dyn){.d_tag = DT_NEEDED, .d_un.d_val = 1};
	made.dynamic[1] = (Elf64_Dyn){.d_tag = DT_STRTAB,
				      .d_un.d_ptr = 0x1000 + offsetof(struct made, strings)};
	return made;
}

static void read_bytes(const void *bytes, size_t size, struct run_file *file)
{
	FILE *stream = fopen(path, "w");
	struct error err;

	assert_non_null(stream);
	assert_int_equal(fwrite(bytes, 1, size, stream), size);
	fclose(stream);
	assert_true(run_file_read(path, file, &err));
}

static void read_made(const struct made *made, struct run_file *file)
{
	read_bytes(made, sizeof(*made), file);
}

static void ordinary(void **state)
{
	struct made made = make();
	struct run_file file;

	(void)state;
	read_made(&made, &file);
	assert_int_equal(file.kind, RUN_FILE_ELF);
	assert_true(file.is_64 && file.is_little && !file.is_library);
	assert_int_equal(file.machine, EM_X86_64);
	assert_int_equal(file.libc, RUN_LIBC_GLIBC);
	assert_string_equal(file.interpreter, "/lib64/ld-linux-x86-64.so.2");
}

static void libraries_and_libcs(void **state)
{
	struct made made = make();
	struct run_file file;

	(void)state;
	made.dynamic[0].d_un.d_val = 11;
	read_made(&made, &file);
	assert_int_equal(file.libc, RUN_LIBC_MUSL);
	made.dynamic[0].d_un.d_val = 0;
	read_made(&made, &file);
	assert_int_equal(file.libc, RUN_LIBC_UNKNOWN);
	strcpy(made.loader, "/lib/ld-musl-x86_64.so.1");
	read_made(&made, &file);
	assert_int_equal(file.libc, RUN_LIBC_MUSL);
	made.headers[1].p_type = PT_NULL;
	made.dynamic[2] = (Elf64_Dyn){.d_tag = DT_SONAME, .d_un.d_val = 1};
	read_made(&made, &file);
	assert_true(file.is_library);
	assert_string_equal(file.interpreter, "");
}

static void other_machines(void **state)
{
	struct made made = make();
	struct run_file file;

	(void)state;
	made.elf.e_ident[EI_CLASS] = ELFCLASS32;
	made.elf.e_machine = EM_386;
	read_made(&made, &file);
	assert_int_equal(file.kind, RUN_FILE_ELF);
	assert_false(file.is_64);
	assert_int_equal(file.machine, EM_386);
	assert_string_equal(file.interpreter, "");
	made.elf.e_ident[EI_CLASS] = ELFCLASS64;
	made.elf.e_ident[EI_DATA] = ELFDATA2MSB;
	read_made(&made, &file);
	assert_false(file.is_little);
}

static void expect_script(const char *line, const char *interpreter)
{
	struct run_file file;

	read_bytes(line, strlen(line), &file);
	assert_int_equal(file.kind, RUN_FILE_SCRIPT);
	assert_string_equal(file.interpreter, interpreter);
}

static void scripts(void **state)
{
	char longest[600];

	(void)state;
	expect_script("#!/bin/sh\necho", "/bin/sh");
	expect_script("#! \t/usr/bin/env python3\n", "/usr/bin/env");
	expect_script("#!/bin/sh", "/bin/sh");
	expect_script("#!", "");
	expect_script("#!\n/bin/sh", "");
	memset(longest, 'x', sizeof(longest));
	memcpy(longest, "#!/", 3);
	longest[sizeof(longest) - 1] = 0;
	longest[255] = 0;
	expect_script(longest, longest + 2);
}

static void others(void **state)
{
	struct run_file file;
	struct error err;

	(void)state;
	read_bytes("", 0, &file);
	assert_int_equal(file.kind, RUN_FILE_OTHER);
	read_bytes("echo hello\n", 11, &file);
	assert_int_equal(file.kind, RUN_FILE_OTHER);
	read_bytes("\177ELF\2\1", 6, &file); /* too short for its machine */
	assert_int_equal(file.kind, RUN_FILE_OTHER);
	assert_false(run_file_read("/no/such/file", &file, &err));
	assert_string_equal(err.text, "/no/such/file: No such file or directory");
}

static void hostile(void **state)
{
	struct made made = make();
	struct run_file file;

	(void)state;
	made.headers[1].p_offset = UINT64_MAX;
	made.headers[2].p_filesz = UINT64_MAX;
	made.dynamic[0].d_un.d_val = UINT64_MAX;
	read_made(&made, &file);
	assert_string_equal(file.interpreter, "");
	assert_int_equal(file.libc, RUN_LIBC_UNKNOWN);
	made = make();
	made.elf.e_phnum = UINT16_MAX;
	made.elf.e_phoff = sizeof(made) - 1;
	read_made(&made, &file);
	assert_string_equal(file.interpreter, "");
	made = make();
	memset(made.strings, 'x', sizeof(made.strings)); /* no end */
	made.headers[1].p_offset = offsetof(struct made, strings);
	read_made(&made, &file);
	assert_string_equal(file.interpreter, "");
}

/* Every byte with every bit flipped, and every length: no finding of the sanitizers, texts end. */
static void damaged(void **state)
{
	struct made made = make();
	uint8_t *bytes = (uint8_t *)&made;
	struct run_file file;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(made) * 8; i++) {
		bytes[i / 8] ^= (uint8_t)(1u << i % 8);
		read_made(&made, &file);
		assert_non_null(memchr(file.interpreter, 0, sizeof(file.interpreter)));
		bytes[i / 8] ^= (uint8_t)(1u << i % 8);
	}
	for (i = 0; i < sizeof(made); i++) {
		read_bytes(bytes, i, &file);
		assert_non_null(memchr(file.interpreter, 0, sizeof(file.interpreter)));
	}
}

static int make_file(void **state)
{
	(void)state;
	return close(mkstemp(path));
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ordinary),	  cmocka_unit_test(libraries_and_libcs),
		cmocka_unit_test(other_machines), cmocka_unit_test(scripts),
		cmocka_unit_test(others),	  cmocka_unit_test(hostile),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
