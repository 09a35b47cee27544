/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * log.c - the file pmem.$pid.log.
 *
 * Everything here is under LOCK_SNAPSHOT, but for log_init() and log_fork_child(), which run while
 * there is one thread, and log_note(), which only reads.  The program owns the descriptor table, the
 * current directory and the limits, and changes them as it likes: each write starts from scratch.
 *
 * A signal handler that interrupts log_write() may fork: in the child log_fork_child() then runs below
 * an unfinished log_write(), which must find a state it can fail with.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_PATH */
#endif
#include "libpmem/log.h"

#include <limits.h>
#include <string.h>

#include "libpmem/kept.h"
#include "libpmem/loss.h"
#include "libpmem/settings.h"
#include "libpmem/sys.h"
#include "libpmem/text.h"

#ifndef PMEM_VERSION
#define PMEM_VERSION "0.1.0"
#endif

enum {
	SUFFIX_MAX = 9999,
	NAME_SIZE = 64,
	LINE_SIZE = 128,
	STDERR = 2,
	FSIZE = 1, /* RLIMIT_FSIZE of the kernel (asm-generic/resource.h) */
};

/* A directory that may take the log. */
struct place {
	struct kept dir;     /* O_PATH; opened when first needed */
	char path[PATH_MAX]; /* "" = none */
};

extern char **environ;

static struct place start_place = {.dir = {.fd = -1}}; /* the current directory at start */
static struct place tmp_place = {.dir = {.fd = -1}};   /* $TMPDIR */
static char image[PATH_MAX];
static uint64_t image_start_ns;
static uint64_t start_ns; /* of this process: a forked child's is the fork */

static struct place *place; /* where the file lies; NULL = there is none */
static struct kept file = {.fd = -1};
static char name[NAME_SIZE];	 /* "pmem.123.log" */
static char old_name[NAME_SIZE]; /* "pmem.123.log.1" */
static char path[PATH_MAX + NAME_SIZE];
static uint64_t top_size;   /* the file's size after its first lines */
static uint64_t file_size;  /* as known */
static uint64_t size_limit; /* RLIMIT_FSIZE at the last write */
static uint64_t gap;	    /* bytes lost since the last write that succeeded */
static bool full;	    /* beyond settings.log_max, and the rotation failed */
static bool begun_anew;
static bool gave_up;
static bool warned;

static char scratch[2 * PATH_MAX]; /* text in the making */

static void lose(size_t size)
{
	gap += size;
	loss_add(LOSS_LOG_BYTES, size);
}

/* --- places ---------------------------------------------------------------------------------- */

/* The descriptor of a directory, or -errno. */
static int place_dir(struct place *p)
{
	int fd = kept_fd(&p->dir);
	int error;

	if (fd >= 0)
		return fd;
	if (!p->path[0])
		return -ENOENT;
	fd = sys_openat(AT_FDCWD, p->path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	error = p->dir.known ? kept_retake(&p->dir, fd) : kept_take(&p->dir, fd);
	return error < 0 ? error : p->dir.fd;
}

static void find_start_place(void)
{
	long size = sys_call(SYS_getcwd, (long)start_place.path, PATH_MAX, 0, 0);

	if (size < 0)
		start_place.path[0] = '\0';
	kept_take(&start_place.dir, sys_openat(AT_FDCWD, ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0));
}

static void find_tmp_place(void)
{
	static const char key[] = "TMPDIR=";
	char **entry;

	for (entry = environ; entry && *entry; entry++) {
		const char *value;

		if (strncmp(*entry, key, sizeof(key) - 1) != 0)
			continue;
		value = *entry + sizeof(key) - 1;
		if (strlen(value) < PATH_MAX)
			memcpy(tmp_place.path, value, strlen(value) + 1);
		return;
	}
}

/* --- writing --------------------------------------------------------------------------------- */

/* False if size more bytes are beyond RLIMIT_FSIZE: such a write would raise SIGXFSZ.  In a sandbox
 * neither the limit nor the size can be asked for, and nothing can be renamed: what was known must do. */
static bool fits_limit(int fd, size_t size)
{
	uint64_t limit[2] = {UINT64_MAX, UINT64_MAX}; /* struct rlimit64: soft, hard */
	struct stat st;

	if (sys_sandboxed())
		return file_size + size <= size_limit &&
		       (settings.log_max == 0 || file_size + size <= settings.log_max);
	sys_call(SYS_prlimit64, 0, FSIZE, 0, (long)limit);
	size_limit = limit[0];
	if (sys_fstat(fd, &st) < 0)
		return false;
	file_size = (uint64_t)st.st_size;
	return size_limit == UINT64_MAX || file_size + size <= size_limit;
}

/* Returns how many bytes were written. */
static size_t put(int fd, const char *bytes, size_t size)
{
	size_t done = 0;

	if (!fits_limit(fd, size))
		return 0;
	while (done < size) {
		ssize_t count = sys_write(fd, bytes + done, size - done);

		if (count == -EINTR)
			continue;
		if (count <= 0)
			break;
		done += (size_t)count;
	}
	file_size += done;
	return done;
}

/* Marks the gap that failed writes left; the newline ends what may be half a line. */
static bool put_gap(int fd)
{
	char line[LINE_SIZE];
	struct text text = {.bytes = line, .room = sizeof(line)};

	text_string(&text, "\n# lost ");
	text_uint(&text, gap, 0);
	text_string(&text, " bytes of log here\n");
	if (put(fd, text.bytes, text.size) < text.size)
		return false;
	gap = 0;
	return true;
}

static bool append(int fd, const char *bytes, size_t size)
{
	size_t done = 0;

	if (fd >= 0 && (gap == 0 || put_gap(fd)))
		done = put(fd, bytes, size);
	if (done < size)
		lose(size - done);
	return done == size;
}

/* --- the file -------------------------------------------------------------------------------- */

static void write_top(void)
{
	struct text text = {.bytes = scratch, .room = sizeof(scratch)};

	text_string(&text, "# pmem log of ");
	text_safe(&text, image[0] ? image : "?");
	text_string(&text, ", pid ");
	text_uint(&text, (uint64_t)sys_getpid(), 0);
	text_string(&text, ", start ");
	text_time(&text, start_ns);
	text_string(&text, ", version " PMEM_VERSION "\n");
	if (settings_complaint()) {
		text_string(&text, "# refused setting, default used: ");
		text_safe(&text, settings_complaint());
		text_char(&text, '\n');
	}
	append(file.fd, text.bytes, text.size);
	top_size = file_size;
}

static void make_name(unsigned suffix)
{
	struct text text = {.bytes = name, .room = sizeof(name) - 1};

	text_string(&text, "pmem.");
	text_uint(&text, (uint64_t)sys_getpid(), 0);
	if (suffix > 1) {
		text_char(&text, '.');
		text_uint(&text, suffix, 0);
	}
	text_string(&text, ".log");
	name[text.size] = '\0';
	memcpy(old_name, name, text.size);
	memcpy(old_name + text.size, ".1", sizeof(".1"));
}

static void make_path(const struct place *p)
{
	struct text text = {.bytes = path, .room = sizeof(path) - 1};

	if (p->path[0])
		text_string(&text, p->path);
	text_char(&text, '/');
	text_string(&text, name);
	path[p->path[0] ? text.size : 0] = '\0';
}

/* Makes the file called name.  Returns 0 or -errno. */
static int make_named(struct place *p, int dir)
{
	int error = kept_take(&file, sys_openat(dir, name,
						O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC |
							O_NOFOLLOW | O_NOCTTY,
						0600));

	if (error < 0)
		return error;
	place = p;
	make_path(p);
	write_top();
	return 0;
}

/* Makes the file under the first free name.  A name whose old generation exists is not free: that
 * one is somebody else's, and a rotation would replace it. */
static int make_file(struct place *p)
{
	int dir = place_dir(p);
	int error = dir;
	unsigned suffix;

	for (suffix = 1; dir >= 0 && suffix <= SUFFIX_MAX; suffix++) {
		struct stat st;

		make_name(suffix);
		error = -EEXIST;
		if (sys_call(SYS_newfstatat, dir, (long)old_name, (long)&st, AT_SYMLINK_NOFOLLOW) ==
		    0)
			continue;
		error = make_named(p, dir);
		if (error != -EEXIST)
			break;
	}
	return error;
}

/* A descriptor of our file, found again or begun anew if it got lost; or -errno. */
static int file_fd(void)
{
	int fd = kept_fd(&file);
	int dir;

	if (fd >= 0)
		return fd;
	dir = place && !sys_sandboxed() ? place_dir(place) : -EBADF;
	if (dir < 0)
		return dir;
	fd = sys_openat(dir, name,
			O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
	if (fd >= 0)
		fd = kept_retake(&file, fd);
	if (fd == -ENOENT || fd == -ESTALE) {
		fd = make_file(place);
		begun_anew = true;
	}
	return fd < 0 ? fd : file.fd;
}

static const char *reason(int error)
{
	switch (-error) {
	case EACCES:
		return "EACCES (no permission)";
	case EPERM:
		return "EPERM (not permitted)";
	case ENOENT:
		return "ENOENT (no such directory)";
	case ENOTDIR:
		return "ENOTDIR (not a directory)";
	case ENOSPC:
		return "ENOSPC (no space left)";
	case EDQUOT:
		return "EDQUOT (quota exceeded)";
	case EROFS:
		return "EROFS (read-only file system)";
	case EMFILE:
		return "EMFILE (too many open files)";
	case ENFILE:
		return "ENFILE (too many open files in the system)";
	case EEXIST:
		return "EEXIST (all names are taken)";
	default:
		return NULL;
	}
}

static void warn(int error)
{
	struct text text = {.bytes = scratch, .room = sizeof(scratch)};

	if (warned)
		return;
	warned = true;
	text_string(&text, "pmem: cannot write a log in ");
	text_safe(&text, start_place.path[0] ? start_place.path : "the current directory");
	text_string(&text, ": ");
	if (reason(error)) {
		text_string(&text, reason(error));
	} else {
		text_string(&text, "error ");
		text_uint(&text, (uint64_t)-error, 0);
	}
	text_char(&text, '\n');
	sys_write(STDERR, text.bytes, text.size);
}

/* --- external -------------------------------------------------------------------------------- */

void log_init(void)
{
	ssize_t size = sys_readlinkat(AT_FDCWD, "/proc/self/exe", image, sizeof(image) - 1);

	image[size > 0 ? size : 0] = '\0';
	image_start_ns = start_ns = sys_realtime_ns();
	if (!settings.log)
		return;
	find_start_place();
	find_tmp_place();
}

bool log_open(void)
{
	int error;

	if (place)
		return true;
	if (gave_up || sys_sandboxed())
		return false;
	error = make_file(&start_place);
	if (error < 0 && (!tmp_place.path[0] || make_file(&tmp_place) < 0)) {
		gave_up = true;
		warn(error);
		return false;
	}
	return true;
}

bool log_write(const char *bytes, size_t size)
{
	return append(log_open() && !full ? file_fd() : -EFBIG, bytes, size);
}

void log_make_room(uint64_t size)
{
	struct stat st;
	int fd = kept_fd(&file);
	int dir = place && !sys_sandboxed() ? place_dir(place) : -1;

	if (settings.log_max == 0 || fd < 0 || dir < 0 || sys_fstat(fd, &st) < 0)
		return;
	if ((uint64_t)st.st_size <= top_size || (uint64_t)st.st_size + size <= settings.log_max)
		return;
	full = sys_renameat(dir, name, dir, old_name) < 0;
	if (full)
		return;
	kept_close(&file);
	begun_anew = true;
	make_named(place, dir); /* on failure file_fd() tries again at the next write */
}

bool log_rotated(void)
{
	bool rotated = begun_anew;

	begun_anew = false;
	return rotated;
}

void log_note(const char *line, size_t size)
{
	int fd = kept_fd(&file);

	if (fd >= 0 && put(fd, line, size) < size)
		loss_add(LOSS_LOG_BYTES, size);
}

int log_start_dir(void)
{
	return kept_fd(&start_place.dir);
}

const char *log_path(void)
{
	return path;
}

uint64_t log_image_start_ns(void)
{
	return image_start_ns;
}

void log_fork_child(void)
{
	kept_close(&file);
	place = NULL;
	path[0] = '\0';
	gap = 0;
	full = false;
	begun_anew = false;
	gave_up = false;
	start_ns = sys_realtime_ns();
}
