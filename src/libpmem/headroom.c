/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * headroom.c - see headroom.h.
 *
 * The cgroup's limit is that of the start; those of setrlimit(2) are asked for each time, as the program may set them itself.
 */
#include "libpmem/headroom.h"

#include <string.h>

#include "libpmem/facts.h"
#include "libpmem/kept.h"
#include "libpmem/rss.h"
#include "libpmem/store.h"
#include "libpmem/sys.h"

enum {
	FILE_BYTES = 8192,
	NUMBER_BYTES = 64,
	PATH_ROOM = FACTS_FOLDER_MAX + 32,
	KIB = 1024,
	PARTS = 10000
};

static struct kept usage = KEPT_NONE_INIT; /* memory.current */
static char bytes[FILE_BYTES];
static char path[PATH_ROOM];

/* --- files ----------------------------------------------------------------------------------- */

/* A file of the cgroup; "" = it has no limit. */
static const char *cgroup_file(const char *v2, const char *v1)
{
	const struct facts_memory *memory = facts_memory();
	size_t size = strlen(memory->folder);
	const char *name = memory->is_v1 ? v1 : v2;

	path[0] = '\0';
	if (size == 0)
		return path;
	memcpy(path, memory->folder, size);
	memcpy(path + size, name, strlen(name) + 1);
	return path;
}

static int open_file(const char *name)
{
	return sys_openat(AT_FDCWD, name, O_RDONLY | O_CLOEXEC | O_NOCTTY, 0);
}

static void open_usage(void)
{
	const char *name = cgroup_file("/memory.current", "/memory.usage_in_bytes");

	if (name[0] && !sys_fds_scarce())
		kept_take(&usage, open_file(name));
}

/* The number behind a word at the beginning of a line; 0 if there is none. */
static uint64_t read_field(const char *name, const char *word)
{
	int fd = open_file(name);
	ssize_t size = fd >= 0 ? sys_read(fd, bytes, sizeof(bytes) - 1) : -1;
	size_t length = strlen(word);
	const char *at = bytes, *line;

	if (fd >= 0)
		sys_close(fd);
	bytes[size > 0 ? size : 0] = '\0';
	for (line = bytes; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		at = line + length;
		if (strncmp(line, word, length) == 0)
			break;
	}
	if (!line)
		return 0;
	while (*at == ' ' || *at == '\t')
		at++;
	return facts_limit(at, strlen(at));
}

/* --- what is used ---------------------------------------------------------------------------- */

static uint64_t cgroup_used(void)
{
	char number[NUMBER_BYTES];
	ssize_t size;

	if (kept_fd(&usage) < 0)
		open_usage();
	size = kept_fd(&usage) >= 0 ? sys_pread(usage.fd, number, sizeof(number), 0) : -1;
	return size > 0 ? facts_limit(number, (size_t)size) : rss_bytes();
}

/* Pages of files that were not used lately: the kernel drops them before it kills anybody. */
static uint64_t cgroup_droppable(void)
{
	const char *name = cgroup_file("/memory.stat", "/memory.stat");

	return read_field(name, facts_memory()->is_v1 ? "total_inactive_file" : "inactive_file");
}

/* statm's field has stacks too, which the limit does not count, and part of the recorder's maps is such (live_map.c). */
static uint64_t data_used(void)
{
	return read_field("/proc/self/status", "VmData:") * KIB;
}

static void look_closely(struct headroom *at)
{
	uint64_t exact;

	if (at->kind == HEADROOM_CGROUP && kept_fd(&usage) >= 0) {
		exact = cgroup_droppable();
		at->used -= exact < at->used ? exact : at->used;
	} else if (at->kind == HEADROOM_DATA) {
		exact = data_used();
		at->used = exact ? exact : at->used;
	}
}

/* --- limits ---------------------------------------------------------------------------------- */

static uint64_t resource_limit(enum sys_limit resource)
{
	uint64_t limit = UINT64_MAX;

	sys_soft_limit(resource, &limit);
	return limit != UINT64_MAX ? limit : 0;
}

static struct headroom ask(enum headroom_kind kind)
{
	switch (kind) {
	case HEADROOM_CGROUP:
		return (struct headroom){kind, store_head()->cgroup_limit,
					 store_head()->cgroup_limit ? cgroup_used() : 0};
	case HEADROOM_ADDRESS:
		return (struct headroom){kind, resource_limit(SYS_LIMIT_AS),
					 rss_sizes().address_bytes};
	default:
		return (struct headroom){kind, resource_limit(SYS_LIMIT_DATA),
					 rss_sizes().data_bytes};
	}
}

/* Bytes at which percent of the limit are used. */
static uint64_t part(const struct headroom *at, uint64_t percent)
{
	return at->limit / 100 * percent + at->limit % 100 * percent / 100;
}

bool headroom_find(uint64_t percent, struct headroom *found)
{
	uint64_t most = 0, used;
	bool any = false;

	/* What rss_sizes() tells. */
	rss_bytes();
	for (unsigned kind = 0; kind < HEADROOM_KINDS; kind++) {
		struct headroom at = ask((enum headroom_kind)kind);

		if (!at.limit || !at.used)
			continue;
		if (at.used >= part(&at, percent))
			look_closely(&at);
		used = at.used / (at.limit / PARTS + 1);
		if (used < most)
			continue;
		most = used;
		any = true;
		*found = at;
	}
	return any;
}

const char *headroom_words(enum headroom_kind kind)
{
	static const char *const words[HEADROOM_KINDS] = {
		[HEADROOM_CGROUP] = "the cgroup's limit",
		[HEADROOM_ADDRESS] = "RLIMIT_AS",
		[HEADROOM_DATA] = "RLIMIT_DATA",
	};

	return words[kind];
}

/* --- start ----------------------------------------------------------------------------------- */

void headroom_init(void)
{
	open_usage();
}

/* The cgroup may be another one by now. */
void headroom_fork_child(void)
{
	kept_close(&usage);
	open_usage();
}
