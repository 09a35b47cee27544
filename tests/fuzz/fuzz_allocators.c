/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_allocators.c - fuzzes what says that a program has an allocator of its own, and what unpacks .gnu_debugdata.
 *
 * Input: an ELF object, which is read through a file in memory; also taken for ELF notes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/allocator_names.h"
#include "core/go_note.h"
#include "symbol/allocators.h"
#include "symbol/mini_debug.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

static void check_names(int fd)
{
	const struct elf_build_id other = {.size = 1, .bytes = {1}};
	struct allocators found = {.names = UINT32_MAX, .sanitizer = "none was read"};
	char text[ALLOCATOR_NAMES_TEXT];

	if (!allocators_read(fd, NULL, &found)) {
		require(found.names == UINT32_MAX && !allocators_read(fd, &other, &found));
		return;
	}
	require(strlen(allocator_names_text(found.names, text)) < sizeof(text));
	require(found.is_go || !(found.names & allocator_names_go()));
	require(!found.sanitizer || strstr(found.sanitizer, "Sanitizer"));
	allocators_read(fd, &other, &found);
}

/* What was unpacked is a file as untrusted as the one that it came from. */
static void check_unpacked(int fd)
{
	int unpacked = mini_debug_open(fd);

	if (unpacked < 0)
		return;
	require(mini_debug_is_in(fd));
	check_names(unpacked);
	close(unpacked);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	check_names(fd);
	check_unpacked(fd);
	go_note_is_in(data, size);
	close(fd);
	return 0;
}
