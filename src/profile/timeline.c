/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timeline.c - points, samples of call stacks, and marks, each by time.
 *
 * Slots are written again and again: time 0, values, time.  Of a running process each array is read twice, and a slot
 * counts if its time was the same both times: then nothing was written to it in between.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/read.h"

static const struct image_array points_array = {FORMAT_POINTS, sizeof(struct format_point),
						"points", 0};
static const struct image_array series_array = {FORMAT_SERIES, sizeof(struct format_series),
						"parts of series", 0};
static const struct image_array marks_array = {FORMAT_MARKS, sizeof(struct format_mark), "marks", 0};

/* An array, and what it was a moment later: the same memory if the process does not run. */
struct twice {
	void *first;
	void *second;
	uint32_t count;
};

static bool read_twice(struct reader *reader, const struct image_array *array,
		       const _Atomic uint32_t *count, struct twice *twice)
{
	*twice = (struct twice){0};
	/* count is in the copy of the header, which this renews. */
	if (!image_refresh(&reader->image))
		return false;
	twice->count = image_limit(&reader->image, array, plain32(count));
	twice->first = image_items(&reader->image, array, twice->count);
	twice->second = twice->first;
	if (twice->first && reader->profile.is_live)
		twice->second = image_items(&reader->image, array, twice->count);
	return twice->first && twice->second;
}

static void free_twice(struct twice *twice)
{
	if (twice->second != twice->first)
		free(twice->second);
	free(twice->first);
}

/* The time of a slot that was not written meanwhile, else 0. */
static uint64_t stable(const _Atomic uint64_t *first, const _Atomic uint64_t *second)
{
	uint64_t time_ns = plain64(first);

	return time_ns == plain64(second) ? time_ns : 0;
}

static int compare_times(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* --- points ---------------------------------------------------------------------------------- */

static int compare_points(const void *a, const void *b)
{
	const struct profile_point *left = a;
	const struct profile_point *right = b;

	return compare_times(left->time_ns, right->time_ns);
}

static void take_points(struct profile *profile, const struct twice *twice)
{
	const struct format_point *slots = twice->first;
	const struct format_point *later = twice->second;

	for (uint32_t i = 0; i < twice->count; i++) {
		uint64_t time_ns = stable(&slots[i].time_ns, &later[i].time_ns);

		if (time_ns == 0)
			continue;
		profile->points[profile->point_count++] = (struct profile_point){
			.time_ns = time_ns,
			.live_bytes = plain64(&slots[i].live_bytes),
			.alloc_bytes = plain64(&slots[i].alloc_bytes),
			.alloc_count = plain64(&slots[i].alloc_count),
			.rss_bytes = plain64(&slots[i].rss_bytes),
			.lost_events = plain64(&slots[i].lost_events),
			.mapped_bytes = plain64(&slots[i].mapped_bytes),
		};
	}
	qsort(profile->points, profile->point_count, sizeof(*profile->points), compare_points);
}

static bool read_points(struct reader *reader)
{
	struct profile *profile = &reader->profile;
	struct twice twice;
	bool done = read_twice(reader, &points_array, &reader->image.first->header.point_count,
			       &twice);

	if (done)
		profile->points = reader_alloc(reader, twice.count, sizeof(*profile->points));
	done = done && profile->points;
	if (done)
		take_points(profile, &twice);
	free_twice(&twice);
	return done;
}

/* --- series ---------------------------------------------------------------------------------- */

/* Those that map memory stand behind the others. */
static uint32_t all_stacks(const struct reader *reader)
{
	return reader->profile.stack_count + reader->mapping_count;
}

/* The samples of all call stacks, those of each one together. */
struct samples {
	struct reader *reader;
	struct twice twice;
	uint32_t *begins; /* by index in profile.stacks, while counting: how many; then where they begin */
	uint32_t *ends; /* where the next one goes; in the end, where they end */
	struct profile_sample *all;
	uint32_t wrong;
};

/* The call stack of a slot, as an index in profile.stacks; UINT32_MAX: of none that is known. */
static uint32_t stack_of(const struct samples *samples, uint32_t slot)
{
	const struct format_series *first = samples->twice.first;
	const struct format_series *second = samples->twice.second;
	uint32_t id = plain32(&first[slot].stack_id);

	if (id == 0 || id != plain32(&second[slot].stack_id) || id >= samples->reader->stack_limit)
		return UINT32_MAX;
	return samples->reader->stack_index[id];
}

/* What is written meanwhile says for a moment that there is a gap where there is none, never the other way round. */
static uint32_t gaps_of(const struct samples *samples, uint32_t slot)
{
	const struct format_series *first = samples->twice.first;
	const struct format_series *second = samples->twice.second;

	return plain32(&first[slot].gaps) | plain32(&second[slot].gaps);
}

/* One of a slot's samples. */
struct slot_sample {
	const struct format_sample *sample;
	bool gap;
};

/* Calls take() for each sample of each slot that has a call stack. */
static void each_sample(struct samples *samples,
			void (*take)(struct samples *, uint32_t, const struct slot_sample *))
{
	const struct format_series *first = samples->twice.first;
	const struct format_series *second = samples->twice.second;

	for (uint32_t slot = 0; slot < samples->twice.count; slot++) {
		uint32_t stack = stack_of(samples, slot), gaps = gaps_of(samples, slot);

		for (unsigned i = 0; stack != UINT32_MAX && i < FORMAT_SAMPLES; i++) {
			const struct slot_sample found = {&first[slot].samples[i], gaps >> i & 1};

			if (stable(&first[slot].samples[i].time_ns,
				   &second[slot].samples[i].time_ns) != 0)
				take(samples, stack, &found);
		}
	}
}

static void count_sample(struct samples *samples, uint32_t stack, const struct slot_sample *found)
{
	(void)found;
	samples->begins[stack]++;
}

static void take_sample(struct samples *samples, uint32_t stack, const struct slot_sample *found)
{
	samples->all[samples->ends[stack]++] = (struct profile_sample){
		.time_ns = plain64(&found->sample->time_ns),
		.live_bytes = plain64(&found->sample->live_bytes),
		.alloc_bytes = plain64(&found->sample->alloc_bytes),
		.gap = found->gap,
	};
}

static int compare_samples(const void *a, const void *b)
{
	const struct profile_sample *left = a;
	const struct profile_sample *right = b;

	return compare_times(left->time_ns, right->time_ns);
}

/* True if two samples of one time, which a kill left in the midst of moving one, are the same. */
static bool are_equal(const struct profile_sample *a, const struct profile_sample *b)
{
	return a->live_bytes == b->live_bytes && a->alloc_bytes == b->alloc_bytes;
}

/* Sorts the samples, drops duplicates; returns how many are left. */
static uint32_t put_in_order(struct samples *samples, uint32_t stack)
{
	struct profile_sample *begin = samples->all + samples->begins[stack];
	uint32_t count = samples->ends[stack] - samples->begins[stack];
	uint32_t kept = 0;

	qsort(begin, count, sizeof(*begin), compare_samples);
	for (uint32_t i = 0; i < count; i++) {
		if (kept == 0 || begin[kept - 1].time_ns != begin[i].time_ns) {
			begin[kept++] = begin[i];
			continue;
		}
		samples->wrong += !are_equal(&begin[kept - 1], &begin[i]);
		begin[kept - 1].gap |= begin[i].gap;
	}
	return kept;
}

/* From counts to places. */
static uint32_t lay_out(struct samples *samples, uint32_t *series_count)
{
	uint32_t total = 0;

	*series_count = 0;
	for (uint32_t i = 0; i < all_stacks(samples->reader); i++) {
		uint32_t count = samples->begins[i];

		*series_count += count > 0;
		samples->begins[i] = samples->ends[i] = total;
		total += count;
	}
	return total;
}

/* profile->series is large enough. */
static void add_series(struct samples *samples, uint32_t stack)
{
	struct profile *profile = &samples->reader->profile;
	const struct profile_series series = {
		.stack = stack < profile->stack_count ? stack : stack - profile->stack_count,
		.count = put_in_order(samples, stack),
		.samples = samples->all + samples->begins[stack],
	};

	if (stack < profile->stack_count)
		profile->series[profile->series_count++] = series;
	else
		profile->series[profile->series_count + samples->reader->mapping_series++] = series;
}

static bool make_series(struct samples *samples)
{
	struct profile *profile = &samples->reader->profile;
	uint32_t series_count;
	uint32_t total;

	each_sample(samples, count_sample);
	total = lay_out(samples, &series_count);
	samples->all = reader_alloc(samples->reader, total, sizeof(*samples->all));
	profile->series = reader_alloc(samples->reader, series_count, sizeof(*profile->series));
	if (!samples->all || !profile->series)
		return false;
	each_sample(samples, take_sample);
	for (uint32_t i = 0; i < all_stacks(samples->reader); i++)
		if (samples->ends[i] > samples->begins[i])
			add_series(samples, i);
	return true;
}

static bool read_series(struct reader *reader)
{
	struct samples samples = {.reader = reader};
	size_t count = (size_t)all_stacks(reader) + 1;
	bool done = read_twice(reader, &series_array, &reader->image.first->header.series_count,
			       &samples.twice);

	samples.begins = calloc(count, sizeof(*samples.begins));
	samples.ends = calloc(count, sizeof(*samples.ends));
	done = done && samples.begins && samples.ends && make_series(&samples);
	if (samples.wrong > 0)
		damage_add(&reader->image.damage, "%u samples contradict each other", samples.wrong);
	free(samples.begins);
	free(samples.ends);
	free_twice(&samples.twice);
	return done;
}

/* --- marks ----------------------------------------------------------------------------------- */

static int compare_marks(const void *a, const void *b)
{
	const struct profile_mark *left = a;
	const struct profile_mark *right = b;

	return compare_times(left->time_ns, right->time_ns);
}

static bool read_marks(struct reader *reader)
{
	struct profile *profile = &reader->profile;
	struct twice twice;
	struct format_mark *slots;
	const struct format_mark *later;
	bool done = read_twice(reader, &marks_array, &reader->image.first->header.mark_count,
			       &twice);

	slots = twice.first;
	later = twice.second;
	if (done)
		profile->marks = reader_alloc(reader, twice.count, sizeof(*profile->marks));
	done = done && profile->marks;
	for (uint32_t i = 0; done && i < twice.count; i++) {
		uint64_t time_ns = stable(&slots[i].time_ns, &later[i].time_ns);

		slots[i].text[sizeof(slots[i].text) - 1] = '\0';
		if (time_ns != 0)
			profile->marks[profile->mark_count++] = (struct profile_mark){
				.time_ns = time_ns, .text = slots[i].text};
	}
	if (done)
		qsort(profile->marks, profile->mark_count, sizeof(*profile->marks), compare_marks);
	/* The texts stay where they are. */
	if (twice.second == twice.first)
		twice.second = NULL;
	reader_own(reader, twice.first);
	free(twice.second);
	return done;
}

bool read_timeline(struct reader *reader)
{
	return read_points(reader) && read_series(reader) && read_marks(reader);
}
