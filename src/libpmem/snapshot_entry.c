/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snapshot_entry.c - one call stack as text, and its hash.
 *
 * The hash is that of core/stack_hash.h, which the tool computes too.
 */
#include "libpmem/snapshot_entry.h"

#include "core/stack_hash.h"
#include "libpmem/frame_lines.h"
#include "libpmem/modules.h"
#include "libpmem/names.h"
#include "libpmem/sys.h"
#include "libpmem/tree.h"

enum { HASH_DIGITS = 16, STEPS = 4096 };

/* What a module does to hashes with certain lowest 8 bits. */
struct step {
	const struct module *module; /* NULL = not made yet */
	struct stack_hash_step hash;
};

/* By module and lowest 8 bits; NULL = not there yet.  Under LOCK_SNAPSHOT. */
static struct step *steps;

/* The name of a frame that is no code. */
static const char *special_name(uint64_t number)
{
	const char *name = modules_special_name((uint32_t)number);

	return name ? name : "[unknown]";
}

static struct step make_step(const struct module *module, uint64_t hash)
{
	const struct stack_hash_frame frame = {.build_id = module->build_id.bytes,
					       .build_id_size = module->build_id.size,
					       .path = module->path};

	return (struct step){module, stack_hash_object_step(hash, &frame)};
}

static uint64_t hash_object(uint64_t hash, const struct modules_location *location)
{
	uint32_t key = location->module_id << 8 | (hash & 0xff);
	struct step step, *kept;

	if (!steps)
		steps = sys_map(STEPS * sizeof(*steps));
	kept = steps ? &steps[key % STEPS] : NULL;
	if (kept && kept->module == location->module)
		return stack_hash_take_step(hash, &kept->hash);
	step = make_step(location->module, hash);
	if (kept)
		*kept = step;
	return stack_hash_take_step(hash, &step.hash);
}

static uint64_t hash_frame(uint64_t hash, const struct modules_location *location)
{
	if (!location->module)
		return stack_hash_string(hash, special_name(location->offset));
	return stack_hash_place(hash_object(hash, location), location->offset,
				location->module->instance);
}

/* Goes on with hash through the frames from node outwards. */
static uint64_t hash_frames(uint64_t hash, uint32_t node)
{
	for (; node != TREE_ROOT; node = tree_parent(node)) {
		struct modules_location location;

		modules_locate(tree_pc32(node), &location);
		hash = hash_frame(hash, &location);
	}
	return hash;
}

struct snapshot_entry snapshot_entry_begin(uint32_t id)
{
	struct snapshot_entry entry = {
		.hook = tree_stack_hook(id), .node = tree_stack(id)->node, .hash = STACK_HASH_START};

	if (entry.hook != FORMAT_NO_HOOK)
		entry.hash = stack_hash_string(entry.hash, hook_name((enum format_hook)entry.hook));
	return entry;
}

uint64_t snapshot_entry_hash(uint32_t id)
{
	struct snapshot_entry entry = snapshot_entry_begin(id);

	return hash_frames(entry.hash, entry.node);
}

void snapshot_entry_put_hash(const struct snapshot_entry *entry, char *line)
{
	struct text digits = {.bytes = line + 1, .room = HASH_DIGITS};

	text_hex(&digits, hash_frames(entry->hash, entry->node), HASH_DIGITS);
}

void snapshot_entry_head(struct text *text, const struct snapshot_sums *sums)
{
	static const char first[] = "{0000000000000000} live:";

	text_bytes(text, first, sizeof(first) - 1);
	text_uint(text, sums->live, 0);
	text_string(text, ", alloc:");
	text_uint(text, sums->alloc_new, 0);
	text_char(text, '/');
	text_uint(text, sums->alloc, 0);
	text_string(text, ", free:");
	text_uint(text, sums->free_new, 0);
	text_char(text, '/');
	text_uint(text, sums->free, 0);
	text_char(text, '\n');
}

static void put_place(struct text *text, const char *symbol, uint64_t offset, uintptr_t address)
{
	text_char(text, '(');
	if (symbol)
		text_safe(text, symbol);
	text_string(text, "+0x");
	text_hex(text, offset, 0);
	text_string(text, ") [0x");
	text_hex(text, address, 0);
	text_char(text, ']');
}

static void put_code(struct text *text, const struct modules_location *location)
{
	struct name name = {.offset = location->offset};

	if (location->module->path[0] == '\0') {
		text_string(text, "[anonymous]");
	} else {
		text_safe(text, location->module->path);
		names_find(location, &name);
		if (!name.symbol)
			name.offset = location->offset;
	}
	put_place(text, name.symbol, name.offset, location->address);
}

/* Most call stacks have fewer than a hundred frames, and every line has a number. */
static void put_number(struct text *text, uint32_t number)
{
	char bytes[] = "  {00} ";

	if (number >= 100) {
		text_string(text, "  {");
		text_uint(text, number, 0);
		text_string(text, "} ");
		return;
	}
	bytes[3] = (char)('0' + number / 10);
	bytes[4] = (char)('0' + number % 10);
	if (number >= 10) {
		text_bytes(text, bytes, sizeof(bytes) - 1);
		return;
	}
	text_bytes(text, "  {", 3);
	text_bytes(text, bytes + 4, 3);
}

static void put_hook(struct text *text, enum format_hook hook)
{
	uintptr_t address = hook_address(hook);
	size_t start = text->size;

	/* No frame of code has so small a number. */
	if (frame_lines_copy(text, hook, address))
		return;
	text_safe(text, modules_library_path());
	put_place(text, hook_name(hook), 0, address);
	frame_lines_keep(text, start, hook, address);
}

static void put_frame(struct text *text, uint32_t pc32, const struct modules_location *location)
{
	size_t start = text->size;

	if (!location->module) {
		text_string(text, special_name(location->offset));
	} else if (!frame_lines_copy(text, pc32, location->address)) {
		put_code(text, location);
		frame_lines_keep(text, start, pc32, location->address);
	}
}

bool snapshot_entry_frame(struct snapshot_entry *entry, struct text *text)
{
	struct modules_location location;

	if (entry->hook == FORMAT_NO_HOOK && entry->node == TREE_ROOT)
		return false;
	put_number(text, entry->number++);
	if (entry->hook != FORMAT_NO_HOOK) {
		put_hook(text, (enum format_hook)entry->hook);
		entry->hook = FORMAT_NO_HOOK;
	} else {
		uint32_t pc32 = tree_pc32(entry->node);

		modules_locate(pc32, &location);
		entry->hash = hash_frame(entry->hash, &location);
		put_frame(text, pc32, &location);
		entry->node = tree_parent(entry->node);
	}
	text_char(text, '\n');
	return true;
}

void snapshot_entry_fork_child(void)
{
	steps = NULL; /* modules begin anew; it stays mapped, the caller's caller may still use it */
	frame_lines_fork_child();
}
