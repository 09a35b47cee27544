/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * signals.c - says which signals are blocked and ignored, and which descriptors are open; or waits for signals.
 *
 *   signals show      one line each
 *   signals wait      "ready", then the name of each signal that arrives; SIGTERM ends it with code 9
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void show_line(const char *name)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, name, strlen(name)) == 0)
			fputs(line, stdout);
	fclose(file);
}

static void show_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int fd;

	while ((entry = readdir(dir)) != NULL) {
		fd = atoi(entry->d_name);
		if (entry->d_name[0] != '.' && fd != dirfd(dir) && fd < 100)
			printf("fd %d\n", fd);
	}
	closedir(dir);
}

static int wait_for_signals(void)
{
	sigset_t set;
	int number;

	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	puts("ready");
	fflush(stdout);
	while (sigwait(&set, &number) == 0) {
		printf("%d\n", number);
		fflush(stdout);
		if (number == SIGTERM)
			return 9;
	}
	return 1;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "wait") == 0)
		return wait_for_signals();
	show_line("SigBlk:");
	show_line("SigIgn:");
	show_descriptors();
	return 0;
}
