/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * registers.h - x86_64: see arch/registers.h.
 */
#ifndef PMEM_ARCH_X86_64_REGISTERS_H
#define PMEM_ARCH_X86_64_REGISTERS_H
#include <elf.h>
#include <stdint.h>
#include <sys/user.h>

struct arch_registers {
	struct user_regs_struct general;
};

/* Vector registers, and the x87's, in the layout of XSAVE. */
#define ARCH_REGISTER_SETS       \
	{                        \
		NT_X86_XSTATE, 0 \
	}

enum { ARCH_RED_ZONE = 128 };

static inline uint64_t arch_registers_sp(const struct arch_registers *registers)
{
	return registers->general.rsp;
}

static inline uint64_t arch_registers_pc(const struct arch_registers *registers)
{
	return registers->general.rip;
}

static inline uint64_t arch_registers_thread(const struct arch_registers *registers)
{
	return registers->general.fs_base;
}

/* tcbhead_t in glibc, sysdeps/x86_64/nptl/tls.h: tcb, dtv, self. */
static inline int arch_control_block_at(uint64_t addr, const uint64_t words[3])
{
	return words[0] == addr && words[2] == addr && words[1] && words[1] != addr;
}

/* orig_rax -1: not inside a system call, so that the kernel does not begin one anew. */
static inline void arch_registers_call(struct arch_registers *registers, uint64_t pc, long number,
				       const uint64_t arguments[6])
{
	struct user_regs_struct *general = &registers->general;

	general->rip = pc;
	general->rax = (uint64_t)number;
	general->orig_rax = UINT64_MAX;
	general->rdi = arguments[0];
	general->rsi = arguments[1];
	general->rdx = arguments[2];
	general->r10 = arguments[3];
	general->r8 = arguments[4];
	general->r9 = arguments[5];
}

static inline int64_t arch_registers_result(const struct arch_registers *registers)
{
	return (int64_t)registers->general.rax;
}

static inline void arch_registers_set_result(struct arch_registers *registers, int64_t result)
{
	registers->general.rax = (uint64_t)result;
}

static inline int64_t arch_registers_interrupted(const struct arch_registers *registers)
{
	return (int64_t)registers->general.orig_rax;
}

#endif
