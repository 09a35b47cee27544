/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_screen.h - what views print for the profile of report_fixture.h.
 */
#ifndef PMEM_TESTS_REPORT_SCREEN_H
#define PMEM_TESTS_REPORT_SCREEN_H
#include "report_fixture.h"

#include "base/output.h"
#include "report/report.h"

/* What a view prints for the model, to be freed; NULL: it failed, and error has the message. */
static inline char *print(struct model *model, const struct report_options *options,
			  struct error *error)
{
	char *text = NULL;
	size_t size;
	struct output out = {.file = open_memstream(&text, &size), .width = 80};
	struct report report = {.profile = &model->profile,
				.names = names_new(&model->profile),
				.options = options,
				.out = &out};
	bool ok;

	error->text[0] = '\0';
	assert_non_null(out.file);
	ok = report_open(&report, error) && report_view_find(options->view)->print(&report, error);
	report_close(&report);
	fclose(out.file);
	if (ok)
		return text;
	free(text);
	return NULL;
}

static inline char *print_or_fail(struct model *model, const struct report_options *options)
{
	struct error err;
	char *text = print(model, options, &err);

	if (!text)
		fail_msg("%s", err.text);
	return text;
}

static inline void assert_screen(struct model *model, const struct report_options *options,
				 const char *wanted)
{
	char *text = print_or_fail(model, options);

	assert_string_equal(text, wanted);
	free(text);
}

static inline void assert_lacks(struct model *model, const struct report_options *options,
				const char *unwanted)
{
	char *text = print_or_fail(model, options);

	assert_null(strstr(text, unwanted));
	free(text);
}

static inline void assert_has(struct model *model, const struct report_options *options,
			      const char *wanted)
{
	char *text = print_or_fail(model, options);

	if (!strstr(text, wanted))
		fail_msg("no \"%s\" in:\n%s", wanted, text);
	free(text);
}

/* No line wider than 80 columns, not more than lines lines. */
static inline void assert_fits(struct model *model, const struct report_options *options,
			       unsigned lines)
{
	char *text = print_or_fail(model, options), *line, *rest = text;
	unsigned count = 0;

	while ((line = strsep(&rest, "\n")) && rest) {
		if (output_columns(line) > 80)
			fail_msg("%u columns: %s", output_columns(line), line);
		count++;
	}
	if (count > lines)
		fail_msg("%u lines:\n%s", count, options->view);
	free(text);
}

static inline void end_process(struct model *model)
{
	model->profile.is_live = false;
	atomic_init(&model->profile.header.state, FORMAT_STATE_ENDED);
}

static inline void damage(struct model *model)
{
	strcpy(model->profile.damage, "block 7: index past the end");
	model->profile.damage_count = 3;
	model->profile.damage_unlisted = 2;
	atomic_init(&model->profile.header.losses[FORMAT_LOSS_EVENTS], 12);
}

#endif
