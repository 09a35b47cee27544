/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cfi_row.h - runs the instructions of call frame information up to one code address.
 *
 * The instructions of a CIE and an FDE describe a table with one row for each range of addresses
 * (DWARF 5, 6.4).  A row here has the columns that unwinding needs: the CFA, the frame pointer and
 * the return address.
 */
#ifndef PMEM_CORE_CFI_ROW_H
#define PMEM_CORE_CFI_ROW_H
#include <stdint.h>

#include "core/cursor.h"

enum cfi_row_verdict {
	CFI_ROW_OK,
	CFI_ROW_NONE,	     /* malformed, or not about this address */
	CFI_ROW_UNSUPPORTED, /* valid, as far as it can be understood */
};

enum { CFI_ROW_FP, CFI_ROW_RA, CFI_ROW_COLUMNS };

/* Where the caller's value of a register is. */
enum cfi_row_place {
	CFI_ROW_SAME, /* also: nothing said */
	CFI_ROW_UNDEFINED,
	CFI_ROW_AT_CFA, /* at CFA + offset */
	CFI_ROW_AT_SP,	/* at stack pointer + offset (by an expression) */
	CFI_ROW_AT_FP,	/* at frame pointer + offset (by an expression) */
	CFI_ROW_ELSEWHERE,
};

enum cfi_row_cfa {
	CFI_ROW_CFA_REGISTER, /* cfa_register + cfa_offset */
	CFI_ROW_CFA_PLT,      /* arch_cfi_plt() with the limit expression */
	CFI_ROW_CFA_DEREF_SP, /* *(stack pointer + expression) */
	CFI_ROW_CFA_DEREF_FP, /* *(frame pointer + expression) */
	CFI_ROW_CFA_OTHER,
};

/* What has no room is stored so: no valid offset is odd. */
enum { CFI_ROW_OFFSET_ODD = 1, CFI_ROW_REGISTER_OTHER = 255 };

/* Small, because several lie on the stack while a program runs. */
struct cfi_row {
	int32_t cfa_offset;
	int32_t expression;
	int32_t offset[CFI_ROW_COLUMNS];
	uint8_t place[CFI_ROW_COLUMNS]; /* enum cfi_row_place */
	uint8_t cfa;			/* enum cfi_row_cfa */
	uint8_t cfa_register;		/* DWARF number */
};

/* The instructions of an FDE and what its CIE says about them. */
struct cfi_row_program {
	struct cursor initial; /* of the CIE */
	struct cursor code;    /* of the FDE */
	uintptr_t start;       /* the first address that the FDE covers */
	uint64_t code_align;
	int64_t data_align;
	uint8_t pointer_encoding; /* eh_pointer.h */
};

/* Stores the row in force at pc, an address that the FDE covers.  Never CFI_ROW_NONE but for
 * malformed instructions; *row is untouched on failure. */
enum cfi_row_verdict cfi_row_find(const struct cfi_row_program *program, uintptr_t pc,
				  struct cfi_row *row);

#endif
