/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * log.c - the file pmem.$pid.log.
 *
 * Everything here is under LOCK_SNAPSHOT, but for log_init() and log_fork_child(), which run
 * while there is one thread, and log_note(), which only reads.  The program owns the descriptor
 * table, the current directory and the limits, and changes them as it likes; others may move,
 * truncate or delete the file: each write starts from scratch.
 *
 * A signal handler that interrupts log_write() may fork: in the child log_fork_child() then runs
 * below an unfinished log_write(), which must find a state it can fail with.
 */
#include "libpmem/log.h"

#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>

#include "core/version.h"
#include "libpmem/kept.h"
#include "libpmem/loss.h"
#include "libpmem/place.h"
#include "libpmem/settings.h"
#include "libpmem/store.h"
#include "libpmem/sys.h"
#include "libpmem/text.h"

enum {
	LINE_SIZE = 128,
	STDERR = 2,
};

struct file_name {
	char log[PLACE_NAME_SIZE]; /* "pmem.123.log" */
	char old[PLACE_NAME_SIZE]; /* "pmem.123.log.1", the generation before */
};

static char image[PATH_MAX];
static uint64_t image_start_ns;
static uint64_t start_ns; /* of this process: a forked child's is the fork */

static struct place *place; /* where the file lies; NULL = there is none */
static struct kept file = KEPT_NONE_INIT;
static struct file_name name;	   /* of the file */
static struct file_name free_name; /* being tried */
static char path[PATH_MAX + PLACE_NAME_SIZE];
static uint64_t top_size;  /* the file's size after its first lines */
static uint64_t file_size; /* as known */
static uint64_t gap;	   /* bytes lost since the last write that succeeded */
static bool half_line;	   /* which the file ends with since then */
static bool full;	   /* beyond settings.log_max, and the rotation failed */
static bool begun_anew;
static bool gave_up;
static struct kept error_output = KEPT_NONE_INIT; /* none once a warning was given */
static _Atomic uint32_t forks;			  /* of which this process is the last child */

static char scratch[2 * PATH_MAX]; /* text in the making */

static void lose(size_t size)
{
	gap += size;
	loss_add(FORMAT_LOSS_LOG_BYTES, size);
}

/* --- writing --------------------------------------------------------------------------------- */

/* 0, or why size more bytes must not be written: beyond RLIMIT_FSIZE that would raise SIGXFSZ,
 * and what follows in a file that was truncated has no beginning.  In a sandbox neither the limit
 * nor the size can be asked for, and nothing can be renamed: what was known must do. */
static int check_room(int fd, size_t size)
{
	struct stat st;
	int error;

	if (sys_sandboxed()) {
		bool fits = settings.log_max == 0 || file_size + size <= settings.log_max;

		return fits ? sys_check_file_end(file_size + size) : -EFBIG;
	}
	error = sys_fstat(fd, &st);
	if (error < 0)
		return error;
	if ((uint64_t)st.st_size < file_size)
		return -ESTALE;
	file_size = (uint64_t)st.st_size;
	return sys_check_file_end(file_size + size);
}

/* Returns 0 if all was written, else -errno; *done is how much, in either case. */
static int put(int fd, const char *bytes, size_t size, size_t *done)
{
	int error = check_room(fd, size);

	*done = 0;
	while (error == 0 && *done < size) {
		ssize_t count = sys_write(fd, bytes + *done, size - *done);

		if (count > 0)
			*done += (size_t)count;
		else if (count != -EINTR)
			error = count < 0 ? (int)count : -ENOSPC;
	}
	file_size += *done;
	return error;
}

/* Marks the gap that failed writes left; the newline ends what may be half a line. */
static int put_gap(int fd)
{
	char line[LINE_SIZE];
	struct text text = {.bytes = line, .room = sizeof(line)};
	size_t done;
	int error;

	text_string(&text, "\n# lost ");
	text_uint(&text, gap, 0);
	text_string(&text, " bytes of log here\n");
	error = put(fd, text.bytes, text.size, &done);
	if (error == 0) {
		gap = 0;
		half_line = false;
	}
	return error;
}

/* A negative fd: nothing can be written. */
static bool append(int fd, const char *bytes, size_t size)
{
	size_t done = 0;

	if (fd >= 0 && (gap == 0 || put_gap(fd) == 0))
		put(fd, bytes, size, &done);
	if (done < size)
		lose(size - done);
	if (done > 0)
		half_line = done < size;
	return done == size;
}

/* --- the file -------------------------------------------------------------------------------- */

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
	case EFBIG:
		return "EFBIG (file size limit)";
	case EEXIST:
		return "EEXIST (all names are taken)";
	default:
		return NULL;
	}
}

static void put_reason(struct text *text, int error)
{
	if (reason(error)) {
		text_string(text, reason(error));
	} else {
		text_string(text, "error ");
		text_uint(text, (uint64_t)-error, 0);
	}
}

/* Where the profile is, or why there is none. */
static void put_profile(struct text *text)
{
	int error = -(int)atomic_load_explicit(&store_head()->file_error, memory_order_relaxed);

	if (!settings.profile)
		return;
	text_string(text, store_path()[0] ? "# profile: " : "# no profile: ");
	if (store_path()[0])
		text_safe(text, store_path());
	else
		put_reason(text, error);
	text_char(text, '\n');
}

/* The lines at the top.  Returns 0 or -errno. */
static int write_top(int fd)
{
	struct text text = {.bytes = scratch, .room = sizeof(scratch)};
	size_t done;
	int error;

	if (file_size > 0) /* it was truncated, perhaps inside a line */
		text_char(&text, '\n');
	text_string(&text, "# pmem log of ");
	text_safe(&text, image[0] ? image : "?");
	text_string(&text, ", pid ");
	text_uint(&text, (uint64_t)sys_getpid(), 0);
	text_string(&text, ", start ");
	text_time(&text, start_ns);
	text_string(&text, ", version " PMEM_VERSION "\n");
	put_profile(&text);
	if (settings.sample) {
		text_string(&text, "# sampled: one byte in ");
		text_uint(&text, settings.sample, 0);
		text_string(&text, " on average; all figures are estimates\n");
	}
	if (settings_complaint()) {
		text_string(&text, "# refused setting, default used: ");
		text_safe(&text, settings_complaint());
		text_char(&text, '\n');
	}
	error = put(fd, text.bytes, text.size, &done);
	if (error == 0)
		top_size = file_size;
	return error;
}

static void make_name(unsigned suffix, struct file_name *made)
{
	place_name(suffix, ".log", made->log);
	place_name(suffix, ".log.1", made->old);
}

/* Makes the file of that name in place of the one that there may be.  Returns 0, or -errno, and
 * nothing changed: a file without its first lines is of no use to anybody. */
static int make_named(struct place *p, int dir, const struct file_name *made_name)
{
	enum { FLAGS = O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY };
	uint32_t forks_before = atomic_load_explicit(&forks, memory_order_relaxed);
	uint64_t size_before = file_size;
	struct kept made = KEPT_NONE;
	int fd = sys_openat(dir, made_name->log, FLAGS, 0600);
	int error = kept_take(&made, fd);

	if (error < 0) {
		/* Not in a child that a handler forked meanwhile: the file is its parent's. */
		if (fd >= 0 && atomic_load_explicit(&forks, memory_order_relaxed) == forks_before)
			sys_call(SYS_unlinkat, dir, (long)made_name->log, 0, 0);
		return error;
	}
	file_size = 0;
	error = write_top(made.fd);
	if (atomic_load_explicit(&forks, memory_order_relaxed) != forks_before) {
		kept_close(&made); /* the parent's */
		return -ESTALE;
	}
	if (error < 0) {
		file_size = size_before;
		kept_close(&made);
		sys_call(SYS_unlinkat, dir, (long)made_name->log, 0, 0);
		return error;
	}
	kept_close(&file);
	file = made;
	place = p;
	name = *made_name;
	place_path(p, name.log, path);
	return 0;
}

static long stat_at(int dir, const char *file_at, struct stat *st)
{
	return sys_call(SYS_newfstatat, dir, (long)file_at, (long)st, AT_SYMLINK_NOFOLLOW);
}

/* Makes the file under the first free name.  A name whose old generation exists is not free: that
 * one is somebody else's, and a rotation would replace it. */
static int make_file(struct place *p)
{
	int dir = place_dir(p);
	int error = dir;
	unsigned suffix;

	for (suffix = place_suffix(); dir >= 0 && suffix <= PLACE_SUFFIX_MAX; suffix++) {
		struct stat st;

		make_name(suffix, &free_name);
		error = -EEXIST;
		if (stat_at(dir, free_name.old, &st) == 0)
			continue;
		error = make_named(p, dir, &free_name);
		if (error != -EEXIST)
			break;
	}
	return error;
}

/* A descriptor of our file, found again or begun anew if it got lost; or -errno. */
static int file_fd(void)
{
	enum { FLAGS = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY };
	int fd = kept_fd(&file);
	int dir;

	if (fd >= 0)
		return fd;
	dir = place && !sys_sandboxed() ? place_dir(place) : -EBADF;
	if (dir < 0)
		return dir;
	fd = sys_openat(dir, name.log, FLAGS, 0);
	if (fd >= 0)
		fd = kept_retake(&file, fd);
	if (fd == -ENOENT || fd == -ESTALE) {
		fd = make_file(place);
		begun_anew = fd >= 0 || begun_anew;
	}
	return fd < 0 ? fd : file.fd;
}

/* --- between two snapshots ------------------------------------------------------------------- */

/* True if the file's name does not lead to it any more. */
static bool is_gone(int dir, const struct stat *st)
{
	struct stat named;
	long error;

	if (st->st_nlink == 0)
		return true;
	if (dir < 0)
		return false;
	error = stat_at(dir, name.log, &named);
	if (error < 0)
		return error == -ENOENT;
	return named.st_dev != st->st_dev || named.st_ino != st->st_ino;
}

/* A file that was only moved is used on where no other one can be made. */
static void replace_gone(bool deleted)
{
	if (make_file(place) == 0)
		begun_anew = true;
	else if (deleted)
		kept_close(&file); /* file_fd() tries again at the next write */
}

/* Until this works nothing is written: check_room(). */
static void begin_truncated(int fd, uint64_t size)
{
	uint64_t size_before = file_size;

	file_size = size;
	if (write_top(fd) == 0)
		begun_anew = true;
	else
		file_size = size_before;
}

/* Where the new file cannot be made the old one gets its name back; then it is full. */
static void rotate(int fd, int dir)
{
	if (gap > 0 && file_size + LINE_SIZE <= settings.log_max)
		put_gap(fd);
	full = sys_renameat(dir, name.log, dir, name.old) < 0;
	if (full)
		return;
	if (make_named(place, dir, &name) == 0) {
		begun_anew = true;
		return;
	}
	full = true;
	sys_renameat(dir, name.old, dir, name.log);
}

/* --- the warning ----------------------------------------------------------------------------- */

/* True if descriptor 2 is what it was at start, and a write neither blocks nor raises SIGPIPE. */
static bool can_warn(void)
{
	struct pollfd output = {.fd = kept_fd(&error_output), .events = POLLOUT};
	const struct timespec no_time = {0};

	return output.fd >= 0 && sys_call(SYS_ppoll, (long)&output, 1, (long)&no_time, 0) == 1 &&
	       output.revents == POLLOUT;
}

/* Once: then the output is forgotten. */
static void warn(const char *what, int error)
{
	struct text text = {.bytes = scratch, .room = sizeof(scratch)};
	bool can = can_warn();

	error_output = KEPT_NONE;
	if (!can)
		return;
	text_string(&text, "pmem: cannot write a ");
	text_string(&text, what);
	text_string(&text, " in ");
	text_safe(&text, place_out.path[0] ? place_out.path : "the current directory");
	text_string(&text, ": ");
	put_reason(&text, error);
	text_char(&text, '\n');
	sys_write(STDERR, text.bytes, text.size);
}

/* The profile's, so that the two agree. */
static uint64_t profile_start(void)
{
	uint64_t start = store_head()->start_realtime_ns;

	return start ? start : sys_realtime_ns();
}

/* --- external -------------------------------------------------------------------------------- */

void log_init(void)
{
	ssize_t size = sys_readlinkat(AT_FDCWD, "/proc/self/exe", image, sizeof(image) - 1);

	image[size > 0 ? size : 0] = '\0';
	image_start_ns = start_ns = profile_start();
	kept_watch(&error_output, STDERR);
}

void log_warn_profile(void)
{
	int error = -(int)atomic_load_explicit(&store_head()->file_error, memory_order_relaxed);

	if (settings.profile && !store_path()[0])
		warn("profile", error);
}

/* Before log_init(). */
static void warn_nothing(const char *line, size_t size)
{
	kept_watch(&error_output, STDERR);
	if (can_warn())
		sys_write(STDERR, line, size);
	error_output = KEPT_NONE;
}

void log_warn_data_limit(void)
{
	static const char
		line[] = "pmem: nothing is recorded: RLIMIT_DATA (ulimit -d) is below 64 MiB\n";

	warn_nothing(line, sizeof(line) - 1);
}

void log_warn_memory(void)
{
	static const char line[] = "pmem: nothing is recorded: there is no memory for it\n";

	warn_nothing(line, sizeof(line) - 1);
}

bool log_open(void)
{
	int error;

	if (place)
		return true;
	if (gave_up || sys_sandboxed())
		return false;
	error = make_file(&place_out);
	if (error < 0 && (!place_tmp.path[0] || make_file(&place_tmp) < 0)) {
		gave_up = true;
		warn("log", error);
		return false;
	}
	return true;
}

bool log_write(const char *bytes, size_t size)
{
	int fd = log_open() && !full ? file_fd() : -EFBIG;

	return append(begun_anew ? -ESTALE : fd, bytes, size);
}

void log_make_room(uint64_t size)
{
	int fd = place && !sys_sandboxed() ? file_fd() : -EBADF;
	struct stat st;
	uint64_t now;
	int dir;

	full = false;
	if (fd < 0 || sys_fstat(fd, &st) < 0)
		return;
	dir = place_dir(place);
	now = (uint64_t)st.st_size;
	size += now + (gap > 0 ? LINE_SIZE : 0);
	if (is_gone(dir, &st))
		replace_gone(st.st_nlink == 0);
	else if (now < file_size)
		begin_truncated(fd, now);
	else if (settings.log_max != 0 && size > settings.log_max && now > top_size)
		rotate(fd, dir);
}

bool log_begun_anew(void)
{
	bool was = begun_anew;

	begun_anew = false;
	return was;
}

void log_note(const char *line, size_t size)
{
	int fd = kept_fd(&file);
	size_t done = 0;

	if (fd < 0)
		return;
	if (!half_line)
		put(fd, line, size, &done);
	if (done < size)
		loss_add(FORMAT_LOSS_LOG_BYTES, size - done);
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
	atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
	kept_close(&file);
	error_output = KEPT_NONE;
	place = NULL;
	file_size = 0;
	path[0] = '\0';
	gap = 0;
	half_line = false;
	full = false;
	begun_anew = false;
	gave_up = false;
	start_ns = profile_start();
}
