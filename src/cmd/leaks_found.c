/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * leaks_found.c - `pmem leaks`: from a process that does not move to what is printed of it.
 */
#include <stdio.h>
#include <string.h>

#include "base/new_file.h"
#include "base/output.h"
#include "cmd/leaks_parts.h"
#include "leaks/page.h"
#include "profile/find.h"

enum { FILE_WIDTH = 100, FILE_MODE = 0666 };

bool leaks_found_search(struct leaks_request *request, struct leaks_source *source,
			struct leaks_found *found, struct error *err)
{
	if (!find_and_open(found->name, &found->profile, err))
		return false;
	found->names = names_new_with(found->profile, &request->symbols.symbols);
	if (!found->names)
		return error_set(err, "%s: no memory for names", found->profile->path);
	source->profile = found->profile;
	source->names = found->names;
	source->suppress = &request->suppress;
	if (!leaks_find(source, &found->leaks, err))
		return false;
	leaks_apply(&found->leaks, found->profile);
	return true;
}

void leaks_found_free(struct leaks_found *found)
{
	leaks_free(&found->leaks);
	if (found->names)
		names_free(found->names);
	if (found->profile)
		profile_close(found->profile);
	*found = (struct leaks_found){0};
}

static bool print(const struct leaks_request *request, struct leaks_found *found,
		  const struct output *out, struct error *err)
{
	struct report report = {.profile = found->profile,
				.names = found->names,
				.options = &request->report,
				.out = out};
	const struct leaks_page page = {.report = &report,
					.leaks = &found->leaks,
					.suppress = &request->suppress,
					.paused_ns = found->paused_ns,
					.expected_ns = found->expected_ns};
	bool ok = report_open(&report, err) &&
		  (request->json ? leaks_json_print(&page, err) : leaks_page_print(&page, err));

	report_close(&report);
	return ok;
}

static bool print_to_file(const struct leaks_request *request, struct leaks_found *found,
			  struct error *err)
{
	struct output out = {.width = FILE_WIDTH};
	struct new_file new;

	if (!new_file_open(&new, request->output, FILE_MODE, err))
		return false;
	out.file = new.file;
	if (print(request, found, &out, err))
		return new_file_keep(&new, err);
	new_file_drop(&new);
	return false;
}

bool leaks_found_show(const struct leaks_request *request, struct leaks_found *found,
		      struct error *err)
{
	struct output out = {.file = stdout, .width = 80};
	bool ok;

	if (request->output)
		return print_to_file(request, found, err);
	if (request->json)
		return print(request, found, &out, err) && output_finish(out.file, err);
	output_begin(&out);
	ok = print(request, found, &out, err);
	if (out.file == stdout && ok)
		ok = output_finish(out.file, err);
	output_end(&out);
	return ok;
}

int leaks_found_code(const struct leaks_request *request, const struct leaks_found *found)
{
	return leaks_blocks(&found->leaks.totals) ? request->error_code : 0;
}
