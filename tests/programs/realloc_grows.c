/* SPDX-License-Identifier: BSD-2-Clause */
/* realloc_grows.c - one buffer that only ever grows, by realloc(): 300 times by 20,000 bytes, 2 ms apart. */
#include <stdlib.h>
#include <unistd.h>

enum { STEPS = 300, STEP = 20000, PAUSE_US = 2000 };

int main(void)
{
	static char *buffer;
	size_t i;

	for (i = 1; i <= STEPS; i++) {
		buffer = realloc(buffer, i * STEP);
		if (!buffer)
			abort();
		usleep(PAUSE_US);
	}
	return 0;
}
