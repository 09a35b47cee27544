/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_perf_map.c - fuzzes the readers of what just-in-time compilers write about code, perf maps and their logs, and what
 * takes the names in them apart.
 *
 * Input: either; both readers get it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profile/blame.h"
#include "symbol/jit_label.h"
#include "symbol/jitdump.h"
#include "symbol/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint64_t addresses[] = {
	0x10,	0x1000,		0x1001,		0x1010,	    0x1010,	0x1100,	    0x1800,
	0x2001, 0x7f0000001005, 0x7f0000001100, UINT64_MAX, 0xffffffff, 0x100000000};

static void require(int condition)
{
	if (!condition)
		abort();
}

static void check_label(const char *raw_name)
{
	struct jit_label label;

	require(jit_label_parse(raw_name, &label));
	require(!label.function || strlen(label.function) > 0 || raw_name[0] == '_');
	require(label.line == 0 || label.file);
	require(blame_of("", raw_name, label.function) < BLAME_COUNT);
	jit_label_free(&label);
}

static void check_names(const struct jit_names *names)
{
	size_t found = 0;

	for (size_t i = 0; i < names->count; i++) {
		const struct jit_name *name = &names->items[i];

		require(i == 0 || names->items[i - 1].address < name->address);
		require(name->raw_name || (!name->file && !name->line));
		require(name->file || !name->line);
		if (!name->raw_name)
			continue;
		found++;
		require(name->raw_name[0] && strlen(name->raw_name) <= JIT_NAME_MAX);
		require(name->start != 0 && name->start < name->address);
		check_label(name->raw_name);
	}
	require(found == names->found);
}

static void read_map(int fd, bool (*read_names)(int fd, struct jit_names *names))
{
	struct jit_names names;

	require(jit_names_begin(&names, addresses, sizeof(addresses) / sizeof(addresses[0])));
	require(read_names(fd, &names));
	check_names(&names);
	jit_names_end(&names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("input", MFD_CLOEXEC);
	require(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
	read_map(fd, perf_map_read);
	read_map(fd, jitdump_read);
	return 0;
}
