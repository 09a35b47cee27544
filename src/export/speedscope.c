/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * speedscope.c - speedscope's own format (speedscope.app/file-format-schema.json): live and allocated bytes, as two profiles; two
 * more if the program maps memory itself.
 *
 * The reader takes each entry of its table of frames for another function, so that the table has every function of a
 * file once, and no lines: those of calls would tear functions apart.
 */
#include <stdlib.h>

#include "base/json.h"
#include "core/version.h"
#include "export/clean.h"
#include "export/frames.h"
#include "export/strings.h"

struct writer {
	const struct profile *profile;
	struct frames frames;
	struct strings functions; /* keys: name, file */
	uint32_t *function_of;	  /* by frame */
	uint32_t unknown;	  /* function that stands for no frame at all */
	struct path path;
	struct json json;
};

static void put_function(struct json *json, const char *name, const char *file)
{
	json_object(json);
	json_key_string(json, "name", name);
	if (file)
		json_key_string(json, "file", file);
	json_end(json);
}

/* Also gives each frame its function. */
static bool put_functions(struct writer *writer)
{
	const struct frames *frames = &writer->frames;
	struct strings texts = {0};
	bool failed;
	uint32_t i;

	json_key(&writer->json, "shared");
	json_object(&writer->json);
	json_key(&writer->json, "frames");
	json_array(&writer->json);
	for (i = 0; i < frames->count; i++) {
		const struct frame *frame = &frames->items[i];
		uint32_t known = writer->functions.count;
		uint32_t name = strings_add(&texts, frame->name);

		writer->function_of[i] = strings_add_key(
			&writer->functions, name,
			frame->file ? strings_add(&texts, frame->file) + 1 : 0, 0);
		if (writer->functions.count > known)
			put_function(&writer->json, frame->name, frame->file);
	}
	writer->unknown = writer->functions.count;
	put_function(&writer->json, FRAMES_NONE, NULL);
	json_end(&writer->json);
	json_end(&writer->json);
	failed = texts.failed || writer->functions.failed;
	strings_free(&texts);
	return !failed;
}

/* The outermost first. */
static bool put_sample(struct writer *writer, uint32_t node)
{
	const uint32_t *first = writer->frames.first;
	uint32_t i, at;

	if (!path_read(&writer->path, writer->profile, node))
		return false;
	json_array(&writer->json);
	for (i = writer->path.count; i-- > 0;)
		for (at = first[writer->path.locations[i] + 1];
		     at-- > first[writer->path.locations[i]];)
			json_uint(&writer->json, writer->function_of[at]);
	if (writer->path.count == 0)
		json_uint(&writer->json, writer->unknown);
	json_end(&writer->json);
	return true;
}

/* One of the document's profiles. */
struct part {
	const struct profile *profile; /* the heap, or what the program maps: their places are the same */
	enum export_value value;
	const char *name;
};

static void put_weights(struct writer *writer, const struct part *part)
{
	const struct profile *profile = part->profile;
	uint32_t i;

	json_key(&writer->json, "weights");
	json_array(&writer->json);
	for (i = 0; i < profile->stack_count; i++) {
		uint64_t weight = export_value_of(part->value, &profile->stacks[i].counts);

		if (weight)
			json_uint(&writer->json, weight);
	}
	json_end(&writer->json);
}

static bool put_profile(struct writer *writer, const struct part *part)
{
	const struct profile *profile = part->profile;
	struct json *json = &writer->json;
	bool ok = true;
	uint32_t i;

	json_object(json);
	json_key_string(json, "type", "sampled");
	json_key_string(json, "name", part->name);
	json_key_string(json, "unit", "bytes");
	json_key_uint(json, "startValue", 0);
	json_key_uint(json, "endValue", export_value_of(part->value, &profile->totals));
	json_key(json, "samples");
	json_array(json);
	for (i = 0; i < profile->stack_count && ok; i++)
		if (export_value_of(part->value, &profile->stacks[i].counts))
			ok = put_sample(writer, profile->stacks[i].node);
	json_end(json);
	put_weights(writer, part);
	json_end(json);
	return ok;
}

static bool put_profiles(struct writer *writer)
{
	const struct profile *heap = writer->profile;
	bool is_sample = heap->header.sample_bytes != 0, ok = true;
	const struct part parts[] = {
		{heap, EXPORT_LIVE, is_sample ? "live bytes (estimates)" : "live bytes"},
		{heap, EXPORT_ALLOC, is_sample ? "allocated bytes (estimates)" : "allocated bytes"},
		{heap->mapped, EXPORT_LIVE, "mapped bytes (mmap)"},
		{heap->mapped, EXPORT_ALLOC, "bytes mapped in all (mmap)"},
	};
	unsigned count = profile_maps(heap) ? 4 : 2;

	for (unsigned i = 0; i < count && ok; i++)
		ok = put_profile(writer, &parts[i]);
	return ok;
}

static bool put_file(struct writer *writer)
{
	struct json *json = &writer->json;
	char *name = clean_text(writer->profile->program_name, "");
	bool ok;

	json_object(json);
	json_key_string(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_key_string(json, "name", name && name[0] ? name : "heap");
	json_key_string(json, "exporter", "pmem " PMEM_VERSION);
	json_key_uint(json, "activeProfileIndex", 0);
	ok = name && put_functions(writer);
	json_key(json, "profiles");
	json_array(json);
	ok = ok && put_profiles(writer);
	json_end(json);
	json_end(json);
	free(name);
	return ok;
}

bool export_speedscope(const struct export_source *source, FILE *file, struct error *err)
{
	struct writer writer = {.profile = source->profile};
	bool ok;

	if (!frames_open(&writer.frames, source, "", err))
		return false;
	writer.function_of = calloc((size_t)writer.frames.count + 1, sizeof(uint32_t));
	json_begin(&writer.json, file);
	ok = writer.function_of && put_file(&writer);
	free(writer.function_of);
	strings_free(&writer.functions);
	path_free(&writer.path);
	frames_close(&writer.frames);
	return ok || error_set(err, "no memory for the call stacks");
}
