/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diff_json.c - a comparison for programs; doc/JSON.md is its description, and changes with it.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/json.h"
#include "profile/estimate.h"
#include "profile/stack_id.h"
#include "profile/when.h"
#include "report/diff.h"

enum { SCHEMA = 1 };

static void put_text(struct json *json, const char *key, const char *text)
{
	json_key_string(json, key, text && text[0] ? text : NULL);
}

/* null if it is not known. */
static void put_count(struct json *json, const char *key, bool known, uint64_t value)
{
	json_key(json, key);
	if (known)
		json_uint(json, value);
	else
		json_null(json);
}

/* Of what the program maps: under the names that the report has for it. */
static void put_mapped_counts(struct json *json, const struct diff_page *page,
			      const struct sites_counts *counts)
{
	bool all = !page->diff->is_timed;

	json_key_uint(json, "mapped_bytes", counts->live_bytes);
	json_key_uint(json, "mapped_in_all_bytes", counts->alloc_bytes);
	put_count(json, "calls", all, counts->alloc_count);
}

static void put_counts(struct json *json, const struct diff_page *page, unsigned side,
		       const struct sites_counts *counts)
{
	uint64_t mean = page->sides[side].profile->header.sample_bytes;
	struct estimate live = estimate_of(counts->live_bytes, mean);
	bool all = !page->diff->is_timed;

	if (diff_page_is_mapped(page)) {
		put_mapped_counts(json, page, counts);
		return;
	}
	json_key_uint(json, "live_bytes", counts->live_bytes);
	if (mean) {
		json_key_uint(json, "live_bytes_low", live.low);
		json_key_uint(json, "live_bytes_high", live.high);
	}
	json_key_uint(json, "alloc_bytes", counts->alloc_bytes);
	put_count(json, "live_blocks", all, counts->live_count);
	put_count(json, "alloc_blocks", all, counts->alloc_count);
	put_count(json, "temporary_blocks", all, counts->temporary_count);
	json_key(json, "peak_bytes");
	if (all)
		json_int(json, counts->peak_bytes);
	else
		json_null(json);
}

static void put_side(struct json *json, const struct diff_page *page, unsigned index)
{
	const struct profile *profile = page->sides[index].profile;
	uint64_t time_ns = page->times_ns[index];
	char start[WHEN_SIZE], *flaws = diff_page_flaws(page, index);

	json_key(json, index == DIFF_A ? "a" : "b");
	json_object(json);
	json_key_string(json, "path", profile->path);
	put_text(json, "exe", profile->program);
	json_key_uint(json, "pid", profile->header.pid);
	put_text(json, "host", profile->host);
	json_key_string(json, "start", when_iso(profile->header.start_realtime_ns, start));
	json_key_uint(json, "duration_ns", profile->duration_ns);
	json_key_uint(json, "time_ns",
		      time_ns < profile->duration_ns ? time_ns : profile->duration_ns);
	json_key_bool(json, "running", profile->is_live);
	put_count(json, "sample_bytes", profile->header.sample_bytes != 0,
		  profile->header.sample_bytes);
	put_text(json, "flaws", flaws);
	put_counts(json, page, index, &page->diff->totals[index]);
	json_end(json);
	free(flaws);
}

static void put_match(struct json *json, const struct diff *diff)
{
	const struct diff_quality *quality = &diff->quality;

	json_key(json, "match");
	json_object(json);
	json_key_uint(json, "matched_stacks", quality->matched);
	json_key_uint(json, "new_stacks", quality->fresh);
	json_key_uint(json, "gone_stacks", quality->gone);
	json_key_uint(json, "matched_bytes_a", quality->matched_bytes[DIFF_A]);
	json_key_uint(json, "matched_bytes_b", quality->matched_bytes[DIFF_B]);
	json_key_uint(json, "new_bytes", quality->fresh_bytes);
	json_key_uint(json, "gone_bytes", quality->gone_bytes);
	json_key_uint(json, "left_out_stacks", diff->left_out);
	json_key_uint(json, "left_out_bytes", diff->left_out_bytes);
	json_end(json);
}

static void put_function(struct json *json, const struct report *report, const struct name *name)
{
	const struct profile *profile = report->profile;
	const struct profile_location *location = &profile->locations[name->location];

	json_key_string(json, "function",
			location->special ? location->special : name->symbol->function);
	put_text(json, "file", name->symbol->file);
	put_count(json, "line", name->symbol->line != 0, name->symbol->line);
	put_text(json, "module", location->special ? NULL : profile->modules[location->module].path);
}

static void put_row(struct json *json, const struct diff_page *page, const struct diff_row *row)
{
	static const char *const keys[DIFF_SIDES] = {"a", "b"};
	bool is_mapped = diff_page_is_mapped(page);

	json_key_string(json, "state", diff_page_state(diff_state(row)));
	json_key_bool(json, "inexact", row->inexact);
	json_key_int(json, is_mapped ? "mapped_change" : "live_change",
		     diff_change(row->counts, SITES_LIVE));
	if (diff_page_sampled(page))
		json_key_uint(json, "live_change_error",
			      diff_page_error(page, row->counts, SITES_LIVE));
	json_key_int(json, is_mapped ? "mapped_in_all_change" : "alloc_change",
		     diff_change(row->counts, SITES_ALLOC));
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		json_key(json, keys[side]);
		json_object(json);
		json_key_uint(json, "stacks", row->stack_count[side]);
		put_counts(json, page, side, &row->counts[side]);
		json_end(json);
	}
}

static void put_site(struct json *json, const struct diff_page *page, const struct diff_row *row)
{
	const struct report *report;
	struct name name = diff_page_name(page, row, &report);

	json_object(json);
	put_function(json, report, &name);
	put_row(json, page, row);
	json_end(json);
}

static void put_frames(struct json *json, const struct report *side, uint32_t node)
{
	const struct profile_node *nodes = side->profile->nodes;

	json_key(json, "frames");
	json_array(json);
	for (; node != 0; node = nodes[node].parent) {
		const struct symbol *found;
		size_t count = names_at(side->names, nodes[node].location, &found);

		for (size_t i = 0; i < count; i++) {
			struct name name = {nodes[node].location, &found[i]};

			json_object(json);
			put_function(json, side, &name);
			json_key_bool(json, "inlined", found[i].inlined);
			json_end(json);
		}
	}
	json_end(json);
}

static void put_stack(struct json *json, const struct diff_page *page, const struct diff_row *row)
{
	static const char *const keys[DIFF_SIDES] = {"id_a", "id_b"};
	unsigned shown = diff_shown_side(row);
	char id[17];

	json_object(json);
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		const struct profile *profile = page->sides[side].profile;
		uint32_t stack = row->stack[side];

		if (stack != DIFF_NONE)
			snprintf(id, sizeof(id), "%016" PRIx64,
				 stack_id(profile, &profile->stacks[stack]));
		json_key_string(json, keys[side], stack != DIFF_NONE ? id : NULL);
	}
	put_row(json, page, row);
	put_frames(json, &page->sides[shown],
		   page->sides[shown].profile->stacks[row->stack[shown]].node);
	json_end(json);
}

static void put_rows(struct json *json, const struct diff_page *page)
{
	const struct diff *diff = page->diff;

	put_match(json, diff);
	json_key(json, "sites");
	json_array(json);
	for (uint32_t i = 0; i < diff_page_rows(page, diff->site_count, 0); i++)
		put_site(json, page, &diff->sites[i]);
	json_end(json);
	json_key(json, "stacks");
	json_array(json);
	for (uint32_t i = 0; i < diff_page_rows(page, diff->stack_count, 0); i++)
		put_stack(json, page, &diff->stacks[i]);
	json_end(json);
}

/* null if neither program maps memory itself. */
static bool put_mappings(struct json *json, const struct diff_page *page, struct error *err)
{
	struct diff_page mapped;

	json_key(json, "mappings");
	if (!diff_page_maps(page)) {
		json_null(json);
		return true;
	}
	if (!diff_page_open_mapped(page, &mapped, err))
		return false;
	json_object(json);
	for (unsigned side = 0; side < DIFF_SIDES; side++) {
		json_key(json, side == DIFF_A ? "a" : "b");
		json_object(json);
		put_counts(json, &mapped, side, &mapped.diff->totals[side]);
		json_end(json);
	}
	put_rows(json, &mapped);
	json_end(json);
	diff_page_close(&mapped);
	return true;
}

bool diff_page_json(const struct diff_page *page, struct error *err)
{
	struct json json;
	bool ok;

	json_begin(&json, page->out->file);
	json_object(&json);
	json_key_uint(&json, "schema", SCHEMA);
	json_key_string(&json, "sorted_by", sites_key_name(page->key));
	put_side(&json, page, DIFF_A);
	put_side(&json, page, DIFF_B);
	put_rows(&json, page);
	ok = put_mappings(&json, page, err);
	json_end(&json);
	return ok;
}
