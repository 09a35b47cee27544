/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * collect.c - see collect.h.
 */
#include "push/collect.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "profile/find.h"
#include "profile/running.h"
#include "push/body.h"
#include "push/state.h"

/* --- processes ------------------------------------------------------------------------------- */

static void key_of(const struct format_header *header, char key[SPOOL_KEY_SIZE])
{
	snprintf(key, SPOOL_KEY_SIZE, "%" PRIu32 "-%" PRIx64 "-%" PRIu32, header->pid,
		 header->start_realtime_ns, header->image);
}

static struct collect_process *find_process(struct collect *collect, const char *key)
{
	uint32_t i;

	for (i = 0; i < collect->count; i++)
		if (strcmp(collect->processes[i].key, key) == 0)
			return &collect->processes[i];
	return NULL;
}

/* NULL: no memory. */
static struct collect_process *add_process(struct collect *collect, const char *path,
					   const struct format_header *header)
{
	struct collect_process *grown = realloc(collect->processes,
						(collect->count + 1) * sizeof(*grown));
	struct collect_process *process;

	if (!grown)
		return NULL;
	collect->processes = grown;
	process = &grown[collect->count];
	*process = (struct collect_process){.path = strdup(path), .pid = header->pid};
	if (!process->path)
		return NULL;
	key_of(header, process->key);
	/* In another pid namespace the number is another process's, or nobody's. */
	if (header->start_ticks && running_start_ticks(header->pid) == header->start_ticks)
		process->start_ticks = header->start_ticks;
	collect->count++;
	return process;
}

void collect_free(struct collect *collect)
{
	uint32_t i;

	for (i = 0; i < collect->count; i++)
		free(collect->processes[i].path);
	free(collect->processes);
	collect->processes = NULL;
	collect->count = 0;
}

/* Notes who has ended.  True if there is one that has not been seen so before. */
static bool note_ends(struct collect *collect)
{
	bool ended = false;
	uint32_t i;

	for (i = 0; i < collect->count; i++) {
		struct collect_process *process = &collect->processes[i];

		if (process->is_done || !process->start_ticks ||
		    running_start_ticks(process->pid) == process->start_ticks)
			continue;
		process->start_ticks = 0;
		ended = true;
	}
	return ended;
}

bool collect_is_over(const struct collect *collect)
{
	uint32_t i;

	if (collect->options->all)
		return false;
	for (i = 0; i < collect->count; i++)
		if (!collect->processes[i].is_done)
			return false;
	return true;
}

/* --- one state ------------------------------------------------------------------------------- */

static bool write_body(FILE *file, void *context, struct error *err)
{
	const struct body *body = ((void **)context)[0];
	const struct spool *spool = ((void **)context)[1];

	return body_write(body, spool->protocol, file, err);
}

static uint64_t end_of(const struct collect *collect, const struct profile *profile)
{
	if (profile->is_live || collect->options->now)
		return clock_realtime_ns();
	return profile->header.start_realtime_ns + profile->duration_ns;
}

/* The state goes into the spool with what the next one will be compared with. */
static bool put_state(struct collect *collect, const char *key, const struct state *state,
		      const struct base *base, const struct state_view *view, struct error *err)
{
	struct labels labels;
	struct body body = {.labels = &labels,
			    .source = {.profile = &state->profile},
			    .from_ns = view->from_ns,
			    .until_ns = view->until_ns};
	void *context[] = {&body, collect->spool};
	struct spool_entry entry = {
		.key = key, .base = base, .write = write_body, .context = context};
	uint64_t bytes;
	bool ok;

	if (getrandom(body.id, sizeof(body.id), 0) != (ssize_t)sizeof(body.id))
		return error_set_errno(err, "random numbers");
	if (!labels_of(&labels, collect->options->labels, &state->profile, err))
		return false;
	body.source.names = names_new_with(&state->profile, collect->options->symbols);
	ok = body.source.names ? spool_add(collect->spool, &entry, &bytes, err)
			       : error_set(err, "%s: no memory for names", state->profile.path);
	names_free(body.source.names);
	labels_free(&labels);
	return ok;
}

static bool add_state(struct collect *collect, struct collect_process *process,
		      const struct profile *profile, const struct base *old, struct error *err)
{
	bool deltas = target_wants_deltas(collect->spool->protocol);
	struct state_view view = {.base = deltas ? old : NULL,
				  .stacks_max = collect->options->stacks_max,
				  .until_ns = end_of(collect, profile)};
	struct state state;
	struct base base;
	bool ok;

	view.from_ns = old->time_ns ? old->time_ns : profile->header.start_realtime_ns;
	if (view.from_ns > view.until_ns)
		view.from_ns = view.until_ns;
	if (!base_of(&base, profile, deltas))
		return error_set(err, "%s: no memory", profile->path);
	base.time_ns = view.until_ns;
	base.is_final = !profile->is_live;
	ok = state_make(&state, profile, &view, err);
	if (ok) {
		ok = put_state(collect, process->key, &state, &base, &view, err);
		if (ok && state.folded > collect->folded)
			collect->folded = state.folded;
		state_free(&state);
	}
	base_free(&base);
	if (ok) {
		collect->added++;
		process->is_done = !profile->is_live;
	}
	return ok;
}

/* An ended process of a watched folder is wanted if it ended since the folder is watched, or was pushed before. */
static bool is_wanted(const struct collect *collect, const struct base *old, uint64_t changed_ns)
{
	if (old->is_final)
		return false;
	return !collect->options->all || old->time_ns || changed_ns >= collect->spool->since_ns;
}

static void say(struct collect *collect, const struct error *err)
{
	collect->problem(err, collect->context);
}

static void collect_profile(struct collect *collect, const struct profile *profile,
			    uint64_t changed_ns)
{
	struct collect_process *process;
	char key[SPOOL_KEY_SIZE];
	struct error err = {""};
	struct base old;

	key_of(&profile->header, key);
	process = find_process(collect, key);
	if (!process)
		process = add_process(collect, profile->path, &profile->header);
	if (!process) {
		error_set(&err, "%s: no memory", profile->path);
		say(collect, &err);
		return;
	}
	process->is_seen = true;
	if (process->is_done)
		return;
	if (!spool_base(collect->spool, key, &old, &err))
		say(collect, &err);
	if (!profile->is_live && !is_wanted(collect, &old, changed_ns))
		process->is_done = true;
	else if (!add_state(collect, process, profile, &old, &err))
		say(collect, &err);
	base_free(&old);
}

static bool collect_path(struct collect *collect, const char *path, uint64_t changed_ns,
			 struct error *err)
{
	struct profile *profile;

	if (!profile_open(path, &profile, err))
		return false;
	collect_profile(collect, profile, changed_ns);
	profile_close(profile);
	return true;
}

/* --- a round --------------------------------------------------------------------------------- */

static void visit(const char *path, const struct format_header *header, uint64_t changed_ns,
		  void *context)
{
	struct collect *collect = context;
	struct collect_process *process;
	char key[SPOOL_KEY_SIZE];
	struct error err = {""};

	key_of(header, key);
	process = find_process(collect, key);
	if (process)
		process->is_seen = true;
	if (process ? process->is_done || (collect->only_ended && process->start_ticks)
		    : collect->only_ended)
		return;
	if (!collect_path(collect, path, changed_ns, &err))
		say(collect, &err);
}

static bool is_there(const char *key, void *context)
{
	const struct collect_process *process = find_process(context, key);

	return process && process->is_seen;
}

/* Profiles that were removed are forgotten, and so is what was pushed of them. */
static void forget(struct collect *collect)
{
	uint32_t i = 0;

	spool_forget(collect->spool, is_there, collect);
	while (i < collect->count) {
		if (collect->processes[i].is_seen) {
			i++;
			continue;
		}
		free(collect->processes[i].path);
		collect->processes[i] = collect->processes[--collect->count];
	}
}

static bool round_of_folder(struct collect *collect, struct error *err)
{
	const char *folder = collect->options->name ? collect->options->name : "";

	if (!find_each(folder, visit, collect, err))
		return false;
	if (!collect->only_ended)
		forget(collect);
	return true;
}

/* A process can have another profile by now: it executed another program. */
static bool is_to_be_found(const struct collect *collect)
{
	uint32_t i;

	for (i = 0; i < collect->count; i++) {
		const struct collect_process *process = &collect->processes[i];

		if (process->start_ticks && running_start_ticks(process->pid) == process->start_ticks)
			return true;
	}
	return collect->count == 0;
}

static bool find_named(struct collect *collect, struct error *err)
{
	char *path;
	bool ok;

	if (!find_profile(collect->options->name, &path, err))
		return false;
	ok = collect_path(collect, path, UINT64_MAX, err);
	free(path);
	return ok;
}

static bool round_of_one(struct collect *collect, struct error *err)
{
	struct error ignored;
	uint32_t i;

	if (is_to_be_found(collect) && !find_named(collect, err) && collect->count == 0)
		return false;
	for (i = 0; i < collect->count; i++) {
		struct collect_process *process = &collect->processes[i];

		if (process->is_seen || process->is_done)
			continue;
		process->is_seen = true;
		if (collect_path(collect, process->path, UINT64_MAX, &ignored))
			continue;
		process = &collect->processes[i];
		process->is_done = true; /* its file is gone: there is nothing more to push */
		say(collect, &ignored);
	}
	return true;
}

static bool do_round(struct collect *collect, struct error *err)
{
	uint32_t i;

	for (i = 0; i < collect->count; i++)
		collect->processes[i].is_seen = false;
	return collect->options->all ? round_of_folder(collect, err) : round_of_one(collect, err);
}

bool collect_round(struct collect *collect, struct error *err)
{
	collect->only_ended = false;
	note_ends(collect);
	return do_round(collect, err);
}

bool collect_ended(struct collect *collect)
{
	struct error err = {""};

	if (!note_ends(collect))
		return false;
	collect->only_ended = true;
	if (!do_round(collect, &err))
		say(collect, &err);
	return true;
}
