/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_rules.c - the cache of unwind rules: packing, eviction, and flushes.
 *
 * Call frame information is a fake: a rule is a function of (epoch, pc), and each question is counted.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "core/cfi.h"
#include "libpmem/modules.h"
#include "libpmem/rules.h"

static _Atomic uint64_t asked;
static _Atomic uint32_t epoch;	 /* of the program: changes when its modules do */
static struct cfi_rule one_rule; /* if its kind is not CFI_NONE: that of every address */
static unsigned flush_while_asked;
static bool no_module;

static struct cfi_rule random_rule(uint32_t when, uintptr_t pc)
{
	static const enum cfi_kind kinds[] = {CFI_SP, CFI_FP, CFI_SP, CFI_FP_DEREF};
	uint64_t x = ((uint64_t)pc + when) * 0x9e3779b97f4a7c15u;
	struct cfi_rule rule = {.kind = kinds[x >> 62]};

	rule.cfa_offset = (int32_t)(x >> 40 & 0xffff) * 8 - 0x8000 * 8;
	rule.fp_offset = -(int32_t)(x >> 24 & 0x3ff) * 8;
	return rule;
}

bool modules_cfi(uintptr_t pc, struct cfi_section *section)
{
	*section = (struct cfi_section){.hdr = pc};
	return !no_module;
}

bool cfi_rule_at(const struct cfi_section *section, uintptr_t pc, struct cfi_rule *rule)
{
	assert_int_equal(section->hdr, pc);
	atomic_fetch_add_explicit(&asked, 1, memory_order_relaxed);
	*rule = one_rule.kind != CFI_NONE
			? one_rule
			: random_rule(atomic_load_explicit(&epoch, memory_order_relaxed), pc);
	for (; flush_while_asked > 0; flush_while_asked--)
		rules_flush();
	return rule->kind != CFI_NONE;
}

static void expect_rule(uint64_t packed, const struct cfi_rule *rule)
{
	assert_int_equal(rule_kind(packed), rule->kind);
	assert_int_equal(rule_cfa_offset(packed), rule->cfa_offset);
	assert_int_equal(rule_fp_depth(packed), -rule->fp_offset);
}

/* Asks twice: the second answer comes from the cache. */
static uint64_t cached(uintptr_t pc)
{
	uint64_t first = rules_at(pc), before = asked;
	uint64_t second = rules_at(pc);

	assert_int_equal(asked, before);
	assert_int_equal(first, second);
	return second;
}

static int begin(void **state)
{
	(void)state;
	rules_flush();
	one_rule = (struct cfi_rule){.kind = CFI_NONE};
	no_module = false;
	epoch = 0;
	return 0;
}

static void packing(void **state)
{
	static const enum cfi_kind kinds[] = {CFI_SP, CFI_FP, CFI_FP_DEREF};
	static const int32_t cfa_offsets[] = {0, 8, -8, 16, 4096, 32767 * 8, -32768 * 8};
	static const int32_t fp_offsets[] = {0, -8, -16, -1023 * 8};
	uintptr_t pc = 0x401000;
	unsigned k, c, f;

	(void)state;
	for (k = 0; k < 3; k++) {
		for (c = 0; c < 7; c++) {
			for (f = 0; f < 4; f++) {
				one_rule = (struct cfi_rule){kinds[k], cfa_offsets[c],
							     fp_offsets[f]};
				expect_rule(cached(++pc), &one_rule);
			}
		}
	}
	for (k = 0; k < 16; k++) {
		one_rule = (struct cfi_rule){CFI_PLT, (int32_t)k, 0};
		assert_int_equal(rule_kind(cached(++pc)), CFI_PLT);
		assert_int_equal(cached(pc) >> 3 & 0xffff, k);
	}
	one_rule = (struct cfi_rule){.kind = CFI_SIGNAL};
	assert_int_equal(rule_kind(cached(++pc)), CFI_SIGNAL);
	one_rule = (struct cfi_rule){.kind = CFI_END};
	assert_int_equal(rule_kind(cached(++pc)), CFI_END);
}

/* What does not fit must not be cut to something that does. */
static void large_rules(void **state)
{
	static const struct cfi_rule large[] = {
		{CFI_SP, 32768 * 8, 0},	     {CFI_SP, -32769 * 8, 0}, {CFI_FP, 1 << 20, 0},
		{CFI_SP, 65536 * 8 + 16, 0}, {CFI_SP, 16, -1024 * 8}, {CFI_FP, 16, 8},
		{CFI_FP, 16, -(1 << 20)},    {CFI_FP, INT32_MIN, 0},  {CFI_SP, INT32_MAX - 7, -16},
		{CFI_UNSUPPORTED, 0, 0},
	};
	struct cfi_rule rule;
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(large) / sizeof(*large); i++) {
		one_rule = large[i];
		assert_int_equal(cached(0x500000 + i), CFI_UNSUPPORTED);
		assert_true(rules_lookup_full(0x500000 + i, &rule));
		assert_int_equal(rule.kind, large[i].kind);
		assert_int_equal(rule.cfa_offset, large[i].cfa_offset);
		assert_int_equal(rule.fp_offset, large[i].fp_offset);
	}
}

static void no_information_is_not_cached(void **state)
{
	const uintptr_t pc = 0x7f0000001234;

	(void)state;
	no_module = true;
	assert_int_equal(rules_at(pc), CFI_NONE);
	no_module = false;
	one_rule = (struct cfi_rule){CFI_SP, 24, 0};
	expect_rule(rules_at(pc), &one_rule);
}

static void no_user_address(void **state)
{
	uint64_t before = asked;

	(void)state;
	assert_int_equal(rules_at((uintptr_t)1 << ARCH_ADDRESS_BITS), CFI_NONE);
	assert_int_equal(rules_at(UINTPTR_MAX), CFI_NONE);
	assert_int_equal(asked, before);
	rules_at(((uintptr_t)1 << ARCH_ADDRESS_BITS) - 1);
	assert_int_equal(asked, before + 1);
}

/* Many more addresses than entries, close together and far apart. */
static void never_another_address(void **state)
{
	uint64_t seed = 1, i, before;
	struct cfi_rule rule;
	uintptr_t pc = 0;

	(void)state;
	for (i = 0; i < 2000000; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		if (i % 4 == 0)
			pc = seed >> (64 - ARCH_ADDRESS_BITS);
		else /* the same entry or a neighbour of it */
			pc ^= (uintptr_t)1 << (seed >> 32) % ARCH_ADDRESS_BITS;
		rule = random_rule(0, pc);
		expect_rule(rules_at(pc), &rule);
	}
	/* All of a module of 16 KiB has room at the same time. */
	for (pc = 0x7f1234560000; pc < 0x7f1234564000; pc++)
		rules_at(pc);
	before = asked;
	for (pc = 0x7f1234560000; pc < 0x7f1234564000; pc++)
		rules_at(pc);
	assert_int_equal(asked, before);
}

static void flushed_rules_are_asked_for_again(void **state)
{
	uintptr_t pc;
	struct cfi_rule rule;
	unsigned i;

	(void)state;
	for (i = 0; i < 9; i++) { /* more often than there are generations */
		for (pc = 0x400000; pc < 0x400000 + 3000; pc++) {
			rule = random_rule(i, pc);
			expect_rule(cached(pc), &rule);
		}
		epoch = i + 1;
		rules_flush();
	}
	/* A generation's number comes back; what was cached then must not. */
	rule = random_rule(9, 0x400000);
	expect_rule(cached(0x400000), &rule);
	epoch = 10;
	for (i = 0; i < 1 << RULES_GENERATION_BITS; i++)
		rules_flush();
	rule = random_rule(10, 0x400000);
	expect_rule(cached(0x400000), &rule);
}

/* The module goes away while its rule is looked for: the answer is used once, but not kept. */
static void flush_while_a_rule_is_found(void **state)
{
	struct cfi_rule rule;
	unsigned flushes;

	(void)state;
	for (flushes = 1; flushes < 4; flushes++) {
		rules_flush();
		flush_while_asked = flushes;
		rules_at(0x654321);
		assert_int_equal(flush_while_asked, 0);
		epoch++;
		rule = random_rule(epoch, 0x654321);
		expect_rule(rules_at(0x654321), &rule);
	}
}

enum { THREADS = 4, LOOKUPS = 300000 };

static _Atomic uint32_t wrong;

static void *look_up(void *seed_pointer)
{
	uint64_t seed = (uintptr_t)seed_pointer, packed;
	struct cfi_rule rule;
	uintptr_t pc;
	unsigned i;

	for (i = 0; i < LOOKUPS; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		pc = 0x7f0000000000 + (seed >> 44); /* a MiB: entries are fought over */
		rule = random_rule(0, pc);
		packed = rules_at(pc);
		if (rule_kind(packed) != rule.kind || rule_cfa_offset(packed) != rule.cfa_offset ||
		    (intptr_t)rule_fp_depth(packed) != -rule.fp_offset)
			atomic_fetch_add_explicit(&wrong, 1, memory_order_relaxed);
	}
	return NULL;
}

static void threads_share_the_cache(void **state)
{
	pthread_t threads[THREADS];
	uintptr_t i;

	(void)state;
	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, look_up, (void *)(i + 1));
	for (i = 0; i < 100; i++)
		rules_flush();
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(packing, begin),
		cmocka_unit_test_setup(large_rules, begin),
		cmocka_unit_test_setup(no_information_is_not_cached, begin),
		cmocka_unit_test_setup(no_user_address, begin),
		cmocka_unit_test_setup(never_another_address, begin),
		cmocka_unit_test_setup(flushed_rules_are_asked_for_again, begin),
		cmocka_unit_test_setup(flush_while_a_rule_is_found, begin),
		cmocka_unit_test_setup(threads_share_the_cache, begin),
	};

	return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
