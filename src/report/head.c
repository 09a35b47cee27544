/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * head.c - the first lines of every view: which process, and what is missing.
 *
 * A partial profile must not pass for a full one: what makes figures wrong stands above them.
 */
#include "report/head.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "profile/estimate.h"
#include "profile/given_names.h"
#include "profile/unseen.h"
#include "profile/when.h"
#include "report/no_names.h"
#include "report/page.h"

enum { INDENT = 2, FILE_NAME_SIZE = 4096 };

static uint64_t loaded(const _Atomic uint64_t *field)
{
	return atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)field, memory_order_relaxed);
}

static uint32_t loaded32(const _Atomic uint32_t *field)
{
	return atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)field, memory_order_relaxed);
}

static uint64_t loss(const struct report *report, enum format_loss kind)
{
	return loaded(&report->profile->header.losses[kind]);
}

/* The profile's own name, also of one that was deleted and is reached through its process's mapping. */
static const char *file_name(const struct profile *profile, char target[FILE_NAME_SIZE])
{
	const char *name = path_last_part(profile->path);
	ssize_t length;

	if (strncmp(profile->path, "/proc/", 6) != 0 || !strstr(profile->path, "/map_files/"))
		return name;
	length = readlink(profile->path, target, FILE_NAME_SIZE - 1);
	if (length <= 0)
		return name;
	target[length] = '\0';
	return path_last_part(target);
}

static void print_title(const struct report *report)
{
	const struct profile *profile = report->profile;
	const struct output *out = report->out;
	char date[UNITS_SIZE], duration[UNITS_SIZE];
	char target[FILE_NAME_SIZE];
	const char *file = file_name(profile, target);
	struct page_text text;
	unsigned used = 0, columns = output_columns(file);

	page_text_begin(&text, out);
	if (text.file != out->file) {
		struct output to = *out;

		to.file = text.file;
		page_cut(&to, profile->program_name[0] ? profile->program_name : "unknown program",
			 30);
	}
	fprintf(text.file, " (pid %" PRIu32 "), %s, %s%s", profile->header.pid,
		units_date(profile->header.start_realtime_ns, date),
		units_duration(profile->duration_ns, duration), profile->is_live ? " so far" : "");
	fflush(text.file);
	used = text.text ? output_columns(text.text) : 0;
	fputs(output_style(out, OUTPUT_BOLD), out->file);
	page_text_print(&text, out);
	fputs(output_style(out, OUTPUT_PLAIN), out->file);
	if (!report->options->file_is_gone && used + 2 + columns <= out->width) {
		fprintf(out->file, "%*s", (int)(out->width - used - columns), "");
		page_cut(out, file, columns);
	}
	fputc('\n', out->file);
}

/* A warning paragraph. */
static void __attribute__((format(printf, 2, 3)))
warn(const struct report *report, const char *format, ...)
{
	struct page_text text;
	va_list args;

	page_text_begin(&text, report->out);
	va_start(args, format);
	vfprintf(text.file, format, args);
	va_end(args);
	fputs(output_style(report->out, OUTPUT_YELLOW), report->out->file);
	page_text_end(&text, report->out, INDENT);
	fputs(output_style(report->out, OUTPUT_PLAIN), report->out->file);
}

/* Text from a file without control characters, to be freed. */
static char *clean(const struct report *report, const char *from)
{
	struct output to = *report->out;
	char *text = NULL;
	size_t size;

	to.file = open_memstream(&text, &size);
	if (!to.file)
		return NULL;
	output_safe(&to, from);
	fclose(to.file);
	return text;
}

/* The index in names_problems() of the program itself; else that of the end. */
static unsigned program_problem(const struct report *report, const char *const *problems)
{
	const char *program = report->profile->program_name;
	size_t length = strlen(program);
	unsigned i;

	for (i = 0; problems && problems[i]; i++)
		if (length && strncmp(problems[i], program, length) == 0 &&
		    problems[i][length] == ':')
			break;
	return i;
}

/* node can name what it compiles, but has to be asked to when it starts. */
static void warn_compiled(const struct report *report)
{
	const struct profile *profile = report->profile;

	if (strcmp(profile->program_name, "node") == 0 && !given_names_compiled(profile) &&
	    no_names_has_compiled(profile))
		warn(report, "NO NAMES of JavaScript: node tells them if it is started as `node "
			     "--perf-basic-prof`.");
}

/* A report of bare addresses: why it is one, and what helps. */
static void warn_names(const struct report *report)
{
	const char *const *problems = names_problems(report->names);
	unsigned index = program_problem(report, problems);
	size_t length = strlen(report->profile->program_name);
	char *program, *problem;

	if (!problems || !problems[index]) {
		warn_compiled(report);
		return;
	}
	program = clean(report, report->profile->program_name);
	problem = clean(report, problems[index] + length + 2);
	warn(report, "NO NAMES: %s %s. %s.", program ? program : "the program",
	     problem ? problem : "has none", no_names_advice(report->profile, problems[index]));
	free(program);
	free(problem);
}

static void warn_damage(const struct report *report)
{
	const struct profile *profile = report->profile;
	char words[PROFILE_DAMAGE_SIZE], *text;

	if (!profile->damage[0])
		return;
	text = clean(report, profile_damage_text(profile, words));
	warn(report, "PARTIAL: %s.", text ? text : "");
	free(text);
}

static void warn_memory_blocks(const struct report *report)
{
	const struct format_header *header = &report->profile->header;
	uint32_t blocks = loaded32(&header->memory_blocks);
	uint32_t error = loaded32(&header->file_error);
	uint64_t flushed = loaded(&header->flushed_ns);
	char time[UNITS_SIZE], why[64];

	if (!blocks)
		return;
	snprintf(why, sizeof(why), "%s", error ? strerror((int)error) : "reason unknown");
	if (flushed)
		warn(report,
		     "PARTIAL: %" PRIu32
		     " blocks of the profile found no room in the file (%s); of them this is "
		     "the state %s after the start.",
		     blocks, why, units_duration(flushed, time));
	else
		warn(report,
		     "PARTIAL: %" PRIu32
		     " blocks of the profile found no room in the file (%s) and are not here.",
		     blocks, why);
}

static void warn_losses(const struct report *report)
{
	char events[UNITS_SIZE], bytes[UNITS_SIZE], bugs[UNITS_SIZE];

	if (!profile_losses(report->profile))
		return;
	warn(report, "INCOMPLETE: lost %s allocations or frees, %s of the profile; %s broken assertions of pmem.",
	     units_count(loss(report, FORMAT_LOSS_EVENTS), events),
	     units_bytes(loss(report, FORMAT_LOSS_PROFILE_BYTES), bytes),
	     units_count(loss(report, FORMAT_LOSS_INTERNAL), bugs));
}

static void warn_sampled(const struct report *report)
{
	const struct profile *profile = report->profile;
	uint64_t live_now = profile_live_bytes(&profile->totals);
	struct estimate live = estimate_of(live_now, profile->header.sample_bytes);
	char mean[UNITS_SIZE], low[UNITS_SIZE], high[UNITS_SIZE];

	warn(report,
	     "SAMPLED: one byte in %s was drawn; all figures are estimates. With 95 %% certainty "
	     "the live heap lies between %s and %s.",
	     units_bytes(profile->header.sample_bytes, mean), units_bytes(live.low, low),
	     units_bytes(live.high, high));
}

static void warn_state(const struct report *report)
{
	const struct profile *profile = report->profile;
	uint32_t state = loaded32(&profile->header.state);
	char time[UNITS_SIZE];

	if (state == FORMAT_STATE_STOPPED)
		warn(report,
		     "PARTIAL: recording stopped %s after the start, before the process ended.",
		     units_duration(profile->duration_ns, time));
	else if (state == FORMAT_STATE_RECORDING && !profile->is_live)
		warn(report,
		     "The process was killed or executed another program; its last sign of life is "
		     "%s "
		     "after the start.",
		     units_duration(profile->duration_ns, time));
	if (profile->header.sample_bytes)
		warn_sampled(report);
	if (profile->refused_setting[0]) {
		char *text = clean(report, profile->refused_setting);

		warn(report, "Refused setting, default used: %s.", text ? text : "");
		free(text);
	}
}

static void warn_unseen(const struct report *report)
{
	char words[UNSEEN_SIZE], *text;

	if (!unseen_words(report->profile, words))
		return;
	text = clean(report, words);
	warn(report, "UNSEEN: %s.", text ? text : "");
	free(text);
}

void head_print(const struct report *report)
{
	print_title(report);
	warn_unseen(report);
	warn_names(report);
	/* The cause comes before what follows from it. */
	warn_memory_blocks(report);
	warn_damage(report);
	warn_losses(report);
	warn_state(report);
	fputc('\n', report->out->file);
}

static void print_filtered(const struct report *report, FILE *file)
{
	const struct sites *sites = report->sites;
	char some[UNITS_SIZE], all[UNITS_SIZE], number[UNITS_SIZE], share[UNITS_SIZE];
	uint64_t live = profile_live_bytes(&report->profile->totals);

	if (!sites->stack_count) {
		fprintf(file, "Selected: no call stack matches, of %s. ",
			units_count(report->profile->stack_count, all));
		return;
	}
	fprintf(file, "Selected: %s call stack%s of %s", units_count(sites->stack_count, number),
		sites->stack_count == 1 ? "" : "s", units_count(report->profile->stack_count, all));
	if (!sites->query.only_interval)
		fprintf(file, ", with %s (%s) of the live bytes",
			units_bytes(sites->totals.live_bytes, some),
			units_share(sites->totals.live_bytes, live, share));
	fputs(". ", file);
}

/* Where older samples were dropped, a call stack's nearest ones are not of the interval's ends. */
static void print_measured(const struct report *report, FILE *file)
{
	const struct sites_counts *totals = &report->sites->totals;
	uint64_t length_ns = report->interval.until_ns - report->interval.since_ns;
	char least[UNITS_SIZE], most[UNITS_SIZE];

	if (!totals->most_ns || (totals->least_ns == length_ns && totals->most_ns == length_ns))
		return;
	fprintf(file,
		" Of some call stacks the nearest samples are of other moments: `over` is how long "
		"each figure was measured, %s to %s.",
		units_duration(totals->least_ns, least), units_duration(totals->most_ns, most));
}

static void print_interval(const struct report *report, FILE *file)
{
	const struct profile *profile = report->profile;
	const struct sites *sites = report->sites;
	const struct growth_interval *interval = &report->interval;
	char from[UNITS_SIZE], to[UNITS_SIZE], change[UNITS_SIZE], number[UNITS_SIZE],
		bytes[UNITS_SIZE], length[UNITS_SIZE];

	fprintf(file, "From %s to %s, in %s%s, the live bytes changed by %s.",
		units_time(when_realtime(profile, interval->since_ns), from),
		units_time(when_realtime(profile, interval->until_ns), to),
		interval->until_ns >= profile->duration_ns ? "the last " : "",
		units_duration(interval->until_ns - interval->since_ns, length),
		sites->totals.growth ? units_bytes_change(sites->totals.growth, change) : "0 B");
	print_measured(report, file);
	if (sites->untimed_count)
		fprintf(file,
			" Not on the timeline: %s small call stack%s, with %s at the end; their "
			"changes are "
			"not in it.",
			units_count(sites->untimed_count, number),
			sites->untimed_count == 1 ? "" : "s",
			units_bytes(sites->untimed_bytes, bytes));
}

void head_print_selection(const struct report *report)
{
	struct page_text text;

	page_text_begin(&text, report->out);
	if (report->selected)
		print_filtered(report, text.file);
	if (report_has_interval(report))
		print_interval(report, text.file);
	page_text_end(&text, report->out, INDENT);
}

/* Losses that do not make sums wrong. */
static void put_blemishes(const struct report *report, FILE *file)
{
	char number[UNITS_SIZE];
	enum format_loss kind;

	for (kind = 0; kind < FORMAT_LOSS_KINDS; kind++)
		if (profile_blemish_words(kind) && loss(report, kind))
			fprintf(file, "; %s %s", units_count(loss(report, kind), number),
				profile_blemish_words(kind));
	if (loaded(&report->profile->header.inherited_freed))
		fprintf(file, "; %s blocks of the parent process freed",
			units_count(loaded(&report->profile->header.inherited_freed), number));
	if (loaded(&report->profile->header.unknown_freed))
		fprintf(file, "; %s frees of blocks that were not seen allocated",
			units_count(loaded(&report->profile->header.unknown_freed), number));
}

/* But for the program itself: that stands above. */
static void put_problems(const struct report *report, FILE *file)
{
	const char *const *problems = names_problems(report->names);
	unsigned program = program_problem(report, problems), count = 0, all = 0;
	char *text, *problem;

	while (problems && problems[all])
		all++;
	count = all - (program < all);
	if (!count)
		return;
	text = clean(report, problems[program == 0]);
	problem = text ? strstr(text, ": ") : NULL;
	if (problem)
		fprintf(file, "; no names for %.*s, which %s", (int)(problem - text), text,
			problem + 2);
	else
		fprintf(file, "; no names for %s", text ? text : "?");
	if (count > 1)
		fprintf(file, " and %u more module%s", count - 1, count == 2 ? "" : "s");
	free(text);
}

void head_print_seen(const struct report *report)
{
	struct page_text text;
	char number[UNITS_SIZE];
	uint64_t calls = report->profile->totals.alloc_count;

	page_text_begin(&text, report->out);
	if (report->profile->header.sample_bytes)
		fputs("Seen: a sample of the allocations", text.file);
	else
		fprintf(text.file, "Seen: %s allocation%s and %s", units_count(calls, number),
			calls == 1 ? "" : "s", calls == 1 ? "its free" : "their frees");
	fputs(profile_losses(report->profile) || report->profile->damage[0]
		      ? "; some are missing, see above"
		      : "; nothing lost",
	      text.file);
	put_blemishes(report, text.file);
	put_problems(report, text.file);
	fputc('.', text.file);
	page_text_end(&text, report->out, INDENT);
}
