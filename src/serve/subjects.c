/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * subjects.c - see subjects.h.
 *
 * Files are told apart by device and inode: a running process's profile is found in /proc, and lies in the folder too.
 */
#include "serve/subjects.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/units.h"
#include "core/format.h"
#include "profile/find.h"
#include "profile/running.h"
#include "serve/documents.h"
#include "serve/moment.h"

#define SECOND_NS UINT64_C(1000000000)

/* More than so many are not listed: the youngest are. */
enum { FOLDER_MAX = 500, RUNNING_MAX = 128, ENDED_MAX = 64, REFRESH_S = 1, REFRESH_SHARE = 10 };

#define MOMENT_BYTES_MAX (UINT64_C(1) << 30) /* of all moments */

struct subjects {
	char *folder; /* NULL: only what was named is served */
	struct subject *list;
	unsigned moments;    /* that there ever were */
	uint64_t refresh_ns; /* when the next one is due */
};

/* --- one subject ----------------------------------------------------------------------------- */

static void free_subject(struct subject *subject)
{
	if (subject->fd >= 0)
		close(subject->fd);
	free(subject->id);
	free(subject->path);
	free(subject->program);
	free(subject->label);
	free(subject->of);
	free(subject);
}

static bool is_file(const struct subject *subject, const struct stat *status)
{
	return subject->device == status->st_dev && subject->inode == status->st_ino;
}

const char *subject_path(const struct subject *subject, char text[SUBJECT_PATH_SIZE])
{
	struct stat status;

	if (subject->path && stat(subject->path, &status) == 0 && is_file(subject, &status))
		return subject->path;
	if (subject->fd < 0)
		return subject->path;
	snprintf(text, SUBJECT_PATH_SIZE, "/proc/self/fd/%d", subject->fd);
	return text;
}

static uint64_t stamp_of(const struct stat *status)
{
	uint64_t changed_ns = (uint64_t)status->st_mtim.tv_sec * SECOND_NS +
			      (uint64_t)status->st_mtim.tv_nsec;

	return changed_ns ^ (uint64_t)status->st_size << 20 ^ status->st_ino << 40;
}

uint64_t subject_stamp(const struct subject *subject)
{
	char text[SUBJECT_PATH_SIZE];
	struct stat status;

	return stat(subject_path(subject, text), &status) == 0 ? stamp_of(&status) : 0;
}

/* Looks at the header: whose it is, and whether it is recorded into.  A bundle stays as it is. */
static void look_at(struct subject *subject)
{
	char text[SUBJECT_PATH_SIZE];
	struct format_header header;
	int fd = open(subject_path(subject, text), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	subject->is_running = false;
	if (fd < 0)
		return;
	if (pread(fd, &header, sizeof(header), 0) == (ssize_t)sizeof(header) &&
	    memcmp(header.magic, FORMAT_MAGIC, sizeof(header.magic)) == 0) {
		subject->pid = header.pid;
		subject->start_ns = header.start_realtime_ns;
		subject->is_running = running_records(&header, subject->path, subject->inode);
	}
	subject->was_running |= subject->is_running;
	if (!subject->is_running || subject->fd >= 0)
		close(fd);
	else
		subject->fd = fd;
}

static void note(struct subject *subject, const struct profile *profile)
{
	struct subject_summary *summary = &subject->summary;

	if (!subject->program)
		subject->program = strdup(profile->program_name);
	subject->pid = profile->header.pid;
	*summary = (struct subject_summary){
		.is_known = true,
		.stamp = subject_stamp(subject),
		.live_bytes = profile_live_bytes(&profile->totals),
		.alloc_bytes = profile->totals.alloc_bytes,
		.start_realtime_ns = profile->header.start_realtime_ns,
		.duration_ns = profile->duration_ns,
	};
}

bool subject_open(struct subject *subject, struct profile **profile, struct error *err)
{
	char text[SUBJECT_PATH_SIZE];

	if (!profile_open(subject_path(subject, text), profile, err))
		return false;
	note(subject, *profile);
	/* It ended since the last look. */
	if (!subject->is_moment && !(*profile)->is_live)
		subject->is_running = false;
	return true;
}

/* --- the list -------------------------------------------------------------------------------- */

struct subject *subjects_first(struct subjects *subjects)
{
	return subjects->list;
}

static struct subject *find_id(const struct subjects *subjects, const char *id)
{
	struct subject *subject = subjects->list;

	while (subject && strcmp(subject->id, id) != 0)
		subject = subject->next;
	return subject;
}

/* The name, or with a number: names of different folders may be the same.  NULL: no memory. */
static char *new_id(const struct subjects *subjects, const char *name)
{
	char *id = strdup(name);

	for (unsigned i = 2; id && find_id(subjects, id); i++) {
		free(id);
		if (asprintf(&id, "%s~%u", name, i) < 0)
			return NULL;
	}
	return id;
}

static struct subject *find_file(const struct subjects *subjects, const struct stat *status)
{
	struct subject *subject = subjects->list;

	while (subject && !is_file(subject, status))
		subject = subject->next;
	return subject;
}

/* NULL: no memory. */
static struct subject *add(struct subjects *subjects, const char *path, const struct stat *status)
{
	struct subject *subject = calloc(1, sizeof(*subject));

	if (!subject)
		return NULL;
	subject->fd = -1;
	subject->device = status->st_dev;
	subject->inode = status->st_ino;
	subject->changed_ns = (uint64_t)status->st_mtim.tv_sec * SECOND_NS +
			      (uint64_t)status->st_mtim.tv_nsec;
	subject->path = strdup(path);
	subject->id = new_id(subjects, path_last_part(path));
	if (!subject->path || !subject->id) {
		free_subject(subject);
		return NULL;
	}
	subject->next = subjects->list;
	subjects->list = subject;
	return subject;
}

static void remove_subject(struct subjects *subjects, struct subject *subject)
{
	struct subject **at = &subjects->list;

	while (*at != subject)
		at = &(*at)->next;
	*at = subject->next;
	free_subject(subject);
}

/* --- order ----------------------------------------------------------------------------------- */

static unsigned rank(const struct subject *subject)
{
	return subject->is_running ? 0 : subject->is_moment ? 1 : 2;
}

static int compare(const void *a, const void *b)
{
	const struct subject *left = *(struct subject *const *)a;
	const struct subject *right = *(struct subject *const *)b;

	if (rank(left) != rank(right))
		return rank(left) < rank(right) ? -1 : 1;
	if (left->changed_ns != right->changed_ns && !left->is_running)
		return left->changed_ns > right->changed_ns ? -1 : 1;
	/* Numbers of processes begin anew one day. */
	if (left->start_ns != right->start_ns)
		return left->start_ns > right->start_ns ? -1 : 1;
	return left->pid != right->pid ? (left->pid > right->pid ? -1 : 1)
				       : strcmp(left->id, right->id);
}

static void sort(struct subjects *subjects)
{
	struct subject **items, **at = &subjects->list;
	size_t count = 0;

	for (struct subject *s = subjects->list; s; s = s->next)
		count++;
	items = calloc(count + 1, sizeof(*items));
	if (!items)
		return;
	count = 0;
	for (struct subject *s = subjects->list; s; s = s->next)
		items[count++] = s;
	if (count > 1)
		qsort(items, count, sizeof(*items), compare);
	for (size_t i = 0; i < count; i++, at = &(*at)->next)
		*at = items[i];
	*at = NULL;
	free(items);
}

/* --- looking for them ------------------------------------------------------------------------ */

static void visit_process(struct subjects *subjects, const char *path)
{
	struct subject *subject;
	struct stat status;

	if (stat(path, &status) != 0)
		return;
	subject = find_file(subjects, &status);
	if (!subject)
		subject = add(subjects, path, &status);
	if (subject && !subject->is_running)
		look_at(subject);
}

/* Without /proc nothing runs. */
static void look_at_processes(struct subjects *subjects)
{
	struct find_running *found;
	struct error err;
	unsigned count;

	if (!find_running(&found, &count, &err))
		return;
	for (unsigned i = 0; i < count; i++)
		visit_process(subjects, found[i].path);
	find_running_free(found, count);
}

static bool has_suffix(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && dot != name && (strcmp(dot, ".prof") == 0 || strcmp(dot, ".bundle") == 0);
}

struct file {
	char *path;
	struct stat status;
};

static int compare_files(const void *a, const void *b)
{
	const struct timespec *left = &((const struct file *)a)->status.st_mtim;
	const struct timespec *right = &((const struct file *)b)->status.st_mtim;

	if (left->tv_sec != right->tv_sec)
		return left->tv_sec > right->tv_sec ? -1 : 1;
	return (left->tv_nsec < right->tv_nsec) - (left->tv_nsec > right->tv_nsec);
}

static bool is_profile(const struct file *file)
{
	return S_ISREG(file->status.st_mode) && file->status.st_size > 0;
}

/* The youngest first, to be freed; *count of them.  NULL: none, or no memory. */
static struct file *list_folder(const char *folder, size_t *count)
{
	struct file *files = NULL, *grown, *file;
	DIR *dir = opendir(folder);
	struct dirent *entry;

	*count = 0;
	while (dir && (entry = readdir(dir))) {
		if (!has_suffix(entry->d_name))
			continue;
		grown = realloc(files, (*count + 1) * sizeof(*files));
		if (!grown)
			break;
		files = grown;
		file = &files[*count];
		if (asprintf(&file->path, "%s/%s", folder, entry->d_name) < 0)
			break;
		if (stat(file->path, &file->status) == 0 && is_profile(file))
			(*count)++;
		else
			free(file->path);
	}
	if (dir)
		closedir(dir);
	if (*count > 1)
		qsort(files, *count, sizeof(*files), compare_files);
	return files;
}

/* A file that is there since the last time is only looked at while its process may run. */
static void look_into_folder(struct subjects *subjects)
{
	struct subject *subject;
	struct file *files;
	size_t count, i;

	for (subject = subjects->list; subject; subject = subject->next)
		subject->is_listed = false;
	files = list_folder(subjects->folder, &count);
	for (i = 0; i < count; i++) {
		subject = find_file(subjects, &files[i].status);
		if (!subject && i < FOLDER_MAX &&
		    (subject = add(subjects, files[i].path, &files[i].status)))
			look_at(subject);
		if (subject)
			subject->is_listed = i < FOLDER_MAX;
		free(files[i].path);
	}
	free(files);
}

/* Those that are not there any more go; of those that ended while they were served, and are nowhere else, the youngest stay. */
static void remove_gone(struct subjects *subjects)
{
	struct subject *next;
	unsigned ended = 0, running = 0;

	sort(subjects);
	for (struct subject *s = subjects->list; s; s = next) {
		next = s->next;
		if (s->is_moment || s->is_listed)
			continue;
		if (s->is_running ? ++running > RUNNING_MAX : !s->was_running || ++ended > ENDED_MAX)
			remove_subject(subjects, s);
	}
}

static void look_again(struct subjects *subjects)
{
	for (struct subject *s = subjects->list; s; s = s->next)
		if (s->is_running)
			look_at(s);
	if (!subjects->folder)
		return;
	look_at_processes(subjects);
	look_into_folder(subjects);
	remove_gone(subjects);
}

void subjects_refresh(struct subjects *subjects)
{
	uint64_t began = documents_now(), took;

	if (began < subjects->refresh_ns)
		return;
	look_again(subjects);
	sort(subjects);
	took = documents_now() - began;
	subjects->refresh_ns = began + (REFRESH_SHARE * took > REFRESH_S * SECOND_NS
						? REFRESH_SHARE * took
						: REFRESH_S * SECOND_NS);
}

/* --- finding them ---------------------------------------------------------------------------- */

struct subject *subjects_find(struct subjects *subjects, const char *id)
{
	struct subject *found = find_id(subjects, id);
	uint64_t pid = strspn(id, "0123456789") == strlen(id) ? strtoull(id, NULL, 10) : 0;

	for (struct subject *s = subjects->list; s && !found && pid > 0; s = s->next)
		if (s->pid == pid && !s->is_moment)
			found = s;
	return found;
}

struct subject *subjects_main(struct subjects *subjects)
{
	struct subject *found = NULL;

	/* By rank: running ones, then moments. */
	for (struct subject *s = subjects->list; s && !found; s = s->next)
		if (!s->is_moment)
			found = s;
	return found;
}

bool subjects_is_single(const struct subjects *subjects)
{
	return subjects->folder == NULL;
}

/* --- begin and end --------------------------------------------------------------------------- */

static bool add_named(struct subjects *subjects, const char *name, struct error *err)
{
	struct profile *profile;
	struct subject *subject;
	struct stat status;
	char *path;
	bool ok;

	if (!find_profile(name, &path, err))
		return false;
	ok = stat(path, &status) == 0 || error_set_errno(err, "%s", path);
	subject = ok ? add(subjects, path, &status) : NULL;
	free(path);
	if (!subject)
		return ok && error_set(err, "%s: no memory", name);
	subject->is_listed = true;
	look_at(subject);
	/* So that what is no profile is said now, and to the person who named it. */
	if (!subject_open(subject, &profile, err))
		return false;
	profile_close(profile);
	return true;
}

bool subjects_open(const char *name, struct subjects **subjects, struct error *err)
{
	struct subjects *made = calloc(1, sizeof(*made));
	struct stat status;
	bool is_folder = !name || (stat(name, &status) == 0 && S_ISDIR(status.st_mode));
	bool ok = made != NULL;

	if (ok && is_folder)
		ok = (made->folder = strdup(name ? name : ".")) != NULL;
	if (!ok)
		error_set(err, "no memory");
	else if (is_folder && access(made->folder, R_OK | X_OK) != 0)
		ok = error_set_errno(err, "%s", made->folder);
	else if (!is_folder)
		ok = add_named(made, name, err);
	if (ok) {
		subjects_refresh(made);
		*subjects = made;
		return true;
	}
	subjects_close(made);
	return false;
}

void subjects_close(struct subjects *subjects)
{
	if (!subjects)
		return;
	while (subjects->list)
		remove_subject(subjects, subjects->list);
	free(subjects->folder);
	free(subjects);
}

/* --- moments --------------------------------------------------------------------------------- */

static bool has_room(const struct subjects *subjects, struct error *err)
{
	uint64_t bytes = 0;
	unsigned count = 0;
	struct stat status;

	for (const struct subject *s = subjects->list; s; s = s->next) {
		if (!s->is_moment)
			continue;
		count++;
		bytes += fstat(s->fd, &status) == 0 ? (uint64_t)status.st_size : 0;
	}
	if (count < SUBJECTS_MOMENTS_MAX && bytes < MOMENT_BYTES_MAX)
		return true;
	return error_set(
		err, "%u moments are remembered, which is the most: forget one in the list", count);
}

static struct subject *add_moment(struct subjects *subjects, int fd)
{
	char name[32], path[64], *id;
	struct subject *moment;
	struct stat status;

	snprintf(name, sizeof(name), "moment-%u", ++subjects->moments);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	moment = fstat(fd, &status) == 0 ? add(subjects, path, &status) : NULL;
	if (!moment) {
		close(fd);
		return NULL;
	}
	moment->fd = fd;
	moment->is_moment = true;
	id = new_id(subjects, name);
	free(moment->id);
	moment->id = id;
	return moment;
}

struct subject *subjects_remember(struct subjects *subjects, struct subject *subject,
				  const struct symbols_options *symbols, struct error *err)
{
	char path[SUBJECT_PATH_SIZE], time[UNITS_SIZE];
	struct profile *profile;
	struct subject *made;
	int fd;

	if (subject->is_moment) {
		error_set(err, "%s is a moment already", subject->id);
		return NULL;
	}
	if (!has_room(subjects, err) || !moment_make(subject_path(subject, path), symbols, &fd, err))
		return NULL;
	made = add_moment(subjects, fd);
	if (!made) {
		error_set(err, "no memory");
		return NULL;
	}
	made->of = strdup(subject->id);
	if (!made->id || !made->of || !subject_open(made, &profile, err)) {
		remove_subject(subjects, made);
		if (!err->text[0])
			error_set(err, "no memory");
		return NULL;
	}
	made->label = strdup(
		units_time(profile->header.start_realtime_ns + profile->duration_ns, time));
	profile_close(profile);
	sort(subjects);
	return made;
}

void subjects_forget(struct subjects *subjects, struct subject *moment)
{
	remove_subject(subjects, moment);
}
