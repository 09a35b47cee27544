/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kept.h - a descriptor that we keep in a process whose program may close it or reuse its number.
 *
 * Before each use the number is compared with what was opened (device and inode), and it is never
 * closed when it is something else by now.  Between the comparison and the use the program may
 * still replace it: nothing in Linux closes that gap.  In a sandbox (sys_sandboxed()) it is not
 * compared, only used.
 */
#ifndef PMEM_LIBPMEM_KEPT_H
#define PMEM_LIBPMEM_KEPT_H
#include <stdbool.h>
#include <sys/types.h>

struct kept {
	int fd;	    /* -1 = none */
	bool known; /* dev and ino say what it is, or was before it was lost */
	dev_t dev;
	ino_t ino;
};

#define KEPT_NONE ((struct kept){.fd = -1})
#define KEPT_NONE_INIT   \
	{                \
		.fd = -1 \
	} /* for static objects */

/* Remembers what fd is, which stays the program's.  Returns 0, or -errno with *kept as it was. */
int kept_watch(struct kept *kept, int fd);

/* Keeps fd, out of the program's way (sys_move_up()).  Returns 0, or -errno with fd closed and
 * *kept as it was.  A negative fd is such a -errno. */
int kept_take(struct kept *kept, int fd);

/* As above, but only if fd is what *kept was before it was lost; else -ESTALE. */
int kept_retake(struct kept *kept, int fd);

/* The number if it still is what was kept; else -1. */
int kept_fd(const struct kept *kept);

/* Closes it if it still is what was kept.  *kept becomes KEPT_NONE. */
void kept_close(struct kept *kept);

#endif
