/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * metrics.c - see metrics.h.
 *
 * All samples of a metric must stand together, so the figures of all processes are collected first.  Labels are bounded: pid, program, and of
 * each process a few sites.  What the program maps itself has metrics of its own: no part of the heap's.
 */
#include "serve/metrics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "core/version.h"
#include "export/clean.h"
#include "export/export.h"
#include "report/name.h"

enum { PROCESSES_MAX = 128, LABEL_MAX = 200 };

/* What is known of a process, in the order of process_metrics. */
enum value {
	RUNNING,
	LIVE_BYTES,
	LIVE_BLOCKS,
	PEAK_BYTES,
	ALLOC_BYTES,
	FREE_BYTES,
	ALLOC_COUNT,
	FREE_COUNT,
	TEMPORARY,
	RSS_BYTES,
	DURATION,
	LOST,
	MAPPED_BYTES,
	MAPPED_PEAK_BYTES,
	MAPPED_ALL_BYTES,
	UNMAPPED_BYTES,
	MAPPING_CALLS,
	VALUES,
};

struct metric {
	const char *name;
	const char *type;
	const char *help;
};

static const struct metric process_metrics[VALUES] = {
	[RUNNING] = {"pmem_process_running", "gauge", "1 while the process runs and is recorded."},
	[LIVE_BYTES] = {"pmem_heap_live_bytes", "gauge", "Bytes allocated and not freed."},
	[LIVE_BLOCKS] = {"pmem_heap_live_blocks", "gauge", "Blocks allocated and not freed."},
	[PEAK_BYTES] = {"pmem_heap_peak_bytes", "gauge", "Most live bytes so far."},
	[ALLOC_BYTES] = {"pmem_heap_allocated_bytes_total", "counter", "Bytes allocated."},
	[FREE_BYTES] = {"pmem_heap_freed_bytes_total", "counter", "Bytes freed."},
	[ALLOC_COUNT] = {"pmem_heap_allocations_total", "counter", "Blocks allocated."},
	[FREE_COUNT] = {"pmem_heap_frees_total", "counter", "Blocks freed."},
	[TEMPORARY] = {"pmem_heap_temporary_allocations_total", "counter",
		       "Blocks freed before anything else was allocated."},
	[RSS_BYTES] = {"pmem_process_resident_bytes", "gauge",
		       "Resident set at the latest point of the timeline."},
	[DURATION] = {"pmem_recording_seconds", "gauge", "Since recording began."},
	[LOST] = {"pmem_lost_events_total", "counter", "What was not recorded."},
	[MAPPED_BYTES] = {"pmem_mapped_bytes", "gauge",
			  "Bytes that the program maps itself (mmap), no part of the heap."},
	[MAPPED_PEAK_BYTES] = {"pmem_mapped_peak_bytes", "gauge", "Most of them so far."},
	[MAPPED_ALL_BYTES] = {"pmem_mapped_bytes_total", "counter", "Bytes that it mapped."},
	[UNMAPPED_BYTES] = {"pmem_unmapped_bytes_total", "counter",
			    "Bytes that it unmapped of those."},
	[MAPPING_CALLS] = {"pmem_mapping_calls_total", "counter", "Calls that mapped them."},
};

enum site_value { SITE_LIVE, SITE_ALLOC, SITE_MAPPED, SITE_VALUES };

static const struct metric site_metrics[SITE_VALUES] = {
	[SITE_LIVE] = {"pmem_site_live_bytes", "gauge",
		       "Live bytes of the allocation sites with the most of them."},
	[SITE_ALLOC] = {"pmem_site_allocated_bytes_total", "counter",
			"Bytes that these sites allocated."},
	[SITE_MAPPED] = {"pmem_site_mapped_bytes", "gauge",
			 "Bytes mapped by the sites that map most themselves."},
};

struct site_figures {
	char *name;
	uint64_t values[SITE_VALUES];
};

struct site_list {
	struct site_figures *items;
	unsigned count;
	unsigned most; /* as many as there may be */
};

struct process_figures {
	char *labels; /* pid="1",program="a" */
	uint64_t values[VALUES];
	struct site_list heap;
	struct site_list mapped;
};

/* --- texts ----------------------------------------------------------------------------------- */

/* A copy as a label may have it, to be freed: no control characters, and of a bounded length.  NULL: no memory. */
static char *label_text(const char *text)
{
	char *clean = clean_text(text, "");

	if (clean)
		utf8_cut(clean, LABEL_MAX);
	return clean;
}

/* name="text", escaped as the format wants it. */
static void put_label(FILE *file, const char *name, const char *text)
{
	fprintf(file, "%s=\"", name);
	for (const char *at = text; *at; at++) {
		if (*at == '\\' || *at == '"')
			fputc('\\', file);
		fputc(*at, file);
	}
	fputc('"', file);
}

/* To be freed; NULL: no memory. */
static char *labels_of(const struct profile *profile)
{
	char *program = label_text(profile->program_name), *text = NULL;
	size_t size;
	FILE *file = program ? open_memstream(&text, &size) : NULL;

	if (file) {
		fprintf(file, "pid=\"%" PRIu32 "\",", profile->header.pid);
		put_label(file, "program", program);
		fclose(file);
	}
	free(program);
	return text;
}

/* "function (file:line)", to be freed; NULL: no memory. */
static char *name_of(const struct report *report, const struct site *site)
{
	struct name name = name_of_site(report, site);
	char *function = name_function(report, &name), *where = name_where(report, &name);
	char *text = NULL, *label;

	if (function && where && asprintf(&text, where[0] ? "%s (%s)" : "%s", function, where) < 0)
		text = NULL;
	label = text ? label_text(text) : NULL;
	free(text);
	free(function);
	free(where);
	return label;
}

static void free_list(struct site_list *list)
{
	for (unsigned i = 0; i < list->count; i++)
		free(list->items[i].name);
	free(list->items);
}

static void free_figures(struct process_figures *figures)
{
	free_list(&figures->heap);
	free_list(&figures->mapped);
	free(figures->labels);
	*figures = (struct process_figures){0};
}

/* --- collecting ------------------------------------------------------------------------------ */

static uint64_t last_rss(const struct profile *profile)
{
	uint32_t count = profile->point_count;

	return count > 0 ? profile->points[count - 1].rss_bytes : 0;
}

static void take_values(const struct profile *profile, struct process_figures *figures)
{
	const struct profile_counts *totals = &profile->totals, *mapped = &profile->mapped->totals;
	uint64_t values[VALUES] = {
		[RUNNING] = profile->is_live,
		[LIVE_BYTES] = profile_live_bytes(totals),
		[LIVE_BLOCKS] = profile_live_count(totals),
		[PEAK_BYTES] = export_peak(profile),
		[ALLOC_BYTES] = totals->alloc_bytes,
		[FREE_BYTES] = totals->free_bytes,
		[ALLOC_COUNT] = totals->alloc_count,
		[FREE_COUNT] = totals->free_count,
		[TEMPORARY] = totals->temporary_count,
		[RSS_BYTES] = last_rss(profile),
		[DURATION] = profile->duration_ns,
		[LOST] = profile_losses(profile),
		[MAPPED_BYTES] = profile_live_bytes(mapped),
		[MAPPED_PEAK_BYTES] = export_header(&profile->mapped->header.peak_bytes),
		[MAPPED_ALL_BYTES] = mapped->alloc_bytes,
		[UNMAPPED_BYTES] = mapped->free_bytes,
		[MAPPING_CALLS] = mapped->alloc_count,
	};

	memcpy(figures->values, values, sizeof(values));
}

/* Two sites with the same name are one: the same labels must not come twice. */
static struct site_figures *site_named(struct site_list *list, char *name)
{
	struct site_figures *site;

	for (unsigned i = 0; i < list->count; i++) {
		if (strcmp(list->items[i].name, name) != 0)
			continue;
		free(name);
		return &list->items[i];
	}
	site = &list->items[list->count++];
	*site = (struct site_figures){.name = name};
	return site;
}

static bool take_sites(struct report *report, struct site_list *list)
{
	const struct sites *sites = report->sites;
	unsigned count = sites->count < list->most ? sites->count : list->most;

	list->items = calloc((size_t)count + 1, sizeof(*list->items));
	for (unsigned i = 0; list->items && i < count; i++) {
		const struct site *site = &sites->items[i];
		char *name = name_of(report, site);
		struct site_figures *into = name ? site_named(list, name) : NULL;

		if (!into)
			return false;
		into->values[SITE_LIVE] += site->counts.live_bytes;
		into->values[SITE_ALLOC] += site->counts.alloc_bytes;
		into->values[SITE_MAPPED] += site->counts.live_bytes;
	}
	return list->items != NULL;
}

/* Of a heap, or of what the program maps. */
static bool find_sites(const struct profile *profile, struct names *names, struct site_list *list,
		       struct error *err)
{
	struct report_options options = {.view = "summary", .key = SITES_LIVE};
	struct output out = {.width = 80};
	struct report report = {.profile = profile, .names = names, .options = &options, .out = &out};
	bool ok = report_open(&report, err);

	if (ok) {
		report_sort(&report, SITES_LIVE);
		ok = take_sites(&report, list);
	}
	report_close(&report);
	return ok;
}

static bool take_profile(const struct metrics_query *query, const struct profile *profile,
			 struct process_figures *figures, struct error *err)
{
	struct names *names;
	bool ok;

	take_values(profile, figures);
	figures->labels = labels_of(profile);
	if (query->sites == 0)
		return figures->labels || error_set(err, "no memory");
	figures->heap.most = figures->mapped.most = query->sites;
	names = known_take(query->known, profile);
	ok = figures->labels && names && find_sites(profile, names, &figures->heap, err) &&
	     (!profile_maps(profile) || find_sites(profile->mapped, names, &figures->mapped, err));
	known_give(query->known, names, profile);
	return ok || error_set(err, "no memory for metrics");
}

static bool is_wanted(const struct subjects *subjects, const struct subject *subject)
{
	return !subject->is_moment && (subject->is_running || subjects_is_single(subjects));
}

/* Processes of different containers may look alike: then the first one counts. */
static bool is_told_apart(const struct process_figures *all, unsigned last)
{
	for (unsigned i = 0; i < last; i++)
		if (strcmp(all[i].labels, all[last].labels) == 0)
			return false;
	return true;
}

/* False: no memory. */
static bool collect(const struct metrics_query *query, struct process_figures *all, unsigned *count,
		    struct error *err)
{
	struct subject *subject = subjects_first(query->subjects);
	struct profile *profile;
	struct error reason;
	bool ok = true;

	for (; ok && subject && *count < PROCESSES_MAX; subject = subject->next) {
		if (!is_wanted(query->subjects, subject) ||
		    !subject_open(subject, &profile, &reason))
			continue;
		ok = take_profile(query, profile, &all[*count], err);
		profile_close(profile);
		if (ok && is_told_apart(all, *count))
			(*count)++;
		else
			free_figures(&all[*count]);
	}
	return ok;
}

/* --- writing --------------------------------------------------------------------------------- */

static void put_head(const struct metric *metric, FILE *file)
{
	fprintf(file, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help, metric->name,
		metric->type);
}

static void put_value(enum value value, uint64_t number, FILE *file)
{
	if (value == DURATION)
		fprintf(file, " %" PRIu64 ".%09" PRIu64 "\n", number / UINT64_C(1000000000),
			number % UINT64_C(1000000000));
	else
		fprintf(file, " %" PRIu64 "\n", number);
}

static void put_processes(const struct process_figures *all, unsigned count, FILE *file)
{
	for (enum value value = 0; value < VALUES; value++) {
		put_head(&process_metrics[value], file);
		for (unsigned i = 0; i < count; i++) {
			/* 0 is "not known". */
			if (value == RSS_BYTES && all[i].values[value] == 0)
				continue;
			fprintf(file, "%s{%s}", process_metrics[value].name, all[i].labels);
			put_value(value, all[i].values[value], file);
		}
	}
}

static void put_sites(const struct process_figures *process, enum site_value value, FILE *file)
{
	const struct site_list *list = value == SITE_MAPPED ? &process->mapped : &process->heap;

	for (unsigned i = 0; i < list->count; i++) {
		const struct site_figures *site = &list->items[i];

		fprintf(file, "%s{%s,", site_metrics[value].name, process->labels);
		put_label(file, "site", site->name);
		fprintf(file, "} %" PRIu64 "\n", site->values[value]);
	}
}

static void put_own(const struct metrics_query *query, FILE *file)
{
	static const struct metric info = {"pmem_serve_info", "gauge", "The version of pmem."};
	static const struct metric made = {"pmem_serve_renderings_total", "counter",
					   "Documents that pmem serve has made."};

	put_head(&info, file);
	fprintf(file, "%s{version=\"%s\"} 1\n", info.name, PMEM_VERSION);
	put_head(&made, file);
	fprintf(file, "%s %" PRIu64 "\n", made.name, query->renderings);
}

bool metrics_write(const struct metrics_query *query, FILE *file, struct error *err)
{
	struct process_figures *all = calloc(PROCESSES_MAX, sizeof(*all));
	unsigned count = 0;
	bool ok = all ? collect(query, all, &count, err) : error_set(err, "no memory");

	if (ok) {
		put_processes(all, count, file);
		for (enum site_value value = 0; value < SITE_VALUES; value++) {
			put_head(&site_metrics[value], file);
			for (unsigned i = 0; i < count; i++)
				put_sites(&all[i], value, file);
		}
		put_own(query, file);
	}
	for (unsigned i = 0; all && i < count; i++)
		free_figures(&all[i]);
	free(all);
	return ok;
}
