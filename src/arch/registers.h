/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * registers.h - the registers of a thread that is stopped by ptrace(2); for the tool only.
 *
 * An implementation src/arch/<cpu>/registers.h defines:
 *   struct arch_registers         the general registers, as PTRACE_GETREGSET gives them
 *   ARCH_REGISTER_SETS            the sets that may hold pointers beside them (NT_*), a list that ends in 0
 *   ARCH_RED_ZONE                 bytes below the stack pointer that belong to the innermost frame
 *   arch_registers_sp(), _pc()    stack pointer, program counter
 *   arch_registers_thread()       address of the thread's control block
 *   arch_control_block_at()       true if the three words at addr can be the beginning of a thread's control block
 *   arch_registers_call()         a call of the kernel by the instruction at pc
 *   arch_registers_result()       what it returned: -errno on failure
 *   arch_registers_set_result()   has a system call return something else
 *   arch_registers_interrupted()  number of the system call that the stop interrupted; -1: none
 */
#ifndef PMEM_ARCH_REGISTERS_H
#define PMEM_ARCH_REGISTERS_H

#if defined(__x86_64__) && defined(__LP64__)
#include "arch/x86_64/registers.h"
#else
#error "this CPU has no src/arch folder yet"
#endif

#endif
