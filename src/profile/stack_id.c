/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_id.c - see stack_id.h.
 */
#include "profile/stack_id.h"

#include <stdlib.h>

#include "core/stack_hash.h"

enum { LOW_BYTES = 256 };

struct stack_id_prefix {
	struct stack_hash_step steps[LOW_BYTES]; /* by the lowest 8 bits of the hash */
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

static struct stack_hash_frame frame_in(const struct profile_module *module)
{
	return (struct stack_hash_frame){.build_id = module->build_id,
					 .build_id_size = module->build_id_size,
					 .path = module->path};
}

static struct stack_id_prefix *make_prefix(const struct profile_module *module)
{
	const struct stack_hash_frame frame = frame_in(module);
	struct stack_id_prefix *prefix = malloc(sizeof(*prefix));

	for (unsigned low = 0; prefix && low < LOW_BYTES; low++)
		prefix->steps[low] = stack_hash_object_step(low, &frame);
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
	struct stack_hash_frame frame;

	if (location->special)
		return stack_hash_string(value, location->special);
	module = &profile->modules[location->module];
	prefix = prefix_of(profile, location->module);
	frame = frame_in(module);
	value = prefix ? stack_hash_take_step(value, &prefix->steps[value % LOW_BYTES])
		       : stack_hash_object(value, &frame);
	return stack_hash_place(value, location->offset, module->instance);
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
