/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_id.c - see stack_id.h.
 *
 * FNV-1a's step (h ^ c) * P changes h's low byte, which depends on nothing but itself and c, and multiplies.  So
 * for a fixed string s of n bytes and b = h & 0xff the hash is f(h) = (h - b) * P^n + f(b): with the 256 values of
 * f(b) - b * P^n a module's build-id or path costs one multiplication instead of one for each byte.
 */
#include "profile/stack_id.h"

#include <stdlib.h>
#include <string.h>

#include "core/stack_hash.h"

enum { LOW_BYTES = 256 };

struct stack_id_prefix {
	uint64_t power; /* P^n */
	uint64_t rest[LOW_BYTES];
};

struct stack_id_prefix **stack_id_prefixes_new(uint32_t count)
{
	return calloc((size_t)count + 1, sizeof(struct stack_id_prefix *));
}

void stack_id_prefixes_free(struct stack_id_prefix **prefixes, uint32_t count)
{
	for (uint32_t i = 0; prefixes && i < count; i++)
		free(prefixes[i]);
	free(prefixes);
}

/* What stack_hash_code() does before the offset. */
static uint64_t hash_module(uint64_t value, const struct profile_module *module)
{
	if (module->build_id_size > 0)
		return stack_hash_bytes(value, module->build_id, module->build_id_size);
	return stack_hash_string(value, module->path);
}

static struct stack_id_prefix *make_prefix(const struct profile_module *module)
{
	size_t size = module->build_id_size > 0 ? module->build_id_size : strlen(module->path) + 1;
	struct stack_id_prefix *prefix = malloc(sizeof(*prefix));

	if (!prefix)
		return NULL;
	prefix->power = 1;
	for (; size > 0; size--)
		prefix->power *= STACK_HASH_PRIME;
	for (uint64_t low = 0; low < LOW_BYTES; low++)
		prefix->rest[low] = hash_module(low, module) - low * prefix->power;
	return prefix;
}

/* NULL: no memory, or the profile has no room for them. */
static const struct stack_id_prefix *prefix_of(const struct profile *profile, uint32_t module)
{
	struct stack_id_prefix **prefix;

	if (!profile->id_prefixes)
		return NULL;
	prefix = &profile->id_prefixes[module];
	if (!*prefix)
		*prefix = make_prefix(&profile->modules[module]);
	return *prefix;
}

uint64_t stack_id_frame(const struct profile *profile, uint64_t value,
			const struct profile_location *location)
{
	const struct profile_module *module;
	const struct stack_id_prefix *prefix;

	if (location->special)
		return stack_hash_string(value, location->special);
	module = &profile->modules[location->module];
	prefix = prefix_of(profile, location->module);
	if (prefix)
		value = value * prefix->power + prefix->rest[value % LOW_BYTES];
	else
		value = hash_module(value, module);
	value = stack_hash_uint(value, location->offset, 8);
	return module->instance ? stack_hash_uint(value, module->instance, 4) : value;
}

uint64_t stack_id(const struct profile *profile, const struct profile_stack *stack)
{
	uint64_t value = STACK_HASH_START;

	if (stack->hook != FORMAT_NO_HOOK)
		value = stack_hash_string(value, profile_hook_name(stack->hook));
	for (uint32_t node = stack->node; node != 0; node = profile->nodes[node].parent)
		value = stack_id_frame(profile, value,
				       &profile->locations[profile->nodes[node].location]);
	return value;
}
