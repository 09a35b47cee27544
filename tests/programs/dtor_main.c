/* SPDX-License-Identifier: BSD-2-Clause */
/* dtor_main.c - uses dtor_lib; frees in an exit handler of its own; argument: return, exit, _exit, quick_exit. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int dtor_lib_touch(void);

static void *late;

__attribute__((noinline, noclone)) static void *main_take(void)
{
	return malloc(77);
}

static void at_end(void)
{
	free(late);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "return";

	late = main_take();
	atexit(at_end);
	at_quick_exit(at_end);
	if (!strcmp(how, "exit"))
		exit(5);
	if (!strcmp(how, "_exit"))
		_exit(5);
	if (!strcmp(how, "quick_exit"))
		quick_exit(5);
	return dtor_lib_touch() ? 5 : 1;
}
