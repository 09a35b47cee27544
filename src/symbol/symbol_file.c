/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbol_file.c - see symbol_file.h.
 *
 * Which symbols count: functions, and symbols without a type (assembly labels) in executable sections.  Of several at
 * one address the best is shown, as a person with nm at hand would choose:
 *   1. a function before a symbol without a type, and one with a size before one without,
 *   2. global or weak before local,
 *   3. fewer leading underscores: C libraries export "calloc" as the weak one and "__libc_calloc" as the global,
 *   4. global before weak, then the shorter name.
 * A symbol covers its size.  One without a size reaches to the next symbol, at most to its section's end; inside of a symbol
 * that has a size it is a mere label and covers nothing.
 *
 * Symbols may overlap and be nested.  entry.around links each to the nearest earlier one that reaches past its address, so
 * that a look-up is a binary search and a few steps.
 */
#include "symbol/symbol_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cursor.h"

/* Bounds of what is read, far above what compilers and linkers make. */
enum {
	SECTIONS_MAX = 1 << 18,
	NOTES_MAX = 64,		    /* segments or sections of notes that are looked at */
	NOTE_BYTES_MAX = 64 * 1024, /* of each */
	SYMBOLS_MAX = 1 << 26,
	ENTRIES_MAX = 1 << 24,
	STRINGS_MAX = 1 << 30,
	SYMBOLS_AT_ONCE = 2048,
	AROUND_STEPS_MAX = 64,
};

#define NONE UINT32_MAX

/* struct symbol_entry's rank: what matters most is highest. */
enum {
	RANK_LENGTH_MAX = 255, /* bits 0 to 7: 255 - length of the name */
	RANK_GLOBAL = 1 << 8,
	RANK_UNDERSCORES_MAX = 15, /* bits 9 to 12: 15 - leading underscores */
	RANK_UNDERSCORES_SHIFT = 9,
	RANK_EXPORTED = 1 << 13,
	RANK_SIZED = 1 << 14,
	RANK_FUNCTION = 1 << 15,
};

struct reader {
	int fd;
	uint64_t size; /* of the file */
	Elf64_Ehdr header;
	Elf64_Phdr *segments;
	size_t segment_count;
	Elf64_Shdr *sections;
	size_t section_count;
};

/* Exactly size bytes at offset, or false. */
static bool read_at(const struct reader *reader, void *bytes, size_t size, uint64_t offset)
{
	size_t done = 0;

	if (offset > reader->size || size > reader->size - offset)
		return false;
	while (done < size) {
		ssize_t got = pread(reader->fd, (char *)bytes + done, size - done,
				    (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

/* The size bytes at offset and a NUL, to be freed; NULL if the file has less, or there is no memory. */
static void *load(const struct reader *reader, uint64_t offset, uint64_t size)
{
	char *bytes;

	if (offset > reader->size || size > reader->size - offset || size >= SIZE_MAX)
		return NULL;
	bytes = malloc((size_t)size + 1);
	if (!bytes)
		return NULL;
	if (!read_at(reader, bytes, (size_t)size, offset)) {
		free(bytes);
		return NULL;
	}
	bytes[size] = 0;
	return bytes;
}

static bool read_header(struct reader *reader)
{
	const Elf64_Ehdr *header = &reader->header;

	return read_at(reader, &reader->header, sizeof(reader->header), 0) &&
	       memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB &&
	       header->e_ident[EI_VERSION] == EV_CURRENT;
}

/* Files without section headers, or with broken ones, have none here: that is not an error. */
static void read_sections(struct reader *reader)
{
	const Elf64_Ehdr *header = &reader->header;
	uint64_t count = header->e_shnum;
	Elf64_Shdr first;

	if (header->e_shoff == 0 || header->e_shentsize != sizeof(first) ||
	    !read_at(reader, &first, sizeof(first), header->e_shoff))
		return;
	/* More than e_shnum can say: gABI 4.1, e_shnum. */
	if (count == 0)
		count = first.sh_size;
	if (count > SECTIONS_MAX)
		return;
	reader->sections = load(reader, header->e_shoff, count * sizeof(first));
	reader->section_count = reader->sections ? (size_t)count : 0;
}

static void read_segments(struct reader *reader)
{
	const Elf64_Ehdr *header = &reader->header;

	if (header->e_phnum == 0 || header->e_phentsize != sizeof(Elf64_Phdr))
		return;
	reader->segments = load(reader, header->e_phoff,
				(uint64_t)header->e_phnum * sizeof(Elf64_Phdr));
	reader->segment_count = reader->segments ? header->e_phnum : 0;
}

static uint64_t aligned(uint64_t size)
{
	return (size + 3) & ~(uint64_t)3;
}

static bool find_build_id(struct cursor notes, struct elf_build_id *id)
{
	while (cursor_left(&notes) >= sizeof(Elf64_Nhdr)) {
		uint64_t name_size = cursor_u32(&notes);
		uint64_t size = cursor_u32(&notes);
		uint32_t type = cursor_u32(&notes);
		const uint8_t *name = cursor_bytes(&notes, aligned(name_size));
		const uint8_t *bytes = cursor_bytes(&notes, size);

		if (!name || !bytes)
			return false;
		if (type == NT_GNU_BUILD_ID && name_size == sizeof(ELF_NOTE_GNU) && size > 0 &&
		    memcmp(name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0) {
			id->size = size < ELF_BUILD_ID_MAX ? (uint32_t)size : ELF_BUILD_ID_MAX;
			memcpy(id->bytes, bytes, id->size);
			return true;
		}
		cursor_bytes(&notes, aligned(size) - size);
	}
	return false;
}

static bool read_notes(const struct reader *reader, uint64_t offset, uint64_t size,
		       struct elf_build_id *id)
{
	uint8_t *notes;
	bool found;

	if (size > NOTE_BYTES_MAX)
		size = NOTE_BYTES_MAX;
	notes = load(reader, offset, size);
	if (!notes)
		return false;
	found = find_build_id(cursor_make(notes, (size_t)size), id);
	free(notes);
	return found;
}

/* As the loader saw it, from the segments; else from the sections.  Size 0: the file has none. */
static struct elf_build_id read_build_id(const struct reader *reader)
{
	struct elf_build_id id = {0};
	unsigned left = NOTES_MAX;

	for (size_t i = 0; i < reader->segment_count && left > 0; i++) {
		const Elf64_Phdr *segment = &reader->segments[i];

		if (segment->p_type == PT_NOTE && left-- > 0 &&
		    read_notes(reader, segment->p_offset, segment->p_filesz, &id))
			return id;
	}
	left = NOTES_MAX;
	for (size_t i = 0; i < reader->section_count && left > 0; i++) {
		const Elf64_Shdr *section = &reader->sections[i];

		if (section->sh_type == SHT_NOTE && left-- > 0 &&
		    read_notes(reader, section->sh_offset, section->sh_size, &id))
			return id;
	}
	return id;
}

/* Without an id on the module's side nothing can be compared; id-less modules are rare and old, and names that are probably
 * right help more than none. */
static bool is_wanted(const struct elf_build_id *id, const struct elf_build_id *wanted)
{
	return wanted->size == 0 ||
	       (id->size == wanted->size && memcmp(id->bytes, wanted->bytes, id->size) == 0);
}

/* Where the section that symbol lies in ends; 0: it names no code there. */
static uint64_t code_end(const struct reader *reader, const Elf64_Sym *symbol)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);
	bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
	const Elf64_Shdr *section;

	if (!is_function && type != STT_NOTYPE)
		return 0;
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= reader->section_count ||
	    symbol->st_shndx >= SHN_LORESERVE)
		return 0;
	section = &reader->sections[symbol->st_shndx];
	if (!is_function && !(section->sh_flags & SHF_EXECINSTR))
		return 0;
	if (symbol->st_value < section->sh_addr ||
	    symbol->st_value - section->sh_addr >= section->sh_size ||
	    section->sh_size > UINT64_MAX - section->sh_addr)
		return 0;
	return section->sh_addr + section->sh_size;
}

/* "$x", "$d.12": where code and data begin on Arm; ".L12": left over by assemblers. */
static bool is_name(const char *name)
{
	if (*name == 0 || strncmp(name, ".L", 2) == 0)
		return false;
	return !(name[0] == '$' && name[1] && (name[2] == 0 || name[2] == '.'));
}

static uint32_t rank_of(const Elf64_Sym *symbol, const char *name)
{
	unsigned binding = ELF64_ST_BIND(symbol->st_info);
	size_t length = strnlen(name, RANK_LENGTH_MAX);
	size_t underscores = 0;
	uint32_t rank = ELF64_ST_TYPE(symbol->st_info) == STT_NOTYPE ? 0 : RANK_FUNCTION;

	while (underscores < RANK_UNDERSCORES_MAX && name[underscores] == '_')
		underscores++;
	if (symbol->st_size > 0)
		rank |= RANK_SIZED;
	if (binding != STB_LOCAL)
		rank |= RANK_EXPORTED;
	if (binding != STB_LOCAL && binding != STB_WEAK)
		rank |= RANK_GLOBAL;
	rank |= (uint32_t)(RANK_UNDERSCORES_MAX - underscores) << RANK_UNDERSCORES_SHIFT;
	return rank | (uint32_t)(RANK_LENGTH_MAX - length);
}

/* Adds symbol if it names code.  False: no memory. */
static bool add_symbol(const struct reader *reader, const Elf64_Sym *symbol,
		       struct symbol_file *file, size_t *room)
{
	uint64_t end = code_end(reader, symbol);
	uint64_t size;

	if (end == 0 || symbol->st_name >= file->strings_size ||
	    !is_name(file->strings + symbol->st_name) || file->count == ENTRIES_MAX)
		return true;
	if (file->count == *room) {
		size_t more = *room ? *room * 2 : 256;
		struct symbol_entry *entries = realloc(file->entries, more * sizeof(*file->entries));

		if (!entries)
			return false;
		file->entries = entries;
		*room = more;
	}
	size = end - symbol->st_value;
	if (symbol->st_size > 0 && symbol->st_size < size)
		size = symbol->st_size;
	file->entries[file->count++] = (struct symbol_entry){
		.address = symbol->st_value,
		.size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX,
		.name = symbol->st_name,
		.rank = rank_of(symbol, file->strings + symbol->st_name),
	};
	return true;
}

/* Adds the symbols of a table whose strings are in file. */
static bool add_symbols(const struct reader *reader, const Elf64_Shdr *table,
			struct symbol_file *file)
{
	Elf64_Sym *symbols = malloc(SYMBOLS_AT_ONCE * sizeof(*symbols));
	uint64_t count = table->sh_size / sizeof(*symbols);
	size_t room = 0;
	bool good = symbols && count <= SYMBOLS_MAX;

	for (uint64_t done = 0; good && done < count;) {
		size_t now = count - done < SYMBOLS_AT_ONCE ? (size_t)(count - done)
							    : SYMBOLS_AT_ONCE;

		good = read_at(reader, symbols, now * sizeof(*symbols),
			       table->sh_offset + done * sizeof(*symbols));
		for (size_t i = 0; good && i < now; i++)
			good = add_symbol(reader, &symbols[i], file, &room);
		done += now;
	}
	free(symbols);
	return good;
}

/* The first table of that type with any function in it.  A table that cannot be read to its end is not used at all. */
static void read_table(const struct reader *reader, uint32_t type, struct symbol_file *file)
{
	const Elf64_Shdr *table = NULL;
	const Elf64_Shdr *strings;

	for (size_t i = 0; i < reader->section_count && !table; i++)
		if (reader->sections[i].sh_type == type)
			table = &reader->sections[i];
	if (!table || table->sh_entsize != sizeof(Elf64_Sym) ||
	    table->sh_link >= reader->section_count || table->sh_offset > reader->size ||
	    table->sh_size > reader->size - table->sh_offset)
		return;
	strings = &reader->sections[table->sh_link];
	if (strings->sh_type != SHT_STRTAB || strings->sh_size > STRINGS_MAX ||
	    ((table->sh_flags | strings->sh_flags) & SHF_COMPRESSED))
		return;
	file->strings = load(reader, strings->sh_offset, strings->sh_size);
	file->strings_size = file->strings ? (size_t)strings->sh_size : 0;
	if (!file->strings || !add_symbols(reader, table, file) || file->count == 0)
		symbol_file_free(file);
}

static int by_address(const void *a, const void *b)
{
	const struct symbol_entry *left = a;
	const struct symbol_entry *right = b;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	if (left->rank != right->rank)
		return left->rank < right->rank ? -1 : 1;
	return (left->name > right->name) - (left->name < right->name);
}

/* Symbols without a size, which reach to their section's end so far, end at the next symbol. */
static void end_at_next(struct symbol_file *file)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = file->count; i-- > 0;) {
		struct symbol_entry *entry = &file->entries[i];

		if (i + 1 < file->count && entry->address != entry[1].address)
			next = entry[1].address;
		if (!(entry->rank & RANK_SIZED) && entry->size > next - entry->address)
			entry->size = (uint32_t)(next - entry->address);
	}
}

static bool covers(const struct symbol_entry *entry, uint64_t address)
{
	return address - entry->address < entry->size;
}

/* The open symbols are a stack that is linked through .around itself: open is the nearest. */
static void link_around(struct symbol_file *file)
{
	struct symbol_entry *entries = file->entries;
	uint32_t open = NONE;

	for (uint32_t i = 0; i < file->count; i++) {
		while (open != NONE && !covers(&entries[open], entries[i].address))
			open = entries[open].around;
		entries[i].around = open;
		if (open != NONE && !(entries[i].rank & RANK_SIZED) &&
		    (entries[open].rank & RANK_SIZED) && entries[open].address < entries[i].address)
			entries[i].size = 0;
		else
			open = i;
	}
}

static void arrange(struct symbol_file *file)
{
	qsort(file->entries, file->count, sizeof(*file->entries), by_address);
	end_at_next(file);
	link_around(file);
}

static void read_symbols(const struct reader *reader, struct symbol_file *file)
{
	read_table(reader, SHT_SYMTAB, file);
	file->is_full = file->count > 0;
	if (file->count == 0)
		read_table(reader, SHT_DYNSYM, file);
	if (file->count > 0)
		arrange(file);
}

enum symbols_problem symbol_file_read(int fd, const struct elf_build_id *wanted,
				      struct symbol_file *file)
{
	struct reader reader = {.fd = fd};
	enum symbols_problem problem = SYMBOLS_OK;
	struct elf_build_id id;
	struct stat status;

	*file = (struct symbol_file){0};
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size < 0)
		return SYMBOLS_NO_FILE;
	reader.size = (uint64_t)status.st_size;
	if (!read_header(&reader))
		return SYMBOLS_NOT_ELF;
	read_segments(&reader);
	read_sections(&reader);
	id = read_build_id(&reader);
	if (!is_wanted(&id, wanted))
		problem = SYMBOLS_OTHER_FILE;
	else
		read_symbols(&reader, file);
	free(reader.segments);
	free(reader.sections);
	if (problem == SYMBOLS_OK && file->count == 0)
		problem = SYMBOLS_STRIPPED;
	return problem;
}

/* The strings of more go behind those of file.  False: no memory, or too many of them. */
static bool append(struct symbol_file *file, const struct symbol_file *more)
{
	size_t size = file->strings_size + 1 + more->strings_size;
	struct symbol_entry *entries;
	char *strings;

	if (size > UINT32_MAX || more->count > ENTRIES_MAX - file->count)
		return false;
	entries = realloc(file->entries, (file->count + more->count) * sizeof(*entries));
	if (!entries)
		return false;
	file->entries = entries;
	strings = realloc(file->strings, size + 1);
	if (!strings)
		return false;
	file->strings = strings;
	memcpy(strings + file->strings_size + 1, more->strings, more->strings_size + 1);
	for (size_t i = 0; i < more->count; i++) {
		struct symbol_entry *entry = &entries[file->count + i];

		*entry = more->entries[i];
		entry->name += (uint32_t)file->strings_size + 1;
	}
	file->strings_size = size;
	file->count += more->count;
	return true;
}

bool symbol_file_add(struct symbol_file *file, struct symbol_file *more)
{
	bool done = true;

	if (file->count == 0) {
		symbol_file_free(file);
		*file = *more;
		*more = (struct symbol_file){0};
	} else if (more->count > 0) {
		done = append(file, more);
		file->is_full = done;
		arrange(file);
	}
	symbol_file_free(more);
	return done;
}

void symbol_file_free(struct symbol_file *file)
{
	free(file->entries);
	free(file->strings);
	*file = (struct symbol_file){0};
}

const struct symbol_entry *symbol_file_at(const struct symbol_file *file, uint64_t address)
{
	size_t low = 0;
	size_t high = file->count;
	uint32_t at;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (file->entries[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	at = low > 0 ? (uint32_t)(low - 1) : NONE;
	for (unsigned steps = 0; at != NONE && steps < AROUND_STEPS_MAX; steps++) {
		if (covers(&file->entries[at], address))
			return &file->entries[at];
		at = file->entries[at].around;
	}
	return NULL;
}

const char *symbol_file_name(const struct symbol_file *file, const struct symbol_entry *entry)
{
	return file->strings + entry->name;
}
