/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind_calls.c - the random program of unwind_calls.h.
 */
#include "unwind_calls.h"

#include <alloca.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdlib.h>

#include "unwind_fixture.h"

#define FRAME __attribute__((noinline)) static

/* The compiler must neither drop what lies there nor make the call before it a tail call. */
#define KEEP(object) __asm__ volatile("" : : "r"(object) : "memory")

__thread unsigned calls_left;
__thread enum calls_kinds calls_kinds;
__thread void (*calls_visit)(void);
static __thread unsigned jumps; /* how many frames with setjmp() are alive */
static __thread jmp_buf *nearest;

static void call(unsigned depth);

FRAME void plain(unsigned depth)
{
	int here = 1;

	call(depth);
	KEEP(&here);
}

FRAME void larger(unsigned depth)
{
	char here[1000];

	KEEP(here);
	call(depth);
	KEEP(here);
}

/* Its size does not fit a packed rule. */
FRAME void huge(unsigned depth)
{
	char here[300000];

	KEEP(here);
	call(depth);
	KEEP(here);
}

/* The sizes make up for those of plain frames: same stack pointer, other frame pointer. */
FRAME void varying(unsigned depth)
{
	char *here = alloca(16 * walker_random(12) + 8);

	KEEP(here);
	call(depth);
	KEEP(here);
}

/* In between a frame that leaves the frame pointer alone. */
FRAME void varying_further_out(unsigned depth)
{
	char *here = alloca(16 * walker_random(12) + 8);

	KEEP(here);
	plain(depth);
	KEEP(here);
}

FRAME void varying_twice(unsigned depth)
{
	char *here = alloca(16 * walker_random(4) + 8);

	KEEP(here);
	call(depth);
	here = alloca(16 * walker_random(4) + 8);
	KEEP(here);
	call(depth);
	KEEP(here);
}

FRAME void realigned(unsigned depth)
{
	char here[64] __attribute__((aligned(64)));

	KEEP(here);
	call(depth);
	KEEP(here);
}

FRAME void realigned_varying(unsigned depth)
{
	char here[32] __attribute__((aligned(32)));
	char *more = alloca(16 * walker_random(8) + 8);

	KEEP(here);
	KEEP(more);
	call(depth);
	KEEP(more);
}

FRAME void realigned_to_page(unsigned depth)
{
	char here[16] __attribute__((aligned(4096)));

	KEEP(here);
	call(depth);
	KEEP(here);
}

/* What compilers do when such a function's arguments are on the stack: the CFA is read from memory.  And below the
 * page boundary there is room for whole call stacks of before. */
void call_realigned(void (*function)(unsigned), unsigned depth);
__asm__(".text\n.type call_realigned, @function\ncall_realigned:\n"
	".cfi_startproc\n"
	"lea 8(%rsp), %r10\n.cfi_def_cfa %r10, 0\n"
	"and $-4096, %rsp\npush -8(%r10)\npush %rbp\n.cfi_escape 0x10,0x6,0x2,0x76,0\n"
	"mov %rsp, %rbp\npush %r10\n.cfi_escape 0xf,0x3,0x76,0x78,0x6\n"
	"sub $8, %rsp\nmov %rdi, %rax\nmov %esi, %edi\n"
	"call *%rax\n"
	"add $8, %rsp\npop %r10\n.cfi_def_cfa %r10, 0\npop %rbp\n"
	"lea -8(%r10), %rsp\n.cfi_def_cfa %rsp, 8\n"
	"ret\n.cfi_endproc\n.size call_realigned, .-call_realigned\n");

FRAME void realigned_by_register(unsigned depth)
{
	int here = 1;

	call_realigned(call, depth);
	KEEP(&here);
}

FRAME void with_frame_pointer(unsigned depth)
{
	void *here = __builtin_frame_address(0);

	call(depth);
	KEEP(here);
}

/* Many registers live across the call. */
FRAME void many_saved(unsigned depth)
{
	unsigned a = walker_random(9), b = walker_random(9), c = walker_random(9),
		 d = walker_random(9), e = walker_random(9), f = walker_random(9);

	call(depth);
	__asm__ volatile("" : : "r"(a), "r"(b), "r"(c), "r"(d), "r"(e), "r"(f));
}

/* The frame pointer is a register like others. */
void call_with_garbage(void (*function)(unsigned), unsigned depth);
__asm__(".text\n.type call_with_garbage, @function\ncall_with_garbage:\n"
	".cfi_startproc\n"
	"push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_offset %rbp, -16\n"
	"mov %rdi, %rax\nmov %esi, %edi\nmovabs $0x123456789abcdef1, %rbp\n"
	"call *%rax\n"
	"pop %rbp\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbp\n"
	"ret\n.cfi_endproc\n.size call_with_garbage, .-call_with_garbage\n");

FRAME void garbage_in_frame_pointer(unsigned depth)
{
	int here = 1;

	call_with_garbage(call, depth);
	KEEP(&here);
}

/* Code without call frame information, but with a frame pointer. */
void call_without_cfi(void (*function)(unsigned), unsigned depth);
__asm__(".text\n.type call_without_cfi, @function\ncall_without_cfi:\n"
	"push %rbp\nmov %rsp, %rbp\nmov %rdi, %rax\nmov %esi, %edi\n"
	"call *%rax\n"
	"pop %rbp\nret\n.size call_without_cfi, .-call_without_cfi\n");

FRAME void without_cfi(unsigned depth)
{
	int here = 1;

	call_without_cfi(call, depth);
	KEEP(&here);
}

static __thread unsigned sort_depth;

static int compare(const void *a, const void *b)
{
	unsigned depth = sort_depth;

	sort_depth = 0;
	if (depth)
		call(depth);
	return *(const int *)a - *(const int *)b;
}

FRAME void through_the_library(unsigned depth)
{
	int numbers[] = {3, 1, 2};

	sort_depth = depth;
	qsort(numbers, 3, sizeof(*numbers), compare);
	KEEP(numbers);
}

FRAME void jumped_to(unsigned depth)
{
	jmp_buf here;
	jmp_buf *outer = nearest;
	unsigned sort = sort_depth;

	if (setjmp(here) == 0) {
		nearest = &here;
		jumps++;
		call(depth);
	}
	jumps--;
	sort_depth = sort;
	nearest = outer;
	call(depth);
	KEEP(&here);
}

static void (*const functions[])(unsigned) = {
	plain,
	plain,
	larger,
	varying,
	varying,
	varying_further_out,
	varying_twice,
	realigned,
	realigned_varying,
	realigned_to_page,
	realigned_by_register,
	with_frame_pointer,
	garbage_in_frame_pointer,
	through_the_library,
	/* CALLS_ON_FIBERS */
	many_saved,
	jumped_to,
	huge,
	/* CALLS_WITH_CFI */
	without_cfi,
};

_Static_assert(sizeof(functions) / sizeof(*functions) == CALLS_ALL, "calls_kinds");

static void choose(unsigned depth)
{
	uint32_t kind = walker_random(calls_kinds);

	if (functions[kind] == huge && (calls_kinds > CALLS_WITH_CFI || walker_random(16) != 0))
		kind = 0; /* on both sides of one, code without CFI is not always believed */
	/* Two calls, that the compiler does not make one of. */
	if (walker_random(2)) {
		functions[kind](depth);
		__asm__ volatile("# one");
	} else {
		functions[kind](depth);
		__asm__ volatile("# other");
	}
}

/* What every function calls: allocations and further calls. */
FRAME void call(unsigned depth)
{
	unsigned i, count = walker_random(4);

	for (i = 0; i < count; i++) {
		observe();
		if (walker_random(3) == 0)
			observe();
		if (calls_visit)
			calls_visit();
	}
	count = depth ? walker_random(3) + (walker_random(2) == 0) : 0;
	for (i = 0; i < count && calls_left; i++) {
		calls_left--;
		choose(depth - 1);
	}
	if (jumps && walker_random(400) == 0)
		longjmp(*nearest, 1);
	__asm__ volatile("");
}

void calls_run(unsigned calls, unsigned depth)
{
	jumps = sort_depth = 0;
	calls_left = calls;
	while (calls_left)
		call(depth);
}
