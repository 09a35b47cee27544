/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inject.h - one system call in the name of a stopped thread.
 *
 * The thread executes code that is in the process for that (arch/errand.h), with registers of ours, and gets its own back.  If this process dies
 * meanwhile the thread goes on by itself as if nothing had been.  Its signals are blocked meanwhile.
 */
#ifndef PMEM_LEAKS_INJECT_H
#define PMEM_LEAKS_INJECT_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "core/format.h"
#include "leaks/stop.h"

/* A process that a call made, which is stopped and traced by this one. */
struct inject_born {
	pid_t pid;    /* 0 = none */
	pid_t inside; /* its number in the process's PID namespace; 0 = not known yet */
};

struct inject {
	const struct format_errand *errand; /* of the process */
	long number;
	uint64_t arguments[6];
	struct inject_born *
		born; /* for a call that forks; written at once, for whoever goes on in our place; else NULL */
	int64_t result; /* set by inject(): -errno on failure */
};

/* The thread is stopped again afterwards, as it was.  False: it ended meanwhile. */
bool inject(const struct stop_thread *thread, struct inject *call, struct error *err);

/* True if no thread is on its way home from a call that another pmem leaks did not bring to its end.  False also if only some threads are
 * stopped and that may be so. */
bool inject_may(const struct stop *stop, const struct format_errand *errand);

/* The thread to take of those that are stopped: one that is in a system call, else one that is not in the middle of a restartable sequence
 * (rseq(2)).  NULL: there is none. */
const struct stop_thread *inject_choose(const struct stop *stop);

#endif
