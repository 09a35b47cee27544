/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * errand.h - a system call that a stopped thread makes for somebody else, with a way home of its own.
 *
 * The tool changes the registers of a thread, has it make a call, and gives it its own registers back.  If the tool is killed meanwhile, the
 * kernel lets the thread run with what is in its registers then.  So they lead into code of libpmem.so, which brings the thread home by
 * itself: it loads the registers that the call takes, and no others are ever changed, nor flags, nor the stack.
 *
 * An implementation src/arch/<cpu>/errand.h defines:
 *   struct arch_errand            what the way home needs, in memory of the thread's process
 *   ARCH_ERRAND_CODE(memory)      the code, as assembly; memory is the name of the struct arch_errand
 *   arch_errand_fork[]            there: a call that forks.  The child ends at once; the parent, if nobody stops it, waits for that, then home
 *   arch_errand_call[]            there: any other call, then home
 *   arch_errand_home[]            there: the signal mask, the registers, and back
 *   arch_errand_end[]             behind it
 *   arch_errand_fill()            the way home of a thread with these registers and this signal mask; for the tool
 */
#ifndef PMEM_ARCH_ERRAND_H
#define PMEM_ARCH_ERRAND_H
#include <stdint.h>

/* struct arch_errand begins with one of these, in 64 bits. */
enum arch_errand_state {
	ARCH_ERRAND_FREE, /* as in a forked child, where the kernel wipes it */
	ARCH_ERRAND_HOME, /* set by the code: a thread is on its way home by itself; where it looks, nobody may write */
	ARCH_ERRAND_USED, /* a thread may be inside the code: its program counter tells */
};

#if defined(__x86_64__) && defined(__LP64__)
#include "arch/x86_64/errand.h"
#else
#error "this CPU has no src/arch folder yet"
#endif

#endif
