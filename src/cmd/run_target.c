/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_target.c - looks for what would make the loader ignore LD_PRELOAD without a word.
 *
 * A wrong "it can be" only costs an empty profile, which the summary names; so files that cannot be read, and kinds
 * that only the kernel knows, are let through.
 */
#include "cmd/run_target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/run_elf.h"
#include "symbol/allocators.h"

enum {
	SCRIPT_DEPTH = 5
}; /* interpreters that are scripts themselves: the kernel follows no more */

static const char default_path[] = "/bin:/usr/bin";

/* 0, or the errno that execve(2) would give for the file itself. */
static int cannot_execute(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return errno;
	if (!S_ISREG(st.st_mode))
		return EACCES;
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

static int explain(const struct run_target *target, int reason, struct error *err)
{
	struct stat st;

	errno = reason;
	if (reason == ENOENT || reason == ENOTDIR)
		error_set_errno(err, "%s", target->name);
	else if (stat(target->path, &st) == 0 && S_ISDIR(st.st_mode))
		error_set(err, "%s: is a folder, not a program", target->name);
	else
		error_set_errno(err, "%s: cannot be executed", target->name);
	return reason == ENOENT || reason == ENOTDIR ? CMD_RUN_NOT_FOUND : CMD_RUN_CANNOT;
}

/* The first executable file of that name in PATH, or the reason of the first one that cannot be executed. */
static int search_path(struct run_target *target)
{
	const char *path = getenv("PATH");
	int reason = ENOENT, found;
	char file[PATH_MAX];
	size_t length;

	for (path = path ? path : default_path;; path += length + 1) {
		length = strcspn(path, ":");
		if (length + strlen(target->name) + 2 <= sizeof(file)) {
			snprintf(file, sizeof(file), "%.*s%s%s", (int)length, path,
				 length ? "/" : "", target->name);
			found = cannot_execute(file);
			if (found == 0 || (found == EACCES && reason == ENOENT)) {
				strcpy(target->path, file);
				reason = found;
			}
			if (found == 0)
				return 0;
		}
		if (!path[length])
			return reason;
	}
}

int run_target_find(struct run_target *target, struct error *err)
{
	int reason;

	target->path[0] = 0;
	if (!strchr(target->name, '/')) {
		reason = target->name[0] ? search_path(target) : ENOENT;
		if (reason != ENOENT)
			return reason ? explain(target, reason, err) : 0;
		error_set(err, "%s: not found in PATH",
			  target->name[0] ? target->name : "a program without a name");
		return CMD_RUN_NOT_FOUND;
	}
	if (strlen(target->name) >= sizeof(target->path))
		return explain(target, ENAMETOOLONG, err);
	strcpy(target->path, target->name);
	reason = cannot_execute(target->path);
	return reason ? explain(target, reason, err) : 0;
}

/* "PROG", or "PROG's interpreter /bin/x". */
static void describe(const struct run_target *target, const char *path, struct error *who)
{
	if (strcmp(path, target->path) == 0)
		error_set(who, "%s", target->name);
	else
		error_set(who, "%s's interpreter %s", target->name, path);
}

/* True if executing the file gives this process rights it has not: then the loader ignores LD_PRELOAD (man 8 ld.so,
 * "secure-execution mode"). */
static bool gains_rights(const char *path, struct stat *st)
{
	struct statvfs fs;

	if (stat(path, st) != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return false;
	if (statvfs(path, &fs) == 0 && (fs.f_flag & ST_NOSUID))
		return false;
	if ((st->st_mode & S_ISUID) && st->st_uid != getuid())
		return true;
	if ((st->st_mode & S_ISGID) && (st->st_mode & S_IXGRP) && st->st_gid != getgid())
		return true;
	return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

static int refuse_rights(const char *who, const struct stat *st, struct error *err)
{
	static const char copy[] = "record a copy of it, made by cp, which has no such rights";
	const struct passwd *owner;

	if (st->st_mode & S_ISUID && st->st_uid != getuid()) {
		owner = getpwuid(st->st_uid);
		error_set(err,
			  "nothing was recorded: %s is setuid (its loader ignores LD_PRELOAD; "
			  "do this instead: run pmem as user %s, or %s)",
			  who, owner ? owner->pw_name : "that owns it", copy);
	} else {
		error_set(
			err, "nothing was recorded: %s %s (its loader ignores LD_PRELOAD; do this instead: %s)",
			who, st->st_mode & S_ISGID ? "is setgid" : "has file capabilities", copy);
	}
	return CMD_RUN_CANNOT;
}

static int refuse_static(const char *who, struct error *err)
{
	error_set(err,
		  "nothing was recorded: %s is statically linked (it has no loader that could load "
		  "libpmem.so; do "
		  "this instead: link it without -static, Rust for a -gnu target; Go has its own "
		  "heap and profiler, pprof)",
		  who);
	return CMD_RUN_CANNOT;
}

static const char *machine_name(uint16_t machine)
{
	switch (machine) {
	case EM_386:
		return "i386";
	case EM_ARM:
		return "ARM";
	case EM_X86_64:
		return "x86-64";
	case EM_AARCH64:
		return "AArch64";
	case EM_RISCV:
		return "RISC-V";
	default:
		return "another machine";
	}
}

static int refuse_machine(const char *who, const struct run_file *file,
			  const struct run_file *library, struct error *err)
{
	error_set(err,
		  "nothing was recorded: %s is a %s program for %s (libpmem.so is %s for %s; do "
		  "this instead: "
		  "build the program for that, or name another libpmem.so in PMEM_LIB)",
		  who, file->is_64 ? "64-bit" : "32-bit", machine_name(file->machine),
		  library->is_64 ? "64-bit" : "32-bit", machine_name(library->machine));
	return CMD_RUN_CANNOT;
}

static int refuse_libc(const char *who, const struct run_target *target, struct error *err)
{
	error_set(err,
		  "nothing was recorded: %s uses glibc (%s was built for musl; do this instead: "
		  "build libpmem.so by gcc, which works with both, and name it in PMEM_LIB)",
		  who, target->library);
	return CMD_RUN_CANNOT;
}

/* What was built for glibc works with musl too, but glibc's loader does not find musl. */
static bool is_other_libc(const struct run_file *file, const struct run_file *library)
{
	return file->libc == RUN_LIBC_GLIBC && library->libc == RUN_LIBC_MUSL;
}

static int refuse_sanitizer(const char *who, const char *sanitizer, struct error *err)
{
	error_set(err,
		  "nothing was recorded: %s is built with %s (its runtime replaces malloc and must "
		  "be loaded first; do this instead: record a build without -fsanitize)",
		  who, sanitizer);
	return CMD_RUN_CANNOT;
}

static struct allocators allocators_of(const char *path)
{
	struct allocators found = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0) {
		allocators_read(fd, NULL, &found);
		close(fd);
	}
	return found;
}

/* The kernel's ENOENT would be taken for the program's own. */
static int refuse_missing(const char *who, const char *what, const char *path, struct error *err)
{
	error_set(err, "nothing was run: %s needs the %s %s, which does not exist", who, what, path);
	return CMD_RUN_NOT_FOUND;
}

static bool is_missing(const char *path)
{
	struct stat st;

	return stat(path, &st) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

/* The file that the kernel would load: that of the script's interpreter, for what only a shell can run the shell.  False: it cannot be read. */
static bool read_final(const char *path, char final[PATH_MAX], struct run_file *file)
{
	struct error ignored;
	int depth;

	snprintf(final, PATH_MAX, "%s", path);
	for (depth = 0; depth < SCRIPT_DEPTH; depth++) {
		if (!run_file_read(final, file, &ignored))
			return false;
		if (file->kind != RUN_FILE_SCRIPT || !file->interpreter[0])
			return true;
		snprintf(final, PATH_MAX, "%s", file->interpreter);
	}
	return false;
}

int run_target_check(const struct run_target *target, struct error *err)
{
	struct run_file file, library;
	char final[PATH_MAX];
	struct error who;
	const char *sanitizer;
	struct stat st;
	bool known;

	if (!run_file_read(target->library, &library, err))
		return CMD_RUN_FAILED;
	if (library.kind != RUN_FILE_ELF) {
		error_set(err, "%s: is no library", target->library);
		return CMD_RUN_FAILED;
	}
	known = read_final(target->path, final, &file);
	describe(target, final, &who);
	if (!known && is_missing(final))
		return refuse_missing(target->name, "interpreter", final, err);
	if (gains_rights(final, &st))
		return refuse_rights(who.text, &st, err);
	if (!known || file.kind != RUN_FILE_ELF)
		return 0;
	if (file.machine != library.machine || file.is_64 != library.is_64 ||
	    file.is_little != library.is_little)
		return refuse_machine(who.text, &file, &library, err);
	if (!file.interpreter[0] && !file.is_library)
		return refuse_static(who.text, err);
	if (file.interpreter[0] && is_missing(file.interpreter))
		return refuse_missing(who.text, "loader", file.interpreter, err);
	if (is_other_libc(&file, &library))
		return refuse_libc(who.text, target, err);
	sanitizer = allocators_of(final).sanitizer;
	return sanitizer ? refuse_sanitizer(who.text, sanitizer, err) : 0;
}

/* LD_PRELOAD names a library that replaces malloc() (man 8 ld.so: blanks and colons separate). */
static bool preloads_allocator(void)
{
	const char *at = getenv("LD_PRELOAD"), *slash;
	char name[NAME_MAX + 1];
	size_t length;

	for (; at && *at; at += length + (at[length] != 0)) {
		length = strcspn(at, ": ");
		slash = memrchr(at, '/', length);
		snprintf(name, sizeof(name), "%.*s",
			 (int)(length - (slash ? (size_t)(slash + 1 - at) : 0)),
			 slash ? slash + 1 : at);
		if (run_file_is_allocator(name))
			return true;
	}
	return false;
}

bool run_target_wants_libstdcxx(const struct run_target *target)
{
	char final[PATH_MAX];
	struct run_file file;

	return read_final(target->path, final, &file) && file.needs_libstdcxx &&
	       (file.needs_allocator || preloads_allocator()) && allocators_of(final).imports_new;
}
