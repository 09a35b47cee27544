/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profile.c - opens a profile: the parts are read in the order that read.h gives.
 */
#include "profile/profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "profile/bundle.h"
#include "profile/given_names.h"
#include "profile/read.h"
#include "profile/running.h"
#include "profile/stack_id.h"

static const struct image_array threads_array = {FORMAT_THREADS, sizeof(struct format_thread),
						 "threads", 0};

void *reader_own(struct reader *reader, void *memory)
{
	if (reader->owned_count == READER_OWNED)
		abort(); /* our own bug */
	reader->owned[reader->owned_count++] = memory;
	return memory;
}

void *reader_alloc(struct reader *reader, size_t count, size_t size)
{
	return reader_own(reader, calloc(count ? count : 1, size));
}

static bool read_threads(struct reader *reader)
{
	struct profile *profile = &reader->profile;
	uint32_t count = reader->threads_limit;
	struct format_thread *raw = image_items(&reader->image, &threads_array, count);

	profile->threads = reader_alloc(reader, count, sizeof(*profile->threads));
	if (!raw || !profile->threads) {
		free(raw);
		return false;
	}
	profile->thread_count = count;
	for (uint32_t i = 0; i < count; i++) {
		struct profile_thread *thread = &profile->threads[i];

		*thread = (struct profile_thread){
			.tid = plain32(&raw[i].tid),
			.owners = plain32(&raw[i].owners),
			.pointer = plain64(&raw[i].pointer),
			.level = raw[i].level,
			.running = plain32(&raw[i].running) != 0,
			.counts = reader->thread_counts[i],
		};
		memcpy(thread->name, raw[i].name, sizeof(thread->name) - 1);
	}
	free(raw);
	return true;
}

void reader_add_up(const struct profile_stack *stacks, uint32_t count, struct profile_counts *totals)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct profile_counts *counts = &stacks[i].counts;
		int64_t sum;

		add_limited(&totals->alloc_bytes, counts->alloc_bytes);
		add_limited(&totals->alloc_count, counts->alloc_count);
		add_limited(&totals->free_bytes, counts->free_bytes);
		add_limited(&totals->free_count, counts->free_count);
		add_limited(&totals->temporary_count, counts->temporary_count);
		if (!__builtin_add_overflow(totals->peak_bytes, counts->peak_bytes, &sum))
			totals->peak_bytes = sum;
		if (!__builtin_add_overflow(totals->peak_count, counts->peak_count, &sum))
			totals->peak_count = sum;
	}
}

/* CLOCK_MONOTONIC now, since the recording began; 0 if that makes no sense. */
static uint64_t time_since(uint64_t start_ns)
{
	uint64_t now_ns = clock_monotonic_ns();

	return now_ns > start_ns ? now_ns - start_ns : 0;
}

static uint64_t last_sign_of_life(const struct profile *profile)
{
	uint64_t last_ns = plain64(&profile->header.update_ns);
	uint32_t points = profile->point_count;
	uint32_t marks = profile->mark_count;

	if (points > 0 && profile->points[points - 1].time_ns > last_ns)
		last_ns = profile->points[points - 1].time_ns;
	if (marks > 0 && profile->marks[marks - 1].time_ns > last_ns)
		last_ns = profile->marks[marks - 1].time_ns;
	return last_ns;
}

static void set_duration(struct profile *profile)
{
	profile->duration_ns = plain64(&profile->header.end_ns);
	if (profile->duration_ns == 0 && profile->is_live)
		profile->duration_ns = time_since(profile->header.start_monotonic_ns);
	if (profile->duration_ns == 0)
		profile->duration_ns = last_sign_of_life(profile);
}

static bool is_live(const struct image *image, const char *path)
{
	struct stat status;

	return image->fd >= 0 && fstat(image->fd, &status) == 0 &&
	       running_records(&image->first->header, path, status.st_ino);
}

/* What a running process's file seems to lack it may just have got. */
static void report_cut(struct reader *reader)
{
	uint32_t missing = reader->image.missing;

	if (missing == 0 || reader->profile.is_live)
		return;
	reader->profile.cut_blocks = missing;
	damage_add(&reader->image.damage, "%u block%s missing", missing,
		   missing == 1 ? " is" : "s are");
}

static bool read_all(struct reader *reader)
{
	struct profile *profile = &reader->profile;

	profile->is_live = is_live(&reader->image, profile->path);
	reader->image.grows = profile->is_live;
	report_cut(reader);
	if (!read_mappings(reader) || !read_failures(reader) || !read_counts(reader))
		return false;
	profile->header.recorder[sizeof(profile->header.recorder) - 1] = '\0';
	if (!read_tree(reader) || !read_given(reader) || !read_threads(reader) ||
	    !read_histograms(reader) || !read_pins(reader) || !read_reallocs(reader) ||
	    !read_timeline(reader))
		return false;
	profile->file_bytes = reader->image.size;
	reader_add_up(profile->stacks, profile->stack_count, &profile->totals);
	set_duration(profile);
	return read_mapped(reader);
}

/* Frees what only the opening needs. */
static void end_reading(struct reader *reader)
{
	image_close(&reader->image);
	free(reader->thread_counts);
	free(reader->raw_stacks);
	free(reader->raw_mappings);
	free(reader->raw_failures);
	free(reader->stack_index);
}

static void point_damage(struct damage *damage, struct reader *reader)
{
	*damage = (struct damage){
		.text = reader->profile.damage,
		.size = sizeof(reader->profile.damage),
		.count = &reader->profile.damage_count,
		.unlisted = &reader->profile.damage_unlisted,
	};
}

/* Reads what was opened.  The reader belongs to the profile, or is freed. */
static bool finish(struct reader *reader, const char *path, struct profile **profile,
		   struct error *err)
{
	bool done;

	reader->profile.path = reader_own(reader, strdup(path));
	done = reader->profile.path && read_all(reader) &&
	       (reader->image.fd < 0 || given_names_look_up(&reader->profile));
	end_reading(reader);
	if (done) {
		read_mapped_renew(reader);
		*profile = &reader->profile;
		return true;
	}
	profile_close(&reader->profile);
	return error_set(err, "%s: no memory to read it, or it went away", path);
}

static bool open_bytes(const char *path, const void *bytes, size_t size, struct profile **profile,
		       struct error *err)
{
	struct reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return error_set(err, "no memory");
	point_damage(&reader->image.damage, reader);
	if (image_open_memory(&reader->image, bytes, size, err))
		return finish(reader, path, profile, err);
	free(reader);
	return false;
}

/* The profile in a bundle, with the bundle's names. */
static bool open_part(const char *path, const struct bundle *bundle, struct profile **profile,
		      struct error *err)
{
	const struct bundle_part *part = &bundle->parts[BUNDLE_PROFILE];
	struct profile *opened;

	if (!open_bytes(path, part->bytes, part->size, &opened, err))
		return false;
	if (bundle_apply(bundle, opened, err)) {
		read_mapped_renew((struct reader *)opened);
		*profile = opened;
		return true;
	}
	profile_close(opened);
	return false;
}

static bool open_bundle(const char *path, struct profile **profile, struct error *err)
{
	struct error reason = {""};
	struct bundle bundle;
	bool done;

	if (!bundle_read(path, &bundle, err))
		return false;
	done = open_part(path, &bundle, profile, &reason);
	bundle_end(&bundle);
	return done || error_set(err, "%s: %s", path, reason.text);
}

bool profile_open(const char *path, struct profile **profile, struct error *err)
{
	struct reader *reader;

	if (bundle_is_at(path))
		return open_bundle(path, profile, err);
	reader = calloc(1, sizeof(*reader));
	if (!reader)
		return error_set(err, "%s: no memory", path);
	point_damage(&reader->image.damage, reader);
	if (image_open(&reader->image, path, err))
		return finish(reader, path, profile, err);
	free(reader);
	return false;
}

bool profile_open_memory(const void *bytes, size_t size, struct profile **profile, struct error *err)
{
	struct bundle bundle;
	bool done;

	if (!bundle_begins(bytes, size))
		return open_bytes("(memory)", bytes, size, profile, err);
	if (!bundle_read_memory(bytes, size, &bundle, err))
		return false;
	done = open_part("(memory)", &bundle, profile, err);
	bundle_end(&bundle);
	return done;
}

void profile_close(struct profile *profile)
{
	struct reader *reader = (struct reader *)profile;

	if (!profile)
		return;
	given_names_free(profile->given);
	stack_id_prefixes_free(profile->id_prefixes, profile->module_count);
	for (unsigned i = 0; i < reader->owned_count; i++)
		free(reader->owned[i]);
	free(profile->stacks);
	free(reader);
}

const char *profile_damage_words(const struct profile *profile)
{
	if (profile->cut_blocks > 0)
		return "the file is cut off";
	return plain32(&profile->header.memory_blocks) > 0 ? "the file could not grow"
							   : "the file is damaged";
}

const char *profile_damage_text(const struct profile *profile, char text[PROFILE_DAMAGE_SIZE])
{
	const char *words = profile_damage_words(profile);
	uint32_t cut = profile->cut_blocks, more = profile->damage_unlisted;

	if (cut > 0)
		snprintf(text, PROFILE_DAMAGE_SIZE,
			 "%s: %" PRIu32 " block%s missing, with what %s held", words, cut,
			 cut == 1 ? " is" : "s are", cut == 1 ? "it" : "they");
	else if (more > 0)
		snprintf(text, PROFILE_DAMAGE_SIZE, "%s: %s, and %" PRIu32 " more", words,
			 profile->damage, more);
	else
		snprintf(text, PROFILE_DAMAGE_SIZE, "%s: %s", words, profile->damage);
	return text;
}

const char *profile_hook_name(uint32_t hook)
{
	static const char *const names[FORMAT_HOOK_COUNT] = {
		[FORMAT_HOOK_MALLOC] = "malloc",
		[FORMAT_HOOK_CALLOC] = "calloc",
		[FORMAT_HOOK_REALLOC] = "realloc",
		[FORMAT_HOOK_REALLOCARRAY] = "reallocarray",
		[FORMAT_HOOK_POSIX_MEMALIGN] = "posix_memalign",
		[FORMAT_HOOK_ALIGNED_ALLOC] = "aligned_alloc",
		[FORMAT_HOOK_MEMALIGN] = "memalign",
		[FORMAT_HOOK_VALLOC] = "valloc",
		[FORMAT_HOOK_PVALLOC] = "pvalloc",
		[FORMAT_HOOK_MMAP] = "mmap",
		[FORMAT_HOOK_MREMAP] = "mremap",
		[FORMAT_HOOK_SBRK] = "sbrk",
		[FORMAT_HOOK_BRK] = "brk",
	};

	return hook < FORMAT_HOOK_COUNT ? names[hook] : "unknown";
}

const char *profile_loss_name(uint32_t loss)
{
	static const char *const names[FORMAT_LOSS_KINDS] = {
		[FORMAT_LOSS_EVENTS] = "events",
		[FORMAT_LOSS_STALE_BLOCKS] = "stale_blocks",
		[FORMAT_LOSS_TRUNCATED] = "truncated",
		[FORMAT_LOSS_SHORT_STACKS] = "short_stacks",
		[FORMAT_LOSS_MEMORY] = "memory",
		[FORMAT_LOSS_LOG_BYTES] = "log_bytes",
		[FORMAT_LOSS_SAMPLES] = "samples",
		[FORMAT_LOSS_MODULES] = "modules",
		[FORMAT_LOSS_INTERNAL] = "internal",
		[FORMAT_LOSS_PROFILE_BYTES] = "profile_bytes",
		[FORMAT_LOSS_TIMELINE] = "timeline",
		[FORMAT_LOSS_CHILDREN] = "children",
		[FORMAT_LOSS_NOT_TAKEN] = "not_taken",
		[FORMAT_LOSS_MAPPINGS] = "mappings",
		[FORMAT_LOSS_FAILURES] = "failures",
	};

	return loss < FORMAT_LOSS_KINDS ? names[loss] : "unknown";
}

const char *profile_blemish_words(uint32_t loss)
{
	static const char *const words[FORMAT_LOSS_KINDS] = {
		[FORMAT_LOSS_STALE_BLOCKS] = "blocks freed behind pmem's back (~: estimated)",
		[FORMAT_LOSS_TRUNCATED] = "call stacks cut for want of unwind information",
		[FORMAT_LOSS_SHORT_STACKS] = "call stacks cut for want of room",
		[FORMAT_LOSS_SAMPLES] = "lifetimes not measured",
		[FORMAT_LOSS_MODULES] = "modules without room",
		[FORMAT_LOSS_TIMELINE] = "points of the timeline missing",
		[FORMAT_LOSS_CHILDREN] = "forked children without a profile",
		[FORMAT_LOSS_NOT_TAKEN] = "allocations without a call stack, to keep the overhead "
					  "down",
		[FORMAT_LOSS_MAPPINGS] = "mmap or munmap calls not recorded",
		[FORMAT_LOSS_FAILURES] = "failed allocations without a call stack",
	};

	return loss < FORMAT_LOSS_KINDS ? words[loss] : NULL;
}

uint64_t profile_losses(const struct profile *profile)
{
	static const enum format_loss kinds[] = {FORMAT_LOSS_EVENTS, FORMAT_LOSS_INTERNAL,
						 FORMAT_LOSS_PROFILE_BYTES};
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		uint64_t loss = plain64(&profile->header.losses[kinds[i]]);

		sum = loss > UINT64_MAX - sum ? UINT64_MAX : sum + loss;
	}
	return sum;
}
