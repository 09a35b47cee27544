/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_cfi.c - fuzzes cfi_rule_at().
 *
 * Input: offset of .eh_frame_hdr in the section, distance from the section to the address asked for
 * (4 bytes each), then the section.  seed_cfi.py makes seeds from real objects.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/cfi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

static void check_rule(const struct cfi_section *section, uintptr_t pc)
{
	struct cfi_rule rule;
	int found = cfi_rule_at(section, pc, &rule);

	require(found == (rule.kind != CFI_NONE));
	require(rule.kind <= CFI_UNSUPPORTED);
	require(rule.fp_offset <= 0 && rule.fp_offset % 8 == 0);
	if (rule.kind == CFI_PLT)
		require(rule.cfa_offset >= 0 && rule.cfa_offset < 16);
	else
		require(rule.cfa_offset % 8 == 0);
	if (rule.kind == CFI_NONE || rule.kind >= CFI_SIGNAL)
		require(rule.cfa_offset == 0 && rule.fp_offset == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uintptr_t distances[] = {0, 1, 4, 16, 50, 100, 300, 1000, 0xffff, 0x7fffffff};
	struct cfi_section section;
	uint32_t hdr;
	int32_t pc;
	uint8_t *copy;

	if (size < sizeof(hdr) + sizeof(pc))
		return 0;
	memcpy(&hdr, data, sizeof(hdr));
	memcpy(&pc, data + sizeof(hdr), sizeof(pc));
	size -= sizeof(hdr) + sizeof(pc);
	copy = malloc(size ? size : 1);
	if (!copy)
		return 0;
	memcpy(copy, data + sizeof(hdr) + sizeof(pc), size);
	section.start = (uintptr_t)copy;
	section.end = section.start + size;
	section.hdr = section.start + hdr;
	for (size_t i = 0; i < sizeof(distances) / sizeof(distances[0]); i++)
		check_rule(&section, section.start + (uintptr_t)(intptr_t)pc + distances[i]);
	free(copy);
	return 0;
}
