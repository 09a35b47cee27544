/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dhat.c - DHAT's profile as JSON, version 2, as dh_view reads it.
 *
 * Its program points are call stacks, the innermost frame first, each once: what differs in the entry point only is added up.
 * DHAT knows more and less than a profile: reads and writes are left out (bkacc false); a call stack's own maximum is the
 * largest of the values known of it; lifetimes are estimates, from a sample of the freed blocks.  Times are microseconds.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/json.h"
#include "export/clean.h"
#include "export/frames.h"
#include "export/order.h"

/* What counts as short-lived in the viewer, as in other recorders of this format with this unit. */
enum { SHORT_LIVED_US = 10, NS_IN_US = 1000 };

enum { FRAME_ROOT, FRAME_NONE, FRAMES_FIRST }; /* entries of the frame table before the profile's */

struct point {
	struct profile_counts counts;
	uint64_t max_bytes; /* known */
	uint64_t lifetimes_us;
};

struct writer {
	const struct profile *profile;
	struct frames frames;
	const uint64_t *max_sample; /* by call stack: most live bytes of its samples */
	struct path path;
	struct json json;
};

static uint64_t max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t not_negative(int64_t value)
{
	return value > 0 ? (uint64_t)value : 0;
}

/* Of all blocks together: the mean of the sampled ones, each in the middle of its class, times their number. */
static uint64_t lifetimes_us(const struct profile *profile, const struct profile_stack *stack)
{
	uint64_t lifetimes[FORMAT_CLASSES];
	double sum = 0, count = 0;
	unsigned i;

	if (!profile_lifetimes(profile, stack, lifetimes))
		return 0;
	for (i = 0; i < FORMAT_CLASSES; i++) {
		double end = (double)(UINT64_C(1) << (FORMAT_LIFETIME_SHIFT + i));

		sum += (double)lifetimes[i] * (i ? end * 0.75 : end * 0.5);
		count += (double)lifetimes[i];
	}
	sum = count > 0 ? sum / count * (double)stack->counts.alloc_count / NS_IN_US : 0;
	return sum < 9e15 ? (uint64_t)sum : 0; /* a number that JavaScript can hold */
}

static void add(struct writer *writer, uint32_t index, struct point *point)
{
	const struct profile_stack *stack = &writer->profile->stacks[index];
	const struct profile_counts *from = &stack->counts;
	struct profile_counts *to = &point->counts;
	uint64_t peak = not_negative(from->peak_bytes), live = profile_live_bytes(from);

	to->alloc_bytes += from->alloc_bytes;
	to->alloc_count += from->alloc_count;
	to->free_bytes += from->free_bytes;
	to->free_count += from->free_count;
	to->peak_bytes += (int64_t)peak;
	to->peak_count += (int64_t)not_negative(from->peak_count);
	point->max_bytes += max(max(peak, live), writer->max_sample[index]);
	point->lifetimes_us += lifetimes_us(writer->profile, stack);
}

static void put_frames(struct writer *writer)
{
	const uint32_t *first = writer->frames.first;
	uint32_t i, at;

	json_key(&writer->json, "fs");
	json_array(&writer->json);
	for (i = 0; i < writer->path.count; i++)
		for (at = first[writer->path.locations[i]];
		     at < first[writer->path.locations[i] + 1]; at++)
			json_uint(&writer->json, (uint64_t)at + FRAMES_FIRST);
	if (writer->path.count == 0)
		json_uint(&writer->json, FRAME_NONE);
	json_end(&writer->json);
}

static void put_point(struct writer *writer, const struct point *point)
{
	const struct profile_counts *counts = &point->counts;
	uint64_t peak_count = (uint64_t)counts->peak_count;
	struct json *json = &writer->json;

	json_object(json);
	json_key_uint(json, "tb", counts->alloc_bytes);
	json_key_uint(json, "tbk", counts->alloc_count);
	json_key_uint(json, "tl", point->lifetimes_us);
	json_key_uint(json, "mb", point->max_bytes);
	json_key_uint(json, "mbk", max(peak_count, profile_live_count(counts)));
	json_key_uint(json, "gb", (uint64_t)counts->peak_bytes);
	json_key_uint(json, "gbk", peak_count);
	json_key_uint(json, "eb", profile_live_bytes(counts));
	json_key_uint(json, "ebk", profile_live_count(counts));
	put_frames(writer);
	json_end(json);
}

static bool put_points(struct writer *writer, const uint32_t *order)
{
	const struct profile *profile = writer->profile;
	bool ok = true;
	uint32_t i = 0;

	json_key(&writer->json, "pps");
	json_array(&writer->json);
	while (i < profile->stack_count && ok) {
		uint32_t first = order[i];
		struct point point = {0};

		do {
			add(writer, order[i++], &point);
		} while (i < profile->stack_count && order_compare(profile, first, order[i]) == 0);
		ok = path_read(&writer->path, profile, profile->stacks[first].node);
		if (ok)
			put_point(writer, &point);
	}
	json_end(&writer->json);
	return ok;
}

/* "0x401136: f (x.c:3)".  False: no memory. */
static bool put_frame(struct writer *writer, const struct frame *frame)
{
	const struct profile_location *location = &writer->profile->locations[frame->location];
	const char *module = writer->frames.modules[location->module];
	uint64_t address = location->address ? location->address - 1 : 0;
	char *text = NULL;
	int size;

	if (location->special)
		size = asprintf(&text, "%s", frame->name);
	else if (frame->file && frame->line)
		size = asprintf(&text, "0x%" PRIX64 ": %s (%s:%" PRIu32 ")", address, frame->name,
				frames_base_name(frame->file), frame->line);
	else
		size = asprintf(&text, "0x%" PRIX64 ": %s (in %s)", address, frame->name, module);
	if (size < 0)
		return false;
	json_string(&writer->json, text);
	free(text);
	return true;
}

static bool put_frame_table(struct writer *writer)
{
	bool ok = true;
	uint32_t i;

	json_key(&writer->json, "ftbl");
	json_array(&writer->json);
	json_string(&writer->json, "[root]");
	json_string(&writer->json, FRAMES_NONE);
	for (i = 0; i < writer->frames.count && ok; i++)
		ok = put_frame(writer, &writer->frames.items[i]);
	json_end(&writer->json);
	return ok;
}

static void put_command(struct writer *writer)
{
	const struct profile *profile = writer->profile;
	char *text = calloc(1, profile->command_size + 1), *clean;
	size_t i;

	for (i = 0; text && i < profile->command_size; i++)
		text[i] = profile->command[i] ? profile->command[i] : ' ';
	if (text && i > 0 && text[i - 1] == ' ')
		text[i - 1] = '\0';
	clean = text ? clean_text(text, "") : NULL;
	json_key_string(&writer->json, "cmd", clean && clean[0] ? clean : "?");
	free(clean);
	free(text);
}

static void put_head(struct writer *writer)
{
	char mode[128] = "pmem";
	const struct profile *profile = writer->profile;
	struct json *json = &writer->json;

	json_key_uint(json, "dhatFileVersion", 2);
	if (profile->header.sample_bytes)
		snprintf(mode, sizeof(mode),
			 "pmem, estimates from a sample, one byte in %" PRIu64 "",
			 profile->header.sample_bytes);
	json_key_string(json, "mode", mode);
	json_key_string(json, "verb", "Allocated");
	json_key_bool(json, "bklt", true);
	json_key_bool(json, "bkacc", false);
	json_key_string(json, "tu", "us");
	json_key_string(json, "Mtu", "s");
	json_key_uint(json, "tuth", SHORT_LIVED_US);
	put_command(writer);
	json_key_uint(json, "pid", profile->header.pid);
	json_key_uint(json, "tg", export_peak_ns(profile) / NS_IN_US);
	json_key_uint(json, "te", profile->duration_ns / NS_IN_US);
}

/* To be freed; NULL: no memory. */
static uint64_t *max_samples(const struct profile *profile)
{
	uint64_t *most = calloc((size_t)profile->stack_count + 1, sizeof(*most));
	uint32_t i, j;

	for (i = 0; i < profile->series_count && most; i++) {
		const struct profile_series *series = &profile->series[i];

		for (j = 0; j < series->count; j++)
			most[series->stack] = max(most[series->stack],
						  series->samples[j].live_bytes);
	}
	return most;
}

bool export_dhat(const struct export_source *source, FILE *file, struct error *err)
{
	struct writer writer = {.profile = source->profile};
	uint64_t *most = max_samples(source->profile);
	uint32_t *order = order_stacks(source->profile);
	bool ok = false;

	writer.max_sample = most;
	if (frames_open(&writer.frames, source, "", err)) {
		json_begin(&writer.json, file);
		json_object(&writer.json);
		put_head(&writer);
		ok = most && order && put_points(&writer, order) && put_frame_table(&writer);
		json_end(&writer.json);
		if (!ok)
			error_set(err, "no memory for the call stacks");
	}
	frames_close(&writer.frames);
	path_free(&writer.path);
	free(order);
	free(most);
	return ok;
}
