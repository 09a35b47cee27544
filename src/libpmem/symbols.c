/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbols.c - a private copy of a module's symbol table.
 *
 * A file is used only if it is the one that was loaded: the same build-id or, where the module has
 * none, the same ELF and program headers and no change since this image began.  Reads only the
 * section headers, the notes and the table wanted, with pread(2): a program may be gigabytes of
 * debug information.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_PATH */
#endif
#include "libpmem/symbols.h"

#include <stdatomic.h>
#include <string.h>

#include "libpmem/kept.h"
#include "libpmem/log.h"
#include "libpmem/place.h"
#include "libpmem/settings.h"
#include "libpmem/sys.h"

enum {
	HEAD_SIZE = 4096,  /* ELF and program headers lie in the first page, or the file is odd */
	NOTES_SIZE = 1024, /* of a section of notes are read */
};

/* An ELF file, opened. */
struct source {
	int fd;
	uint64_t size;
	uint64_t mtime_ns;
	Elf64_Ehdr head;
	Elf64_Shdr *sections;
	size_t sections_size;
};

/* Under LOCK_SNAPSHOT. */
static uint8_t file_head[HEAD_SIZE];
static uint8_t memory_head[HEAD_SIZE];

static bool read_at(int fd, void *buffer, uint64_t size, uint64_t offset)
{
	char *at = buffer;

	while (size > 0) {
		ssize_t count = sys_pread(fd, at, size, (off_t)offset);

		if (count == -EINTR)
			continue;
		if (count <= 0)
			return false;
		at += count;
		size -= (uint64_t)count;
		offset += (uint64_t)count;
	}
	return true;
}

/* --- an empty or a filled table -------------------------------------------------------------- */

static bool allocate(struct symbols *symbols, uint64_t count, uint64_t strings_size)
{
	*symbols = (struct symbols){0};
	if (count == 0 || strings_size == 0 || strings_size > settings.symtab_max ||
	    count > (settings.symtab_max - strings_size) / sizeof(Elf64_Sym))
		return false;
	symbols->symbols_size = count * sizeof(Elf64_Sym);
	symbols->strings_size = strings_size;
	/* All of it will be written. */
	symbols->table.symbols = sys_map_flags(symbols->symbols_size, MAP_POPULATE);
	symbols->table.strings = sys_map_flags(symbols->strings_size, MAP_POPULATE);
	symbols->table.count = count;
	symbols->table.strings_size = strings_size;
	if (symbols->table.symbols && symbols->table.strings)
		return true;
	symbols_drop(symbols);
	return false;
}

void symbols_drop_entries(struct symbols *symbols)
{
	if (symbols->table.symbols)
		sys_unmap(symbols->table.symbols, symbols->symbols_size);
	symbols->table.symbols = NULL;
	symbols->table.count = 0;
}

void symbols_drop(struct symbols *symbols)
{
	symbols_drop_entries(symbols);
	if (symbols->table.strings)
		sys_unmap(symbols->table.strings, symbols->strings_size);
	*symbols = (struct symbols){0};
}

/* The root directory at start: the program may change its own. */
static struct kept root = KEPT_NONE_INIT;

void symbols_init(void)
{
	if (sys_fds_scarce())
		return;
	kept_take(&root, sys_openat(AT_FDCWD, "/", O_PATH | O_DIRECTORY | O_CLOEXEC, 0));
}

/* --- from the file --------------------------------------------------------------------------- */

static bool read_sections(struct source *source)
{
	const Elf64_Ehdr *head = &source->head;

	if (!read_at(source->fd, &source->head, sizeof(source->head), 0) ||
	    memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELFCLASS64 ||
	    head->e_ident[EI_DATA] != ELFDATA2LSB || head->e_shentsize != sizeof(Elf64_Shdr) ||
	    head->e_shnum == 0)
		return false;
	source->sections_size = (size_t)head->e_shnum * sizeof(Elf64_Shdr);
	source->sections = sys_map(source->sections_size);
	return source->sections &&
	       read_at(source->fd, source->sections, source->sections_size, head->e_shoff);
}

static void close_source(struct source *source)
{
	if (source->sections)
		sys_unmap(source->sections, source->sections_size);
	sys_close(source->fd);
}

static int open_file(const char *path)
{
	int dir = *path == '/' ? kept_fd(&root) : kept_fd(&place_start.dir);
	const char *relative = path;

	while (dir >= 0 && *relative == '/')
		relative++;
	return sys_openat(dir < 0 ? AT_FDCWD : dir, relative,
			  O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
}

static bool open_source(const char *path, struct source *source)
{
	struct stat st;

	*source = (struct source){.fd = open_file(path)};
	if (source->fd < 0)
		return false;
	if (sys_fstat(source->fd, &st) == 0 && S_ISREG(st.st_mode)) {
		source->size = (uint64_t)st.st_size;
		source->mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000 +
				   (uint64_t)st.st_mtim.tv_nsec;
		if (read_sections(source))
			return true;
	}
	close_source(source);
	return false;
}

static uint64_t align4(uint64_t size)
{
	return (size + 3) & ~(uint64_t)3;
}

/* True if one of the size bytes of notes (gABI 4.1, chapter 5) is the module's build-id. */
static bool notes_match(const uint8_t *notes, size_t size, const struct elf_build_id *id)
{
	size_t at = 0;

	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		uint64_t content, next;

		memcpy(&note, notes + at, sizeof(note));
		content = at + sizeof(note) + align4(note.n_namesz);
		next = content + align4(note.n_descsz);
		if (content + note.n_descsz > size)
			return false;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
		    memcmp(notes + at + sizeof(note), ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0)
			return note.n_descsz >= id->size &&
			       memcmp(notes + content, id->bytes, id->size) == 0;
		if (next > size)
			return false;
		at = next;
	}
	return false;
}

static bool same_build_id(const struct source *source, const struct elf_build_id *id)
{
	size_t i;

	for (i = 0; i < source->head.e_shnum; i++) {
		const Elf64_Shdr *section = &source->sections[i];
		size_t size = section->sh_size < NOTES_SIZE ? section->sh_size : NOTES_SIZE;

		if (section->sh_type == SHT_NOTE &&
		    read_at(source->fd, file_head, size, section->sh_offset) &&
		    notes_match(file_head, size, id))
			return true;
	}
	return false;
}

/* For a module without a build-id. */
static bool same_headers(const struct source *source, const struct module *module)
{
	uintptr_t start = __atomic_load_n(&module->start, __ATOMIC_RELAXED);
	uint64_t size = source->head.e_phoff + (uint64_t)source->head.e_phnum * sizeof(Elf64_Phdr);

	if (source->head.e_phentsize != sizeof(Elf64_Phdr) || source->head.e_phoff > HEAD_SIZE ||
	    size > HEAD_SIZE || size < sizeof(Elf64_Ehdr))
		return false;
	return atomic_load_explicit(&module->loaded, memory_order_relaxed) != 0 &&
	       source->mtime_ns < log_image_start_ns() && read_at(source->fd, file_head, size, 0) &&
	       sys_copy(memory_head, (const void *)start, size) &&
	       memcmp(file_head, memory_head, size) == 0;
}

static bool copy_section(const struct source *source, uint32_t type, struct symbols *symbols)
{
	const Elf64_Shdr *table = source->sections;
	const Elf64_Shdr *end = table + source->head.e_shnum;
	const Elf64_Shdr *strings;

	while (table < end && table->sh_type != type)
		table++;
	if (table == end || table->sh_link >= source->head.e_shnum)
		return false;
	strings = &source->sections[table->sh_link];
	if (strings->sh_type != SHT_STRTAB ||
	    !allocate(symbols, table->sh_size / sizeof(Elf64_Sym), strings->sh_size))
		return false;
	if (read_at(source->fd, (void *)symbols->table.symbols, symbols->symbols_size,
		    table->sh_offset) &&
	    read_at(source->fd, (void *)symbols->table.strings, symbols->strings_size,
		    strings->sh_offset))
		return true;
	symbols_drop(symbols);
	return false;
}

static bool copy_from_file(const struct module *module, struct symbols *symbols)
{
	struct source source;
	bool done = false;

	if (module->path[0] == '\0' || !open_source(module->path, &source))
		return false;
	if (module->build_id.size ? same_build_id(&source, &module->build_id)
				  : same_headers(&source, module))
		done = copy_section(&source, SHT_SYMTAB, symbols) ||
		       copy_section(&source, SHT_DYNSYM, symbols);
	close_source(&source);
	return done;
}

/* --- from memory ----------------------------------------------------------------------------- */

static bool copy_from_memory(const struct module *module, struct symbols *symbols)
{
	struct elf_symbols table = module->dynsym;

	if (atomic_load_explicit(&module->loaded, memory_order_relaxed) == 0 ||
	    !allocate(symbols, table.count, table.strings_size))
		return false;
	if (sys_copy((void *)symbols->table.symbols, table.symbols, symbols->symbols_size) &&
	    sys_copy((void *)symbols->table.strings, table.strings, symbols->strings_size))
		return true;
	symbols_drop(symbols);
	return false;
}

bool symbols_copy(const struct module *module, struct symbols *symbols)
{
	*symbols = (struct symbols){0};
	return !sys_sandboxed() &&
	       (copy_from_file(module, symbols) || copy_from_memory(module, symbols));
}
