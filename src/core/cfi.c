/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cfi.c - finds the call frame information of an address and says what it means.
 *
 * Runs inside malloc() on the program's own stack: about 500 bytes of it, no state, no calls out of
 * core.  Tables are untrusted: each round of each loop consumes bytes of the section or halves what
 * is left of the search table, so that no content can make it run for ever.
 *
 * Formats: LSB 5.0 core, 10.6 (.eh_frame, .eh_frame_hdr).
 */
#include "core/cfi.h"

#include "arch/arch.h"
#include "core/cfi_row.h"
#include "core/cursor.h"
#include "core/eh_pointer.h"

/* The return address lies at CFA + RA_OFFSET. */
enum { RA_OFFSET = -8 };

struct fde {
	struct cfi_row_program program;
	bool has_data; /* augmentation data before the instructions */
	bool signal;
};

/* A CIE or an FDE: what follows its id. */
struct record {
	struct cursor body;
	uintptr_t id_addr;
	uint32_t id; /* 0 for a CIE, else the distance back to the CIE from id_addr */
};

static bool read_record(const struct cfi_section *section, uintptr_t addr, struct record *record)
{
	struct cursor c;
	uint32_t size;

	if (addr < section->start || addr >= section->end)
		return false;
	c = cursor_make((const void *)addr, section->end - addr);
	size = cursor_u32(&c);
	/* 0 ends the section; from 0xfffffff0 on the size means something else (64-bit DWARF). */
	if (size < sizeof(record->id) || size >= 0xfffffff0 || size > cursor_left(&c))
		return false;
	c.end = c.at + size;
	record->id_addr = (uintptr_t)c.at;
	record->id = cursor_u32(&c);
	record->body = c;
	return true;
}

/* Reads the augmentation data that string describes. */
static enum cfi_row_verdict parse_augmentation(const char *string, struct cursor data,
					       struct fde *fde)
{
	for (; *string; string++) {
		uint8_t encoding;

		switch (*string) {
		case 'R':
			fde->program.pointer_encoding = cursor_u8(&data);
			break;
		case 'P':
			encoding = cursor_u8(&data);
			if ((encoding & EH_POINTER_BASE) == EH_POINTER_ALIGNED)
				return CFI_ROW_UNSUPPORTED;
			eh_pointer_value(&data, encoding);
			break;
		case 'L':
			cursor_u8(&data);
			break;
		case 'S':
			fde->signal = true;
			break;
		case 'B':
			break;
		default:
			return CFI_ROW_UNSUPPORTED;
		}
	}
	return data.failed ? CFI_ROW_NONE : CFI_ROW_OK;
}

/* The parts of *fde that the CIE at addr decides. */
static enum cfi_row_verdict parse_cie(const struct cfi_section *section, uintptr_t addr,
				      struct fde *fde)
{
	struct record record;
	struct cursor *c = &record.body;
	const char *augmentation;
	uint64_t ra_column;
	uint8_t version;

	if (!read_record(section, addr, &record) || record.id != 0)
		return CFI_ROW_NONE;
	version = cursor_u8(c);
	augmentation = cursor_string(c);
	if (!augmentation)
		return CFI_ROW_NONE;
	if ((version != 1 && version != 3) || (*augmentation && *augmentation != 'z'))
		return CFI_ROW_UNSUPPORTED;
	*fde = (struct fde){.program.code_align = cursor_uleb(c)};
	fde->program.data_align = cursor_sleb(c);
	ra_column = version == 1 ? cursor_u8(c) : cursor_uleb(c);
	fde->has_data = *augmentation == 'z';
	if (fde->has_data) {
		struct cursor data = cursor_block(c, cursor_uleb(c));
		enum cfi_row_verdict verdict = parse_augmentation(augmentation + 1, data, fde);

		if (verdict != CFI_ROW_OK)
			return verdict;
	}
	fde->program.initial = *c;
	if (c->failed)
		return CFI_ROW_NONE;
	return ra_column == ARCH_DWARF_RA ? CFI_ROW_OK : CFI_ROW_UNSUPPORTED;
}

/* Reads the FDE at addr and its CIE.  CFI_ROW_NONE if it is not about pc. */
static enum cfi_row_verdict parse_fde(const struct cfi_section *section, uintptr_t addr,
				      uintptr_t pc, struct fde *fde)
{
	struct record record;
	struct cursor *c = &record.body;
	enum cfi_row_verdict verdict;
	uint64_t size;

	if (!read_record(section, addr, &record) || record.id == 0 || record.id > record.id_addr)
		return CFI_ROW_NONE;
	verdict = parse_cie(section, record.id_addr - record.id, fde);
	if (verdict != CFI_ROW_OK)
		return verdict;
	fde->program.start = eh_pointer_address(c, fde->program.pointer_encoding, 0);
	size = eh_pointer_value(c, fde->program.pointer_encoding);
	if (fde->has_data)
		cursor_block(c, cursor_uleb(c));
	fde->program.code = *c;
	if (c->failed)
		return CFI_ROW_NONE;
	return pc >= fde->program.start && pc - fde->program.start < size ? CFI_ROW_OK
									  : CFI_ROW_NONE;
}

/* An entry of the table: where code starts and where its FDE lies, both relative to .eh_frame_hdr. */
static uintptr_t entry_field(const uint8_t *table, size_t index, size_t field, uintptr_t hdr)
{
	int32_t distance;

	memcpy(&distance, table + index * 8 + field * 4, sizeof(distance));
	return hdr + (uintptr_t)(intptr_t)distance;
}

/* The last entry that starts at or below pc. */
static enum cfi_row_verdict search_table(const struct cfi_section *section, struct cursor c,
					 uintptr_t pc, struct fde *fde)
{
	size_t first = 0;
	size_t past = cursor_u32(&c);
	const uint8_t *table = cursor_bytes(&c, (uint64_t)past * 8);

	if (!table || past == 0)
		return CFI_ROW_NONE;
	while (past - first > 1) {
		size_t middle = first + (past - first) / 2;

		if (entry_field(table, middle, 0, section->hdr) <= pc)
			first = middle;
		else
			past = middle;
	}
	if (entry_field(table, first, 0, section->hdr) > pc)
		return CFI_ROW_NONE;
	return parse_fde(section, entry_field(table, first, 1, section->hdr), pc, fde);
}

/* Without a search table: all entries in turn. */
static enum cfi_row_verdict scan_section(const struct cfi_section *section, uintptr_t addr,
					 uintptr_t pc, struct fde *fde)
{
	struct record record;

	while (read_record(section, addr, &record)) {
		if (record.id != 0 && parse_fde(section, addr, pc, fde) == CFI_ROW_OK)
			return CFI_ROW_OK;
		addr = (uintptr_t)record.body.end;
	}
	return CFI_ROW_NONE;
}

/* Not inlined: its frame must be gone before cfi_row_find() makes its own. */
static __attribute__((noinline)) enum cfi_row_verdict find_fde(const struct cfi_section *section,
							       uintptr_t pc, struct fde *fde)
{
	struct cursor c;
	uint8_t frame_encoding;
	uint8_t count_encoding;
	uint8_t table_encoding;
	uintptr_t frames;

	if (section->hdr < section->start || section->hdr >= section->end)
		return CFI_ROW_NONE;
	c = cursor_make((const void *)section->hdr, section->end - section->hdr);
	if (cursor_u8(&c) != 1)
		return CFI_ROW_NONE;
	frame_encoding = cursor_u8(&c);
	count_encoding = cursor_u8(&c);
	table_encoding = cursor_u8(&c);
	frames = eh_pointer_address(&c, frame_encoding, section->hdr);
	if (c.failed)
		return CFI_ROW_NONE;
	if (count_encoding == EH_POINTER_UDATA4 &&
	    table_encoding == (EH_POINTER_DATAREL | EH_POINTER_SDATA4))
		return search_table(section, c, pc, fde);
	return scan_section(section, frames, pc, fde);
}

static bool is_at(const struct cfi_row *row, int column, enum cfi_row_place place, int32_t offset)
{
	return row->place[column] == place && row->offset[column] == offset;
}

/* The registers lie where the kernel puts them. */
static bool is_signal_frame(const struct cfi_row *row)
{
	return row->cfa == CFI_ROW_CFA_DEREF_SP && row->expression == ARCH_SIGNAL_SP_OFFSET &&
	       is_at(row, CFI_ROW_FP, CFI_ROW_AT_SP, ARCH_SIGNAL_FP_OFFSET) &&
	       is_at(row, CFI_ROW_RA, CFI_ROW_AT_SP, ARCH_SIGNAL_PC_OFFSET);
}

static enum cfi_kind cfa_kind(const struct cfi_row *row)
{
	switch (row->cfa) {
	case CFI_ROW_CFA_PLT:
		return CFI_PLT;
	case CFI_ROW_CFA_DEREF_FP:
		return row->expression % 8 == 0 ? CFI_FP_DEREF : CFI_UNSUPPORTED;
	case CFI_ROW_CFA_REGISTER:
		if (row->cfa_offset % 8 != 0)
			return CFI_UNSUPPORTED;
		if (row->cfa_register == ARCH_DWARF_SP)
			return CFI_SP;
		return row->cfa_register == ARCH_DWARF_FP ? CFI_FP : CFI_UNSUPPORTED;
	default:
		return CFI_UNSUPPORTED;
	}
}

/* Returns false if the frame pointer is where rule cannot say. */
static bool translate_fp(const struct cfi_row *row, enum cfi_kind kind, int32_t *fp_offset)
{
	int32_t offset = row->offset[CFI_ROW_FP];

	if (kind == CFI_FP_DEREF)
		return is_at(row, CFI_ROW_FP, CFI_ROW_AT_FP, 0);
	switch (row->place[CFI_ROW_FP]) {
	case CFI_ROW_SAME:
	case CFI_ROW_UNDEFINED:
		return true;
	case CFI_ROW_AT_CFA:
		*fp_offset = offset;
		return offset < 0 && offset % 8 == 0;
	default:
		return false;
	}
}

static struct cfi_rule translate(const struct cfi_row *row, bool signal)
{
	struct cfi_rule unsupported = {.kind = CFI_UNSUPPORTED};
	struct cfi_rule rule = {.kind = CFI_END};

	if (row->place[CFI_ROW_RA] == CFI_ROW_UNDEFINED)
		return rule;
	if (signal) {
		rule.kind = CFI_SIGNAL;
		return is_signal_frame(row) ? rule : unsupported;
	}
	rule.kind = cfa_kind(row);
	if (rule.kind == CFI_UNSUPPORTED || !is_at(row, CFI_ROW_RA, CFI_ROW_AT_CFA, RA_OFFSET) ||
	    !translate_fp(row, rule.kind, &rule.fp_offset))
		return unsupported;
	rule.cfa_offset = rule.kind == CFI_SP || rule.kind == CFI_FP ? row->cfa_offset
								     : row->expression;
	return rule;
}

bool cfi_rule_at(const struct cfi_section *section, uintptr_t pc, struct cfi_rule *rule)
{
	struct fde fde;
	struct cfi_row row = {0};
	enum cfi_row_verdict verdict = find_fde(section, pc, &fde);

	*rule = (struct cfi_rule){.kind = CFI_NONE};
	if (verdict == CFI_ROW_OK)
		verdict = cfi_row_find(&fde.program, pc, &row);
	if (verdict == CFI_ROW_OK)
		*rule = translate(&row, fde.signal);
	else if (verdict == CFI_ROW_UNSUPPORTED)
		rule->kind = CFI_UNSUPPORTED;
	return rule->kind != CFI_NONE;
}
