/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * refuse_call.c - executes a program for which some system calls fail with EPERM, as under a container's filter.
 *
 *   refuse_call NUMBER[,NUMBER...] PROGRAM ARGUMENT...      returns 99 where that cannot be done
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CALLS_MAX = 16 };

int main(int argc, char **argv)
{
	struct sock_filter code[2 * CALLS_MAX + 2] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	struct sock_fprog program = {.len = 1, .filter = code};
	char *at = argc > 2 ? argv[1] : NULL;

	while (at && *at && program.len < 2 * CALLS_MAX) {
		code[program.len++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, (unsigned)strtoul(at, &at, 10), 0, 1);
		code[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
								   SECCOMP_RET_ERRNO | EPERM);
		at += *at == ',';
	}
	code[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (argc < 3 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
		return 99;
	execvp(argv[2], argv + 2);
	return 99;
}
