/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cfi_dump - prints the unwind rule of addresses in an ELF object; a helper of check_cfi.py.
 *
 *   cfi_dump FILE < ADDRESSES
 *
 * Lays the PT_LOAD segments out in memory as the loader would, opens the result as a module and asks
 * cfi_rule_at().  One hexadecimal file address a line in, "kind cfa_offset fp_offset" a line out.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/cfi.h"
#include "core/elf_view.h"

enum { PAGE = 4096 };

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static void read_at(int fd, void *buffer, size_t size, uint64_t offset)
{
	if (pread(fd, buffer, size, (off_t)offset) != (ssize_t)size)
		die("pread");
}

/* Maps the segments of fd; stores where the first page went and where the last segment ends. */
static void load(int fd, uintptr_t *start, uintptr_t *end)
{
	Elf64_Ehdr header;
	Elf64_Phdr segments[64];
	uint64_t low = UINT64_MAX;
	uint64_t high = 0;
	uint8_t *memory;

	read_at(fd, &header, sizeof(header), 0);
	if (header.e_phnum > 64)
		die("too many segments");
	read_at(fd, segments, header.e_phnum * sizeof(*segments), header.e_phoff);
	for (int i = 0; i < header.e_phnum; i++) {
		if (segments[i].p_type != PT_LOAD)
			continue;
		if (segments[i].p_vaddr < low)
			low = segments[i].p_vaddr & ~(uint64_t)(PAGE - 1);
		if (segments[i].p_vaddr + segments[i].p_memsz > high)
			high = segments[i].p_vaddr + segments[i].p_memsz;
	}
	memory = mmap(NULL, high - low, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		die("mmap");
	for (int i = 0; i < header.e_phnum; i++)
		if (segments[i].p_type == PT_LOAD)
			read_at(fd, memory + segments[i].p_vaddr - low, segments[i].p_filesz,
				segments[i].p_offset);
	*start = (uintptr_t)memory;
	*end = (uintptr_t)memory + (high - low);
}

int main(int argc, char **argv)
{
	static const char *const kinds[] = {"none",	"sp",	  "fp",	 "plt",
					    "fp_deref", "signal", "end", "unsupported"};
	struct elf_image image;
	struct cfi_section section;
	struct cfi_rule rule;
	uintptr_t start;
	uintptr_t end;
	char line[64];
	int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;

	if (fd < 0)
		die(argc == 2 ? argv[1] : "usage: cfi_dump FILE");
	load(fd, &start, &end);
	if (!elf_image_open(start, end, &image) || image.eh_frame_hdr == 0)
		die("no module with .eh_frame_hdr");
	section = (struct cfi_section){
		.hdr = image.eh_frame_hdr, .start = image.eh_frame_start, .end = image.eh_frame_end};
	while (fgets(line, sizeof(line), stdin)) {
		uintptr_t pc = strtoull(line, NULL, 16) + image.bias;

		if (cfi_rule_at(&section, pc, &rule) != (rule.kind != CFI_NONE))
			die("result and kind disagree");
		printf("%s %d %d\n", kinds[rule.kind], rule.cfa_offset, rule.fp_offset);
	}
	return 0;
}
