/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * go_note.c - see go_note.h.
 */
#include "core/go_note.h"

#include <elf.h>
#include <string.h>

static const char owner[] = "Go";

static size_t aligned(uint32_t size)
{
	return ((size_t)size + 3) & ~(size_t)3;
}

/* Of a name of size bytes.  With and without the alignment that belongs to it. */
static bool is_owner(const uint8_t *name, uint32_t size)
{
	return (size == sizeof(owner) || size == sizeof(owner) + 1) &&
	       memcmp(name, owner, sizeof(owner)) == 0;
}

bool go_note_is_in(const uint8_t *bytes, size_t size)
{
	Elf64_Nhdr note;
	size_t name_size, content_size;

	while (size >= sizeof(note)) {
		memcpy(&note, bytes, sizeof(note));
		bytes += sizeof(note);
		size -= sizeof(note);
		name_size = aligned(note.n_namesz);
		if (name_size > size)
			return false;
		if (is_owner(bytes, note.n_namesz))
			return true;
		bytes += name_size;
		size -= name_size;
		content_size = aligned(note.n_descsz);
		if (content_size > size)
			return false;
		bytes += content_size;
		size -= content_size;
	}
	return false;
}
