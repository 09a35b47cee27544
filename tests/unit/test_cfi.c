/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_cfi.c - unwind rules from tables made by hand: each instruction, and each way to be malformed.
 *
 * Real objects: check_cfi.py.  A table here has one CIE and one FDE that covers CODE_SIZE addresses
 * from code_start() on; nothing is ever read there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/cfi.h"

enum { CODE_SIZE = 0x1000, CODE_DISTANCE = 0x10000, BUFFER_SIZE = 512, HDR_SIZE = 20 };

struct bytes {
	uint8_t bytes[48];
	size_t size;
};

#define BYTES(...) ((struct bytes){{__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})})
#define NOTHING ((struct bytes){.size = 0})

/* def_cfa rsp 8; offset ra at CFA-8 */
#define USUAL 0x0c, 7, 8, 0x90, 1

struct recipe {
	const char *augmentation;
	struct bytes augmentation_data;
	struct bytes initial; /* instructions of the CIE */
	struct bytes code;    /* instructions of the FDE */
	uint8_t version;
	uint8_t ra_column;
	uint8_t code_align;
	uint8_t table_encoding;
};

struct table {
	uint8_t buffer[BUFFER_SIZE];
	size_t size;
	size_t cie; /* offsets in buffer */
	size_t fde;
};

static struct table table;

static struct recipe usual(struct bytes code)
{
	return (struct recipe){.augmentation = "zR",
			       .augmentation_data = BYTES(0x1b),
			       .initial = BYTES(USUAL),
			       .code = code,
			       .version = 1,
			       .ra_column = 16,
			       .code_align = 1,
			       .table_encoding = 0x3b};
}

static uintptr_t code_start(void)
{
	return (uintptr_t)table.buffer + CODE_DISTANCE;
}

static void put(const void *bytes, size_t size)
{
	assert_true(size <= BUFFER_SIZE - table.size);
	if (size > 0)
		memcpy(table.buffer + table.size, bytes, size);
	table.size += size;
}

static void put_u8(unsigned value)
{
	uint8_t byte = (uint8_t)value;

	put(&byte, 1);
}

static void put_u32(size_t value)
{
	uint32_t word = (uint32_t)value;

	put(&word, 4);
}

static void set_u32(size_t offset, size_t value)
{
	uint32_t word = (uint32_t)value;

	memcpy(table.buffer + offset, &word, 4);
}

static void end_record(size_t start)
{
	set_u32(start, table.size - start - 4);
}

static void put_cie(const struct recipe *recipe)
{
	table.cie = table.size;
	put_u32(0);
	put_u32(0);
	put_u8(recipe->version);
	put(recipe->augmentation, strlen(recipe->augmentation) + 1);
	put_u8(recipe->code_align);
	put_u8(0x78); /* data alignment -8 */
	put_u8(recipe->ra_column);
	if (recipe->augmentation[0] == 'z') {
		put_u8((unsigned)recipe->augmentation_data.size);
		put(recipe->augmentation_data.bytes, recipe->augmentation_data.size);
	}
	put(recipe->initial.bytes, recipe->initial.size);
	end_record(table.cie);
}

static void put_fde(const struct recipe *recipe)
{
	uint64_t absolute[2] = {code_start(), CODE_SIZE};

	table.fde = table.size;
	put_u32(0);
	put_u32(table.size - table.cie);
	if (recipe->augmentation[0] == 'z') {
		put_u32(CODE_DISTANCE - table.size);
		put_u32(CODE_SIZE);
		put_u8(0);
	} else {
		put(absolute, sizeof(absolute));
	}
	put(recipe->code.bytes, recipe->code.size);
	end_record(table.fde);
}

static void make_table(const struct recipe *recipe)
{
	const uint8_t head[] = {1, 0x1b, 0x03, recipe->table_encoding};

	table.size = 0;
	put(head, sizeof(head));
	put_u32(HDR_SIZE - 4);
	put_u32(1);
	put_u32(CODE_DISTANCE);
	put_u32(0);
	assert_int_equal(table.size, HDR_SIZE);
	put_cie(recipe);
	put_fde(recipe);
	put_u32(0);
	set_u32(HDR_SIZE - 4, table.fde);
}

static struct cfi_rule rule_in(size_t size, uintptr_t pc)
{
	struct cfi_section section = {.hdr = (uintptr_t)table.buffer,
				      .start = (uintptr_t)table.buffer,
				      .end = (uintptr_t)table.buffer + size};
	struct cfi_rule rule = {.kind = CFI_SP, .cfa_offset = 12345, .fp_offset = 67890};
	bool found = cfi_rule_at(&section, pc, &rule);

	assert_int_equal(found, rule.kind != CFI_NONE);
	return rule;
}

static void check(uintptr_t offset, enum cfi_kind kind, int32_t cfa_offset, int32_t fp_offset)
{
	struct cfi_rule rule = rule_in(table.size, code_start() + offset);

	assert_int_equal(rule.kind, kind);
	assert_int_equal(rule.cfa_offset, cfa_offset);
	assert_int_equal(rule.fp_offset, fp_offset);
}

static void make(struct bytes code)
{
	struct recipe recipe = usual(code);

	make_table(&recipe);
}

/* The rule at the last address of the FDE, after all of its instructions. */
static void check_code(struct bytes code, enum cfi_kind kind, int32_t cfa_offset, int32_t fp_offset)
{
	make(code);
	check(CODE_SIZE - 1, kind, cfa_offset, fp_offset);
}

static void row_is_in_force_from_its_location_on(void **state)
{
	(void)state;
	/* push rbp at +1, mov rsp,rbp at +4, pop at +0x44 */
	make(BYTES(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 0x40, 0x0c, 7, 8));
	check((uintptr_t)-1, CFI_NONE, 0, 0);
	check(0, CFI_SP, 8, 0);
	check(1, CFI_SP, 16, -16);
	check(3, CFI_SP, 16, -16);
	check(4, CFI_FP, 16, -16);
	check(0x43, CFI_FP, 16, -16);
	check(0x44, CFI_SP, 8, -16);
	check(CODE_SIZE - 1, CFI_SP, 8, -16);
	check(CODE_SIZE, CFI_NONE, 0, 0);
}

static void every_way_to_advance(void **state)
{
	struct recipe recipe = usual(BYTES(0x41, 0x0e, 16, 0x02, 2, 0x0e, 24, 0x03, 0, 1, 0x0e, 32,
					   0x04, 0x10, 0, 0, 0, 0x0e, 40));

	(void)state;
	recipe.code_align = 4;
	make_table(&recipe);
	check(3, CFI_SP, 8, 0);
	check(4, CFI_SP, 16, 0);
	check(11, CFI_SP, 16, 0);
	check(12, CFI_SP, 24, 0);
	check(12 + 0x3ff, CFI_SP, 24, 0);
	check(12 + 0x400, CFI_SP, 32, 0);
	check(12 + 0x440 - 1, CFI_SP, 32, 0);
	check(12 + 0x440, CFI_SP, 40, 0);
}

static void set_loc_is_an_encoded_address(void **state)
{
	size_t operand;

	(void)state;
	make(BYTES(0x01, 0, 0, 0, 0, 0x0e, 16));
	operand = table.size - 4 - 6;
	set_u32(operand, CODE_DISTANCE + 0x20 - operand);
	check(0x1f, CFI_SP, 8, 0);
	check(0x20, CFI_SP, 16, 0);
}

static void remember_and_restore_include_the_cfa(void **state)
{
	(void)state;
	make(BYTES(0x0e, 16, 0x86, 2, 0x0d, 6, 0x41, 0x0a, 0x0c, 7, 8, 0xc6, 0x41, 0x0b));
	check(0, CFI_FP, 16, -16);
	check(1, CFI_SP, 8, 0);
	check(2, CFI_FP, 16, -16);
	/* nested: 8, 16, 24 and back */
	make(BYTES(0x0a, 0x0e, 16, 0x0a, 0x0e, 24, 0x41, 0x0b, 0x41, 0x0b));
	check(0, CFI_SP, 24, 0);
	check(1, CFI_SP, 16, 0);
	check(2, CFI_SP, 8, 0);
}

static void remember_has_a_limit(void **state)
{
	(void)state;
	check_code(BYTES(10, 10, 10, 10, 10, 10, 10, 10, 11, 11, 11, 11, 11, 11, 11, 11), CFI_SP, 8,
		   0);
	check_code(BYTES(10, 10, 10, 10, 10, 10, 10, 10, 10), CFI_UNSUPPORTED, 0, 0);
	check_code(BYTES(11), CFI_NONE, 0, 0);
	check_code(BYTES(10, 11, 11), CFI_NONE, 0, 0);
}

static void restore_means_the_cie(void **state)
{
	struct recipe recipe = usual(BYTES(0x86, 3, 0x41, 0xc6, 0x41, 0x08, 6, 0x41, 0x06, 6));

	(void)state;
	recipe.initial = BYTES(USUAL, 0x86, 2);
	make_table(&recipe);
	check(0, CFI_SP, 8, -24);
	check(1, CFI_SP, 8, -16);
	check(2, CFI_SP, 8, 0);
	check(3, CFI_SP, 8, -16);
}

static void where_the_frame_pointer_is(void **state)
{
	(void)state;
	check_code(BYTES(0x05, 6, 2), CFI_SP, 8, -16);
	check_code(BYTES(0x11, 6, 2), CFI_SP, 8, -16);
	check_code(BYTES(0x2f, 6, 0x7e), CFI_UNSUPPORTED, 0, 0);
	check_code(BYTES(0x86, 2, 0x07, 6), CFI_SP, 8, 0);
	check_code(BYTES(0x86, 2, 0x08, 6), CFI_SP, 8, 0);
	check_code(BYTES(0x86, 0), CFI_UNSUPPORTED, 0, 0);
	check_code(BYTES(0x11, 6, 0x7e), CFI_UNSUPPORTED, 0, 0);
	check_code(BYTES(0x09, 6, 3), CFI_UNSUPPORTED, 0, 0);
	check_code(BYTES(0x14, 6, 2), CFI_UNSUPPORTED, 0, 0);
	check_code(BYTES(0x15, 6, 2), CFI_UNSUPPORTED, 0, 0);
	check_code(BYTES(0x16, 6, 2, 0x77, 8), CFI_UNSUPPORTED, 0, 0);
	check_code(BYTES(0x10, 6, 2, 0x76, 0), CFI_UNSUPPORTED, 0, 0);
	/* 2^60 * -8 has no room; 2^30 * -8 neither */
	check_code(BYTES(0x86, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10),
		   CFI_UNSUPPORTED, 0, 0);
	check_code(BYTES(0x86, 0x80, 0x80, 0x80, 0x80, 0x04), CFI_UNSUPPORTED, 0, 0);
}

static void other_registers_do_not_matter(void **state)
{
	(void)state;
	check_code(BYTES(0x83, 2, 0x05, 12, 3, 0x11, 13, 4, 0x06, 12, 0x07, 0, 0x08, 1, 0x09, 2, 3,
			 0x10, 3, 1, 0x96, 0x14, 3, 1, 0x15, 3, 1, 0x16, 3, 1, 0x96, 0xc3, 0x2d,
			 0x2e, 16, 0x2f, 3, 1, 0x00),
		   CFI_SP, 8, 0);
	check_code(BYTES(0x05, 0xff, 0xff, 0x7f, 2), CFI_SP, 8, 0);
}

static void where_the_cfa_is(void **state)
{
	(void)state;
	check_code(BYTES(0x0c, 6, 0x90, 0x01), CFI_FP, 144, 0);
	check_code(BYTES(0x12, 7, 0x7e), CFI_SP, 16, 0);
	check_code(BYTES(0x13, 0x7d), CFI_SP, 24, 0);
	check_code(BYTES(0x13, 0x02), CFI_SP, -16, 0);
	check_code(BYTES(0x0e, 12), CFI_UNSUPPORTED, 0, 0);
	check_code(BYTES(0x0d, 10), CFI_UNSUPPORTED, 0, 0);
	check_code(BYTES(0x0d, 0x87, 0x02), CFI_UNSUPPORTED, 0, 0); /* 263 is not 7 */
	check_code(BYTES(0x0e, 0xf8, 0xff, 0xff, 0xff, 0x07), CFI_SP, 0x7ffffff8, 0);
	check_code(BYTES(0x0e, 0x80, 0x80, 0x80, 0x80, 0x08), CFI_UNSUPPORTED, 0, 0);
	check_code(BYTES(0x0e, 0x88, 0x80, 0x80, 0x80, 0x10), CFI_UNSUPPORTED, 0, 0);
}

static void plt_stub(void **state)
{
	(void)state;
	make(BYTES(0x0e, 16, 0x46, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24,
		   0x22));
	check(5, CFI_SP, 16, 0);
	check(6, CFI_PLT, 11, 0);
	/* another operation at the end */
	check_code(BYTES(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x23),
		   CFI_UNSUPPORTED, 0, 0);
}

static void realigned_frame(void **state)
{
	(void)state;
	check_code(BYTES(0x10, 6, 2, 0x76, 0, 0x0f, 3, 0x76, 0x78, 6), CFI_FP_DEREF, -8, 0);
	check_code(BYTES(0x0f, 3, 0x76, 0x78, 6), CFI_UNSUPPORTED, 0, 0);
	check_code(BYTES(0x10, 6, 2, 0x76, 8, 0x0f, 3, 0x76, 0x78, 6), CFI_UNSUPPORTED, 0, 0);
	check_code(BYTES(0x10, 6, 2, 0x76, 0, 0x0f, 3, 0x76, 0x79, 6), CFI_UNSUPPORTED, 0, 0);
	check_code(BYTES(0x10, 6, 2, 0x76, 0, 0x0f, 4, 0x76, 0x78, 6, 6), CFI_UNSUPPORTED, 0, 0);
	check_code(BYTES(0x10, 6, 2, 0x76, 0, 0x0f, 2, 0x76, 0x78), CFI_UNSUPPORTED, 0, 0);
	check_code(BYTES(0x10, 6, 2, 0x76, 0, 0x0f, 3, 0x77, 0x78, 6), CFI_UNSUPPORTED, 0, 0);
	check_code(BYTES(0x0f, 0), CFI_UNSUPPORTED, 0, 0);
	/* a register ends the expression, an offset does not */
	check_code(BYTES(0x0f, 0, 0x0e, 16), CFI_UNSUPPORTED, 0, 0);
	check_code(BYTES(0x0f, 0, 0x0d, 6), CFI_FP, 8, 0);
}

#define UCONTEXT 0x0f, 4, 0x77, 0xa0, 1, 6, 0x10, 6, 3, 0x77, 0xf8, 0, 0x10, 16, 3, 0x77, 0xa8, 1

static void signal_frame(void **state)
{
	struct recipe recipe = usual(BYTES(UCONTEXT));

	(void)state;
	make_table(&recipe);
	check(0, CFI_UNSUPPORTED, 0, 0);
	recipe.augmentation = "zRS";
	make_table(&recipe);
	check(0, CFI_SIGNAL, 0, 0);
	recipe.code = BYTES(UCONTEXT, 0x10, 16, 3, 0x77, 0xb0, 1);
	make_table(&recipe);
	check(0, CFI_UNSUPPORTED, 0, 0);
	recipe.code = NOTHING;
	make_table(&recipe);
	check(0, CFI_UNSUPPORTED, 0, 0);
}

static void return_address(void **state)
{
	(void)state;
	check_code(BYTES(0x07, 16), CFI_END, 0, 0);
	check_code(BYTES(0x0f, 0, 0x07, 16), CFI_END, 0, 0);
	check_code(BYTES(0x90, 2), CFI_UNSUPPORTED, 0, 0);
	check_code(BYTES(0x09, 16, 2), CFI_UNSUPPORTED, 0, 0);
	check_code(BYTES(0x08, 16), CFI_UNSUPPORTED, 0, 0);
	check_code(BYTES(0x09, 16, 2, 0xd0), CFI_SP, 8, 0);
}

static void cie_versions_and_augmentations(void **state)
{
	struct recipe recipe = usual(NOTHING);

	(void)state;
	recipe.version = 3;
	make_table(&recipe);
	check(0, CFI_SP, 8, 0);
	recipe.version = 4;
	make_table(&recipe);
	check(0, CFI_UNSUPPORTED, 0, 0);
	recipe = usual(NOTHING);
	recipe.ra_column = 15;
	make_table(&recipe);
	check(0, CFI_UNSUPPORTED, 0, 0);
	recipe = usual(NOTHING);
	recipe.augmentation = "zPLRB";
	recipe.augmentation_data = BYTES(0x9b, 1, 2, 3, 4, 0x1b, 0x1b);
	make_table(&recipe);
	check(0, CFI_SP, 8, 0);
	recipe.augmentation_data = BYTES(0x50, 1, 2, 3, 4, 0x1b, 0x1b); /* aligned personality */
	make_table(&recipe);
	check(0, CFI_UNSUPPORTED, 0, 0);
	recipe.augmentation_data = BYTES(0x9b, 1, 2, 3);
	make_table(&recipe);
	check(0, CFI_NONE, 0, 0);
	recipe.augmentation = "zRX";
	recipe.augmentation_data = BYTES(0x1b);
	make_table(&recipe);
	check(0, CFI_UNSUPPORTED, 0, 0);
	recipe.augmentation = "eh";
	make_table(&recipe);
	check(0, CFI_UNSUPPORTED, 0, 0);
	recipe.augmentation = "";
	make_table(&recipe);
	check(0, CFI_SP, 8, 0);
	check(CODE_SIZE, CFI_NONE, 0, 0);
}

static void without_a_search_table(void **state)
{
	struct recipe recipe = usual(BYTES(0x41, 0x0e, 16));

	(void)state;
	recipe.table_encoding = 0xff;
	make_table(&recipe);
	check(0, CFI_SP, 8, 0);
	check(1, CFI_SP, 16, 0);
	check(CODE_SIZE, CFI_NONE, 0, 0);
	check((uintptr_t)-1, CFI_NONE, 0, 0);
	set_u32(table.fde, 0); /* the terminator comes first */
	check(0, CFI_NONE, 0, 0);
}

static void malformed_instructions(void **state)
{
	(void)state;
	check_code(BYTES(0x3f), CFI_UNSUPPORTED, 0, 0);
	check_code(BYTES(0x0c, 7), CFI_NONE, 0, 0);
	check_code(BYTES(0x04, 1, 0, 0), CFI_NONE, 0, 0);
	check_code(BYTES(0x10, 3, 0x7f, 0), CFI_NONE, 0, 0);
	check_code(BYTES(0x0f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01),
		   CFI_NONE, 0, 0);
	/* beyond pc nothing is looked at */
	make(BYTES(0x41, 0x3f));
	check(0, CFI_SP, 8, 0);
	check(1, CFI_UNSUPPORTED, 0, 0);
}

static void malformed_records(void **state)
{
	(void)state;
	make(NOTHING);
	set_u32(table.fde, 0xffffffff); /* 64-bit DWARF */
	check(0, CFI_NONE, 0, 0);
	set_u32(table.fde, 0x7fffffff);
	check(0, CFI_NONE, 0, 0);
	set_u32(table.fde, 3);
	check(0, CFI_NONE, 0, 0);
	make(NOTHING);
	set_u32(table.fde + 4, 4); /* its own CIE */
	check(0, CFI_NONE, 0, 0);
	set_u32(table.fde + 4, 0);
	check(0, CFI_NONE, 0, 0);
	set_u32(table.fde + 4, 0x7fffffff);
	check(0, CFI_NONE, 0, 0);
	make(NOTHING);
	set_u32(HDR_SIZE - 4, 0x40000000); /* the FDE lies elsewhere */
	check(0, CFI_NONE, 0, 0);
	set_u32(HDR_SIZE - 4, 0xc0000000);
	check(0, CFI_NONE, 0, 0);
	set_u32(HDR_SIZE - 4, table.cie);
	check(0, CFI_NONE, 0, 0);
	make(NOTHING);
	set_u32(8, 0x10000000); /* entries in the table */
	check(0, CFI_NONE, 0, 0);
	set_u32(8, 0);
	check(0, CFI_NONE, 0, 0);
	make(NOTHING);
	table.buffer[0] = 2;
	check(0, CFI_NONE, 0, 0);
}

/* A section that ends anywhere: either nothing is found, or the rule that the whole one gives. */
static void cut_off_anywhere(void **state)
{
	struct recipe recipe = usual(BYTES(0x0e, 16, 0x86, 2));
	uint8_t encodings[] = {0x3b, 0xff};

	(void)state;
	for (size_t i = 0; i < sizeof(encodings); i++) {
		recipe.table_encoding = encodings[i];
		make_table(&recipe);
		for (size_t size = 0; size < table.size - 4; size++)
			assert_int_equal(rule_in(size, code_start()).kind, CFI_NONE);
		check(0, CFI_SP, 16, -16);
	}
}

static void header_outside_the_section(void **state)
{
	struct cfi_section section;
	struct cfi_rule rule;

	(void)state;
	make(NOTHING);
	section.start = (uintptr_t)table.buffer + 1;
	section.end = (uintptr_t)table.buffer + table.size;
	section.hdr = (uintptr_t)table.buffer;
	assert_false(cfi_rule_at(&section, code_start(), &rule));
	section.hdr = section.end;
	assert_false(cfi_rule_at(&section, code_start(), &rule));
	section = (struct cfi_section){0};
	assert_false(cfi_rule_at(&section, code_start(), &rule));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(row_is_in_force_from_its_location_on),
		cmocka_unit_test(every_way_to_advance),
		cmocka_unit_test(set_loc_is_an_encoded_address),
		cmocka_unit_test(remember_and_restore_include_the_cfa),
		cmocka_unit_test(remember_has_a_limit),
		cmocka_unit_test(restore_means_the_cie),
		cmocka_unit_test(where_the_frame_pointer_is),
		cmocka_unit_test(other_registers_do_not_matter),
		cmocka_unit_test(where_the_cfa_is),
		cmocka_unit_test(plt_stub),
		cmocka_unit_test(realigned_frame),
		cmocka_unit_test(signal_frame),
		cmocka_unit_test(return_address),
		cmocka_unit_test(cie_versions_and_augmentations),
		cmocka_unit_test(without_a_search_table),
		cmocka_unit_test(malformed_instructions),
		cmocka_unit_test(malformed_records),
		cmocka_unit_test(cut_off_anywhere),
		cmocka_unit_test(header_outside_the_section),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
