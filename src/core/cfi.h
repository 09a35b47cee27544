/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cfi.h - call frame information: from a code address to the rule that finds the caller's frame.
 *
 * Reads .eh_frame through the binary search table of .eh_frame_hdr (LSB 5.0 core, 10.6; DWARF 5
 * section 6.4).  Works on memory of the own process or on bytes of a file: nothing is allocated,
 * nothing is called, every read is bounded by the section, any content is accepted.
 */
#ifndef PMEM_CORE_CFI_H
#define PMEM_CORE_CFI_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cfi_kind {
	CFI_NONE = 0, /* no call frame information covers the address */
	CFI_SP = 1,   /* CFA = stack pointer + cfa_offset */
	CFI_FP = 2,   /* CFA = frame pointer + cfa_offset */
	CFI_PLT = 3,  /* a PLT stub; cfa_offset is the limit of arch_cfi_plt() */
	CFI_FP_DEREF = 4, /* CFA = *(frame pointer + cfa_offset), frame pointer saved at *frame pointer */
	CFI_SIGNAL = 5, /* signal trampoline: registers lie in the ucontext at the stack pointer */
	CFI_END = 6,	/* outermost frame: the return address is undefined by intent */
	CFI_UNSUPPORTED = 7, /* covered, but by a rule that none of the kinds can say */
};

/* How to step from the frame of one address to its caller.  The return address lies at CFA - 8
 * (for every kind but CFI_SIGNAL and CFI_END). */
struct cfi_rule {
	enum cfi_kind kind;
	int32_t cfa_offset; /* multiple of 8 for CFI_SP, CFI_FP, CFI_FP_DEREF; 0 <= limit < 16 for CFI_PLT */
	int32_t fp_offset; /* caller's frame pointer is saved at CFA + fp_offset (< 0, multiple of 8); 0: unchanged */
};

/* One module's unwind tables as mapped in memory. */
struct cfi_section {
	uintptr_t hdr;	 /* address of .eh_frame_hdr (PT_GNU_EH_FRAME) */
	uintptr_t start; /* readable memory that contains .eh_frame_hdr and .eh_frame: [start, end) */
	uintptr_t end;
};

/* Finds the rule in force at pc (for a return address pass it minus one).  Returns false, with
 * rule->kind = CFI_NONE, if no entry covers pc or the tables are malformed. */
bool cfi_rule_at(const struct cfi_section *section, uintptr_t pc, struct cfi_rule *rule);

#endif
