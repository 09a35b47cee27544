/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * headless.c - a process whose main thread has ended, while another one goes on.
 *
 * Prints "ready" when that is so; ends at a line of input, with 3.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOST_SIZE = 4321 };

static bool main_has_ended(void)
{
	char line[512] = "";
	FILE *file = fopen("/proc/self/stat", "r");

	(void)!fgets(line, sizeof(line), file);
	fclose(file);
	return strstr(line, ") Z ") != NULL;
}

static void *go_on(void *unused)
{
	char line[16];

	(void)unused;
	while (!main_has_ended())
		;
	puts("ready");
	fflush(stdout);
	(void)!fgets(line, sizeof(line), stdin);
	exit(3);
}

int main(void)
{
	char *volatile lost = malloc(LOST_SIZE);
	pthread_t thread;

	lost[0] = 1;
	lost = NULL;
	pthread_create(&thread, NULL, go_on, NULL);
	pthread_exit(NULL);
}
