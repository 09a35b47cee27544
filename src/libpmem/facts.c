/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * facts.c - what the profile's header says about the process, see facts.h.
 *
 * The text of files goes through one buffer, mapped for as long as facts_fill() runs.
 */
#include "libpmem/facts.h"

#include <limits.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/utsname.h>

#include "arch/arch.h"
#include "config.h"
#include "core/version.h"
#include "libpmem/settings.h"
#include "libpmem/store.h"
#include "libpmem/sys.h"

enum {
	BUFFER_SIZE = 64 * 1024,
	COMMAND_MAX = FORMAT_BLOCK_SIZE - 1, /* store_text() has no room for more */
	CGROUP_MAX = PATH_MAX,
	FILE_MAX = CGROUP_MAX + sizeof(PMEM_CGROUP_ROOT) + 64, /* name of a file below it */
	NUMBER_MAX = 64,				       /* bytes of a limit's file */
	START_FIELD = 22 - 3, /* of /proc/PID/stat, fields after the one after the name */
	LEVELS_MAX = 64,      /* cgroups above that are asked */
	DATA = 2,	      /* RLIMIT_DATA of the kernel (asm-generic/resource.h) */
	ADDRESS_SPACE = 9,    /* RLIMIT_AS, likewise */
};

/* v1: LONG_MAX rounded down to a page.  No machine has as much as any of these. */
#define NO_LIMIT ((uint64_t)1 << 62)

struct buffer {
	char bytes[BUFFER_SIZE];
	char cgroup[CGROUP_MAX];
	char file[FILE_MAX];
	struct utsname system;
};

static bool forked;		   /* under LOCK_PROCESS */
static struct facts_memory memory; /* likewise */

/* --- parsers --------------------------------------------------------------------------------- */

/* The decimal number at the beginning of [at, end); UINT64_MAX if it is larger. */
static uint64_t number_at(const char *at, const char *end)
{
	uint64_t value = 0;

	for (; at < end && *at >= '0' && *at <= '9'; at++) {
		unsigned digit = (unsigned)(*at - '0');

		if (value > (UINT64_MAX - digit) / 10)
			return UINT64_MAX;
		value = value * 10 + digit;
	}
	return value;
}

uint64_t facts_start_ticks(const char *bytes, size_t size)
{
	const char *end = bytes + size, *at = end;
	int blanks = 0;
	uint64_t ticks;

	/* No field after the name has a parenthesis. */
	while (at > bytes && at[-1] != ')')
		at--;
	if (at == bytes)
		return 0;
	while (at < end && blanks < START_FIELD + 1)
		blanks += *at++ == ' ';
	ticks = number_at(at, end);
	return ticks < UINT64_MAX ? ticks : 0;
}

/* True if the list of names between commas has the one that is asked for. */
static bool has_name(const char *list, const char *end, const char *name)
{
	size_t size = strlen(name);

	while (list < end) {
		const char *comma = memchr(list, ',', (size_t)(end - list));
		const char *stop = comma ? comma : end;

		if ((size_t)(stop - list) == size && memcmp(list, name, size) == 0)
			return true;
		list = stop + 1;
	}
	return false;
}

/* A line: number of the hierarchy, ':', controllers, ':', path.  False: no path, or one of no interest. */
static bool parse_cgroup(const char *line, const char *end, struct facts_cgroup *found)
{
	const char *list = memchr(line, ':', (size_t)(end - line));
	const char *path = list ? memchr(list + 1, ':', (size_t)(end - list - 1)) : NULL;
	bool is_memory, is_unified;

	if (!path || end - path < 2 || path[1] != '/')
		return false;
	is_memory = has_name(list + 1, path, "memory");
	is_unified = list == line + 1 && *line == '0' && path == list + 1;
	if (!is_memory && !is_unified)
		return false;
	*found = (struct facts_cgroup){
		.path = path + 1, .size = (size_t)(end - path - 1), .is_v1 = is_memory};
	return true;
}

bool facts_find_cgroup(const char *bytes, size_t size, struct facts_cgroup *found)
{
	const char *end = bytes + size, *line = bytes, *stop;
	struct facts_cgroup one;
	bool any = false;

	for (; line < end; line = stop + 1) {
		stop = memchr(line, '\n', (size_t)(end - line));
		if (!stop)
			stop = end;
		if (!parse_cgroup(line, stop, &one))
			continue;
		if (!any || one.is_v1)
			*found = one;
		any = true;
		if (one.is_v1)
			break;
	}
	return any;
}

uint64_t facts_limit(const char *bytes, size_t size)
{
	uint64_t limit = number_at(bytes, bytes + size);

	return limit < NO_LIMIT ? limit : 0;
}

/* --- files ----------------------------------------------------------------------------------- */

/* Reads up to room bytes.  Returns how many; 0 if there is no such file. */
static size_t read_file(const char *path, char *bytes, size_t room)
{
	int fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOCTTY, 0);
	size_t size = 0;
	ssize_t got;

	if (fd < 0)
		return 0;
	do {
		got = sys_read(fd, bytes + size, room - size);
		size += got > 0 ? (size_t)got : 0;
	} while ((got > 0 && size < room) || got == -EINTR);
	sys_close(fd);
	return size;
}

static void keep_folder(const char *folder, size_t size, bool is_v1)
{
	if (size >= sizeof(memory.folder))
		return;
	memcpy(memory.folder, folder, size);
	memory.folder[size] = '\0';
	memory.is_v1 = is_v1;
}

/* The least limit of this cgroup and those above it: each of them holds. */
static uint64_t find_limit(struct buffer *buffer, size_t size, bool is_v1)
{
	const char *root = is_v1 ? PMEM_CGROUP_ROOT "/memory" : PMEM_CGROUP_ROOT;
	const char *name = is_v1 ? "/memory.limit_in_bytes" : "/memory.max";
	size_t root_size = strlen(root), level;
	char number[NUMBER_MAX];
	uint64_t least = 0, limit;

	memcpy(buffer->file, root, root_size);
	memcpy(buffer->file + root_size, buffer->cgroup, size);
	for (level = 0; level < LEVELS_MAX; level++) {
		memcpy(buffer->file + root_size + size, name, strlen(name) + 1);
		limit = facts_limit(number, read_file(buffer->file, number, sizeof(number)));
		if (limit && (!least || limit < least)) {
			least = limit;
			keep_folder(buffer->file, root_size + size, is_v1);
		}
		if (size == 0)
			break;
		do
			size--;
		while (size > 0 && buffer->cgroup[size] != '/');
	}
	return least;
}

static void fill_cgroup(struct format_header *head, struct buffer *buffer)
{
	size_t size = read_file(PMEM_CGROUP_FILE, buffer->bytes, sizeof(buffer->bytes));
	struct facts_cgroup found;

	memory.folder[0] = '\0';
	if (!facts_find_cgroup(buffer->bytes, size, &found) || found.size >= CGROUP_MAX)
		return;
	memcpy(buffer->cgroup, found.path, found.size);
	head->cgroup = store_text(buffer->cgroup, found.size);
	size = found.size;
	while (size > 0 && buffer->cgroup[size - 1] == '/')
		size--;
	head->cgroup_limit = find_limit(buffer, size, found.is_v1);
}

static void fill_texts(struct format_header *head, struct buffer *buffer)
{
	ssize_t size = sys_readlinkat(AT_FDCWD, "/proc/self/exe", buffer->bytes, PATH_MAX);
	size_t got;

	if (size > 0)
		head->program = store_text(buffer->bytes, (size_t)size);
	got = read_file("/proc/self/cmdline", buffer->bytes, COMMAND_MAX);
	if (got > 0)
		head->command = store_text(buffer->bytes, got);
	/* With the NUL at its end. */
	size = sys_call(SYS_getcwd, (long)buffer->bytes, PATH_MAX, 0, 0);
	if (size > 1)
		head->directory = store_text(buffer->bytes, (size_t)size - 1);
	if (sys_call(SYS_uname, (long)&buffer->system, 0, 0, 0) == 0)
		head->host = store_text(buffer->system.nodename, strlen(buffer->system.nodename));
	got = read_file("/proc/self/stat", buffer->bytes, sizeof(buffer->bytes));
	head->start_ticks = facts_start_ticks(buffer->bytes, got);
}

/* 0 = none. */
static uint64_t own_limit(long resource)
{
	uint64_t limit[2] = {UINT64_MAX, UINT64_MAX}; /* struct rlimit64: soft, hard */

	sys_call(SYS_prlimit64, 0, resource, 0, (long)limit);
	return limit[0] != UINT64_MAX ? limit[0] : 0;
}

static void fill_numbers(struct format_header *head)
{
	head->machine = ARCH_ELF_MACHINE;
	memcpy(head->recorder, PMEM_VERSION, sizeof(PMEM_VERSION));
	head->pid = (uint32_t)sys_getpid();
	head->parent_pid = (uint32_t)sys_call(SYS_getppid, 0, 0, 0, 0);
	head->page_size = (uint32_t)getauxval(AT_PAGESZ);
	head->run_id = settings.run_id;
	head->start_realtime_ns = sys_realtime_ns();
	head->start_monotonic_ns = sys_monotonic_ns();
	head->address_limit = own_limit(ADDRESS_SPACE);
	head->data_limit = own_limit(DATA);
	head->lifetime_sample = settings.sample ? 1 : PMEM_LIFETIME_SAMPLE;
	head->sample_bytes = settings.sample;
	head->max_overhead = (uint32_t)settings.max_overhead;
	head->forked = forked;
}

void facts_fill(struct format_header *head)
{
	struct buffer *buffer = sys_map(sizeof(*buffer));
	const char *complaint = settings_complaint();

	fill_numbers(head);
	if (complaint)
		head->refused_setting = store_text(complaint, strlen(complaint));
	if (!buffer)
		return;
	fill_texts(head, buffer);
	fill_cgroup(head, buffer);
	sys_unmap(buffer, sizeof(*buffer));
}

const struct facts_memory *facts_memory(void)
{
	return &memory;
}

void facts_fork_child(void)
{
	forked = true;
}
