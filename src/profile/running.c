/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * running.c - see running.h.
 */
#include "profile/running.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"

enum { START_TICKS_FIELD = 22, FLAGS_FIELD = 9, STATE_FIELD = 3 };

enum { KERNEL_THREAD = 0x200000 }; /* PF_KTHREAD, include/linux/sched.h */

struct stat_fields {
	char state; /* 0: there is no such thread */
	uint64_t flags;
	uint64_t start_ticks;
};

/* The fields after the program's name, which may hold blanks and parentheses. */
static struct stat_fields parse_stat(char *line)
{
	char *rest = strrchr(line, ')');
	char *field = rest ? strtok_r(rest + 1, " ", &rest) : NULL;
	struct stat_fields fields = {.state = field ? *field : '\0'};

	for (int i = STATE_FIELD; field && i < START_TICKS_FIELD; i++) {
		if (i == FLAGS_FIELD)
			fields.flags = strtoull(field, NULL, 10);
		field = strtok_r(NULL, " ", &rest);
	}
	fields.start_ticks = field ? strtoull(field, NULL, 10) : 0;
	return fields;
}

static struct stat_fields read_stat(uint32_t tid)
{
	char path[64];
	char line[2048];
	FILE *file;
	size_t size;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", tid);
	file = fopen(path, "re");
	if (!file)
		return (struct stat_fields){0};
	size = fread(line, 1, sizeof(line) - 1, file);
	fclose(file);
	line[size] = '\0';
	return parse_stat(line);
}

static bool lives(char state)
{
	return state && state != 'Z' && state != 'X';
}

/* As the first thread ended. */
static uint32_t find_another(uint32_t pid)
{
	const struct dirent *entry;
	uint32_t found = 0, tid;
	char path[64];
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", pid);
	folder = opendir(path);
	while (folder && !found && (entry = readdir(folder))) {
		tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
		if (tid && lives(read_stat(tid).state))
			found = tid;
	}
	if (folder)
		closedir(folder);
	return found;
}

uint32_t running_thread(uint32_t pid)
{
	return lives(read_stat(pid).state) ? pid : find_another(pid);
}

enum running_kind running_kind(uint32_t pid)
{
	struct stat_fields fields = read_stat(pid);

	if (!fields.state)
		return RUNNING_NOTHING;
	if (fields.flags & KERNEL_THREAD)
		return RUNNING_KERNEL;
	if (running_status(pid, "Tgid", pid) != pid)
		return RUNNING_THREAD;
	return lives(fields.state) || find_another(pid) ? RUNNING_PROCESS : RUNNING_ZOMBIE;
}

uint64_t running_start_ticks(uint32_t pid)
{
	struct stat_fields fields = read_stat(pid);

	return lives(fields.state) || find_another(pid) ? fields.start_ticks : 0;
}

uint64_t running_status(uint32_t pid, const char *field, uint64_t fallback)
{
	size_t length = strlen(field), room = 0;
	uint64_t value = fallback;
	char path[64], *line = NULL;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", pid);
	file = fopen(path, "re");
	if (!file)
		return fallback;
	while (getline(&line, &room, file) > 0)
		if (strncmp(line, field, length) == 0 && line[length] == ':') {
			value = strtoull(line + length + 1, NULL, 10);
			break;
		}
	free(line);
	fclose(file);
	return value;
}

/* False: not a shared mapping of a file. */
static bool parse_mapping(char *line, struct running_mapping *mapping)
{
	char access[8];
	int path = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%lx-%lx %7s %*s %*s %lu %n", &mapping->start, &mapping->end, access,
		   &mapping->inode, &path) < 4 ||
	    path == 0 || mapping->inode == 0 || access[3] != 's')
		return false;
	mapping->path = line + path;
	return true;
}

bool running_each_shared(uint32_t pid, bool (*visit)(const struct running_mapping *, void *),
			 void *argument)
{
	struct running_mapping mapping;
	char *line = NULL;
	size_t size = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", running_thread(pid));
	file = fopen(path, "re");
	if (!file)
		return false;
	while (getline(&line, &size, file) > 0)
		if (parse_mapping(line, &mapping) && !visit(&mapping, argument))
			break;
	free(line);
	fclose(file);
	return true;
}

struct wanted {
	unsigned long inode;
	const char *name;
	bool found;
};

/* By the name too: some file systems show other inode numbers here than stat(2) gives. */
static bool is_wanted(const struct running_mapping *mapping, void *argument)
{
	struct wanted *wanted = argument;

	wanted->found = mapping->inode == wanted->inode ||
			strcmp(path_last_part(mapping->path), wanted->name) == 0;
	return !wanted->found;
}

bool running_records(const struct format_header *header, const char *path, unsigned long inode)
{
	struct wanted wanted = {.inode = inode, .name = path_last_part(path)};

	if (atomic_load_explicit(&header->state, memory_order_relaxed) != FORMAT_STATE_RECORDING ||
	    header->pid == 0 || header->start_ticks == 0 ||
	    running_start_ticks(header->pid) != header->start_ticks)
		return false;
	/* What could not be mapped is written now and then. */
	if (atomic_load_explicit(&header->memory_blocks, memory_order_relaxed) > 0)
		return true;
	/* Another image of the same process does not map it. */
	return !running_each_shared(header->pid, is_wanted, &wanted) || wanted.found;
}
