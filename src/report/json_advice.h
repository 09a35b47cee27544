/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json_advice.h - pieces of advice as a member of a JSON object.
 */
#ifndef PMEM_REPORT_JSON_ADVICE_H
#define PMEM_REPORT_JSON_ADVICE_H
#include "base/json.h"
#include "profile/pinned.h"
#include "report/report.h"

/* "advice"; pinned may be NULL.  False: no memory. */
bool json_advice(struct json *json, const struct report *report, const struct pinned *pinned,
		 struct error *err);

#endif
