/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_summary.c - the summary of `pmem run`.
 *
 * What was not seen comes first; then the answer; then the way to more.  Texts of profiles are untrusted: every line passes
 * output_safe().
 */
#include "cmd/run_summary.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/output.h"
#include "base/path.h"
#include "base/units.h"
#include "cmd/run_found.h"
#include "cmd/run_say.h"
#include "cmd/run_verdict.h"
#include "profile/estimate.h"
#include "profile/profile.h"
#include "profile/rss.h"
#include "profile/unseen.h"
#include "report/mappings.h"
#include "report/rss_words.h"

/* OTHERS_READ: of a build's thousands of profiles those with the largest peaks are looked into for growth. */
enum { OTHERS_MAX = 5, OTHERS_READ = 64, LINE_SIZE = 2048 };

static void print_line(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void print_line(FILE *file, const char *format, ...)
{
	const struct output out = {.file = file};
	char line[LINE_SIZE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	output_safe(&out, line);
	fputc('\n', file);
}

/* The name by which a person reaches a file from here: without the current folder. */
static const char *short_path(const char *path)
{
	char *here = getcwd(NULL, 0);
	size_t length = here ? strlen(here) : 0;

	if (length > 1 && strncmp(path, here, length) == 0 && path[length] == '/')
		path += length + 1;
	free(here);
	return path;
}

/* As a word of a shell command. */
static const char *quote(const char *path, char text[LINE_SIZE])
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "/._-+,:@%=";
	size_t length = 0;

	if (path[strspn(path, plain)] == 0 && path[0] != '-')
		return path;
	text[length++] = '\'';
	for (; *path && length < LINE_SIZE - 8; path++) {
		if (*path == '\'')
			length += (size_t)sprintf(text + length, "'\\''");
		else
			text[length++] = *path;
	}
	strcpy(text + length, "'");
	return text;
}

static const char *say_end(int status, char text[100])
{
	if (WIFSIGNALED(status))
		snprintf(text, 100, "killed by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(text, 100, "exit status %d", WEXITSTATUS(status));
	return text;
}

/* When what the profile calls live was live. */
static const char *say_when(const struct profile *profile)
{
	if (profile->is_live)
		return "now";
	return profile->header.state == FORMAT_STATE_ENDED ? "at exit" : "at the end";
}

static void print_heap(const struct profile *profile, int status, FILE *file)
{
	char live[UNITS_SIZE], peak[UNITS_SIZE], at[UNITS_SIZE], bytes[UNITS_SIZE],
		calls[UNITS_SIZE];
	uint64_t mean = profile->header.sample_bytes;
	const char *when = !profile->is_live && WIFSIGNALED(status) ? "when killed"
								    : say_when(profile);

	print_line(file, "  heap     %s live %s, peak %s at %s, %s allocated in %s call%s",
		   estimate_bytes(profile_live_bytes(&profile->totals), mean, live), when,
		   estimate_bytes(profile->header.peak_bytes, mean, peak),
		   units_duration(profile->header.peak_ns, at),
		   units_bytes(profile->totals.alloc_bytes, bytes),
		   units_count(profile->totals.alloc_count, calls),
		   profile->totals.alloc_count == 1 ? "" : "s");
}

static void print_rss(const struct profile *profile, FILE *file)
{
	const struct profile_point *point;
	char rss[UNITS_SIZE], at[UNITS_SIZE], sum[RSS_SUM_SIZE];
	uint32_t i = profile->point_count;
	struct rss recorded;

	if (rss_recorded(profile, &recorded)) {
		print_line(file, "  rss      %s", rss_words_sum(&recorded, sum));
		return;
	}
	while (i && !profile->points[i - 1].rss_bytes)
		i--;
	if (!i)
		return;
	point = &profile->points[i - 1];
	print_line(file, "  rss      %s at %s", units_bytes(point->rss_bytes, rss),
		   units_duration(point->time_ns, at));
}

/* "nothing lost", or every loss by its name; then, in the report's words, those that leave sums right. */
static void say_losses(const struct profile *profile, char text[LINE_SIZE])
{
	const char *before = "lost ";
	char count[UNITS_SIZE];
	size_t length = 0;
	uint64_t losses;
	uint32_t i;

	for (i = 0; i < FORMAT_LOSS_KINDS; i++) {
		losses = profile->header.losses[i];
		if (losses && !profile_blemish_words(i) && length < LINE_SIZE - 100)
			length += (size_t)snprintf(text + length, 100, "%s%s %.40s", before,
						   units_count(losses, count), profile_loss_name(i));
		if (length)
			before = ", ";
	}
	if (!length)
		length = (size_t)sprintf(text, "nothing lost");
	for (i = 0; i < FORMAT_LOSS_KINDS; i++) {
		losses = profile->header.losses[i];
		if (losses && profile_blemish_words(i) && length < LINE_SIZE - 100)
			length += (size_t)snprintf(text + length, 100, "; %s %.60s",
						   units_count(losses, count),
						   profile_blemish_words(i));
	}
}

static void print_cost(const struct profile *profile, uint64_t run_ns, FILE *file)
{
	uint64_t spent = profile->header.snapshot_ns + profile->header.timeline_ns;
	char own[UNITS_SIZE], share[UNITS_SIZE], losses[LINE_SIZE];

	say_losses(profile, losses);
	print_line(file, "  cost     %s, %s of the time in snapshots and timeline; %s",
		   profile->header.own_bytes ? units_bytes(profile->header.own_bytes, own)
					     : "memory not measured",
		   units_share(spent, profile->duration_ns > run_ns ? profile->duration_ns : run_ns,
			       share),
		   losses);
}

/* What makes the figures less than the whole truth; comes before them. */
static void print_gaps(const struct profile *profile, FILE *file)
{
	uint64_t events = profile->header.losses[FORMAT_LOSS_EVENTS];
	char damage[PROFILE_DAMAGE_SIZE];
	char count[UNITS_SIZE];
	char at[UNITS_SIZE];

	if (events)
		print_line(file, "  partial  %s allocations or frees were not recorded",
			   units_count(events, count));
	if (profile->refused_setting[0])
		print_line(file, "  setting  not understood, default used: %s",
			   profile->refused_setting);
	if (profile->header.state == FORMAT_STATE_STOPPED)
		print_line(file, "  partial  recording stopped after %s",
			   units_duration(profile->duration_ns, at));
	else if (profile->header.memory_blocks && !profile->header.flushed_ns)
		print_line(file, "  partial  the file could not grow: %s",
			   strerror((int)profile->header.file_error));
	else if (profile->header.memory_blocks)
		print_line(file, "  partial  the file could not grow (%s): state at %s",
			   strerror((int)profile->header.file_error),
			   units_duration(profile->header.flushed_ns, at));
	if (profile->damage[0])
		print_line(file, "  partial  %s", profile_damage_text(profile, damage));
}

/* A profile with few allocations must not pass for all there were. */
static void print_unseen(const struct profile *profile, FILE *file)
{
	char words[UNSEEN_SIZE], text[UNSEEN_SIZE + 100], bytes[UNITS_SIZE];

	if (!unseen_words(profile, words))
		return;
	snprintf(text, sizeof(text), "seen %s; %s", units_bytes(profile->totals.alloc_bytes, bytes),
		 words);
	run_say(file, text);
}

/* What the program maps itself, where that is a considerable part.  said: what the verdict told of it; NULL = nothing. */
static void print_mapped(const struct profile *profile, const struct run_verdict *said, FILE *file)
{
	struct run_verdict verdict = {.text = ""};
	char bytes[UNITS_SIZE];

	if (!mappings_matter(profile))
		return;
	if (!said)
		run_verdict(profile->mapped, &verdict);
	print_line(file, "  mapped   %s by the program itself (mmap)%s%s",
		   units_bytes(profile_live_bytes(&profile->mapped->totals), bytes),
		   said ? "" : ": ", verdict.text);
}

/* What grows comes first: who holds the heap says little of a process that is mostly free memory, and that the heap is steady is
 * no comfort where more and more is mapped past malloc. */
static void print_verdict(const struct profile *profile, FILE *file)
{
	struct run_verdict verdict, mapped;
	bool maps = run_verdict_mapped(profile, &mapped), grows, retained;
	const char *limit;

	run_verdict(profile, &verdict);
	grows = maps || verdict.grows;
	retained = verdict.retained[0] != 0;
	limit = maps ? mapped.limit : verdict.limit;
	if (verdict.failed[0])
		print_line(file, "  failed   %s", verdict.failed);
	if (retained && !grows)
		print_line(file, "  verdict  %s", verdict.retained);
	if (maps)
		print_line(file, "  verdict  %s; the heap: %s", mapped.text, verdict.text);
	else
		print_line(file, "  %-8s %s", retained && !grows ? "live" : "verdict", verdict.text);
	if (limit[0])
		print_line(file, "  limit    %s", limit);
	if (retained && grows)
		print_line(file, "  retained %s", verdict.retained);
	print_mapped(profile, maps ? &mapped : NULL, file);
}

/* next: the path of the profile to look at. */
static void print_main(const struct run_summary *summary, const struct profile *profile,
		       const char *next, FILE *file)
{
	char took[UNITS_SIZE], end[100], quoted[LINE_SIZE];
	const char *name = profile->program_name[0] ? profile->program_name
						    : path_last_part(summary->program);
	const char *path = quote(short_path(next), quoted);

	print_unseen(profile, file);
	print_line(file, "pmem: %s (pid %ld), %s, %s", name, (long)summary->child->pid,
		   units_duration(summary->child->duration_ns, took),
		   say_end(summary->child->status, end));
	print_gaps(profile, file);
	if (!profile->is_live && WIFEXITED(summary->child->status) &&
	    profile->header.state == FORMAT_STATE_RECORDING)
		print_line(file,
			   "  partial  it did not pass exit: it executed a program that was not "
			   "recorded, or ended by a raw system call");
	if (profile->header.sample_bytes)
		print_line(file,
			   "  sampled  one byte in %s: estimates, right within +- in %d of 100",
			   units_bytes(profile->header.sample_bytes, took), ESTIMATE_PERCENT);
	print_heap(profile, summary->child->status, file);
	print_verdict(profile, file);
	print_rss(profile, file);
	print_cost(profile, summary->child->duration_ns, file);
	print_line(file, "  next     pmem report %s    pmem html %s", path, path);
}

/* The likely reason first: --only names others; or libpmem.so saw no allocation. */
static void print_nothing(const struct run_summary *summary, const char *why, FILE *file)
{
	const char *name = path_last_part(summary->program), *profile = getenv("PMEM_PROFILE");
	char took[UNITS_SIZE], end[100];

	if (profile && strcmp(profile, "0") == 0)
		print_line(file,
			   "pmem: nothing was recorded: PMEM_PROFILE=0 is set: no profile of %s",
			   name);
	else if (why)
		print_line(file, "pmem: the profile of %s is not readable: %s", name, why);
	else if (summary->only && fnmatch(summary->only, name, 0) != 0)
		print_line(file, "pmem: %s was not recorded: --only %s does not match its name",
			   name, summary->only);
	else
		print_line(file,
			   "pmem: nothing was recorded: %s left no profile in %s (it allocated "
			   "nothing, executed a "
			   "program that cannot be recorded, or could not write there)",
			   name, summary->folder);
	print_line(file, "pmem: %s (pid %ld), %s, %s", name, (long)summary->child->pid,
		   units_duration(summary->child->duration_ns, took),
		   say_end(summary->child->status, end));
}

static void print_other(const struct run_summary *summary, const char *path, FILE *file)
{
	char live[UNITS_SIZE], peak[UNITS_SIZE], growth[RUN_VERDICT_SIZE], figures[LINE_SIZE];
	struct profile *profile;
	struct error err;
	const char *name;

	if (!profile_open(path, &profile, &err)) {
		print_line(file, "  + a profile that is not readable: %s", err.text);
		return;
	}
	name = profile->program_name[0] ? profile->program_name : "?";
	if (run_verdict_growth(profile, growth))
		snprintf(figures, sizeof(figures), "%s", growth);
	else if (profile_maps(profile) && run_verdict_growth(profile->mapped, growth))
		snprintf(figures, sizeof(figures), "by mmap %s", growth);
	else
		snprintf(figures, sizeof(figures), "%s live %s, peak %s",
			 units_bytes(profile_live_bytes(&profile->totals), live), say_when(profile),
			 units_bytes(profile->header.peak_bytes, peak));
	print_line(file, "  + %s %s (pid %" PRIu32 "): %s, %s",
		   profile->header.pid == (uint32_t)summary->child->pid ? "before:" : "child", name,
		   profile->header.pid, figures, short_path(path));
	profile_close(profile);
}

static void print_others(const struct run_summary *summary, const struct run_found *found,
			 FILE *file)
{
	unsigned first = found->has_main, i;

	for (i = first; i < found->count && i < first + OTHERS_MAX; i++)
		print_other(summary, found->profiles[i].path, file);
	if (found->count > first + OTHERS_MAX)
		print_line(file, "  and %u more in %s%s", found->count - first - OTHERS_MAX,
			   summary->folder,
			   summary->only ? "" : "; --only NAME records the program NAME alone");
}

/* Of the heap, or if that does not grow of what the program maps. */
static int64_t rate_by_either(const struct profile *profile)
{
	int64_t rate = run_verdict_rate(profile);

	return rate || !profile_maps(profile) ? rate : run_verdict_rate(profile->mapped);
}

static int64_t rate_of(const char *path)
{
	struct profile *profile;
	struct error ignored;
	int64_t rate;

	if (!profile_open(path, &profile, &ignored))
		return 0;
	rate = rate_by_either(profile);
	profile_close(profile);
	return rate;
}

/* Moves the other process that grows fastest to the front of the others; false: none grows. */
static bool move_grower_first(struct run_found *found)
{
	unsigned first = found->has_main, best = 0, i;
	struct run_found_profile grower;
	int64_t most = 0;

	for (i = first; i < found->count && i < first + OTHERS_READ; i++) {
		int64_t rate = rate_of(found->profiles[i].path);

		if (rate <= most)
			continue;
		most = rate;
		best = i;
	}
	if (!most)
		return false;
	grower = found->profiles[best];
	memmove(&found->profiles[first + 1], &found->profiles[first],
		(best - first) * sizeof(grower));
	found->profiles[first] = grower;
	return true;
}

void run_summary_print(const struct run_summary *summary, FILE *file)
{
	struct run_found found = {NULL, 0, false};
	struct profile *profile = NULL;
	struct error err = {""};
	bool other_grows;

	fflush(file);
	if (summary->moved)
		print_line(file, "pmem: an older profile of that name is now %s",
			   short_path(summary->moved));
	if (run_found_collect(summary->folder, summary->run_id, summary->child->pid, &found, &err) &&
	    found.has_main)
		profile_open(found.profiles[0].path, &profile, &err);
	other_grows = move_grower_first(&found);
	if (profile)
		print_main(summary, profile,
			   other_grows && !rate_by_either(profile) ? found.profiles[1].path
								   : profile->path,
			   file);
	else
		print_nothing(summary, err.text[0] ? err.text : NULL, file);
	if (profile)
		profile_close(profile);
	print_others(summary, &found, file);
	run_found_free(&found);
}
