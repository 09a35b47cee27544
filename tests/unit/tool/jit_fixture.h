/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jit_fixture.h - asks for addresses in a map that lies in memory.
 */
#ifndef PMEM_TESTS_JIT_FIXTURE_H
#define PMEM_TESTS_JIT_FIXTURE_H
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/jit_names.h"

typedef bool jit_reader(int fd, struct jit_names *names);

static inline void fixture_ask(jit_reader *read_names, const void *bytes, size_t size,
			       struct jit_names *names)
{
	int fd = memfd_create("map", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || !read_names(fd, names))
		abort();
	close(fd);
}

/* What is known of an address; NULL: it was not asked for. */
static inline const struct jit_name *fixture_name(const struct jit_names *names, uint64_t address)
{
	for (size_t i = 0; i < names->count; i++)
		if (names->items[i].address == address)
			return &names->items[i];
	return NULL;
}

#endif
