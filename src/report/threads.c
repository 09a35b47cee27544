/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * threads.c - what each thread allocated and freed.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "report/head.h"
#include "report/page.h"
#include "report/report.h"

enum { ROWS = 30 };

static int by_allocated(const void *left, const void *right)
{
	const struct profile_thread *a = *(const struct profile_thread *const *)left;
	const struct profile_thread *b = *(const struct profile_thread *const *)right;

	if (a->counts.alloc_bytes != b->counts.alloc_bytes)
		return a->counts.alloc_bytes < b->counts.alloc_bytes ? 1 : -1;
	return (a > b) - (a < b);
}

static void print_thread(const struct report *report, const struct profile_thread *thread)
{
	const struct profile_counts *counts = &thread->counts;
	char bytes[UNITS_SIZE], calls[UNITS_SIZE], freed[UNITS_SIZE], net[UNITS_SIZE],
		share[UNITS_SIZE];
	const struct output *out = report->out;

	fprintf(out->file, "%10s %8s %10s %11s %5s  %7" PRIu32 "  ",
		units_bytes(counts->alloc_bytes, bytes), units_count(counts->alloc_count, calls),
		units_bytes(counts->free_bytes, freed),
		units_bytes_change((int64_t)(counts->alloc_bytes - counts->free_bytes), net),
		units_share(counts->temporary_count, counts->alloc_count, share), thread->tid);
	page_cut(out, thread->name, sizeof(thread->name));
	if (thread->level)
		fputs(" (signal handlers)", out->file);
	else if (thread->owners > 1)
		fprintf(out->file, " (%" PRIu32 " threads)", thread->owners);
	fputc('\n', out->file);
}

/* Why there may be fewer lines than threads. */
static void explain_shared(const struct report *report)
{
	const struct profile *profile = report->profile;
	uint32_t shared = 0;

	for (uint32_t i = 0; i < profile->thread_count; i++)
		shared += profile->threads[i].owners > 1 && !profile->threads[i].level;
	if (shared == 0)
		return;
	fputc('\n', report->out->file);
	page_sentence(report->out,
		      "(N threads): the sum of threads that ran one after another; each took over "
		      "the counters of one that had ended, and tid and name are the last one's.");
}

bool view_threads(struct report *report, struct error *err)
{
	const struct profile *profile = report->profile;
	const struct profile_thread **sorted = calloc(profile->thread_count + (size_t)1,
						      sizeof(*sorted));
	unsigned rows = report->options->top ? report->options->top : ROWS;
	uint32_t i;

	if (!report_refuse_interval(report, err)) {
		free(sorted);
		return false;
	}
	if (!sorted)
		return error_set(err, "no memory for %u threads", profile->thread_count);
	for (i = 0; i < profile->thread_count; i++)
		sorted[i] = &profile->threads[i];
	qsort(sorted, profile->thread_count, sizeof(const struct profile_thread *), by_allocated);
	head_print(report);
	page_sentence(
		report->out,
		"What each thread allocated and freed. Blocks may be freed by another thread: "
		"a net figure is not what the thread holds.");
	fputc('\n', report->out->file);
	fprintf(report->out->file, "%s%10s %8s %10s %11s %5s  %7s  thread%s\n",
		output_style(report->out, OUTPUT_DIM), "allocated", "calls", "freed", "net", "temp",
		"tid", output_style(report->out, OUTPUT_PLAIN));
	for (i = 0; i < profile->thread_count && i < rows; i++)
		print_thread(report, sorted[i]);
	if (i < profile->thread_count)
		fprintf(report->out->file, "... %" PRIu32 " more, see --top\n",
			profile->thread_count - i);
	explain_shared(report);
	free(sorted);
	return true;
}
