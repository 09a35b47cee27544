/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_view.c - see elf_view.h.
 *
 * In libpmem this reads the modules of a program that runs, whose memory may have holes: before the
 * program headers are known only the first page is read, then only what a readable PT_LOAD segment
 * has from its file.  In the tool it reads whole files.  Both keep to struct extent.
 */
#include "core/elf_view.h"

#include <string.h>

#include "core/cursor.h"

/* The smallest page of any target: the loader rounds addresses down to at least this. */
enum { PAGE_SIZE = 4096, NOTE_ALIGN = 4 };

/* Readable memory [start, end). */
struct extent {
	uintptr_t start;
	uintptr_t end;
};

/* Program or section headers: count entries of one size. */
struct headers {
	const uint8_t *bytes;
	size_t count;
};

/* A module in memory, while elf_image_open() looks at it. */
struct image {
	struct extent whole;
	uintptr_t bias;
	struct headers segments;
};

/* What PT_DYNAMIC says, as addresses in memory; 0 = not there. */
struct dynamic {
	uintptr_t symtab;
	uintptr_t strtab;
	uintptr_t hash;
	uintptr_t gnu_hash;
	uint64_t strsz;
};

static Elf64_Phdr segment_at(const struct headers *segments, size_t index)
{
	Elf64_Phdr segment;

	memcpy(&segment, segments->bytes + index * sizeof(segment), sizeof(segment));
	return segment;
}

static Elf64_Shdr section_at(const struct headers *sections, size_t index)
{
	Elf64_Shdr section;

	memcpy(&section, sections->bytes + index * sizeof(section), sizeof(section));
	return section;
}

/* The size bytes at offset of extent, or NULL if it has less. */
static const uint8_t *extent_bytes(struct extent extent, uint64_t offset, uint64_t size)
{
	uint64_t room = extent.end - extent.start;

	if (offset > room || size > room - offset)
		return NULL;
	return (const uint8_t *)extent.start + offset;
}

static bool read_header(struct extent extent, Elf64_Ehdr *header)
{
	const uint8_t *bytes = extent_bytes(extent, 0, sizeof(*header));

	if (!bytes)
		return false;
	memcpy(header, bytes, sizeof(*header));
	return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB &&
	       header->e_ident[EI_VERSION] == EV_CURRENT;
}

/* Finds the program headers inside extent.  None at all is no failure. */
static bool find_segments(struct extent extent, const Elf64_Ehdr *header, struct headers *segments)
{
	segments->count = header->e_phnum;
	segments->bytes = NULL;
	if (header->e_phnum == 0)
		return true;
	if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum == PN_XNUM)
		return false;
	segments->bytes = extent_bytes(extent, header->e_phoff,
				       (uint64_t)header->e_phnum * sizeof(Elf64_Phdr));
	return segments->bytes != NULL;
}

/* Address of the first PT_LOAD segment, rounded down to a page.  Returns false if there is none. */
static bool first_load(const struct headers *segments, uint64_t *vaddr)
{
	bool found = false;

	for (size_t i = 0; i < segments->count; i++) {
		Elf64_Phdr segment = segment_at(segments, i);

		if (segment.p_type != PT_LOAD || (found && segment.p_vaddr >= *vaddr))
			continue;
		*vaddr = segment.p_vaddr;
		found = true;
	}
	if (found)
		*vaddr &= ~(uint64_t)(PAGE_SIZE - 1);
	return found;
}

static uint64_t aligned(uint64_t size)
{
	return (size + NOTE_ALIGN - 1) & ~(uint64_t)(NOTE_ALIGN - 1);
}

/* Looks for a build-id in notes.  Returns the address of the id's bytes, or 0. */
static uintptr_t find_build_id(struct cursor notes, struct elf_build_id *id)
{
	while (cursor_left(&notes) >= sizeof(Elf64_Nhdr)) {
		uint64_t name_size = cursor_u32(&notes);
		uint64_t size = cursor_u32(&notes);
		uint32_t type = cursor_u32(&notes);
		const uint8_t *name = cursor_bytes(&notes, aligned(name_size));
		const uint8_t *bytes = cursor_bytes(&notes, size);

		if (!name || !bytes)
			return 0;
		if (type == NT_GNU_BUILD_ID && name_size == sizeof(ELF_NOTE_GNU) && size > 0 &&
		    memcmp(name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0) {
			id->size = size < ELF_BUILD_ID_MAX ? (uint32_t)size : ELF_BUILD_ID_MAX;
			memcpy(id->bytes, bytes, id->size);
			return (uintptr_t)bytes;
		}
		cursor_bytes(&notes, aligned(size) - size);
	}
	return 0;
}

/* The part of [segment.p_vaddr, + p_filesz) that lies inside the module; empty if none does. */
static struct extent segment_extent(const struct image *image, const Elf64_Phdr *segment)
{
	struct extent extent = {.start = segment->p_vaddr + image->bias};

	if (extent.start < image->whole.start || extent.start >= image->whole.end)
		return (struct extent){0};
	if (segment->p_filesz < image->whole.end - extent.start)
		extent.end = extent.start + segment->p_filesz;
	else
		extent.end = image->whole.end;
	return extent;
}

/* The readable memory around addr; empty if addr is not readable. */
static struct extent readable_around(const struct image *image, uintptr_t addr)
{
	for (size_t i = 0; i < image->segments.count; i++) {
		Elf64_Phdr segment = segment_at(&image->segments, i);
		struct extent extent;

		if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_R))
			continue;
		extent = segment_extent(image, &segment);
		if (addr >= extent.start && addr < extent.end)
			return extent;
	}
	return (struct extent){0};
}

/* The readable memory from addr on; empty if addr is not readable. */
static struct cursor readable_from(const struct image *image, uintptr_t addr)
{
	struct extent extent = readable_around(image, addr);

	if (!extent.end)
		return cursor_make((const void *)image->whole.start, 0);
	return cursor_make((const void *)addr, extent.end - addr);
}

/* The readable part of a segment other than PT_LOAD. */
static struct cursor segment_cursor(const struct image *image, const Elf64_Phdr *segment)
{
	struct cursor c = readable_from(image, segment->p_vaddr + image->bias);

	if (segment->p_filesz < cursor_left(&c))
		c.end = c.at + segment->p_filesz;
	return c;
}

/* glibc relocates these values in place for most modules, not for the vDSO; musl never does. */
static uintptr_t dynamic_address(const struct image *image, uint64_t value)
{
	if (value >= image->whole.start && value < image->whole.end)
		return value;
	return value + image->bias;
}

static struct dynamic read_dynamic(const struct image *image, struct cursor c)
{
	struct dynamic dynamic = {0};

	while (cursor_left(&c) >= sizeof(Elf64_Dyn)) {
		uint64_t tag = cursor_u64(&c);
		uint64_t value = cursor_u64(&c);

		if (tag == DT_NULL)
			break;
		if (tag == DT_SYMTAB)
			dynamic.symtab = dynamic_address(image, value);
		else if (tag == DT_STRTAB)
			dynamic.strtab = dynamic_address(image, value);
		else if (tag == DT_HASH)
			dynamic.hash = dynamic_address(image, value);
		else if (tag == DT_GNU_HASH)
			dynamic.gnu_hash = dynamic_address(image, value);
		else if (tag == DT_STRSZ)
			dynamic.strsz = value;
	}
	return dynamic;
}

/* The end of the chain that begins with symbol index; 0 if it has no end.  Each word of the chains
 * stands for one symbol, odd at the end of a chain. */
static uint64_t chain_end(struct cursor chains, uint64_t index, uint32_t first)
{
	cursor_bytes(&chains, (index - first) * sizeof(uint32_t));
	while (!chains.failed) {
		uint32_t word = cursor_u32(&chains);

		index++;
		if (!chains.failed && (word & 1))
			return index;
	}
	return 0;
}

/* Number of symbols by DT_GNU_HASH: the symbols of a bucket are adjacent, so the last one is at the
 * end of the chain with the highest start. */
static uint64_t gnu_hash_count(struct cursor c)
{
	uint32_t bucket_count = cursor_u32(&c);
	uint32_t first = cursor_u32(&c);
	uint32_t bloom_count = cursor_u32(&c);
	struct cursor buckets;
	uint32_t highest = 0;

	cursor_u32(&c);
	cursor_bytes(&c, (uint64_t)bloom_count * sizeof(uint64_t));
	buckets = cursor_block(&c, (uint64_t)bucket_count * sizeof(uint32_t));
	while (cursor_left(&buckets) > 0) {
		uint32_t start = cursor_u32(&buckets);

		if (start > highest)
			highest = start;
	}
	if (c.failed)
		return 0;
	return highest < first ? first : chain_end(c, highest, first);
}

/* Number of symbols by DT_HASH: one chain word for each. */
static uint64_t hash_count(struct cursor c)
{
	cursor_u32(&c);
	return cursor_u32(&c);
}

static struct elf_symbols image_symbols(const struct image *image, const struct dynamic *dynamic)
{
	struct elf_symbols table = {0};
	struct cursor symbols = readable_from(image, dynamic->symtab);
	struct cursor strings = readable_from(image, dynamic->strtab);
	uint64_t count = dynamic->hash ? hash_count(readable_from(image, dynamic->hash))
				       : gnu_hash_count(readable_from(image, dynamic->gnu_hash));
	uint64_t room = cursor_left(&symbols) / sizeof(Elf64_Sym);

	if (!dynamic->symtab || dynamic->strsz == 0 || dynamic->strsz > cursor_left(&strings))
		return table;
	table.count = count < room ? count : room;
	table.symbols = (const Elf64_Sym *)(uintptr_t)symbols.at;
	table.strings = (const char *)strings.at;
	table.strings_size = dynamic->strsz;
	return table;
}

/* Not inlined, like find_image_segments(): elf_image_open() may run on a small stack. */
static __attribute__((noinline)) void view_segment(const struct image *image,
						   const Elf64_Phdr *segment, struct elf_image *view)
{
	uintptr_t addr = segment->p_vaddr + image->bias;
	struct extent around;
	struct dynamic dynamic;

	switch (segment->p_type) {
	case PT_NOTE:
		if (view->build_id.size == 0)
			view->build_id_addr = find_build_id(segment_cursor(image, segment),
							    &view->build_id);
		break;
	case PT_GNU_EH_FRAME:
		around = readable_around(image, addr);
		view->eh_frame_hdr = around.end ? addr : 0;
		view->eh_frame_start = around.start;
		view->eh_frame_end = around.end;
		break;
	case PT_DYNAMIC:
		dynamic = read_dynamic(image, segment_cursor(image, segment));
		view->dynsym = image_symbols(image, &dynamic);
		break;
	default:
		break;
	}
}

/* Only the first page is sure to be readable.  72 program headers fit; real modules have about ten. */
static __attribute__((noinline)) bool find_image_segments(struct extent whole,
							  struct headers *segments)
{
	Elf64_Ehdr header;

	if (whole.start == 0 || whole.end <= whole.start)
		return false;
	if (whole.end - whole.start > PAGE_SIZE)
		whole.end = whole.start + PAGE_SIZE;
	return read_header(whole, &header) && find_segments(whole, &header, segments);
}

bool elf_image_open(uintptr_t start, uintptr_t end, struct elf_image *view)
{
	struct image image = {.whole = {.start = start, .end = end}};
	uint64_t vaddr;

	if (!find_image_segments(image.whole, &image.segments) ||
	    !first_load(&image.segments, &vaddr))
		return false;
	image.bias = start - vaddr;
	*view = (struct elf_image){.start = start, .end = end, .bias = image.bias};
	for (size_t i = 0; i < image.segments.count; i++) {
		Elf64_Phdr segment = segment_at(&image.segments, i);

		view_segment(&image, &segment, view);
	}
	return true;
}

/* Finds the section headers inside file.  Where there are more than e_shnum can say, the first one's
 * sh_size says it (gABI 4.1, e_shnum). */
static struct headers find_sections(struct extent file, const Elf64_Ehdr *header)
{
	struct headers sections = {0};
	const uint8_t *first = extent_bytes(file, header->e_shoff, sizeof(Elf64_Shdr));
	uint64_t count = header->e_shnum;

	if (header->e_shoff == 0 || header->e_shentsize != sizeof(Elf64_Shdr) || !first)
		return sections;
	sections.bytes = first;
	if (count == 0)
		count = section_at(&sections, 0).sh_size;
	if (count <= (file.end - (uintptr_t)first) / sizeof(Elf64_Shdr))
		sections.count = count;
	return sections;
}

static struct elf_symbols section_symbols(struct extent file, const struct headers *sections,
					  const Elf64_Shdr *section)
{
	struct elf_symbols table = {0};
	const uint8_t *symbols = extent_bytes(file, section->sh_offset, section->sh_size);
	const uint8_t *strings;
	Elf64_Shdr link;

	if (!symbols || section->sh_entsize != sizeof(Elf64_Sym) ||
	    section->sh_link >= sections->count)
		return table;
	link = section_at(sections, section->sh_link);
	strings = extent_bytes(file, link.sh_offset, link.sh_size);
	if (!strings || link.sh_type != SHT_STRTAB)
		return table;
	table.symbols = (const Elf64_Sym *)(uintptr_t)symbols;
	table.count = section->sh_size / sizeof(Elf64_Sym);
	table.strings = (const char *)strings;
	table.strings_size = link.sh_size;
	return table;
}

static void view_notes(struct extent file, uint64_t offset, uint64_t size, struct elf_build_id *id)
{
	const uint8_t *notes = extent_bytes(file, offset, size);

	if (notes && id->size == 0)
		find_build_id(cursor_make(notes, size), id);
}

bool elf_file_open(const void *bytes, size_t size, struct elf_file *view)
{
	struct extent file = {.start = (uintptr_t)bytes, .end = (uintptr_t)bytes + size};
	struct headers segments;
	struct headers sections;
	Elf64_Ehdr header;

	if (!read_header(file, &header) || !find_segments(file, &header, &segments))
		return false;
	*view = (struct elf_file){0};
	first_load(&segments, &view->first_load_vaddr);
	for (size_t i = 0; i < segments.count; i++) {
		Elf64_Phdr segment = segment_at(&segments, i);

		if (segment.p_type == PT_NOTE)
			view_notes(file, segment.p_offset, segment.p_filesz, &view->build_id);
	}
	sections = find_sections(file, &header);
	for (size_t i = 0; i < sections.count; i++) {
		Elf64_Shdr section = section_at(&sections, i);

		if (section.sh_type == SHT_NOTE)
			view_notes(file, section.sh_offset, section.sh_size, &view->build_id);
		else if (section.sh_type == SHT_SYMTAB)
			view->symtab = section_symbols(file, &sections, &section);
		else if (section.sh_type == SHT_DYNSYM)
			view->dynsym = section_symbols(file, &sections, &section);
	}
	return true;
}

bool elf_symbol_at(const struct elf_symbols *table, size_t index, Elf64_Sym *symbol,
		   const char **name)
{
	const uint8_t *entry = (const uint8_t *)table->symbols;
	Elf64_Sym copy;
	struct cursor string;
	const char *found;

	if (index >= table->count)
		return false;
	memcpy(&copy, entry + index * sizeof(copy), sizeof(copy));
	if (copy.st_name >= table->strings_size)
		return false;
	string = cursor_make(table->strings + copy.st_name, table->strings_size - copy.st_name);
	found = cursor_string(&string);
	if (!found)
		return false;
	*symbol = copy;
	*name = found;
	return true;
}
