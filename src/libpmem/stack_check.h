/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_check.h - words of the stack that prove a remembered call stack: addresses, and what must be there.
 *
 * Checks come in groups that are made together.  A group reads all its addresses whatever they hold: who makes one
 * must know that all of them are readable (unwind.c, "Reads").
 */
#ifndef PMEM_LIBPMEM_STACK_CHECK_H
#define PMEM_LIBPMEM_STACK_CHECK_H
#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"

enum {
	STACK_CHECK_GROUP = 4,
	STACK_CHECK_PAGE = 4096,
	STACK_CHECK_PAGES = 1, /* in place of a page: a group's addresses lie in several */
};

/* First the addresses, then the words that must be there. */
struct stack_check_group {
	_Alignas(32) uintptr_t words[2 * STACK_CHECK_GROUP];
};

/* Whether groups are made by arch_holds4_gather(); set once, by stack_check_choose(). */
extern bool stack_check_gathers __attribute__((visibility("hidden")));

/* Tries both ways for a few microseconds (most CPUs gather slowly); while there is one thread. */
void stack_check_choose(void);

static inline uintptr_t stack_check_page_of(uintptr_t addr)
{
	return addr & ~(uintptr_t)(STACK_CHECK_PAGE - 1);
}

/* Check i of groups that hold one check behind the other. */
static inline uintptr_t stack_check_addr(const struct stack_check_group *groups, uint32_t i)
{
	return groups[i / STACK_CHECK_GROUP].words[i % STACK_CHECK_GROUP];
}

static inline uintptr_t stack_check_value(const struct stack_check_group *groups, uint32_t i)
{
	return groups[i / STACK_CHECK_GROUP].words[STACK_CHECK_GROUP + i % STACK_CHECK_GROUP];
}

static inline void stack_check_set(struct stack_check_group *groups, uint32_t i, uintptr_t addr,
				   uintptr_t value)
{
	struct stack_check_group *group = &groups[i / STACK_CHECK_GROUP];

	group->words[i % STACK_CHECK_GROUP] = addr;
	group->words[STACK_CHECK_GROUP + i % STACK_CHECK_GROUP] = value;
}

/* The page that all addresses of a full group lie in, or STACK_CHECK_PAGES. */
static inline uintptr_t stack_check_page(const struct stack_check_group *group)
{
	const uintptr_t *addr = group->words;
	uintptr_t differ = (addr[0] ^ addr[1]) | (addr[0] ^ addr[2]) | (addr[0] ^ addr[3]);

	return differ < STACK_CHECK_PAGE ? stack_check_page_of(addr[0]) : STACK_CHECK_PAGES;
}

/* Whether all checks of one full group hold. */
static inline __attribute__((always_inline)) bool stack_check_holds(
	const struct stack_check_group *group)
{
	bool holds;

	if (!stack_check_gathers)
		return arch_holds4(group->words);
	holds = arch_holds4_gather(group->words);
	arch_gather_end();
	return holds;
}

/* The same for the groups [start, end), at least one, up to the first that does not. */
static inline __attribute__((always_inline)) bool stack_check_all_hold(
	const struct stack_check_group *start, const struct stack_check_group *end)
{
	bool holds;

	if (!stack_check_gathers) {
		do
			holds = arch_holds4(start->words);
		while (__builtin_expect(holds, 1) && ++start < end);
		return holds;
	}
	do
		holds = arch_holds4_gather(start->words);
	while (__builtin_expect(holds, 1) && ++start < end);
	arch_gather_end();
	return holds;
}

#endif
