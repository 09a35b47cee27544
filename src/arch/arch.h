/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch.h - the interface of the CPU layer; picks the implementation for the target.
 *
 * An implementation src/arch/<cpu>/cpu.h defines, as static inline functions and enumerators:
 *   ARCH_DWARF_FP, _SP, _RA    DWARF register numbers of frame pointer, stack pointer, return address
 *   ARCH_DWARF_REGISTERS       one more than the largest number that call frame information may name
 *   ARCH_ADDRESS_BITS          user addresses are below 1 << ARCH_ADDRESS_BITS
 *   ARCH_GLIBC_VERSION         symbol version of malloc() in glibc, the port's first
 *   ARCH_GLIBC_VERSION_ALIGNED_ALLOC   the same of aligned_alloc()
 *   ARCH_VDSO_CLOCK_GETTIME    name of clock_gettime() in the vDSO
 *   arch_pause()               tells the CPU that this is a spin loop
 *   arch_holds4()              true if the words at four addresses are the four values after them; 32-byte aligned
 *   arch_can_gather()          true if there is arch_holds4_gather(), the same in another way
 *   arch_gather_end()          after the last of these, before anything else
 *   arch_syscall6()            a raw system call: -errno on failure, errno itself untouched
 *   arch_ticks()               a clock that costs next to nothing, in units of its own
 *   arch_thread_pointer()      address of the thread's control block, which lies at the end of its stack
 *   arch_signal_context()      registers of the interrupted code, from a signal frame
 *   arch_cfi_plt()             recognizes the linker's CFA expression for PLT stubs
 *   arch_cfi_plt_cfa()         evaluates it
 */
#ifndef PMEM_ARCH_ARCH_H
#define PMEM_ARCH_ARCH_H

#if defined(__x86_64__) && defined(__LP64__)
#include "arch/x86_64/cpu.h"
#else
#error "this CPU has no src/arch folder yet"
#endif

#endif
