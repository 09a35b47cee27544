/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * turn.c - see turn.h.
 */
#include "leaks/turn.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 500, PAUSE_NS = 10000000 };

bool turn_begin(const char *profile, int *turn, struct error *err)
{
	const struct timespec pause = {0, PAUSE_NS};
	int fd = open(profile, O_RDONLY | O_CLOEXEC);

	*turn = fd;
	if (fd < 0)
		return true;
	for (int i = 0; i < TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
			return true;
		nanosleep(&pause, NULL);
	}
	close(fd);
	return error_set(err, "%s: another pmem leaks has stopped this process: try again", profile);
}

void turn_end(int turn)
{
	if (turn >= 0)
		close(turn);
}
