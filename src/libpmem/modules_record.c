/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * modules_record.c - see modules_record.h.
 */
#include "libpmem/modules_record.h"

#include <stdatomic.h>
#include <string.h>

#include "libpmem/store.h"

/* The profile's record of module id; NULL: no memory. */
static struct format_module *record_of(uint32_t id)
{
	uint32_t per_block = FORMAT_BLOCK_SIZE / sizeof(struct format_module);
	struct format_module *records = store_block(FORMAT_MODULES, id / per_block);

	return records ? &records[id % per_block] : NULL;
}

static void set(_Atomic uint64_t *field, uint64_t value)
{
	atomic_store_explicit(field, value, memory_order_relaxed);
}

/* Release: the records below it. */
static void publish(_Atomic uint32_t *count, uint32_t index)
{
	atomic_store_explicit(count, index + 1, memory_order_release);
}

bool modules_record_begin(void)
{
	publish(&store_head()->module_count, 0);
	publish(&store_head()->region_count, 0);
	return record_of(0) != NULL;
}

void modules_record_place(uint32_t id, const struct module *module)
{
	struct format_module *record = record_of(id);

	if (!record)
		return;
	set(&record->bias, module->bias);
	set(&record->start, module->start);
	set(&record->end, module->end);
	set(&record->load_ns, store_time());
	set(&record->unload_ns, 0);
}

void modules_record_new(uint32_t id, const struct module *module, struct format_text path)
{
	struct format_module *record = record_of(id);

	if (record) {
		record->path = path;
		record->first_vaddr = module->first_vaddr;
		record->instance = module->instance;
		record->build_id_size = module->build_id.size;
		memcpy(record->build_id, module->build_id.bytes, sizeof(record->build_id));
		modules_record_place(id, module);
	}
	publish(&store_head()->module_count, id);
}

void modules_record_unload(uint32_t id)
{
	struct format_module *record = record_of(id);

	if (record)
		set(&record->unload_ns, store_time());
}

void modules_record_region(uint32_t index, const struct format_region *region)
{
	uint32_t per_block = FORMAT_BLOCK_SIZE / sizeof(struct format_region);
	struct format_region *records = store_block(FORMAT_REGIONS, index / per_block);

	if (records)
		records[index % per_block] = *region;
	publish(&store_head()->region_count, index);
}
