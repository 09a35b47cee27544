/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mini_debug.c - see mini_debug.h.
 *
 * libdwfl would unpack it too, but without a bound: a few kilobytes can become gigabytes.  Here what comes out is counted.
 */
#include "symbol/mini_debug.h"

#include <errno.h>
#include <gelf.h>
#include <lzma.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A million functions take some 100 MiB. */
enum { PIECE = 64 * 1024, UNPACKED_MAX = 128 * 1024 * 1024 };

/* xz -9 needs 65 MiB. */
#define DECODER_MEMORY_MAX (UINT64_C(100) << 20)

static const char section_name[] = ".gnu_debugdata";

struct place {
	uint64_t offset;
	uint64_t size;
};

/* False: there is no such section with bytes in the file. */
static bool find_in(Elf *elf, struct place *place)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return false;
	while ((section = elf_nextscn(elf, section))) {
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(elf, names, header.sh_name)
					   : NULL;

		if (!name || strcmp(name, section_name) != 0 || header.sh_type == SHT_NOBITS)
			continue;
		*place = (struct place){header.sh_offset, header.sh_size};
		return true;
	}
	return false;
}

static bool find(int fd, struct place *place)
{
	Elf *elf = elf_version(EV_CURRENT) != EV_NONE ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
	bool found = elf && elf_kind(elf) == ELF_K_ELF && find_in(elf, place);

	elf_end(elf);
	return found;
}

static bool write_all(int fd, const uint8_t *bytes, size_t size)
{
	while (size > 0) {
		ssize_t done = write(fd, bytes, size);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		bytes += done;
		size -= (size_t)done;
	}
	return true;
}

/* The next bytes of the section.  False: the file ends before it. */
static bool refill(int fd, struct place *place, uint8_t *bytes, lzma_stream *stream)
{
	size_t size = place->size < PIECE ? (size_t)place->size : PIECE;
	ssize_t got = place->offset <= INT64_MAX ? pread(fd, bytes, size, (off_t)place->offset) : -1;

	if (got <= 0)
		return false;
	place->offset += (size_t)got;
	place->size -= (size_t)got;
	stream->next_in = bytes;
	stream->avail_in = (size_t)got;
	return true;
}

/* True if the stream came to its end, and its checksums are right. */
static bool unpack(int fd, struct place place, lzma_stream *stream, int unpacked)
{
	uint8_t in[PIECE], out[PIECE];
	lzma_ret result = LZMA_OK;

	while (result == LZMA_OK) {
		if (stream->avail_in == 0 && place.size > 0 && !refill(fd, &place, in, stream))
			return false;
		stream->next_out = out;
		stream->avail_out = sizeof(out);
		result = lzma_code(stream, place.size > 0 ? LZMA_RUN : LZMA_FINISH);
		if (stream->total_out > UNPACKED_MAX ||
		    !write_all(unpacked, out, sizeof(out) - stream->avail_out))
			return false;
	}
	return result == LZMA_STREAM_END;
}

bool mini_debug_is_in(int fd)
{
	struct place place;

	return find(fd, &place);
}

int mini_debug_open(int fd)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	struct place place;
	int unpacked = find(fd, &place) ? memfd_create("mini_debug", MFD_CLOEXEC) : -1;
	bool done;

	if (unpacked < 0)
		return -1;
	done = lzma_stream_decoder(&stream, DECODER_MEMORY_MAX, 0) == LZMA_OK &&
	       unpack(fd, place, &stream, unpacked);
	lzma_end(&stream);
	if (done)
		return unpacked;
	close(unpacked);
	return -1;
}
