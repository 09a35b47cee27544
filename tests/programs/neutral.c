/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * neutral.c - a library to preload that does nothing, but has thread-local data as the recorder has: with one module more, libc's own
 * table for each thread is one entry larger, and the heap differs by that.
 */
char *neutral(void);

static __thread char data[16] __attribute__((tls_model("initial-exec")));

char *neutral(void)
{
	return data;
}
