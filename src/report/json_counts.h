/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json_counts.h - what was allocated and freed, as members of a JSON object.
 */
#ifndef PMEM_REPORT_JSON_COUNTS_H
#define PMEM_REPORT_JSON_COUNTS_H
#include "base/json.h"
#include "profile/profile.h"

/* alloc_bytes, alloc_blocks, free_bytes, free_blocks. */
static inline void json_counts(struct json *json, const struct profile_counts *counts)
{
	json_key_uint(json, "alloc_bytes", counts->alloc_bytes);
	json_key_uint(json, "alloc_blocks", counts->alloc_count);
	json_key_uint(json, "free_bytes", counts->free_bytes);
	json_key_uint(json, "free_blocks", counts->free_count);
}

#endif
