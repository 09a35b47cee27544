/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpu.h - x86_64, System V ABI (psABI 1.0, section 3.6.2 for the DWARF register numbers).
 *
 * See arch/arch.h for the meaning of each function.
 */
#ifndef PMEM_ARCH_X86_64_CPU_H
#define PMEM_ARCH_X86_64_CPU_H
#include <cpuid.h>
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
	ARCH_ELF_MACHINE = 62, /* EM_X86_64 */
};

/* glibc, sysdeps/unix/sysv/linux/x86_64/64/libc.abilist */
#define ARCH_GLIBC_VERSION "GLIBC_2.2.5"
#define ARCH_GLIBC_VERSION_ALIGNED_ALLOC "GLIBC_2.16"

/* vdso(7) */
#define ARCH_VDSO_CLOCK_GETTIME "__vdso_clock_gettime"

static inline void arch_pause(void)
{
	__builtin_ia32_pause();
}

/* With -mgeneral-regs-only gcc has no vector registers, so it keeps nothing in them and refuses their names; across
 * calls the ABI lets us change them. */
#ifdef __SSE2__
#define ARCH_VECTORS_CLOBBERED , "xmm0", "xmm1", "xmm2"
#else
#define ARCH_VECTORS_CLOBBERED
#endif

/* By hand, because the compiler must not use the vector registers for anything else (libpmem/flags.txt). */
static inline __attribute__((always_inline)) bool arch_holds4(const uintptr_t checks[8])
{
	uintptr_t word; /* an address, at last the mask of equal bytes */

	__asm__("mov (%[checks]), %[word]\n\t"
		"movq (%[word]), %%xmm0\n\t"
		"mov 8(%[checks]), %[word]\n\t"
		"movhps (%[word]), %%xmm0\n\t"
		"mov 16(%[checks]), %[word]\n\t"
		"movq (%[word]), %%xmm1\n\t"
		"mov 24(%[checks]), %[word]\n\t"
		"movhps (%[word]), %%xmm1\n\t"
		"pcmpeqd 32(%[checks]), %%xmm0\n\t"
		"pcmpeqd 48(%[checks]), %%xmm1\n\t"
		"pand %%xmm1, %%xmm0\n\t"
		"pmovmskb %%xmm0, %k[word]"
		: [word] "=&r"(word)
		: [checks] "r"(checks)
		: "memory" ARCH_VECTORS_CLOBBERED);
	return (uint32_t)word == 0xffff;
}

/* AVX2, with the system's consent (Intel SDM, volume 1, 14.7.1). */
static inline bool arch_can_gather(void)
{
	enum { OSXSAVE_AND_AVX = 3 << 27, AVX2 = 1 << 5, XMM_AND_YMM = 3 << 1 };
	uint32_t a, b, c, d, enabled, high;

	if (!__get_cpuid(1, &a, &b, &c, &d) || (c & OSXSAVE_AND_AVX) != OSXSAVE_AND_AVX)
		return false;
	__asm__("xgetbv" : "=a"(enabled), "=d"(high) : "c"(0));
	return (enabled & XMM_AND_YMM) == XMM_AND_YMM && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
	       (b & AVX2);
}

static inline __attribute__((always_inline)) bool arch_holds4_gather(const uintptr_t checks[8])
{
	bool equal;

	__asm__("vpcmpeqd %%ymm2, %%ymm2, %%ymm2\n\t"
		"vmovdqa (%[checks]), %%ymm0\n\t"
		"vpgatherqq %%ymm2, (,%%ymm0,1), %%ymm1\n\t"
		"vpxor 32(%[checks]), %%ymm1, %%ymm1\n\t"
		"vptest %%ymm1, %%ymm1"
		: "=@ccz"(equal)
		: [checks] "r"(checks)
		: "memory" ARCH_VECTORS_CLOBBERED);
	return equal;
}

static inline void arch_gather_end(void)
{
	__asm__ volatile("vzeroupper");
}

static inline uint64_t arch_ticks(void)
{
	return __builtin_ia32_rdtsc();
}

static inline uintptr_t arch_thread_pointer(void)
{
	uintptr_t pointer;

	/* Its first word is its own address (ABI supplement, "Thread-Local Storage"). */
	__asm__("mov %%fs:0, %0" : "=r"(pointer));
	return pointer;
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
