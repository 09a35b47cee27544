/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock.c - see clock.h and vdso(7).
 */
#include "libpmem/clock.h"

#include <string.h>
#include <sys/auxv.h>

#include "arch/arch.h"
#include "core/elf_view.h"
#include "libpmem/sys.h"

enum { PAGE = 4096 };

/* The end of the vDSO's one PT_LOAD segment; its headers lie in the first page. */
static uintptr_t vdso_end(uintptr_t start)
{
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)start;
	const Elf64_Phdr *segments = (const Elf64_Phdr *)(start + head->e_phoff);
	unsigned i;

	if (head->e_phoff > PAGE || head->e_phnum > (PAGE - head->e_phoff) / sizeof(*segments))
		return start;
	for (i = 0; i < head->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD)
			return start + segments[i].p_memsz;
	return start;
}

void clock_init(void)
{
	uintptr_t start = getauxval(AT_SYSINFO_EHDR);
	struct elf_image image;
	Elf64_Sym symbol;
	const char *name;
	size_t i;

	if (!start || !elf_image_open(start, vdso_end(start), &image))
		return;
	for (i = 0; i < image.dynsym.count; i++)
		if (elf_symbol_at(&image.dynsym, i, &symbol, &name) && symbol.st_value &&
		    strcmp(name, ARCH_VDSO_CLOCK_GETTIME) == 0)
			sys_vdso_clock = (sys_clock_function *)(image.bias + symbol.st_value);
}
