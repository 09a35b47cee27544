/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * call_line.c - see call_line.h.
 */
#include "libpmem/call_line.h"

#include <stddef.h>
#include <string.h>

#include "libpmem/modules.h"
#include "libpmem/names.h"
#include "libpmem/symbols.h"
#include "libpmem/tree.h"

enum { FRAMES = 5, NAME_SHOWN = 120 /* bytes of a function's name */ };

static void put_cut(struct text *text, const char *name)
{
	size_t size = strnlen(name, NAME_SHOWN + 1);

	for (size_t i = 0; i < size && i < NAME_SHOWN; i++)
		text_char(text, (unsigned char)name[i] < ' ' || name[i] == 0x7f ? '?' : name[i]);
	if (size > NAME_SHOWN)
		text_string(text, "...");
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void put_frame(struct text *text, uint32_t node)
{
	struct modules_location location;
	struct name name = {.symbol = NULL};
	const char *special;

	modules_locate(tree_pc32(node), &location);
	if (!location.module) {
		special = modules_special_name((uint32_t)location.offset);
		text_string(text, special ? special : "[unknown]");
		return;
	}
	if (location.module->path[0])
		names_find(&location, &name);
	if (name.symbol) {
		put_cut(text, name.symbol);
		return;
	}
	put_cut(text, location.module->path[0] ? last_part(location.module->path) : "[anonymous]");
	text_string(text, "+0x");
	text_hex(text, location.offset, 0);
}

void call_line_put(struct text *text, uint32_t id)
{
	uint32_t node = tree_stack(id)->node;

	for (unsigned i = 0; i < FRAMES && node != TREE_ROOT; i++, node = tree_parent(node)) {
		text_string(text, i ? " < " : " ");
		put_frame(text, node);
	}
	if (node != TREE_ROOT)
		text_string(text, " < ...");
}
