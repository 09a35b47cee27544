/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_hash.h - the {hash} of a call stack: FNV-1a, 64 bits, over what stays the same from run to run.
 *
 * doc/LOG.md, "The hash", is normative.  The recorder's log and the tool both use these functions, so that a call
 * stack has one name everywhere.  Begin with STACK_HASH_START; then the entry point's name
 * (stack_hash_string), if it is known; then each frame, the innermost first.
 */
#ifndef PMEM_CORE_STACK_HASH_H
#define PMEM_CORE_STACK_HASH_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define STACK_HASH_START UINT64_C(0xcbf29ce484222325)
#define STACK_HASH_PRIME UINT64_C(0x100000001b3)

/* A frame that is code. */
struct stack_hash_frame {
	const uint8_t *build_id;
	size_t build_id_size; /* 0 = none: the path counts */
	const char *path;     /* "" = code outside of all modules */
	uint64_t offset;      /* return address in the terms of the module's file */
	uint32_t instance; /* 0, or n if the same file was loaded n times before at the same moment */
};

static inline uint64_t stack_hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
	const uint8_t *at = (const uint8_t *)bytes;
	size_t i;

	for (i = 0; i < size; i++)
		hash = (hash ^ at[i]) * STACK_HASH_PRIME;
	return hash;
}

/* Little-endian, size (at most 8) bytes.  The zero bytes at its end cost one multiplication. */
static inline uint64_t stack_hash_uint(uint64_t hash, uint64_t value, unsigned size)
{
	static const uint64_t powers[] = {
		UINT64_C(0x1),
		UINT64_C(0x100000001b3),
		UINT64_C(0x366000002e329),
		UINT64_C(0x8a97b0004e7feab),
		UINT64_C(0x9ffaac085635bc91),
		UINT64_C(0xcaee32a7d4f6a63),
		UINT64_C(0xdc966432edf1c639),
		UINT64_C(0xc5527b8a51d3d2db),
		UINT64_C(0x1efac7090aef4a21),
	};

	for (; value != 0 && size > 0; size--) {
		hash = (hash ^ (value & 0xff)) * STACK_HASH_PRIME;
		value >>= 8;
	}
	return hash * powers[size];
}

/* With the 0 byte at its end.  For an entry point, and for a name that stands for a frame ("[truncated]"). */
static inline uint64_t stack_hash_string(uint64_t hash, const char *string)
{
	for (; *string; string++)
		hash = (hash ^ (uint8_t)*string) * STACK_HASH_PRIME;
	return hash * STACK_HASH_PRIME;
}

/* The first part of stack_hash_code(): which object the code is in. */
static inline uint64_t stack_hash_object(uint64_t hash, const struct stack_hash_frame *frame)
{
	if (frame->build_id_size > 0)
		return stack_hash_bytes(hash, frame->build_id, frame->build_id_size);
	return stack_hash_string(hash, frame->path);
}

/*
 * What the bytes of one object do to a hash.  XOR with a byte adds to the hash what its lowest 8 bits decide, and these decide the lowest
 * 8 bits of the product: so all bytes together are a multiplication and an addition, and there are only 256 different addends.  That
 * is exact, and one step where there were as many as bytes.
 */
struct stack_hash_step {
	uint64_t factor; /* the same for all hashes */
	uint64_t addend; /* for those with the same lowest 8 bits */
};

/* That of a frame's object, for hashes with the lowest 8 bits of hash. */
static inline struct stack_hash_step stack_hash_object_step(uint64_t hash,
							    const struct stack_hash_frame *frame)
{
	size_t bytes = frame->build_id_size ? frame->build_id_size : strlen(frame->path) + 1;
	struct stack_hash_step step = {.factor = 1};

	while (bytes-- > 0)
		step.factor *= STACK_HASH_PRIME;
	step.addend = stack_hash_object(hash, frame) - hash * step.factor;
	return step;
}

/* stack_hash_object() of what the step was made for. */
static inline uint64_t stack_hash_take_step(uint64_t hash, const struct stack_hash_step *step)
{
	return hash * step->factor + step->addend;
}

/* The second part: where in it. */
static inline uint64_t stack_hash_place(uint64_t hash, uint64_t offset, uint32_t instance)
{
	hash = stack_hash_uint(hash, offset, 8);
	return instance ? stack_hash_uint(hash, instance, 4) : hash;
}

static inline uint64_t stack_hash_code(uint64_t hash, const struct stack_hash_frame *frame)
{
	return stack_hash_place(stack_hash_object(hash, frame), frame->offset, frame->instance);
}

#endif
