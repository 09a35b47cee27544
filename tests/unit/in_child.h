/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * in_child.h - for tests that change their process for good: limits, identity, mounts, descriptors.
 *
 * Such a test is a function that returns 0, the line of the CHECK that failed, or SKIP; in_child() runs it in a forked
 * child.
 */
#ifndef PMEM_TESTS_UNIT_IN_CHILD_H
#define PMEM_TESTS_UNIT_IN_CHILD_H
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SKIP = -1, SKIP_CODE = 77 };

#define CHECK(x)                         \
	do {                             \
		if (!(x))                \
			return __LINE__; \
	} while (0)

/* Fails the running test, with the line, if the function does. */
static inline void in_child(int (*test)(void))
{
	int status = 0, line;
	pid_t child = fork();

	if (child == 0) {
		line = test();
		if (line > 0)
			dprintf(STDERR_FILENO, "# failed check in line %d\n", line);
		_exit(line == SKIP ? SKIP_CODE : line != 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIP_CODE)
		skip();
	assert_true(WIFEXITED(status)); /* else by a signal: SIGXFSZ, SIGBUS */
	assert_int_equal(WEXITSTATUS(status), 0);
}

#endif
