/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_elf.c - reads program headers and the dynamic section with pread(2).
 *
 * Only of 64-bit little-endian files more than class and machine is read: of others libpmem.so has no build.  gABI 4.1,
 * "Program Header", "Dynamic Section".
 */
#include "cmd/run_elf.h"

#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

enum { HEADERS_MAX = 256, DYNAMIC_MAX = 1024, SCRIPT_LINE = 256 };

/* An ELF file that is being read. */
struct reader {
	int fd;
	uint16_t count; /* of program headers */
	Elf64_Phdr headers[HEADERS_MAX];
};

/* The bytes there are at offset, at most size. */
static size_t read_some(int fd, void *bytes, size_t size, uint64_t offset)
{
	ssize_t got = offset > INT64_MAX ? -1 : pread(fd, bytes, size, (off_t)offset);

	return got < 0 ? 0 : (size_t)got;
}

/* A string of the file; "" if it has no end within size bytes. */
static void read_string(int fd, char *text, size_t size, uint64_t offset)
{
	size_t got = read_some(fd, text, size, offset);

	if (!memchr(text, 0, got))
		text[0] = 0;
}

static const Elf64_Phdr *find_header(const struct reader *reader, uint32_t type)
{
	uint16_t i;

	for (i = 0; i < reader->count; i++)
		if (reader->headers[i].p_type == type)
			return &reader->headers[i];
	return NULL;
}

/* Where in the file an address of its headers lies; UINT64_MAX: nowhere. */
static uint64_t file_offset(const struct reader *reader, uint64_t address)
{
	const Elf64_Phdr *header;
	uint16_t i;

	for (i = 0; i < reader->count; i++) {
		header = &reader->headers[i];
		if (header->p_type == PT_LOAD && address >= header->p_vaddr &&
		    address - header->p_vaddr < header->p_filesz)
			return header->p_offset + (address - header->p_vaddr);
	}
	return UINT64_MAX;
}

static enum run_libc libc_of(const char *needed)
{
	if (strcmp(needed, "libc.so.6") == 0)
		return RUN_LIBC_GLIBC;
	if (strcmp(needed, "libc.so") == 0 || strncmp(needed, "libc.musl-", 10) == 0)
		return RUN_LIBC_MUSL;
	return RUN_LIBC_UNKNOWN;
}

bool run_file_is_allocator(const char *name)
{
	static const char *const known[] = {"libjemalloc.", "libjemalloc-", "libtcmalloc",
					    "libmimalloc",  "libsnmalloc",  "libtbbmalloc_proxy"};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strncmp(name, known[i], strlen(known[i])) == 0)
			return true;
	return false;
}

static void read_needed(const struct reader *reader, uint64_t offset, struct run_file *file)
{
	char name[64];

	read_string(reader->fd, name, sizeof(name), offset);
	if (libc_of(name) != RUN_LIBC_UNKNOWN)
		file->libc = libc_of(name);
	file->needs_libstdcxx = file->needs_libstdcxx || strcmp(name, "libstdc++.so.6") == 0;
	file->needs_allocator = file->needs_allocator || run_file_is_allocator(name);
}

static void read_dynamic(const struct reader *reader, struct run_file *file)
{
	const Elf64_Phdr *header = find_header(reader, PT_DYNAMIC);
	Elf64_Dyn entries[DYNAMIC_MAX];
	uint64_t strings = UINT64_MAX;
	size_t count = 0, got, i;

	if (!header)
		return;
	got = header->p_filesz < sizeof(entries) ? header->p_filesz : sizeof(entries);
	got = read_some(reader->fd, entries, got, header->p_offset) / sizeof(*entries);
	while (count < got && entries[count].d_tag != DT_NULL)
		count++;
	for (i = 0; i < count; i++) {
		if (entries[i].d_tag == DT_SONAME)
			file->is_library = true;
		if (entries[i].d_tag == DT_STRTAB)
			strings = file_offset(reader, entries[i].d_un.d_ptr);
	}
	for (i = 0; i < count && strings != UINT64_MAX; i++)
		if (entries[i].d_tag == DT_NEEDED && entries[i].d_un.d_val <= INT32_MAX)
			read_needed(reader, strings + entries[i].d_un.d_val, file);
}

static void read_elf(int fd, const Elf64_Ehdr *elf, struct run_file *file)
{
	struct reader reader = {.fd = fd};
	const Elf64_Phdr *interpreter;
	size_t size;

	if (elf->e_phentsize != sizeof(Elf64_Phdr))
		return;
	reader.count = elf->e_phnum < HEADERS_MAX ? elf->e_phnum : HEADERS_MAX;
	size = read_some(fd, reader.headers, reader.count * sizeof(Elf64_Phdr), elf->e_phoff);
	reader.count = (uint16_t)(size / sizeof(Elf64_Phdr));
	interpreter = find_header(&reader, PT_INTERP);
	if (interpreter)
		read_string(fd, file->interpreter, sizeof(file->interpreter), interpreter->p_offset);
	read_dynamic(&reader, file);
	if (strstr(file->interpreter, "/ld-musl"))
		file->libc = RUN_LIBC_MUSL;
}

/* As the kernel does (man 2 execve): blanks, the path, a blank or the line's end. */
static void read_script(const char *line, struct run_file *file)
{
	size_t length;

	line += 2;
	line += strspn(line, " \t");
	length = strcspn(line, " \t\n");
	memcpy(file->interpreter, line, length);
	file->interpreter[length] = 0;
}

static void read_content(int fd, struct run_file *file)
{
	union {
		Elf64_Ehdr elf;
		char text[SCRIPT_LINE];
	} start;
	size_t size;

	memset(&start, 0, sizeof(start));
	size = read_some(fd, &start, sizeof(start) - 1, 0);
	if (start.text[0] == '#' && start.text[1] == '!') {
		file->kind = RUN_FILE_SCRIPT;
		read_script(start.text, file);
	} else if (size >= offsetof(Elf64_Ehdr, e_version) &&
		   memcmp(start.elf.e_ident, ELFMAG, SELFMAG) == 0) {
		file->kind = RUN_FILE_ELF;
		file->is_64 = start.elf.e_ident[EI_CLASS] == ELFCLASS64;
		file->is_little = start.elf.e_ident[EI_DATA] == ELFDATA2LSB;
		file->machine = start.elf.e_machine;
		if (file->is_64 && file->is_little && size >= sizeof(Elf64_Ehdr))
			read_elf(fd, &start.elf, file);
	}
}

bool run_file_read(const char *path, struct run_file *file, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return error_set_errno(err, "%s", path);
	memset(file, 0, sizeof(*file));
	file->kind = RUN_FILE_OTHER;
	read_content(fd, file);
	close(fd);
	return true;
}
