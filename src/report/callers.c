/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * callers.c - from the largest sites outwards: who called them, with the share that each caller has.
 */
#include <stdlib.h>

#include "report/branches.h"
#include "report/head.h"
#include "report/name.h"
#include "report/page.h"
#include "report/report.h"
#include "report/source.h"

enum { SITES = 5, LINES = 12 };

/* The next function outwards of what is inlined at the twig's location, then of its callers; false: there is none. */
static bool step_out(const struct branches *branches, struct branches_twig *twig)
{
	const struct profile_node *nodes = branches->report->profile->nodes;
	uint32_t from = twig->place, function = twig->function + 1;

	for (; twig->node != 0; twig->node = nodes[twig->node].parent) {
		uint32_t count = branches_functions(branches, twig->node);

		for (; function < count; function++)
			if (branches_step(branches, from, function, twig))
				return true;
		function = 0;
	}
	return false;
}

/* One step outwards for each twig; frames that are hidden, or of the same function, are passed. */
static void expand(struct branches *branches, const struct branches_set *from,
		   struct branches_set *further)
{
	size_t i;

	for (i = 0; i < from->count; i++) {
		struct branches_twig twig = from->items[i];

		if (step_out(branches, &twig))
			branches_add(further, &twig);
	}
}

/* The call stacks of a site, each at the node of the site. */
static bool collect(const struct report *report, const struct site *site, struct branches_set *set)
{
	uint32_t count, *stacks = sites_stacks(report->sites, site, report->key, &count), i;

	if (!stacks)
		return false;
	for (i = 0; i < count; i++) {
		const struct profile_stack *stack = &report->profile->stacks[stacks[i]];
		struct branches_twig twig = {.place = site->place,
					     .node = names_site(report->names, stack)};
		struct sites_counts counts;

		twig.function = (uint32_t)names_shown(report->names,
						      report->profile->nodes[twig.node].location);
		sites_stack(report->sites, stacks[i], &counts);
		twig.value = sites_value(&counts, report->key);
		branches_add(set, &twig);
	}
	free(stacks);
	return !set->failed;
}

static void print_site(const struct report *report, const struct site *site)
{
	int64_t value = sites_value(&site->counts, report->key);
	int64_t total = sites_value(&report->sites->totals, report->key);
	struct name name = name_of_site(report, site);
	char text[UNITS_SIZE], share[UNITS_SIZE], error[UNITS_SIZE];
	const struct output *out = report->out;
	struct page_text heading;

	fprintf(out->file, "\n%s", output_style(out, OUTPUT_BOLD));
	page_text_begin(&heading, out);
	report_error(report, report->key, value, error);
	fprintf(heading.file, "%s%s%s, %s of %s: ", report_value(report, report->key, value, text),
		error[0] ? " +-" : "", error, units_share((uint64_t)value, (uint64_t)total, share),
		report_key_words(report->key));
	name_in_text(report, &name, heading.file);
	page_text_end(&heading, out, 0);
	fputs(output_style(out, OUTPUT_PLAIN), out->file);
	source_print(report, site);
}

static bool print_callers(struct report *report, const struct site *site, struct error *err)
{
	struct branches branches = {
		.report = report,
		.total = sites_value(&site->counts, report->key),
		.lines = LINES,
		.expand = expand,
	};
	struct branches_set set = {0};
	bool ok = collect(report, site, &set);

	if (!ok)
		error_set(err, "no memory for the call stacks of a site");
	else
		ok = branches_print(&branches, &set, err);
	if (branches.cut)
		fprintf(report->out->file, "        ... %u more caller%s\n", branches.cut,
			branches.cut == 1 ? "" : "s");
	free(set.items);
	return ok;
}

bool view_callers(struct report *report, struct error *err)
{
	unsigned top = report->options->top ? report->options->top : SITES;
	uint32_t i;

	head_print(report);
	head_print_selection(report);
	fprintf(report->out->file,
		"  The largest sites by %s, and who called them: share of the site.\n",
		report_key_words(report->key));
	for (i = 0; i < report->sites->count && i < top; i++) {
		const struct site *site = &report->sites->items[i];

		if (sites_value(&site->counts, report->key) <= 0)
			break;
		print_site(report, site);
		if (!print_callers(report, site, err))
			return false;
	}
	return true;
}
