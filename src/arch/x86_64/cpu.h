/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpu.h - x86_64, System V ABI (psABI 1.0, section 3.6.2 for the DWARF register numbers).
 *
 * See arch/arch.h for the meaning of each function.
 */
#ifndef PMEM_ARCH_X86_64_CPU_H
#define PMEM_ARCH_X86_64_CPU_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	ARCH_DWARF_FP = 6,
	ARCH_DWARF_SP = 7,
	ARCH_DWARF_RA = 16,
	ARCH_DWARF_REGISTERS = 17,
	ARCH_ADDRESS_BITS = 47,
};

/* vdso(7) */
#define ARCH_VDSO_CLOCK_GETTIME "__vdso_clock_gettime"

static inline void arch_pause(void)
{
	__builtin_ia32_pause();
}

static inline long arch_syscall6(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

/* Offsets of the saved registers from the stack pointer inside the signal trampoline: the kernel's
 * struct ucontext begins there (arch/x86/include/uapi/asm/sigcontext.h). */
enum {
	ARCH_SIGNAL_FP_OFFSET = 120,
	ARCH_SIGNAL_SP_OFFSET = 160,
	ARCH_SIGNAL_PC_OFFSET = 168,
};

/* The expression that GNU ld and lld emit for .plt: sp + 8 + ((pc & 15) >= limit) * 8.
 * Returns true and stores limit if the size bytes at expression are exactly that. */
static inline bool arch_cfi_plt(const uint8_t *expression, size_t size, int32_t *limit)
{
	/* breg7 +8, breg16 +0, lit15, and, lit<limit>, ge, lit3, shl, plus */
	static const uint8_t head[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a};
	static const uint8_t tail[] = {0x2a, 0x33, 0x24, 0x22};

	if (size != sizeof(head) + 1 + sizeof(tail) || memcmp(expression, head, sizeof(head)) != 0 ||
	    memcmp(expression + sizeof(head) + 1, tail, sizeof(tail)) != 0 ||
	    expression[sizeof(head)] < 0x30 || expression[sizeof(head)] > 0x3f)
		return false;
	*limit = expression[sizeof(head)] - 0x30;
	return true;
}

static inline uintptr_t arch_cfi_plt_cfa(uintptr_t pc, uintptr_t sp, int32_t limit)
{
	return sp + 8 + ((pc & 15) >= (uintptr_t)limit ? 8 : 0);
}

#endif
