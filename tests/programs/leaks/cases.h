/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cases.h - what the programs of tests/test_leaks.py share: `PROGRAM CASE` does one thing with its heap and ends.
 *
 * Each case runs in a frame of its own, deep in the stack, which is overwritten before the program ends: so what is left of
 * pointers is what the case means to leave.
 */
#ifndef CASES_H
#define CASES_H
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))

struct one_case {
	const char *name;
	void (*run)(void);
};

/* The optimizer must not know what becomes of p. */
static inline void *opaque(void *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

/* Old pointers in the frames below, and in the registers that a call may change. */
static APART void wipe(void)
{
	char bytes[32 * 1024];

	memset(bytes, 0, sizeof(bytes));
	opaque(bytes);
	__asm__ volatile(
		"xor %%ecx, %%ecx; xor %%esi, %%esi; xor %%edi, %%edi; xor %%r8d, %%r8d;"
		"xor %%r9d, %%r9d; xor %%r10d, %%r10d; xor %%r11d, %%r11d;"
		"pxor %%xmm0, %%xmm0; pxor %%xmm1, %%xmm1; pxor %%xmm2, %%xmm2; pxor %%xmm3, "
		"%%xmm3;"
		"pxor %%xmm4, %%xmm4; pxor %%xmm5, %%xmm5; pxor %%xmm6, %%xmm6; pxor %%xmm7, %%xmm7"
		:
		:
		: "rcx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3",
		  "xmm4", "xmm5", "xmm6", "xmm7");
}

static APART void run_deep(void (*run)(void))
{
	char distance[8 * 1024];

	opaque(distance);
	run();
	opaque(distance);
}

static inline int run_case(const struct one_case *cases, size_t count, int argc, char **argv)
{
	for (size_t i = 0; i < count; i++) {
		if (argc < 2) {
			puts(cases[i].name);
		} else if (strcmp(cases[i].name, argv[1]) == 0) {
			run_deep(cases[i].run);
			wipe();
			return 0;
		}
	}
	return argc < 2 ? 0 : 2;
}

#endif
