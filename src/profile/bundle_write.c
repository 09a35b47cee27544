/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bundle_write.c - makes a bundle.
 *
 * All is made and packed in memory, then written in one go: the header needs the packed sizes.  Of a running process first the profile is
 * copied, then the names are looked up for what the copy has.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/new_file.h"
#include "profile/bundle.h"
#include "profile/bundle_before.h"
#include "profile/bundle_source.h"
#include "profile/bundle_text.h"
#include "profile/given_names.h"
#include "profile/image_copy.h"
#include "profile/names.h"
#include "profile/read.h"

enum { LEVEL = 9, PIECE = 1024 * 1024, STEP = 1024 };

struct writer {
	const struct bundle_request *request;
	struct profile *profile;
	struct names *names;
	struct bundle_before *before; /* what the output replaces; NULL: nothing of this process */
	struct bundle_bytes parts[BUNDLE_KINDS]; /* unpacked */
	struct bundle_text text;
	struct bundle_source source;
	struct bundle_bytes packed[BUNDLE_KINDS];
	struct bundle_result result;
	struct error *err;
};

static void tell(const struct writer *writer, const char *what, size_t done, size_t total)
{
	if (writer->request->progress && total > 0)
		writer->request->progress(what, done, total);
}

static bool no_memory(struct writer *writer)
{
	return error_set(writer->err, "%s: no memory to bundle it", writer->request->path);
}

/* --- the profile ----------------------------------------------------------------------------- */

/* The copy of a running process's profile is opened as what it was. */
static bool open_copy(struct writer *writer, const struct bundle_bytes *copy)
{
	struct profile *live = writer->profile;
	struct profile *profile;
	struct error reason = {""};

	if (!profile_open_memory(copy->bytes, copy->size, &profile, &reason))
		return error_set(writer->err, "%s: %s", writer->request->path, reason.text);
	profile->is_live = true;
	profile->duration_ns = live->duration_ns;
	profile_close(live);
	writer->profile = profile;
	return given_names_look_up(profile) || no_memory(writer);
}

static bool open_profile(struct writer *writer)
{
	struct bundle_bytes *copy = &writer->parts[BUNDLE_PROFILE];
	const char *path = writer->request->path;

	if (bundle_is_at(path))
		return error_set(writer->err, "%s: is a bundle already", path);
	if (!profile_open(path, &writer->profile, writer->err))
		return false;
	if (!writer->profile->is_live)
		return image_copy_bytes(path, &copy->bytes, &copy->size, writer->err);
	return image_copy_running(path, &copy->bytes, &copy->size, writer->err) &&
	       open_copy(writer, copy);
}

/* --- sections -------------------------------------------------------------------------------- */

static void write_facts(struct writer *writer)
{
	struct bundle_bytes *section = &writer->parts[BUNDLE_FACTS];

	bundle_bytes_number(section, writer->profile->is_live);
	bundle_bytes_number(section, writer->profile->duration_ns);
}

static void write_frame(struct writer *writer, struct bundle_bytes *section,
			const struct symbol *symbol)
{
	bundle_bytes_number(section, bundle_text_add(&writer->text, symbol->function));
	bundle_bytes_number(section, bundle_text_add(&writer->text, symbol->raw_name));
	bundle_bytes_number(section, bundle_text_add(&writer->text, symbol->file));
	bundle_bytes_number(section, symbol->line);
	bundle_bytes_number(section, symbol->inlined);
	bundle_bytes_number(section, symbol->offset);
}

static void ask_for_source(struct writer *writer, uint32_t location, const struct symbol *symbols,
			   size_t count)
{
	if (!writer->request->with_source || !names_is_own(writer->names, location))
		return;
	for (size_t i = 0; i < count; i++)
		bundle_source_add(&writer->source, symbols[i].file, symbols[i].line);
}

static const struct profile_location *sorted_locations; /* for the comparison */

static int compare_places(const void *a, const void *b)
{
	const struct profile_location *left = &sorted_locations[*(const uint32_t *)a];
	const struct profile_location *right = &sorted_locations[*(const uint32_t *)b];

	if (left->module != right->module)
		return left->module < right->module ? -1 : 1;
	return (left->offset > right->offset) - (left->offset < right->offset);
}

/* The places with code in the order of the section; *count of them.  NULL: no memory. */
static uint32_t *sort_places(const struct profile *profile, uint32_t *count)
{
	uint32_t *order = calloc((size_t)profile->location_count + 1, sizeof(*order));

	*count = 0;
	for (uint32_t i = 0; order && i < profile->location_count; i++)
		if (!profile->locations[i].special)
			order[(*count)++] = i;
	sorted_locations = profile->locations;
	if (order && *count > 1)
		qsort(order, *count, sizeof(*order), compare_places);
	return order;
}

static void write_fast(struct writer *writer, struct bundle_bytes *section,
		       const struct symbol *symbol)
{
	bundle_bytes_number(section, bundle_text_add(&writer->text, symbol->function));
	bundle_bytes_number(section, bundle_text_add(&writer->text, symbol->raw_name));
	bundle_bytes_number(section, symbol->offset);
}

/* The functions of a location, and in *fast the one that is not inlined.  A name, or a line, that only the bundle to be replaced
 * has, is taken from there. */
static size_t find_names(struct writer *writer, uint32_t location, const struct symbol **symbols,
			 const struct symbol **fast)
{
	const struct given_frames *kept = bundle_before_at(writer->before, location);
	size_t count = names_at(writer->names, location, symbols);

	*fast = names_at_fast(writer->names, location);
	if (!kept || ((*symbols)->function && ((*symbols)->file || !kept->symbols->file)))
		return count;
	writer->result.kept++;
	*symbols = kept->symbols;
	*fast = kept->fast;
	return kept->count;
}

/* Returns the number of functions. */
static size_t write_place(struct writer *writer, struct bundle_bytes *section, uint32_t location)
{
	const struct symbol *symbols, *fast;
	size_t count = find_names(writer, location, &symbols, &fast);

	bundle_bytes_number(section, count);
	write_fast(writer, section, fast);
	for (size_t i = 0; i < count; i++)
		write_frame(writer, section, &symbols[i]);
	ask_for_source(writer, location, symbols, count);
	writer->result.places += symbols[0].function != NULL;
	writer->result.nameless += symbols[0].function == NULL;
	return count + 1;
}

static bool write_places(struct writer *writer, struct bundle_bytes *places, uint32_t *count,
			 uint64_t *frames)
{
	const struct profile *profile = writer->profile;
	uint32_t *order = sort_places(profile, count);
	struct profile_location last = {0};

	for (uint32_t i = 0; order && i < *count; i++) {
		const struct profile_location *location = &profile->locations[order[i]];

		if (location->module != last.module)
			last.offset = 0;
		bundle_bytes_number(places, location->module - last.module);
		bundle_bytes_number(places, location->offset - last.offset);
		last = *location;
		*frames += write_place(writer, places, order[i]);
		if (i % STEP == 0)
			tell(writer, "names", i, *count);
	}
	free(order);
	return order != NULL;
}

static bool write_names(struct writer *writer)
{
	struct bundle_bytes *section = &writer->parts[BUNDLE_NAMES];
	struct bundle_bytes places = {0};
	uint64_t frames = 0;
	uint32_t count;
	bool done = write_places(writer, &places, &count, &frames);

	if (done) {
		bundle_bytes_number(section, count);
		bundle_bytes_number(section, frames);
		bundle_bytes_add(section, places.bytes ? places.bytes : "", places.size);
		section->failed |= places.failed;
	}
	bundle_bytes_free(&places);
	return done;
}

static void write_modules(struct writer *writer)
{
	struct bundle_bytes *section = &writer->parts[BUNDLE_MODULES];
	uint32_t count = writer->profile->module_count;

	bundle_bytes_number(section, count);
	for (uint32_t i = 0; i < count; i++) {
		const char *problem = names_problem(writer->names, i);

		if (problem && bundle_before_has_module(writer->before, i))
			problem = NULL;
		bundle_bytes_number(section, bundle_text_add(&writer->text, problem));
	}
}

static bool make_sections(struct writer *writer)
{
	bool failed = false;

	writer->names = writer->request->symbols
				? names_new_with(writer->profile, writer->request->symbols)
				: names_new(writer->profile);
	writer->before = bundle_before_open(writer->request->output, writer->profile);
	if (!writer->names || !write_names(writer))
		return no_memory(writer);
	write_facts(writer);
	write_modules(writer);
	writer->result.source_lines = bundle_source_write(&writer->source, &writer->text,
							  &writer->parts[BUNDLE_SOURCES]);
	writer->parts[BUNDLE_STRINGS] = writer->text.bytes;
	writer->text.bytes = (struct bundle_bytes){0};
	for (int kind = 0; kind < BUNDLE_KINDS; kind++)
		failed |= writer->parts[kind].failed;
	return !failed || no_memory(writer);
}

/* --- packing --------------------------------------------------------------------------------- */

static bool fits(const struct writer *writer)
{
	uint64_t total = 0;

	for (int kind = 0; kind < BUNDLE_KINDS; kind++)
		total += writer->parts[kind].size;
	return total <= BUNDLE_UNPACKED_MAX ||
	       error_set(writer->err, "%s: too large for a bundle", writer->request->path);
}

static size_t begin(ZSTD_CCtx *context, size_t size)
{
	size_t code = ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL);

	if (!ZSTD_isError(code))
		code = ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
	return ZSTD_isError(code) ? code : ZSTD_CCtx_setPledgedSrcSize(context, size);
}

/* Packs a section piece by piece, so that progress can be told. */
static bool pack(struct writer *writer, ZSTD_CCtx *context, const struct bundle_bytes *part,
		 struct bundle_bytes *packed)
{
	ZSTD_outBuffer out = {.size = ZSTD_compressBound(part->size)};
	ZSTD_inBuffer in = {part->bytes ? part->bytes : "", 0, 0};
	size_t left = begin(context, part->size);

	out.dst = packed->bytes = malloc(out.size);
	if (!packed->bytes)
		return no_memory(writer);
	do {
		in.size = part->size - in.size > PIECE ? in.size + PIECE : part->size;
		if (!ZSTD_isError(left))
			left = ZSTD_compressStream2(context, &out, &in,
						    in.size < part->size ? ZSTD_e_continue
									 : ZSTD_e_end);
		tell(writer, "packing", in.pos, part->size);
	} while (!ZSTD_isError(left) && (in.size < part->size || left > 0));
	packed->size = out.pos;
	return !ZSTD_isError(left) || error_set(writer->err, "packing: %s", ZSTD_getErrorName(left));
}

static bool pack_all(struct writer *writer)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();
	bool done = context != NULL;

	if (!context)
		return no_memory(writer);
	for (int kind = 1; done && kind < BUNDLE_KINDS; kind++) {
		ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters);
		done = pack(writer, context, &writer->parts[kind], &writer->packed[kind]);
	}
	ZSTD_freeCCtx(context);
	return done;
}

/* --- the file -------------------------------------------------------------------------------- */

static void write_header(const struct writer *writer, FILE *file)
{
	enum { SECTIONS = BUNDLE_KINDS - 1 };
	struct bundle_header header = {
		.frame = BUNDLE_FRAME, .version = BUNDLE_VERSION, .section_count = SECTIONS};

	header.frame_size = sizeof(header) - 8 + SECTIONS * sizeof(struct bundle_section);
	memcpy(header.magic, BUNDLE_MAGIC, sizeof(header.magic));
	fwrite(&header, sizeof(header), 1, file);
	for (uint32_t kind = 1; kind < BUNDLE_KINDS; kind++) {
		struct bundle_section section = {.kind = kind,
						 .packed = writer->packed[kind].size,
						 .size = writer->parts[kind].size};

		fwrite(&section, sizeof(section), 1, file);
	}
}

static bool write_file(struct writer *writer, struct new_file *file)
{
	write_header(writer, file->file);
	for (int kind = 1; kind < BUNDLE_KINDS; kind++)
		fwrite(writer->packed[kind].bytes, 1, writer->packed[kind].size, file->file);
	return new_file_keep(file, writer->err);
}

/* As private as the profile. */
static mode_t mode_of(const struct writer *writer)
{
	struct stat status;

	return stat(writer->request->path, &status) == 0 ? status.st_mode & 0666 : 0600;
}

static bool write_output(struct writer *writer)
{
	struct bundle_result *result = &writer->result;
	struct new_file file;

	result->bytes = sizeof(struct bundle_header);
	for (int kind = 1; kind < BUNDLE_KINDS; kind++)
		result->bytes += sizeof(struct bundle_section) + writer->packed[kind].size;
	result->profile_bytes = writer->parts[BUNDLE_PROFILE].size;
	return new_file_open(&file, writer->request->output, mode_of(writer), writer->err) &&
	       write_file(writer, &file);
}

static void free_writer(struct writer *writer)
{
	bundle_before_close(writer->before);
	names_free(writer->names);
	profile_close(writer->profile);
	bundle_text_free(&writer->text);
	bundle_source_free(&writer->source);
	for (int kind = 0; kind < BUNDLE_KINDS; kind++) {
		bundle_bytes_free(&writer->parts[kind]);
		bundle_bytes_free(&writer->packed[kind]);
	}
}

bool bundle_write(const struct bundle_request *request, struct bundle_result *result,
		  struct error *err)
{
	struct writer writer = {.request = request, .err = err};
	bool done = open_profile(&writer) && make_sections(&writer) && fits(&writer) &&
		    pack_all(&writer) && write_output(&writer);

	if (done)
		*result = writer.result;
	free_writer(&writer);
	return done;
}
