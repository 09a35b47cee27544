/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * errand.h - x86_64: see arch/errand.h.
 *
 * A system call changes rax, rcx and r11, and takes its arguments in rdi, rsi, rdx, r10, r8 and r9 (psABI 1.0, section A.2.1); it keeps the
 * flags.  None of the other instructions changes these.  A signal may come at any moment: the stack pointer is always the program's.
 */
#ifndef PMEM_ARCH_X86_64_ERRAND_H
#define PMEM_ARCH_X86_64_ERRAND_H
#include <stddef.h>
#include <stdint.h>

#include "arch/x86_64/registers.h"

struct arch_errand {
	uint64_t state; /* enum arch_errand_state */
	uint64_t mask;
	uint64_t pc;
	uint64_t ax, cx, dx, si, di, r8, r9, r10, r11;
};

_Static_assert(offsetof(struct arch_errand, mask) == 8 && offsetof(struct arch_errand, pc) == 16 &&
		       offsetof(struct arch_errand, ax) == 24 &&
		       offsetof(struct arch_errand, r11) == 88,
	       "as in the code below");

extern const char arch_errand_fork[] __attribute__((visibility("hidden")));
extern const char arch_errand_call[] __attribute__((visibility("hidden")));
extern const char arch_errand_home[] __attribute__((visibility("hidden")));
extern const char arch_errand_end[] __attribute__((visibility("hidden")));

/* waitid(P_PID, child, NULL, WEXITED | __WALL, NULL) does nothing where clone(2) failed, as an error is no process id.
 * rt_sigprocmask(SIG_SETMASK, mask, NULL, 8).  The last two lines: nobody looks at the state of a thread whose program counter is here. */
#define ARCH_ERRAND_CODE(memory)                                                          \
	".pushsection .text\n"                                                            \
	".globl arch_errand_fork, arch_errand_call, arch_errand_home, arch_errand_end\n"  \
	".hidden arch_errand_fork, arch_errand_call, arch_errand_home, arch_errand_end\n" \
	".balign 16\n"                                                                    \
	"arch_errand_fork:\n"                                                             \
	"	syscall\n"                                                                      \
	"	mov %eax, %ecx\n"                                                               \
	"	jrcxz 1f\n"                                                                     \
	"	mov $1, %edi\n"                                                                 \
	"	mov %eax, %esi\n"                                                               \
	"	mov $0, %edx\n"                                                                 \
	"	mov $0x40000004, %r10d\n"                                                       \
	"	mov $0, %r8d\n"                                                                 \
	"	mov $247, %eax\n"                                                               \
	"	syscall\n"                                                                      \
	"	jmp arch_errand_home\n"                                                         \
	"1:	mov $231, %eax\n" /* exit_group(0) */                                     \
	"	mov $0, %edi\n"                                                                 \
	"	syscall\n"                                                                      \
	"	jmp 1b\n"                                                                       \
	"arch_errand_call:\n"                                                             \
	"	syscall\n"                                                                      \
	"arch_errand_home:\n"                                                             \
	"	movq $1, " memory "(%rip)\n"                                              \
	"	mov $14, %eax\n"                                                                \
	"	mov $2, %edi\n"                                                                 \
	"	lea " memory " + 8(%rip), %rsi\n"                                         \
	"	mov $0, %edx\n"                                                                 \
	"	mov $8, %r10d\n"                                                                \
	"	syscall\n"                                                                      \
	"	mov " memory " + 24(%rip), %rax\n"                                        \
	"	mov " memory " + 32(%rip), %rcx\n"                                        \
	"	mov " memory " + 40(%rip), %rdx\n"                                        \
	"	mov " memory " + 48(%rip), %rsi\n"                                        \
	"	mov " memory " + 56(%rip), %rdi\n"                                        \
	"	mov " memory " + 64(%rip), %r8\n"                                         \
	"	mov " memory " + 72(%rip), %r9\n"                                         \
	"	mov " memory " + 80(%rip), %r10\n"                                        \
	"	mov " memory " + 88(%rip), %r11\n"                                        \
	"	movq $2, " memory "(%rip)\n"                                              \
	"	jmp *" memory " + 16(%rip)\n"                                             \
	"arch_errand_end:\n"                                                              \
	".popsection\n"

/* A system call that a stop interrupted is begun anew by the kernel on the way out of that stop (signal handling in arch/x86/kernel/signal.c).
 * Here it is done as the kernel would: the number back in rax, or that of restart_syscall(2), and the instruction once more. */
static inline void arch_errand_fill(struct arch_errand *errand,
				    const struct arch_registers *registers, uint64_t mask)
{
	enum { SYSCALL_SIZE = 2, RESTART_SYSCALL = 219 };
	enum { RESTART_FIRST = 512, RESTART_NO_HANDLER = 514, RESTART_BLOCK = 516 };
	const struct user_regs_struct *general = &registers->general;
	int64_t failed = -(int64_t)general->rax;

	*errand = (struct arch_errand){
		.state = ARCH_ERRAND_USED,
		.mask = mask,
		.pc = general->rip,
		.ax = general->rax,
		.cx = general->rcx,
		.dx = general->rdx,
		.si = general->rsi,
		.di = general->rdi,
		.r8 = general->r8,
		.r9 = general->r9,
		.r10 = general->r10,
		.r11 = general->r11,
	};
	if ((int64_t)general->orig_rax < 0)
		return;
	if (failed >= RESTART_FIRST && failed <= RESTART_NO_HANDLER)
		errand->ax = general->orig_rax;
	else if (failed == RESTART_BLOCK)
		errand->ax = RESTART_SYSCALL;
	else
		return;
	errand->pc -= SYSCALL_SIZE;
}

#endif
