/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * side_verdicts.c - see side_verdicts.h.
 */
#include "page/side_verdicts.h"

#include <stdlib.h>

#include "report/json_parts.h"
#include "report/verdict_words.h"

static void put_sentence(const struct profile *profile, const struct verdict *verdict,
			 struct json *json)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	if (file) {
		verdict_words_sentence(profile, verdict, file);
		fclose(file);
	}
	json_key_string(json, "said", text ? text : "");
	free(text);
}

void side_verdicts_json(const struct report *report, const uint32_t *frames, struct json *json)
{
	json_parts_verdicts(json, report);
	json_key(json, "verdict_sites");
	json_array(json);
	for (uint32_t i = 0; i < report->verdicts->count; i++) {
		const struct verdict *verdict = &report->verdicts->items[i];

		json_object(json);
		json_key(json, "frame");
		if (verdict->place == SITES_NONE)
			json_null(json);
		else
			json_uint(json, frames[verdict->stack]);
		put_sentence(report->profile, verdict, json);
		json_end(json);
	}
	json_end(json);
}
