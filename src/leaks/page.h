/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * page.h - what was lost, for a person and for programs.
 */
#ifndef PMEM_LEAKS_PAGE_H
#define PMEM_LEAKS_PAGE_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "leaks/leaks.h"
#include "leaks/suppress.h"
#include "report/report.h"

struct leaks_page {
	struct report *report; /* of a profile that leaks_apply() was called for */
	const struct leaks *leaks;
	const struct suppress *suppress;
	uint64_t paused_ns;   /* that the process was stopped; 0 = it was not: it had ended */
	uint64_t expected_ns; /* that was announced */
};

bool leaks_page_print(const struct leaks_page *page, struct error *err);

/* doc/JSON.md has the description. */
bool leaks_json_print(const struct leaks_page *page, struct error *err);

#endif
