/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * errand.c - see errand.h.
 *
 * Its memory is in the page that the kernel wipes in a forked child: the thread that may be on its way home is in the parent.
 */
#include "libpmem/errand.h"

#include <stddef.h>
#include <stdint.h>

#include "arch/errand.h"
#include "libpmem/process.h"

_Static_assert(offsetof(union process_page, errand.memory) == 2048 &&
		       sizeof(union process_page) == 4096,
	       "as in the next line");
__asm__(ARCH_ERRAND_CODE("process_page + 2048"));

void errand_describe(struct format_errand *errand)
{
	*errand = (struct format_errand){
		.fork = (uintptr_t)arch_errand_fork,
		.call = (uintptr_t)arch_errand_call,
		.home = (uintptr_t)arch_errand_home,
		.end = (uintptr_t)arch_errand_end,
		.memory = (uintptr_t)&process_page.errand.memory,
	};
}
