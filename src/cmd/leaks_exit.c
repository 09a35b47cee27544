/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * leaks_exit.c - `pmem leaks --at-exit`: runs a program, and looks at it at its end.
 *
 * The profile is a means only: it lies in a folder of its own that is removed afterwards.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/leaks_parts.h"
#include "cmd/run_child.h"
#include "cmd/run_env.h"
#include "cmd/run_say.h"
#include "cmd/run_target.h"
#include "leaks/follow.h"
#include "profile/running.h"

struct at_exit {
	struct leaks_request *request;
	char folder[PATH_MAX];
	char *library;
	struct run_target target;
	struct follow follow;
	struct leaks_found found;
	struct error err; /* why nothing was found; "" = the program did not come to an end of its own */
	bool done;
};

/* --- the profile's folder -------------------------------------------------------------------- */

static bool make_folder(struct at_exit *run, struct error *err)
{
	const char *parent = getenv("TMPDIR");

	if (!parent || parent[0] != '/')
		parent = "/tmp";
	if (snprintf(run->folder, sizeof(run->folder), "%s/pmem-leaks.XXXXXX", parent) >=
	    (int)sizeof(run->folder))
		return error_set(err, "$TMPDIR is too long");
	if (mkdtemp(run->folder))
		return true;
	error_set_errno(err, "%s", run->folder);
	run->folder[0] = '\0';
	return false;
}

static void remove_folder(const struct at_exit *run)
{
	DIR *folder = run->folder[0] ? opendir(run->folder) : NULL;
	const struct dirent *entry;

	if (!folder)
		return;
	while ((entry = readdir(folder)))
		unlinkat(dirfd(folder), entry->d_name, 0);
	closedir(folder);
	rmdir(run->folder);
}

/* --- the program's end ----------------------------------------------------------------------- */

static void look(void *context, const struct stop *stop)
{
	struct at_exit *run = context;
	pid_t shown = (pid_t)running_thread((uint32_t)stop->pid);
	struct leaks_source source = {.stop = stop, .pid = shown, .original = shown};
	char name[16];

	snprintf(name, sizeof(name), "%d", (int)stop->pid);
	run->found.name = name;
	run->done = leaks_found_search(run->request, &source, &run->found, &run->err);
}

static void begin(void *context, pid_t pid)
{
	struct at_exit *run = context;

	follow_begin(&run->follow, pid, &run->err);
}

static pid_t look_on(void *context, int *status)
{
	struct at_exit *run = context;

	return follow_look(&run->follow, status);
}

/* --- the run --------------------------------------------------------------------------------- */

static int fail(int code, const struct error *err)
{
	cmd_fail("leaks", err);
	return code;
}

/* Returns 0 or an exit code, after a message. */
static int prepare(struct at_exit *run, struct error *err)
{
	int code = run_target_find(&run->target, err);

	if (code)
		return fail(code, err);
	if (!run_env_library(&run->library, err))
		return fail(CMD_RUN_FAILED, err);
	run->target.library = run->library;
	code = run_target_check(&run->target, err);
	if (code) {
		run_say(stderr, err->text);
		return code;
	}
	return make_folder(run, err) ? 0 : fail(CMD_RUN_FAILED, err);
}

static int execute(struct at_exit *run, char **argv, struct run_child *child, struct error *err)
{
	const struct run_child_watch watch = {begin, look_on, run};
	char pattern[PATH_MAX + 16];
	struct run_env env = {.library = run->library,
			      .output = pattern,
			      .no_log = true,
			      .libstdcxx = run_target_wants_libstdcxx(&run->target)};
	int code;

	snprintf(pattern, sizeof(pattern), "%s/pmem.%%p.prof", run->folder);
	if (!run_env_new_id(&env.run_id, err) || !run_env_set(&env, err))
		return fail(CMD_RUN_FAILED, err);
	run->follow.at_end = look;
	run->follow.context = run;
	child->watch = &watch;
	code = run_child(run->target.path, argv, child, err);
	child->watch = NULL;
	return code ? fail(code, err) : 0;
}

/* Nothing was looked at.  If that is the program's own doing it has its exit code. */
static int conclude_unseen(struct at_exit *run, const struct run_child *child)
{
	bool was_killed = !run->err.text[0] && WIFSIGNALED(child->status);

	if (!run->err.text[0])
		error_set(&run->err, "%s %s: nothing was looked at", run->target.name,
			  was_killed ? "was killed by a signal" : "ended unseen");
	cmd_fail("leaks", &run->err);
	return was_killed ? run_child_exit_code(child) : CMD_RUN_FAILED;
}

/* What is said after the program's end.  Returns the exit code. */
static int conclude(struct at_exit *run, const struct run_child *child)
{
	struct error err;
	int code;

	if (!run->done)
		return conclude_unseen(run, child);
	if (!leaks_found_show(run->request, &run->found, &err))
		return fail(CMD_RUN_FAILED, &err);
	code = leaks_found_code(run->request, &run->found);
	return code ? code : run_child_exit_code(child);
}

int leaks_at_exit(struct leaks_request *request, char **argv)
{
	struct at_exit *run = calloc(1, sizeof(*run));
	struct run_child child = {.pid = 0};
	struct error err;
	int code;

	if (!run) {
		error_set(&err, "no memory");
		return fail(CMD_RUN_FAILED, &err);
	}
	run->request = request;
	request->report.file_is_gone = true;
	run->target.name = argv[0];
	code = prepare(run, &err);
	if (!code)
		code = execute(run, argv, &child, &err);
	remove_folder(run);
	if (!code)
		code = conclude(run, &child);
	leaks_found_free(&run->found);
	free(run->library);
	free(run);
	return code;
}
