/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * faults.c - makes the recorder need all that it asks of the system; heap and output are the same in every run.
 *
 *   faults            many and deep call stacks, threads, an object that is loaded and unloaded, bytes enough for snapshots, children
 *   faults sandbox    enters a sandbox (prctl) in the middle of that
 *   faults errno NUMBER...     the same, and then system calls of libpmem.so other than these are refused
 *   faults kill NUMBER...      the same, and they kill
 *
 * What is allocated is written to and looked at again.  Prints a sum of what was found.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WAYS_LOG2 = 10, DEEP = 500, THREADS = 3, CHURN = 2000, KEPT = 64, CHILD_STATUS = 7 };

static uint64_t sum;

#define NOINLINE __attribute__((noinline))

static void look(const unsigned char *block, size_t size)
{
	for (size_t i = 0; i < size; i++)
		__atomic_fetch_add(&sum, block[i], __ATOMIC_RELAXED);
}

static NOINLINE void *take(size_t size)
{
	void *block = malloc(size);

	if (block)
		memset(block, (int)size & 255, size);
	return block;
}

static NOINLINE void *way_0(uint32_t way, int left);

static NOINLINE void *way_1(uint32_t way, int left)
{
	void *volatile block = left == 0	 ? take(10 + way % 90)
			       : way >> left & 1 ? way_1(way, left - 1)
						 : way_0(way, left - 1);

	return block;
}

static NOINLINE void *way_0(uint32_t way, int left)
{
	void *volatile block = left == 0	 ? take(10 + way % 90)
			       : way >> left & 1 ? way_1(way, left - 1)
						 : way_0(way, left - 1);

	return block;
}

/* A call stack for each way; half of the blocks stay. */
static NOINLINE void many_stacks(void)
{
	for (uint32_t way = 0; way < 1u << WAYS_LOG2; way++) {
		void *block = way_0(way * 2, WAYS_LOG2);

		look(block, 10 + way * 2 % 90);
		if (way % 2)
			free(block);
	}
}

static NOINLINE void deep(int left)
{
	volatile char room[64];

	room[0] = (char)left;
	if (left > 0)
		deep(left - 1);
	else
		free(take(100));
	sum += (uint64_t)(room[0] & 1);
}

static NOINLINE void churn(void)
{
	void *kept[KEPT] = {NULL};

	for (int i = 0; i < CHURN; i++) {
		int place = i % KEPT;

		free(kept[place]);
		kept[place] = take((size_t)500 + (size_t)i % 500);
		if (i % 3 == 0)
			kept[place] = realloc(kept[place], 2000);
		look(kept[place], 500);
	}
	for (int i = 0; i < KEPT; i++)
		free(kept[i]);
}

static void *be_thread(void *number)
{
	for (uintptr_t i = 0; i < 200; i++) {
		void *block = take(100 * ((uintptr_t)number + 1));

		look(block, 100);
		if (i % 20)
			free(block);
	}
	return NULL;
}

/* One after the other, so that each call is the same in every run; then all at once. */
static void threads(void)
{
	pthread_t ids[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++) {
		pthread_create(&ids[i], NULL, be_thread, (void *)i);
		pthread_join(ids[i], NULL);
	}
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&ids[i], NULL, be_thread, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
}

static void load_and_unload(void)
{
	for (int i = 0; i < 2; i++) {
		void *object = dlopen("libm.so.6", RTLD_NOW);
		double (*root)(double) = object ? (double (*)(double))dlsym(object, "sqrt") : NULL;

		sum += root ? (uint64_t)root(49) : 0;
		free(take(70));
		if (object)
			dlclose(object);
	}
}

static void child(void *inherited)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		free(inherited);
		many_stacks();
		churn();
		exit(CHILD_STATUS);
	}
	if (waitpid(pid, &status, 0) == pid)
		sum += (uint64_t)WEXITSTATUS(status);
}

/* Where libpmem.so's code lies; false: nowhere. */
static int find_library(unsigned long *low, unsigned long *high)
{
	char line[4096], rights[8];
	FILE *maps = fopen("/proc/self/maps", "r");
	int found = 0;

	while (maps && !found && fgets(line, sizeof(line), maps))
		found = strstr(line, "/libpmem.so") &&
			sscanf(line, "%lx-%lx %7s", low, high, rights) == 3 && rights[2] == 'x';
	if (maps)
		fclose(maps);
	return found;
}

#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define LOAD(field, more) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field) + (more))

/* Calls from [low, high) must be one of the numbers.  The upper halves of both are the same, but once in 40,000 runs. */
static int filter(unsigned action, char **numbers, unsigned long low, unsigned long high)
{
	struct sock_filter code[256] = {
		LOAD(instruction_pointer, 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(low >> 32), 1, 0),
		ALLOW,
		LOAD(instruction_pointer, 0),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)low, 1, 0),
		ALLOW,
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)high, 0, 1),
		ALLOW,
		LOAD(nr, 0),
	};
	struct sock_fprog program = {.len = 9, .filter = code};

	for (; *numbers && program.len < 250; numbers++) {
		code[program.len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
								   (uint32_t)atoi(*numbers), 0, 1);
		code[program.len++] = (struct sock_filter)ALLOW;
	}
	code[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static void enter_sandbox(char **arguments)
{
	int kills = strcmp(arguments[0], "kill") == 0;
	unsigned long low, high;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		_exit(98);
	if (strcmp(arguments[0], "sandbox") != 0 && find_library(&low, &high) &&
	    filter(kills ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM, arguments + 1, low,
		   high) != 0)
		_exit(98);
}

int main(int argc, char **argv)
{
	void *inherited = take(5000);

	many_stacks();
	if (argc > 1)
		enter_sandbox(argv + 1);
	deep(DEEP);
	threads();
	load_and_unload();
	churn();
	child(inherited);
	look(inherited, 5000);
	printf("sum %lu\n", (unsigned long)sum);
	free(inherited);
	return 3;
}
