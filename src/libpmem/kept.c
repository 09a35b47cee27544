/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kept.c - a descriptor that we keep in a process whose program may close it or reuse its number.
 */
#include "libpmem/kept.h"

#include "libpmem/sys.h"

int kept_watch(struct kept *kept, int fd)
{
	struct stat st;
	int error = sys_fstat(fd, &st);

	if (error < 0)
		return error;
	*kept = (struct kept){.fd = fd, .known = true, .dev = st.st_dev, .ino = st.st_ino};
	return 0;
}

int kept_take(struct kept *kept, int fd)
{
	int error;

	if (fd < 0)
		return fd;
	fd = sys_move_up(fd);
	if (fd < 0)
		return fd;
	error = kept_watch(kept, fd);
	if (error < 0)
		sys_close(fd);
	return error;
}

int kept_retake(struct kept *kept, int fd)
{
	struct kept again = KEPT_NONE;
	int error = kept_take(&again, fd);

	if (error < 0)
		return error;
	if (!kept->known || again.dev != kept->dev || again.ino != kept->ino) {
		kept_close(&again);
		return -ESTALE;
	}
	*kept = again;
	return 0;
}

int kept_fd(const struct kept *kept)
{
	struct stat st;

	if (kept->fd < 0 || sys_sandboxed())
		return kept->fd;
	if (sys_fstat(kept->fd, &st) < 0)
		return -1;
	return st.st_dev == kept->dev && st.st_ino == kept->ino ? kept->fd : -1;
}

void kept_close(struct kept *kept)
{
	int fd = kept_fd(kept);

	if (fd >= 0 && !sys_sandboxed())
		sys_close(fd);
	*kept = KEPT_NONE;
}
