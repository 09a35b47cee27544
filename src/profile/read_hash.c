/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * read_hash.c - see read_hash.h.
 *
 * FNV-1a's step (h ^ c) * P changes h's low byte, which depends on nothing but itself and c, and multiplies.  So
 * for a fixed string s of n bytes and b = h & 0xff the hash is f(h) = (h - b) * P^n + f(b): with the 256 values of
 * f(b) - b * P^n a module's build-id or path costs one multiplication instead of one for each byte.
 */
#include "profile/read_hash.h"

#include <stdlib.h>
#include <string.h>

#include "core/stack_hash.h"

enum { LOW_BYTES = 256 };

struct read_hash_prefix {
	uint64_t power; /* P^n */
	uint64_t rest[LOW_BYTES];
};

bool read_hash_begin(struct read_hash *hash, const struct profile *profile)
{
	*hash = (struct read_hash){.modules = profile->modules,
				   .module_count = profile->module_count};
	hash->prefixes = calloc((size_t)hash->module_count + 1, sizeof(*hash->prefixes));
	return hash->prefixes != NULL;
}

void read_hash_end(struct read_hash *hash)
{
	for (uint32_t i = 0; hash->prefixes && i < hash->module_count; i++)
		free(hash->prefixes[i]);
	free(hash->prefixes);
	hash->prefixes = NULL;
}

/* What stack_hash_code() does before the offset. */
static uint64_t hash_module(uint64_t value, const struct profile_module *module)
{
	if (module->build_id_size > 0)
		return stack_hash_bytes(value, module->build_id, module->build_id_size);
	return stack_hash_string(value, module->path);
}

static struct read_hash_prefix *make_prefix(const struct profile_module *module)
{
	size_t size = module->build_id_size > 0 ? module->build_id_size : strlen(module->path) + 1;
	struct read_hash_prefix *prefix = malloc(sizeof(*prefix));

	if (!prefix)
		return NULL;
	prefix->power = 1;
	for (; size > 0; size--)
		prefix->power *= STACK_HASH_PRIME;
	for (uint64_t low = 0; low < LOW_BYTES; low++)
		prefix->rest[low] = hash_module(low, module) - low * prefix->power;
	return prefix;
}

uint64_t read_hash_frame(struct read_hash *hash, uint64_t value,
			 const struct profile_location *location)
{
	const struct profile_module *module;
	struct read_hash_prefix **prefix;

	if (location->special)
		return stack_hash_string(value, location->special);
	module = &hash->modules[location->module];
	prefix = &hash->prefixes[location->module];
	if (!*prefix)
		*prefix = make_prefix(module);
	if (*prefix)
		value = value * (*prefix)->power + (*prefix)->rest[value % LOW_BYTES];
	else
		value = hash_module(value, module);
	value = stack_hash_uint(value, location->offset, 8);
	return module->instance ? stack_hash_uint(value, module->instance, 4) : value;
}
