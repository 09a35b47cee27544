/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_unwind_fibers.c - call stacks on stacks that are not the thread's own: fibers, the end of a stack, signals.
 *
 * Every stack here ends at pages that cannot be read: a walk that goes too far does not survive.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cmocka.h>

#include "libpmem/loss.h"
#include "unwind_calls.h"
#include "unwind_fixture.h"

enum { PAGE = 4096, GUARD = 4 * PAGE, STACK_SIZE = 512 * 1024 };

/* Lowest usable address of a stack with unreadable pages on both sides. */
static char *stack_make(void)
{
	char *pages = mmap(NULL, STACK_SIZE + 2 * GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			   0);

	assert_true(pages != MAP_FAILED);
	assert_int_equal(mprotect(pages + GUARD, STACK_SIZE, PROT_READ | PROT_WRITE), 0);
	return pages + GUARD;
}

static void stack_drop(char *stack)
{
	munmap(stack - GUARD, STACK_SIZE + 2 * GUARD);
	atomic_fetch_add_explicit(&unwind_mappings, 1, memory_order_relaxed);
}

/* --- fibers ---------------------------------------------------------------------------------- */

enum { FIBERS = 8 };

static ucontext_t contexts[FIBERS], back;
static char *stacks[FIBERS];
static int current;
static unsigned switches_left;

/* From anywhere in a fiber's program to another fiber, or back when there were enough of them. */
static void switch_now_and_then(void)
{
	int from = current;

	if (walker_random(20) != 0)
		return;
	if (switches_left == 0) {
		swapcontext(&contexts[from], &back);
		return;
	}
	switches_left--;
	current = (int)walker_random(FIBERS);
	if (current != from)
		swapcontext(&contexts[from], &contexts[current]);
}

void run_fiber(void);
void fiber_start(void);

void run_fiber(void)
{
	for (;;)
		calls_run(200, 15);
}

/* Says that nothing called it, as good libraries for fibers do; makecontext() leads to code that does not. */
__asm__(".text\n.type fiber_start, @function\nfiber_start:\n"
	".cfi_startproc\n.cfi_undefined %rip\nsub $8, %rsp\n.cfi_adjust_cfa_offset 8\n"
	"call run_fiber\nud2\n.cfi_endproc\n.size fiber_start, .-fiber_start\n");

static void make_fiber(int number, void (*start)(void))
{
	stacks[number] = stack_make();
	assert_int_equal(getcontext(&contexts[number]), 0);
	contexts[number].uc_stack.ss_sp = stacks[number];
	contexts[number].uc_stack.ss_size = STACK_SIZE;
	contexts[number].uc_link = NULL;
	makecontext(&contexts[number], start, 0);
}

/* On stacks that come and go, often where another one was. */
static void run_fibers(void (*start)(void))
{
	int round, i;

	calls_kinds = CALLS_ON_FIBERS;
	walker->backtrace_every = 64;
	for (round = 0; round < 30; round++) {
		for (i = 0; i < FIBERS; i++)
			make_fiber(i, start);
		switches_left = 200;
		current = (int)walker_random(FIBERS);
		calls_visit = switch_now_and_then;
		assert_int_equal(swapcontext(&back, &contexts[current]), 0);
		calls_visit = NULL;
		calls_run(20, 10); /* on the thread's own stack in between */
		for (i = 0; i < FIBERS; i++)
			stack_drop(stacks[i]);
	}
	assert_int_equal(loss_count(FORMAT_LOSS_SHORT_STACKS), 0);
}

static void fibers(void **state)
{
	(void)state;
	run_fibers(fiber_start);
	assert_int_equal(loss_count(FORMAT_LOSS_TRUNCATED), 0);
	assert_in_range(walker->found, walker->captured / 50, walker->captured);
}

static void fibers_without_a_marked_end(void **state)
{
	(void)state;
	walker->no_cfi = true;
	run_fibers(run_fiber);
	assert_true(walker->captured > 50000);
}

/* --- the end of a stack ---------------------------------------------------------------------- */

/* Calls function on the stack that ends at top, with frame_pointer in the register.  Of the three only what is
 * said about the frame differs: nothing; that it is larger than its stack; that the caller's frame is further in. */
typedef void raw_call(char *top, uintptr_t frame_pointer, void (*function)(void));
raw_call raw_without_cfi, raw_too_large, raw_backwards;

#define RAW_CALL(name, start, wrong, end)                                                      \
	__asm__(".text\n.type " name ", @function\n" name ":\n" start                          \
		"push %rbx\npush %rbp\nmov %rsp, %rbx\nmov %rdi, %rsp\nmov %rsi, %rbp\n" wrong \
		"call *%rdx\n"                                                                 \
		"mov %rbx, %rsp\npop %rbp\npop %rbx\nret\n" end ".size " name ", .-" name "\n")

RAW_CALL("raw_without_cfi", "", "", "");
RAW_CALL("raw_too_large", ".cfi_startproc\n", ".cfi_def_cfa %rsp, 8192\n", ".cfi_endproc\n");
RAW_CALL("raw_backwards", ".cfi_startproc\n", ".cfi_def_cfa %rsp, -64\n", ".cfi_endproc\n");

enum { ROOM = 256 }; /* bytes above the outermost frame */

static char *raw_stack;
static size_t expected_frames;
static bool expected_truncated;
static uint32_t expected_flags;

__attribute__((noinline)) static void observe_the_end(void)
{
	unsigned i;

	for (i = 0; i < 3; i++) {
		observe();
		assert_int_equal(walker->count, expected_frames);
		assert_int_equal(walker->truncated, expected_truncated);
		assert_int_equal(walker->flags & ~(uint32_t)UNWIND_SIGNAL, expected_flags);
	}
}

/* What the frame pointer is, and what lies there. */
struct raw_case {
	uintptr_t frame_pointer;
	uintptr_t outer; /* at ROOM_OFFSET, where most frame pointers lead */
	uintptr_t ra;
	size_t more_frames;
	bool truncated;
};

enum { ROOM_OFFSET = 16 };

static void run_raw_case(raw_call *call, const struct raw_case *raw)
{
	uintptr_t *top = (uintptr_t *)(raw_stack + STACK_SIZE - ROOM);

	memset(top, 0, ROOM);
	top[ROOM_OFFSET / 8] = raw->outer;
	top[ROOM_OFFSET / 8 + 1] = raw->ra;
	expected_frames = 2 + raw->more_frames; /* observe_the_end() and the raw call */
	expected_truncated = raw->truncated;
	expected_flags = UNWIND_UNCLEAN | UNWIND_OPEN | (raw->truncated ? UNWIND_TRUNCATED : 0);
	call((char *)top, raw->frame_pointer, observe_the_end);
}

static void no_call_frame_information(void **state)
{
	uintptr_t top, end;

	(void)state;
	raw_stack = stack_make();
	end = (uintptr_t)raw_stack + STACK_SIZE;
	top = end - ROOM;
	walker->no_cfi = true;
	{
		uintptr_t room = top + ROOM_OFFSET;
		const struct raw_case cases[] = {
			{0, 0, 0, 0, true},
			{1, 0, 0, 0, true},
			{UINTPTR_MAX, 0, 0, 0, true},
			{UINTPTR_MAX - 7, 0, 0, 0, true},
			{(uintptr_t)1 << 62, 0, 0, 0, true},
			{(uintptr_t)&top, 0, 0, 0, true}, /* another stack */
			{end, 0, 0, 0, true},
			{end + PAGE, 0, 0, 0, true},
			{end - 8, 0, 0, 0, true},
			{end - 4, 0, 0, 0, true},
			{top - 64, 0, 0, 0, true},
			{room + 1, 0, 0, 0, true},
			{room, room - 8, (uintptr_t)1 << 47, 0, true},
			{room, room - 8, UINTPTR_MAX, 0, true},
			{room, room + 32, UINTPTR_MAX, 0, true},
			{room, room, 0x1000, 0, true}, /* leads nowhere but to itself */
			{room, end + 64, 0x1000, 1, true},
			{room, room + 33, 0x1000, 1, true},
			{room, room + 32, 0, 0, false}, /* a frame pointer that says: the end */
		};
		size_t i;

		for (i = 0; i < sizeof(cases) / sizeof(*cases); i++)
			run_raw_case(raw_without_cfi, &cases[i]);
	}
	stack_drop(raw_stack);
}

/* A page that was read before is gone when the program says that it changed its mappings. */
static void a_page_that_went_away(void **state)
{
	char *top;
	uintptr_t *far; /* the frame further out */

	(void)state;
	walker->no_cfi = true;
	raw_stack = stack_make();
	top = raw_stack + STACK_SIZE / 2;
	far = (uintptr_t *)(top + 3 * PAGE);
	far[0] = (uintptr_t)(far + 64);
	expected_frames = 2;
	expected_truncated = false;
	expected_flags = UNWIND_UNCLEAN | UNWIND_OPEN;
	raw_without_cfi(top, (uintptr_t)far, observe_the_end);
	assert_int_equal(mprotect(top + PAGE, STACK_SIZE / 2 - PAGE, PROT_NONE), 0);
	atomic_fetch_add_explicit(&unwind_mappings, 1, memory_order_relaxed);
	expected_truncated = true;
	expected_flags |= UNWIND_TRUNCATED;
	raw_without_cfi(top, (uintptr_t)far, observe_the_end);
	stack_drop(raw_stack);
}

static void wrong_call_frame_information(void **state)
{
	const struct raw_case none = {.truncated = true};
	uint64_t before;

	(void)state;
	raw_stack = stack_make();
	before = loss_count(FORMAT_LOSS_TRUNCATED);
	run_raw_case(raw_too_large, &none);
	run_raw_case(raw_backwards, &none);
	assert_int_equal(loss_count(FORMAT_LOSS_TRUNCATED), before + 6);
	stack_drop(raw_stack);
}

/* Functions that nothing is above but a frame marked as outermost: their caller's frame is found by the stack pointer, or by the frame
 * pointer. */
raw_call raw_marked_end;
void by_stack_pointer(void);
void by_frame_pointer(void);

RAW_CALL("raw_marked_end", ".cfi_startproc\n.cfi_undefined %rip\n", "", ".cfi_endproc\n");
__asm__(".text\n.type by_stack_pointer, @function\nby_stack_pointer:\n.cfi_startproc\n"
	"sub $8, %rsp\n.cfi_def_cfa_offset 16\ncall observe\nadd $8, %rsp\nret\n"
	".cfi_endproc\n.size by_stack_pointer, .-by_stack_pointer\n"
	".type by_frame_pointer, @function\nby_frame_pointer:\n.cfi_startproc\n"
	"push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\nmov %rsp, %rbp\n"
	".cfi_def_cfa_register %rbp\ncall observe\npop %rbp\nret\n"
	".cfi_endproc\n.size by_frame_pointer, .-by_frame_pointer\n");

/* How the outermost frame was reached in the last walk says nothing of this one. */
static void the_outermost_frame_is_joined(void **state)
{
	char *top;

	(void)state;
	raw_stack = stack_make();
	top = raw_stack + STACK_SIZE - ROOM;
	raw_marked_end(top, 0, by_frame_pointer);
	assert_int_equal(walker->unwind.count, 2);
	assert_true(walker->unwind.frames[1].needs_fp);
	raw_marked_end(top, 0, by_stack_pointer);
	assert_int_equal(walker->unwind.count, 2);
	assert_false(walker->unwind.frames[1].needs_fp);
	stack_drop(raw_stack);
}

static void calls_on_a_raw_stack(void)
{
	calls_run(300, 10);
}

/* Call stacks that cannot be followed to their end never become part of others. */
static void random_calls_without_an_end(void **state)
{
	unsigned i;

	(void)state;
	calls_kinds = CALLS_ON_FIBERS;
	for (i = 0; i < 20; i++) {
		raw_stack = stack_make();
		raw_without_cfi(raw_stack + STACK_SIZE,
				i % 2 ? 0 : (uintptr_t)raw_stack + STACK_SIZE, calls_on_a_raw_stack);
		calls_run(20, 10);
		stack_drop(raw_stack);
	}
	assert_true(loss_count(FORMAT_LOSS_TRUNCATED) > 1000);
}

/* --- signals --------------------------------------------------------------------------------- */

static volatile sig_atomic_t handled;

static void on_signal(int number)
{
	(void)number;
	observe();
	assert_true(walker->flags & UNWIND_SIGNAL);
	assert_int_equal(walker->unwind.count, 0); /* forgotten */
	calls_run(3, 3);
	handled++;
}

static void raise_now_and_then(void)
{
	unsigned left = calls_left;

	if (walker_random(50) != 0)
		return;
	calls_visit = NULL;
	raise(SIGUSR1);
	calls_visit = raise_now_and_then;
	calls_left = left;
}

static void run_with_handler(int flags)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};

	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	handled = 0;
	calls_kinds = CALLS_ON_FIBERS;
	calls_visit = raise_now_and_then;
	calls_run(8000, 15);
	calls_visit = NULL;
	signal(SIGUSR1, SIG_DFL);
	assert_true(handled > 50);
	assert_int_equal(loss_count(FORMAT_LOSS_TRUNCATED), 0);
}

static void handlers(void **state)
{
	(void)state;
	walker->backtrace_every = 4;
	run_with_handler(0);
}

static void handlers_on_another_stack(void **state)
{
	stack_t other = {.ss_size = STACK_SIZE}, before;

	(void)state;
	walker->backtrace_every = 4;
	other.ss_sp = stack_make();
	assert_int_equal(sigaltstack(&other, &before), 0);
	run_with_handler(SA_ONSTACK);
	assert_int_equal(sigaltstack(&before, NULL), 0);
	stack_drop(other.ss_sp);
}

/* A fault at a function's first instruction: the byte before belongs to something else. */
void faulting(void);
__asm__(".text\n.type before_faulting, @function\nbefore_faulting:\n"
	".cfi_startproc\nsub $4096, %rsp\n.cfi_adjust_cfa_offset 4096\nnop\n.cfi_endproc\n"
	".size before_faulting, .-before_faulting\n"
	".type faulting, @function\nfaulting:\n.cfi_startproc\nud2\nret\n.cfi_endproc\n"
	".size faulting, .-faulting\n");

static void on_fault(int number, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;

	(void)number;
	(void)info;
	observe();
	assert_true(walker->flags & UNWIND_SIGNAL);
	interrupted->uc_mcontext.gregs[REG_RIP] += 2;
	handled++;
}

static void fault_at_the_first_instruction(void **state)
{
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO}, before;
	unsigned i;

	(void)state;
	walker->backtrace_every = 1;
	handled = 0;
	assert_int_equal(sigaction(SIGILL, &action, &before), 0);
	for (i = 0; i < 20; i++)
		faulting();
	assert_int_equal(sigaction(SIGILL, &before, NULL), 0);
	assert_int_equal(handled, 20);
	assert_int_equal(loss_count(FORMAT_LOSS_TRUNCATED), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(fibers, walker_begin, walker_end),
		cmocka_unit_test_setup_teardown(fibers_without_a_marked_end, walker_begin,
						walker_end),
		cmocka_unit_test_setup_teardown(no_call_frame_information, walker_begin, walker_end),
		cmocka_unit_test_setup_teardown(a_page_that_went_away, walker_begin, walker_end),
		cmocka_unit_test_setup_teardown(wrong_call_frame_information, walker_begin,
						walker_end),
		cmocka_unit_test_setup_teardown(the_outermost_frame_is_joined, walker_begin,
						walker_end),
		cmocka_unit_test_setup_teardown(random_calls_without_an_end, walker_begin,
						walker_end),
		cmocka_unit_test_setup_teardown(handlers, walker_begin, walker_end),
		cmocka_unit_test_setup_teardown(handlers_on_another_stack, walker_begin, walker_end),
		cmocka_unit_test_setup_teardown(fault_at_the_first_instruction, walker_begin,
						walker_end),
	};

	return cmocka_run_group_tests_name("unwind_fibers", tests, NULL, NULL);
}
