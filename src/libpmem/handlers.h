/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * handlers.h - what runs around fork() and at the end of the process, with each C library.
 */
#ifndef PMEM_LIBPMEM_HANDLERS_H
#define PMEM_LIBPMEM_HANDLERS_H

struct handlers_fork {
	void (*before)(void);
	void (*parent)(void);
	void (*child)(void);
};

/* In the constructor, once: before anything of the program's, so that end runs after all its handlers and destructors,
 * at exit() and quick_exit().  fork is of no use with musl. */
void handlers_register(const struct handlers_fork *fork, void (*end)(void));

#endif
