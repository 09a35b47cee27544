/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cfi_row.c - see cfi_row.h.
 *
 * Runs inside malloc() on the program's own stack: little of it, no state, no calls out of core.  An
 * instruction about a register that has no column is read and dropped.  Each round of each loop
 * consumes bytes of the program, so that no content can make it run for ever.
 *
 * Instructions: DWARF 5, 6.4.2 and 7.24; the GNU ones: LSB 5.0 core, 10.6.2.
 */
#include "core/cfi_row.h"

#include <stdbool.h>

#include "arch/arch.h"
#include "core/eh_pointer.h"

/* How deep DW_CFA_remember_state can nest.  Compilers use one level. */
enum { ROWS_MAX = 8 };

enum {
	DW_CFA_NOP = 0x00,
	DW_CFA_SET_LOC = 0x01,
	DW_CFA_ADVANCE_LOC1 = 0x02,
	DW_CFA_ADVANCE_LOC2 = 0x03,
	DW_CFA_ADVANCE_LOC4 = 0x04,
	DW_CFA_OFFSET_EXTENDED = 0x05,
	DW_CFA_RESTORE_EXTENDED = 0x06,
	DW_CFA_UNDEFINED = 0x07,
	DW_CFA_SAME_VALUE = 0x08,
	DW_CFA_REGISTER = 0x09,
	DW_CFA_REMEMBER_STATE = 0x0a,
	DW_CFA_RESTORE_STATE = 0x0b,
	DW_CFA_DEF_CFA = 0x0c,
	DW_CFA_DEF_CFA_REGISTER = 0x0d,
	DW_CFA_DEF_CFA_OFFSET = 0x0e,
	DW_CFA_DEF_CFA_EXPRESSION = 0x0f,
	DW_CFA_EXPRESSION = 0x10,
	DW_CFA_OFFSET_EXTENDED_SF = 0x11,
	DW_CFA_DEF_CFA_SF = 0x12,
	DW_CFA_DEF_CFA_OFFSET_SF = 0x13,
	DW_CFA_VAL_OFFSET = 0x14,
	DW_CFA_VAL_OFFSET_SF = 0x15,
	DW_CFA_VAL_EXPRESSION = 0x16,
	DW_CFA_GNU_WINDOW_SAVE = 0x2d, /* also AARCH64_negate_ra_state */
	DW_CFA_GNU_ARGS_SIZE = 0x2e,
	DW_CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
	DW_CFA_ADVANCE_LOC = 0x40, /* these three carry an operand in the low six bits */
	DW_CFA_OFFSET = 0x80,
	DW_CFA_RESTORE = 0xc0,
	DW_OP_DEREF = 0x06,
	DW_OP_BREG0 = 0x70,
	DW_OP_BREG31 = 0x8f,
};

/* What an instruction comes to. */
enum step { GO_ON, PASSED /* the next row begins past pc */, MALFORMED, UNSUPPORTED };

struct machine {
	const struct cfi_row_program *program;
	struct cursor code;
	uintptr_t pc;
	uintptr_t location;
	struct cfi_row now;
	struct cfi_row initial;
	uint32_t depth;
	struct cfi_row saved[ROWS_MAX]; /* [depth] */
};

static int32_t narrow(int64_t offset)
{
	return offset == (int32_t)offset ? (int32_t)offset : CFI_ROW_OFFSET_ODD;
}

static int32_t factored(const struct machine *m, int64_t count)
{
	int64_t offset;

	return __builtin_mul_overflow(count, m->program->data_align, &offset) ? CFI_ROW_OFFSET_ODD
									      : narrow(offset);
}

static void set_place(struct machine *m, uint64_t reg, enum cfi_row_place place, int32_t offset)
{
	int column = reg == ARCH_DWARF_FP ? CFI_ROW_FP : CFI_ROW_RA;

	if (reg != ARCH_DWARF_FP && reg != ARCH_DWARF_RA)
		return;
	m->now.place[column] = (uint8_t)place;
	m->now.offset[column] = offset;
}

static void restore_place(struct machine *m, uint64_t reg)
{
	int column = reg == ARCH_DWARF_FP ? CFI_ROW_FP : CFI_ROW_RA;

	set_place(m, reg, m->initial.place[column], m->initial.offset[column]);
}

/* A row is in force from its location on. */
static enum step move_to(struct machine *m, uintptr_t location)
{
	if (location > m->pc)
		return PASSED;
	m->location = location;
	return GO_ON;
}

static enum step advance(struct machine *m, uint64_t delta)
{
	uintptr_t location;

	if (__builtin_mul_overflow(delta, m->program->code_align, &location) ||
	    __builtin_add_overflow(location, m->location, &location))
		return PASSED;
	return move_to(m, location);
}

static enum step remember(struct machine *m)
{
	if (m->depth == ROWS_MAX)
		return UNSUPPORTED;
	m->saved[m->depth++] = m->now;
	return GO_ON;
}

/* The CFA as well: GCC and its unwinder count it as part of the row. */
static enum step recall(struct machine *m)
{
	if (m->depth == 0)
		return MALFORMED;
	m->now = m->saved[--m->depth];
	return GO_ON;
}

/* Reads {breg<reg> offset}.  Returns false if it is another operation or cut off. */
static bool read_breg(struct cursor *c, uint64_t *reg, int32_t *offset)
{
	uint8_t op = cursor_u8(c);

	if (op < DW_OP_BREG0 || op > DW_OP_BREG31)
		return false;
	*reg = op - DW_OP_BREG0;
	*offset = narrow(cursor_sleb(c));
	return !c->failed;
}

static void set_cfa_expression(struct cfi_row *row, struct cursor block)
{
	uint64_t reg;

	row->cfa = CFI_ROW_CFA_OTHER;
	if (arch_cfi_plt(block.at, cursor_left(&block), &row->expression)) {
		row->cfa = CFI_ROW_CFA_PLT;
		return;
	}
	if (!read_breg(&block, &reg, &row->expression) || cursor_u8(&block) != DW_OP_DEREF ||
	    cursor_left(&block) > 0)
		return;
	if (reg == ARCH_DWARF_SP)
		row->cfa = CFI_ROW_CFA_DEREF_SP;
	else if (reg == ARCH_DWARF_FP)
		row->cfa = CFI_ROW_CFA_DEREF_FP;
}

static void set_place_expression(struct machine *m, uint64_t reg, struct cursor block)
{
	enum cfi_row_place place = CFI_ROW_ELSEWHERE;
	uint64_t base;
	int32_t offset = 0;

	if (read_breg(&block, &base, &offset) && cursor_left(&block) == 0) {
		if (base == ARCH_DWARF_SP)
			place = CFI_ROW_AT_SP;
		else if (base == ARCH_DWARF_FP)
			place = CFI_ROW_AT_FP;
	}
	set_place(m, reg, place, offset);
}

/* An offset alone leaves an expression in force, a register ends it: so do GCC's unwinder and
 * binutils. */
static void set_cfa_register(struct machine *m)
{
	uint64_t reg = cursor_uleb(&m->code);

	m->now.cfa_register = reg < CFI_ROW_REGISTER_OTHER ? (uint8_t)reg : CFI_ROW_REGISTER_OTHER;
	m->now.cfa = CFI_ROW_CFA_REGISTER;
}

static enum step execute_cfa(struct machine *m, uint8_t op)
{
	if (op == DW_CFA_DEF_CFA_EXPRESSION) {
		set_cfa_expression(&m->now, cursor_block(&m->code, cursor_uleb(&m->code)));
		return GO_ON;
	}
	if (op == DW_CFA_DEF_CFA || op == DW_CFA_DEF_CFA_SF || op == DW_CFA_DEF_CFA_REGISTER)
		set_cfa_register(m);
	if (op == DW_CFA_DEF_CFA || op == DW_CFA_DEF_CFA_OFFSET)
		m->now.cfa_offset = narrow((int64_t)cursor_uleb(&m->code));
	else if (op != DW_CFA_DEF_CFA_REGISTER)
		m->now.cfa_offset = factored(m, cursor_sleb(&m->code));
	return GO_ON;
}

static enum step execute_register(struct machine *m, uint8_t op)
{
	uint64_t reg = cursor_uleb(&m->code);

	switch (op) {
	case DW_CFA_OFFSET_EXTENDED:
		set_place(m, reg, CFI_ROW_AT_CFA, factored(m, (int64_t)cursor_uleb(&m->code)));
		return GO_ON;
	case DW_CFA_OFFSET_EXTENDED_SF:
		set_place(m, reg, CFI_ROW_AT_CFA, factored(m, cursor_sleb(&m->code)));
		return GO_ON;
	case DW_CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		set_place(m, reg, CFI_ROW_AT_CFA, factored(m, (int64_t)(0 - cursor_uleb(&m->code))));
		return GO_ON;
	case DW_CFA_RESTORE_EXTENDED:
		restore_place(m, reg);
		return GO_ON;
	case DW_CFA_UNDEFINED:
		set_place(m, reg, CFI_ROW_UNDEFINED, 0);
		return GO_ON;
	case DW_CFA_SAME_VALUE:
		set_place(m, reg, CFI_ROW_SAME, 0);
		return GO_ON;
	case DW_CFA_REGISTER:
	case DW_CFA_VAL_OFFSET:
	case DW_CFA_VAL_OFFSET_SF:
		cursor_uleb(&m->code);
		set_place(m, reg, CFI_ROW_ELSEWHERE, 0);
		return GO_ON;
	case DW_CFA_EXPRESSION:
		set_place_expression(m, reg, cursor_block(&m->code, cursor_uleb(&m->code)));
		return GO_ON;
	case DW_CFA_VAL_EXPRESSION:
		cursor_block(&m->code, cursor_uleb(&m->code));
		set_place(m, reg, CFI_ROW_ELSEWHERE, 0);
		return GO_ON;
	default:
		return UNSUPPORTED;
	}
}

static enum step execute_extended(struct machine *m, uint8_t op)
{
	switch (op) {
	case DW_CFA_NOP:
	case DW_CFA_GNU_WINDOW_SAVE:
		return GO_ON;
	case DW_CFA_GNU_ARGS_SIZE:
		cursor_uleb(&m->code);
		return GO_ON;
	case DW_CFA_SET_LOC:
		return move_to(m, eh_pointer_address(&m->code, m->program->pointer_encoding, 0));
	case DW_CFA_ADVANCE_LOC1:
		return advance(m, cursor_u8(&m->code));
	case DW_CFA_ADVANCE_LOC2:
		return advance(m, cursor_u16(&m->code));
	case DW_CFA_ADVANCE_LOC4:
		return advance(m, cursor_u32(&m->code));
	case DW_CFA_REMEMBER_STATE:
		return remember(m);
	case DW_CFA_RESTORE_STATE:
		return recall(m);
	case DW_CFA_DEF_CFA:
	case DW_CFA_DEF_CFA_SF:
	case DW_CFA_DEF_CFA_REGISTER:
	case DW_CFA_DEF_CFA_OFFSET:
	case DW_CFA_DEF_CFA_OFFSET_SF:
	case DW_CFA_DEF_CFA_EXPRESSION:
		return execute_cfa(m, op);
	default:
		return execute_register(m, op);
	}
}

static inline enum step execute(struct machine *m)
{
	uint8_t op = cursor_u8(&m->code);
	uint8_t operand = op & 0x3f;

	switch (op & 0xc0) {
	case DW_CFA_ADVANCE_LOC:
		return advance(m, operand);
	case DW_CFA_OFFSET:
		set_place(m, operand, CFI_ROW_AT_CFA, factored(m, (int64_t)cursor_uleb(&m->code)));
		return GO_ON;
	case DW_CFA_RESTORE:
		restore_place(m, operand);
		return GO_ON;
	default:
		return execute_extended(m, op);
	}
}

/* Executes code until its end or until it passes m->pc: PASSED. */
static enum step run(struct machine *m, struct cursor code)
{
	enum step step = GO_ON;

	m->code = code;
	while (step == GO_ON && cursor_left(&m->code) > 0) {
		step = execute(m);
		/* An unknown instruction has no operand that could be cut off. */
		if (m->code.failed && step != UNSUPPORTED)
			return MALFORMED;
	}
	return step == GO_ON ? PASSED : step;
}

enum cfi_row_verdict cfi_row_find(const struct cfi_row_program *program, uintptr_t pc,
				  struct cfi_row *row)
{
	struct machine m; /* not all of it: there are many saved rows, which are written before they are read */
	enum step step;

	m.program = program;
	m.pc = UINTPTR_MAX;
	m.location = 0;
	m.now = (struct cfi_row){.cfa_register = CFI_ROW_REGISTER_OTHER};
	m.initial = (struct cfi_row){.cfa_register = 0};
	m.depth = 0;
	step = run(&m, program->initial);
	if (step == PASSED) {
		m.initial = m.now;
		m.pc = pc;
		m.location = program->start;
		m.depth = 0;
		step = run(&m, program->code);
	}
	if (step != PASSED)
		return step == UNSUPPORTED ? CFI_ROW_UNSUPPORTED : CFI_ROW_NONE;
	*row = m.now;
	return CFI_ROW_OK;
}
