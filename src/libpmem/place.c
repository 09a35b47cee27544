/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * place.c - see place.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_PATH */
#endif
#include "libpmem/place.h"

#include <string.h>
#include <sys/utsname.h>

#include "libpmem/settings.h"
#include "libpmem/sys.h"
#include "libpmem/text.h"

enum {
	STEM_MAX = PLACE_NAME_SIZE - 32, /* room for suffix, ending and the log's .1 */
	DIR_FLAGS = O_PATH | O_DIRECTORY | O_CLOEXEC,
};

extern char **environ;

struct place place_start = {.dir = KEPT_NONE_INIT};
struct place place_out = {.dir = KEPT_NONE_INIT};
struct place place_tmp = {.dir = KEPT_NONE_INIT};

static char stem[PLACE_NAME_SIZE];
static char scratch[PATH_MAX];
static struct utsname host;
static unsigned suffix_now = 1;

int place_dir(struct place *place)
{
	int fd = kept_fd(&place->dir);
	int error;

	if (fd >= 0)
		return fd;
	if (!place->path[0])
		return -ENOENT;
	fd = sys_openat(AT_FDCWD, place->path, DIR_FLAGS, 0);
	error = place->dir.known ? kept_retake(&place->dir, fd) : kept_take(&place->dir, fd);
	return error < 0 ? error : place->dir.fd;
}

static void find_start(void)
{
	long size = sys_call(SYS_getcwd, (long)place_start.path, PATH_MAX, 0, 0);

	/* "(unreachable)...": not a path. */
	if (size < 0 || place_start.path[0] != '/')
		place_start.path[0] = '\0';
	kept_take(&place_start.dir, sys_openat(AT_FDCWD, ".", DIR_FLAGS, 0));
}

/* The absolute path of a directory; "" if it is not known. */
static void set_path(struct place *place, const char *path, size_t size)
{
	struct text text = {.bytes = place->path, .room = PATH_MAX - 1};
	bool known = path[0] == '/' || place_start.path[0];

	if (path[0] != '/') {
		text_string(&text, place_start.path);
		text_char(&text, '/');
	}
	text_bytes(&text, path, size);
	place->path[known && !text.truncated ? text.size : 0] = '\0';
}

static void find_tmp(void)
{
	static const char key[] = "TMPDIR=";
	char **entry;

	for (entry = environ; entry && *entry; entry++) {
		const char *value;

		if (strncmp(*entry, key, sizeof(key) - 1) != 0)
			continue;
		value = *entry + sizeof(key) - 1;
		if (*value)
			set_path(&place_tmp, value, strlen(value));
		return;
	}
}

static void put_program_name(struct text *text)
{
	ssize_t size = sys_readlinkat(AT_FDCWD, "/proc/self/exe", scratch, sizeof(scratch) - 1);
	const char *slash;

	scratch[size > 0 ? size : 0] = '\0';
	slash = strrchr(scratch, '/');
	text_safe(text, slash ? slash + 1 : "program");
}

/* One letter after a percent sign. */
static void put_field(struct text *text, char letter)
{
	switch (letter) {
	case 'p':
		text_uint(text, (uint64_t)sys_getpid(), 0);
		break;
	case 'h':
		sys_call(SYS_uname, (long)&host, 0, 0, 0);
		text_safe(text, host.nodename);
		break;
	case 'e':
		put_program_name(text);
		break;
	case 't':
		text_uint(text, sys_realtime_ns() / 1000000000, 0);
		break;
	case '%':
		text_char(text, '%');
		break;
	default:
		text_char(text, '%');
		text_char(text, letter);
	}
}

static void make_stem(const char *pattern)
{
	static const char end[] = ".prof";
	struct text text = {.bytes = stem, .room = STEM_MAX};
	size_t size = strlen(pattern);

	if (size > sizeof(end) - 1 && strcmp(pattern + size - (sizeof(end) - 1), end) == 0)
		size -= sizeof(end) - 1;
	for (size_t i = 0; i < size; i++) {
		if (pattern[i] == '%' && i + 1 < size)
			put_field(&text, pattern[++i]);
		else
			text_char(&text, pattern[i]);
	}
	/* A field may bring slashes in. */
	for (size_t i = 0; i < text.size; i++)
		if (stem[i] == '/')
			stem[i] = '_';
	stem[text.size] = '\0';
}

/* The last part of PMEM_OUT, or the default. */
static const char *name_pattern(void)
{
	const char *slash = strrchr(settings.out, '/');
	const char *last = slash ? slash + 1 : settings.out;

	return *last ? last : "pmem.%p";
}

static void find_out(void)
{
	const char *slash = strrchr(settings.out, '/');
	size_t size = slash ? (size_t)(slash - settings.out) : 0;

	if (!slash) {
		place_out = place_start;
		return;
	}
	size = size ? size : 1;
	set_path(&place_out, settings.out, size);
	if (place_out.path[0]) {
		place_dir(&place_out);
	} else {
		memcpy(scratch, settings.out, size);
		scratch[size] = '\0';
		kept_take(&place_out.dir, sys_openat(AT_FDCWD, scratch, DIR_FLAGS, 0));
	}
}

void place_init(void)
{
	find_start();
	find_tmp();
	find_out();
	make_stem(name_pattern());
}

void place_name(unsigned suffix, const char *end, char name[PLACE_NAME_SIZE])
{
	struct text text = {.bytes = name, .room = PLACE_NAME_SIZE - 1};

	text_string(&text, stem);
	if (suffix > 1) {
		text_char(&text, '.');
		text_uint(&text, suffix, 0);
	}
	text_string(&text, end);
	name[text.size] = '\0';
}

void place_path(const struct place *place, const char *name, char path[PATH_MAX + PLACE_NAME_SIZE])
{
	struct text text = {.bytes = path, .room = PATH_MAX + PLACE_NAME_SIZE - 1};

	if (place->path[0]) {
		text_string(&text, place->path);
		text_char(&text, '/');
		text_string(&text, name);
	}
	path[text.size] = '\0';
}

unsigned place_suffix(void)
{
	return suffix_now;
}

void place_set_suffix(unsigned suffix)
{
	suffix_now = suffix;
}

void place_fork_child(void)
{
	suffix_now = 1;
	make_stem(name_pattern());
}
