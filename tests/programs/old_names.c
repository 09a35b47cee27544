/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * old_names.c - frees as a program from before glibc 2.26 does: cfree() is still there for such ones.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

extern void old_cfree(void *block);
__asm__(".symver old_cfree, cfree@GLIBC_2.2.5");

static __attribute__((noinline)) void *make(size_t size)
{
	void *block = malloc(size);

	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

int main(void)
{
	errno = 33;
	for (size_t i = 0; i < 1000; i++)
		old_cfree(i % 10 ? make(i) : NULL);
	make(77);
	printf("errno %d\n", errno);
	return 0;
}
