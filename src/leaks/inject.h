/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inject.h - one system call in the name of a stopped thread.
 *
 * Nothing is written into the process: the thread executes a system call instruction that is there already, with registers of ours, and gets its
 * own back.  Its signals are blocked meanwhile.
 */
#ifndef PMEM_LEAKS_INJECT_H
#define PMEM_LEAKS_INJECT_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "leaks/stop.h"

struct inject {
	uint64_t code; /* address of a system call instruction */
	long number;
	uint64_t arguments[6];
	/* Set by inject(): */
	int64_t result; /* -errno on failure */
	pid_t born;	/* the process that the call made, which is stopped and traced; 0 = none */
};

/* The thread is stopped again afterwards, as it was.  False: it ended meanwhile. */
bool inject(const struct stop_thread *thread, struct inject *call, struct error *err);

/* Finds a system call instruction in the process's vDSO.  0: there is none. */
uint64_t inject_find_code(pid_t pid);

/* The thread to take of those that are stopped: one that is in a system call, else one that is not in the middle of a restartable sequence
 * (rseq(2)).  NULL: there is none. */
const struct stop_thread *inject_choose(const struct stop *stop);

#endif
