/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rss.c - see rss.h.
 */
#include "profile/rss.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/version.h"
#include "profile/given_names.h"
#include "profile/read.h"
#include "profile/rss_ranges.h"
#include "profile/running.h"

/* Of a heap that is larger a sample is looked at: some 0.1 s. */
#define EXAMINE (UINT64_C(64) << 20)

struct measurement {
	struct waterfall waterfall;
	struct rss_ranges ranges;
	const struct profile *profile;
	uint64_t *resident; /* by number of the mappings' record; NULL = not wanted */
	uint32_t resident_limit;
	uint32_t pid;
	uint64_t examine; /* see struct waterfall_source */
	int maps;
	int pages;
	int memory;
	int error; /* errno of the first failure to read what must be there; 0 = none */
};

/* --- recorded -------------------------------------------------------------------------------- */

bool rss_recorded(const struct profile *profile, struct rss *rss)
{
	const struct format_rss *from = &profile->header.rss;

	if (!plain64(&from->time_ns) || !plain64(&from->total))
		return false;
	*rss = (struct rss){
		.time_ns = plain64(&from->time_ns),
		.allocator = profile->header.memory.allocator,
		.cost_ns = plain64(&from->cost_ns),
		.lines =
			{
				.total = plain64(&from->total),
				.swapped = plain64(&from->swapped),
				.arenas = plain64(&from->arenas),
				.kept_arenas = plain64(&from->kept_arenas),
				.stacks = plain64(&from->stacks),
				.heap = plain64(&from->heap),
				.examined = plain64(&from->examined),
				.known = plain64(&from->known),
			},
	};
	for (int i = 0; i < FORMAT_RSS_KINDS; i++)
		rss->lines.lines[i] = plain64(&from->lines[i]);
	return true;
}

/* --- measured -------------------------------------------------------------------------------- */

static bool copy_memory(void *context, uint64_t addr, void *buffer, size_t size)
{
	const struct measurement *m = context;

	return addr <= INT64_MAX && pread(m->memory, buffer, size, (off_t)addr) == (ssize_t)size;
}

static bool copy_recorder(void *context, uint64_t addr, void *buffer, size_t size)
{
	struct measurement *m = context;

	if (copy_memory(context, addr, buffer, size))
		return true;
	if (!m->error)
		m->error = errno ? errno : EIO;
	return false;
}

static long read_maps(void *context, void *buffer, size_t size)
{
	struct measurement *m = context;
	ssize_t got;

	do
		got = read(m->maps, buffer, size);
	while (got < 0 && errno == EINTR);
	if (got < 0 && !m->error)
		m->error = errno;
	return got;
}

static bool read_pages(void *context, uint64_t first, uint64_t *entries, size_t count)
{
	const struct measurement *m = context;
	size_t size = count * sizeof(*entries);

	return first <= INT64_MAX / sizeof(*entries) &&
	       pread(m->pages, entries, size, (off_t)(first * sizeof(*entries))) == (ssize_t)size;
}

static uint64_t stack_end(void *context, uint64_t start, uint64_t end)
{
	const struct measurement *m = context;
	uint64_t lowest = 0;

	for (uint32_t i = 0; i < m->profile->thread_count; i++) {
		uint64_t pointer = m->profile->threads[i].pointer;

		if (pointer >= start && pointer < (lowest ? lowest : end))
			lowest = pointer;
	}
	return lowest ? (lowest | (WATERFALL_PAGE - 1)) + 1 : 0;
}

static bool next_range(void *context, uint64_t addr, struct waterfall_range *range)
{
	struct measurement *m = context;

	return rss_ranges_next(&m->ranges, addr, range);
}

/* A record that is newer than what was read of the profile is nobody's. */
static void add_resident(void *context, uint32_t owner, uint64_t bytes)
{
	struct measurement *m = context;

	if (owner < m->resident_limit)
		m->resident[owner] += bytes;
}

static int open_proc(uint32_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/%s", running_thread(pid), name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Second field of statm, in pages. */
uint64_t rss_now(uint32_t pid)
{
	int fd = open_proc(pid, "statm");
	char line[128] = "";
	ssize_t got = fd >= 0 ? read(fd, line, sizeof(line) - 1) : -1;
	const char *second = got > 0 ? strchr(line, ' ') : NULL;

	if (fd >= 0)
		close(fd);
	return second ? strtoull(second, NULL, 10) * WATERFALL_PAGE : 0;
}

static bool explain(uint32_t pid, int error, struct error *err)
{
	if (error == EACCES || error == EPERM)
		return error_set(err, "process %" PRIu32 ": its memory may not be read (%s): %s",
				 pid, strerror(error),
				 geteuid() == 0
					 ? "pmem runs as root, but the process is of another "
					   "container, or has privileges that pmem has not"
					 : "run pmem as root, or as the process's user with "
					   "kernel.yama.ptrace_scope=0");
	if (error == ENOENT || error == ESRCH)
		return error_set(err, "process %" PRIu32 " has ended meanwhile", pid);
	errno = error;
	return error_set_errno(err, "process %" PRIu32 ": its memory", pid);
}

static bool open_all(struct measurement *m, struct error *err)
{
	m->maps = open_proc(m->pid, "smaps");
	m->pages = m->maps >= 0 ? open_proc(m->pid, "pagemap") : -1;
	m->memory = m->pages >= 0 ? open_proc(m->pid, "mem") : -1;
	return m->memory >= 0 || explain(m->pid, errno, err);
}

static void close_all(struct measurement *m)
{
	if (m->maps >= 0)
		close(m->maps);
	if (m->pages >= 0)
		close(m->pages);
	if (m->memory >= 0)
		close(m->memory);
	free(m->ranges.items);
	free(m->resident);
	free(m);
}

static bool run(struct measurement *m, struct error *err)
{
	const struct rss_ranges_source ranges = {copy_memory, m, m->profile->header.ranges};
	const char *slash = strrchr(m->profile->path, '/');

	rss_ranges_read(&m->ranges, &ranges);

	m->waterfall.source = (struct waterfall_source){
		.program = copy_memory,
		.recorder = copy_recorder,
		.maps = read_maps,
		.pages = read_pages,
		.stack_end = stack_end,
		.range = next_range,
		.resident = m->resident ? add_resident : NULL,
		.context = m,
		.memory = &m->profile->header.memory,
		.profile_name = slash ? slash + 1 : m->profile->path,
		.expected = rss_now(m->pid),
		.examine = m->examine,
	};
	if (waterfall_measure(&m->waterfall) && !m->error)
		return true;
	/* Of a process without memory smaps is empty. */
	return explain(m->pid, m->error ? m->error : ESRCH, err);
}

static bool is_of_this_version(const struct profile *profile, struct error *err)
{
	const struct format_header *header = &profile->header;

	if (strncmp(header->recorder, PMEM_VERSION, sizeof(header->recorder)) == 0 &&
	    header->memory.table &&
	    (header->memory.granule_log2 == 4 || header->memory.granule_log2 == 5))
		return true;
	return error_set(err,
			 "process %" PRIu32 " is recorded by another version of pmem (%.*s), whose "
			 "memory this one (%s) cannot read",
			 header->pid, (int)strnlen(header->recorder, sizeof(header->recorder)),
			 header->recorder, PMEM_VERSION);
}

/* To be closed; NULL: *err says why. */
static struct measurement *new_measurement(const struct profile *profile, struct error *err)
{
	struct measurement *m;

	if (!is_of_this_version(profile, err))
		return NULL;
	m = calloc(1, sizeof(*m));
	if (!m) {
		error_set(err, "no memory to look at process %" PRIu32, profile->header.pid);
		return NULL;
	}
	m->profile = profile;
	m->pid = profile->header.pid;
	m->maps = m->pages = m->memory = -1;
	m->examine = EXAMINE;
	return m;
}

static bool measure(const struct profile *profile, const struct rss_pins *pins, struct rss *rss,
		    struct error *err)
{
	uint64_t begin_ns = clock_monotonic_ns();
	struct measurement *m = new_measurement(profile, err);
	bool done;

	if (!m)
		return false;
	m->waterfall.pins.slots = pins->slots;
	m->waterfall.pins.log2 = pins->log2;
	done = open_all(m, err) && run(m, err);
	if (done)
		*rss = (struct rss){
			.time_ns = begin_ns - profile->header.start_monotonic_ns,
			.is_now = true,
			.lines = m->waterfall.result,
			.allocator = profile->header.memory.allocator,
			.cost_ns = clock_monotonic_ns() - begin_ns,
		};
	close_all(m);
	return done;
}

/* The process of a bundle may be one of another machine, and what is of now is not of then. */
static bool is_here(const struct profile *profile, struct error *err)
{
	if (!given_names_all(profile))
		return true;
	return error_set(err,
			 "%s: a bundle of a process that ran: what its resident set consisted of "
			 "was not measured",
			 profile->path);
}

bool rss_of_mappings(const struct profile *profile, uint64_t *resident, struct error *err)
{
	const struct profile *mapped = profile->mapped;
	struct measurement *m = is_here(profile, err) ? new_measurement(profile, err) : NULL;
	bool done;

	if (!m)
		return false;
	m->resident_limit = mapped->stack_count ? mapped->records[mapped->stack_count - 1] + 1 : 0;
	m->resident = calloc((size_t)m->resident_limit + 1, sizeof(*m->resident));
	/* Of the heap, which is not asked for, as little as there is. */
	m->examine = WATERFALL_PAGE;
	done = m->resident ? open_all(m, err) && run(m, err)
			   : error_set(err, "no memory to look at process %" PRIu32, m->pid);
	for (uint32_t i = 0; done && i < mapped->stack_count; i++)
		resident[i] = m->resident[mapped->records[i]];
	close_all(m);
	return done;
}

bool rss_of_pins(const struct profile *profile, const struct rss_pins *pins, struct rss *rss,
		 struct error *err)
{
	if (profile->header.sample_bytes)
		return error_set(
			err,
			"%s: recorded with --sample: it does not know all live blocks, and "
			"so not which pages are free",
			profile->path);
	if (profile->is_live)
		return is_here(profile, err) && measure(profile, pins, rss, err);
	if (rss_recorded(profile, rss))
		return true;
	return error_set(err,
			 "%s: what the resident set consists of is measured at the end of a "
			 "process, and was not here: the process was killed, was in a sandbox, "
			 "had no /proc, or its pmem was older; of one that runs ask with its "
			 "process id",
			 profile->path);
}

bool rss_of(const struct profile *profile, struct rss *rss, struct error *err)
{
	return rss_of_pins(profile, &(struct rss_pins){.slots = NULL}, rss, err);
}

const char *rss_line_name(enum format_rss_line line)
{
	static const char *const names[FORMAT_RSS_KINDS] = {
		[FORMAT_RSS_LIVE] = "live",	      [FORMAT_RSS_ROUNDING] = "rounding",
		[FORMAT_RSS_FRAGMENTS] = "fragments", [FORMAT_RSS_KEPT] = "kept",
		[FORMAT_RSS_INHERITED] = "inherited", [FORMAT_RSS_STACKS] = "stacks",
		[FORMAT_RSS_FILES] = "files",	      [FORMAT_RSS_SHARED] = "shared",
		[FORMAT_RSS_MAPPED] = "mapped",	      [FORMAT_RSS_OWN] = "own",
	};

	return names[line];
}

const char *rss_allocator_name(uint32_t allocator)
{
	static const char *const names[] = {
		[FORMAT_ALLOCATOR_UNKNOWN] = "unknown",	  [FORMAT_ALLOCATOR_GLIBC] = "glibc",
		[FORMAT_ALLOCATOR_JEMALLOC] = "jemalloc", [FORMAT_ALLOCATOR_MIMALLOC] = "mimalloc",
		[FORMAT_ALLOCATOR_TCMALLOC] = "tcmalloc", [FORMAT_ALLOCATOR_OTHER] = "other",
	};

	return names[allocator <= FORMAT_ALLOCATOR_OTHER ? allocator : 0];
}
