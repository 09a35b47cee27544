/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * adverse.c - keeps blocks at 256 call stacks, does something adverse to whoever records it, keeps blocks at 4,096 others.
 *
 *   adverse ACT     one of the rows of acts[]; prints the bytes that it holds, and returns 7
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FEW = 256, MANY = 4096, BITS = 12, FDS = 1024, NOBODY = 65534 };

#define NOINLINE __attribute__((noinline, noclone))

static char profile[64];

static NOINLINE void *keep_before(size_t size)
{
	return malloc(size);
}

static NOINLINE void *keep_after(size_t size)
{
	return malloc(size);
}

static NOINLINE void *way_0(int way, int bits);

static NOINLINE void *way_1(int way, int bits)
{
	void *volatile block = bits == 0	       ? (way < FEW ? keep_before : keep_after)(100)
			       : way >> (bits - 1) & 1 ? way_1(way, bits - 1)
						       : way_0(way, bits - 1);

	return block;
}

static NOINLINE void *way_0(int way, int bits)
{
	void *volatile block = bits == 0	       ? (way < FEW ? keep_before : keep_after)(100)
			       : way >> (bits - 1) & 1 ? way_1(way, bits - 1)
						       : way_0(way, bits - 1);

	return block;
}

static void keep(int from, int to)
{
	for (int way = from; way < to; way++) {
		if (!way_0(way, BITS + 1))
			abort();
	}
}

static void nothing(void)
{
}

static void close_all(void)
{
	for (int fd = 3; fd < 2 * FDS; fd++)
		close(fd);
}

/* Every number that is in use is the program's file from now on. */
static void reuse_all(void)
{
	int mine = open("mine", O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (mine < 0 || write(mine, "mine\n", 5) != 5)
		abort();
	for (int fd = 3; fd < FDS; fd++) {
		if (fd != mine && fcntl(fd, F_GETFD) >= 0)
			dup2(mine, fd);
	}
}

static void go_elsewhere(void)
{
	if (chdir("/") != 0)
		abort();
}

static void change_root(void)
{
	if (mkdir("jail", 0755) != 0 || chroot("jail") != 0 || chdir("/") != 0)
		abort();
}

static void change_root_and_close(void)
{
	change_root();
	close_all();
}

static void become_nobody(void)
{
	if (setresgid(NOBODY, NOBODY, NOBODY) != 0 || setresuid(NOBODY, NOBODY, NOBODY) != 0)
		abort();
}

static void limit_files(void)
{
	struct rlimit limit = {.rlim_cur = 300 * 1024, .rlim_max = RLIM_INFINITY};

	if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
		abort();
}

static void delete_it(void)
{
	unlink(profile);
}

static void move_it(void)
{
	rename(profile, "moved.prof");
}

static void replace_it(void)
{
	int fd;

	delete_it();
	fd = open(profile, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0 || write(fd, "mine\n", 5) != 5)
		abort();
	close(fd);
}

static void remove_folder(void)
{
	char name[64], here[4096];

	snprintf(name, sizeof(name), "pmem.%d.log", (int)getpid());
	unlink(name);
	delete_it();
	if (!getcwd(here, sizeof(here)) || rmdir(here) != 0)
		abort();
}

/* Until nothing fits any more. */
static void fill_disk(void)
{
	static char bytes[4096];
	int fd = open("filler", O_WRONLY | O_CREAT, 0600);

	while (write(fd, bytes, sizeof(bytes)) > 0)
		;
	close(fd);
}

static void no_new_privileges(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		abort();
}

/* What a program of one thread needs that allocates and writes; all else kills it. */
static void filter_calls(void)
{
	static const int allowed[] = {SYS_read,		SYS_write,    SYS_exit,	   SYS_exit_group,
				      SYS_rt_sigreturn, SYS_brk,      SYS_mmap,	   SYS_munmap,
				      SYS_mremap,	SYS_mprotect, SYS_madvise, SYS_futex};
	enum { COUNT = sizeof(allowed) / sizeof(*allowed) };
	struct sock_filter code[2 * COUNT + 2];
	struct sock_fprog program = {.len = 2 * COUNT + 2, .filter = code};

	code[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					       offsetof(struct seccomp_data, nr));
	for (int i = 0; i < COUNT; i++) {
		code[1 + 2 * i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							       (uint32_t)allowed[i], 0, 1);
		code[2 + 2 * i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	code[1 + 2 * COUNT] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
							   SECCOMP_RET_KILL_PROCESS);
	no_new_privileges();
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		abort();
}

/* As programs do that only look what the kernel can. */
static void fail_to_filter(void)
{
	for (int i = 0; i < 50; i++)
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL);
}

static void kill_it(void)
{
	raise(SIGKILL);
}

static const struct {
	const char *name;
	void (*act)(void);
} acts[] = {
	{"nothing", nothing},	   {"close", close_all},
	{"reuse", reuse_all},	   {"chdir", go_elsewhere},
	{"chroot", change_root},   {"chroot-close", change_root_and_close},
	{"setuid", become_nobody}, {"limit", limit_files},
	{"delete", delete_it},	   {"move", move_it},
	{"replace", replace_it},   {"remove", remove_folder},
	{"fill", fill_disk},	   {"no-new-privs", no_new_privileges},
	{"seccomp", filter_calls}, {"seccomp-fails", fail_to_filter},
	{"kill", kill_it},
};

int main(int argc, char **argv)
{
	char line[64];
	int size;

	snprintf(profile, sizeof(profile), "pmem.%d.prof", (int)getpid());
	keep(0, FEW);
	for (size_t i = 0; argc > 1 && i < sizeof(acts) / sizeof(*acts); i++) {
		if (strcmp(argv[1], acts[i].name) == 0)
			acts[i].act();
	}
	errno = 4711;
	keep(FEW, FEW + MANY);
	size = snprintf(line, sizeof(line), "%d before, %d after, errno %d\n", FEW * 100,
			MANY * 100, errno);
	if (write(STDOUT_FILENO, line, (size_t)size) != size)
		return 1;
	return 7;
}
