/* SPDX-License-Identifier: BSD-2-Clause */
/* descriptors.c - prints the number of its first open file, and which descriptors a child image inherits. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	char *arguments[] = {"ls", "/proc/self/fd", NULL}, *environment[] = {NULL};
	void *volatile block = malloc(3 << 20);
	int status = 0, fd;

	memset(block, 1, 3 << 20);
	free(block); /* enough for a snapshot: the log is open now */
	fd = open("/dev/null", O_RDONLY);
	printf("first %d second %d\n", fd, dup(fd));
	fflush(stdout);
	close(fd + 1);
	close(fd);
	if (!fork()) {
		execve("/bin/ls", arguments, environment);
		_exit(9);
	}
	wait(&status);
	return status != 0;
}
