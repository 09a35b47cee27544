/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_elf_view.c - fuzzes elf_file_open() and elf_image_open(), and reads what they found.
 *
 * Input: an ELF object.  It is read as a file; as an image with each segment where its program header
 * wants it, if that is within SPAN_MAX; and as an image that lies in memory as it does in the file.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/cfi.h"
#include "core/elf_view.h"

enum { SPAN_MAX = 256 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

/* Reads every symbol and every byte of its name. */
static void read_symbols(const struct elf_symbols *table)
{
	for (size_t i = 0; i < table->count; i++) {
		Elf64_Sym symbol;
		const char *name;

		if (elf_symbol_at(table, i, &symbol, &name))
			require(strlen(name) < table->strings_size);
	}
}

static void read_file(const uint8_t *bytes, size_t size)
{
	struct elf_file file;

	if (!elf_file_open(bytes, size, &file))
		return;
	require(file.build_id.size <= ELF_BUILD_ID_MAX);
	read_symbols(&file.symtab);
	read_symbols(&file.dynsym);
}

static void read_image(uintptr_t start, size_t size)
{
	struct elf_image image;
	struct cfi_section section;
	struct cfi_rule rule;

	if (!elf_image_open(start, start + size, &image))
		return;
	require(image.build_id.size <= ELF_BUILD_ID_MAX);
	if (image.build_id.size > 0)
		require(memcmp((const void *)image.build_id_addr, image.build_id.bytes,
			       image.build_id.size) == 0);
	read_symbols(&image.dynsym);
	if (image.eh_frame_hdr == 0)
		return;
	require(image.eh_frame_start >= start && image.eh_frame_end <= start + size);
	section = (struct cfi_section){
		.hdr = image.eh_frame_hdr, .start = image.eh_frame_start, .end = image.eh_frame_end};
	for (uintptr_t pc = start; pc < start + 0x2000; pc += 64)
		cfi_rule_at(&section, pc, &rule);
}

/* Copies a segment to its place in the SPAN_MAX bytes at memory.  Returns where it ends; 0 if it is no
 * PT_LOAD segment or has no room. */
static size_t load_segment(const Elf64_Phdr *segment, const uint8_t *data, size_t size,
			   uint8_t *memory)
{
	if (segment->p_type != PT_LOAD || segment->p_vaddr > SPAN_MAX ||
	    segment->p_filesz > SPAN_MAX - segment->p_vaddr || segment->p_offset > size ||
	    segment->p_filesz > size - segment->p_offset)
		return 0;
	memcpy(memory + segment->p_vaddr, data + segment->p_offset, segment->p_filesz);
	return segment->p_vaddr + segment->p_filesz;
}

/* Lays out the segments.  Returns where the last one ends. */
static size_t load(const uint8_t *data, size_t size, uint8_t *memory)
{
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	size_t end = 0;

	if (size < sizeof(header))
		return 0;
	memcpy(&header, data, sizeof(header));
	for (size_t i = 0; i < header.e_phnum && i < 64; i++) {
		size_t segment_end;

		if (header.e_phoff > size || (i + 1) * sizeof(segment) > size - header.e_phoff)
			break;
		memcpy(&segment, data + header.e_phoff + i * sizeof(segment), sizeof(segment));
		segment_end = load_segment(&segment, data, size, memory);
		if (segment_end > end)
			end = segment_end;
	}
	return end;
}

static void read_loaded(const uint8_t *data, size_t size)
{
	uint8_t *memory = calloc(1, SPAN_MAX);
	uint8_t *exact;
	size_t end;

	if (!memory)
		return;
	end = load(data, size, memory);
	exact = realloc(memory, end ? end : 1);
	if (exact)
		read_image((uintptr_t)exact, end);
	free(exact ? exact : memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	read_file(copy, size);
	read_image((uintptr_t)copy, size);
	read_loaded(copy, size);
	free(copy);
	return 0;
}
