/* SPDX-License-Identifier: BSD-2-Clause */
/* images.c - replaces itself by exec N times; image k keeps k * 1000 bytes and churns enough for snapshots. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *volatile kept;

__attribute__((noinline, noclone)) static char *image_keep(size_t size)
{
	return malloc(size);
}

int main(int argc, char **argv)
{
	int left = argc > 1 ? atoi(argv[1]) : 0, number = argc > 2 ? atoi(argv[2]) : 1;
	char a[16], b[16];
	char *next[] = {argv[0], a, b, NULL};

	kept = image_keep(number * 1000);
	for (int i = 0; i < 100; i++) {
		char *volatile block = malloc(100000);

		memset(block, i, 100000);
		free(block);
	}
	snprintf(a, sizeof(a), "%d", left - 1);
	snprintf(b, sizeof(b), "%d", number + 1);
	if (left > 0)
		execv("/proc/self/exe", next);
	printf("%d\n", number);
	return left > 0;
}
