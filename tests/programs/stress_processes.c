/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress_processes.c - children of stress.c, made in several ways, and a library that comes and goes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stress.h"

#define SITE __attribute__((noinline, noclone))

enum { CHILD_SECONDS = 60, INHERITED = 40, UNLOAD_EVERY = 3 };

extern char **environ;

/* --- children --------------------------------------------------------------------------------- */

static void *volatile sink;

SITE static void child_keeps(void)
{
	sink = malloc(1000);
}

SITE static void *child_frees(size_t size)
{
	return malloc(size);
}

SITE static void *child_grows(void *block)
{
	return realloc(block, 500);
}

/* A deadlock ends it by SIGALRM. */
void stress_be_child(void)
{
	size_t i;

	alarm(CHILD_SECONDS);
	for (i = 1; i <= 100; i++)
		free(child_frees(i));
	for (i = 0; i < 10; i++)
		child_keeps();
	free(child_grows(stress_swap(NULL, 0)));
	for (i = 1; i <= INHERITED; i++)
		free(stress_swap(NULL, (unsigned)i));
}

static pid_t fork_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		stress_be_child();
		_exit(0);
	}
	return pid;
}

static pid_t vfork_child(const char *program)
{
	char *const arguments[] = {"stress", "child", NULL};
	pid_t pid = vfork();

	if (pid == 0) {
		execv(program, arguments);
		_exit(127);
	}
	return pid;
}

/* Its child must not do anything to us. */
static pid_t vfork_in_vain(void)
{
	char *const arguments[] = {"none", NULL};
	pid_t pid = vfork();

	if (pid == 0) {
		execv("/nonexistent/none", arguments);
		_exit(0);
	}
	return pid;
}

static pid_t spawn_child(const char *program)
{
	char *const arguments[] = {"stress", "child", NULL};
	pid_t pid = -1;

	return posix_spawn(&pid, program, NULL, NULL, arguments, environ) == 0 ? pid : -1;
}

static void wait_for(pid_t pid)
{
	int status;
	pid_t ended;

	if (pid < 0)
		stress_fail("no child");
	while ((ended = waitpid(pid, &status, 0)) < 0 && errno == EINTR)
		;
	if (ended != pid || status != 0)
		stress_fail("a child did not end well");
}

void *stress_children(void *arg)
{
	struct children *children = arg;
	struct timespec pause = {.tv_nsec = 999999999 / children->per_second};
	unsigned i;

	for (i = 0; !stress_is_over(); i++) {
		switch (i % 4) {
		case 0:
		case 1:
			wait_for(fork_child());
			children->forked++;
			break;
		case 2:
			wait_for(vfork_child(children->program));
			children->others++;
			break;
		default:
			wait_for(vfork_in_vain());
			wait_for(spawn_child(children->program));
			children->others++;
		}
		nanosleep(&pause, NULL);
	}
	return NULL;
}

/* --- a library that comes and goes ------------------------------------------------------------ */

/* Its blocks live on after it. */
static void use_plugin(void *library, unsigned *seed)
{
	void *(*alloc)(size_t) = (void *(*)(size_t))dlsym(library, "plugin_alloc");
	void *block;
	size_t size;
	int i;

	if (!alloc)
		stress_fail("dlsym");
	for (i = 0; i < 20; i++) {
		size = SIZE_MIN + stress_random(seed) % 200;
		block = stress_adopt(AT_PLUGIN, alloc(size), size);
		stress_free(stress_swap(block, stress_random(seed)));
	}
}

void *stress_plugins(void *path)
{
	unsigned seed = 11;

	while (!stress_is_over()) {
		void *library = dlopen(path, RTLD_NOW), *again;

		if (!library)
			stress_fail("dlopen");
		again = stress_random(&seed) % UNLOAD_EVERY ? NULL : dlopen(path, RTLD_LAZY);
		use_plugin(library, &seed);
		dlclose(library);
		if (again) {
			use_plugin(again, &seed);
			dlclose(again);
		}
	}
	return NULL;
}
