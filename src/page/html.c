/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * html.c - a profile, or two compared, as one HTML file.
 */
#include "page/html.h"

#include <stdlib.h>
#include <string.h>

#include "core/version.h"
#include "page/answer.h"
#include "page/heavy_frames.h"
#include "page/source_lines.h"
#include "page/template.h"

enum { SCHEMA = 1 }; /* of the block of data; the script checks it */

/* What the answer needs: verdicts, and lines for all sites that it may name. */
static bool prepare_answer(const struct html_page *page, struct error *err)
{
	for (unsigned i = 0; i < page->side_count; i++) {
		if (!report_find_verdicts(page->sides[i].report, err))
			return false;
		sites_refine(page->sides[i].report->sites, (1u << SITES_KEYS) - 1);
	}
	return true;
}

/* The sides and what they map: their number. */
static unsigned all_sides(const struct html_page *page, struct side sides[2 * HTML_SIDES])
{
	unsigned count = 0;

	for (unsigned i = 0; i < page->side_count; i++) {
		sides[count++] = page->sides[i];
		if (page->sides[i].mapped)
			sides[count++] = *page->sides[i].mapped;
	}
	return count;
}

/* Of the frames that matter most. */
static bool add_source(const struct html_page *page, const struct call_tree *tree,
		       struct columns *columns)
{
	const struct profile *profiles[HTML_SIDES];
	struct side sides[2 * HTML_SIDES];
	uint32_t count = 0, *frames = heavy_frames(tree, sides, all_sides(page, sides), &count);
	struct source_lines_place *places = calloc((size_t)count + 1, sizeof(*places));
	bool ok = frames && places;

	for (unsigned i = 0; i < page->side_count; i++)
		profiles[i] = page->sides[i].report->profile;
	for (uint32_t i = 0; ok && i < count; i++) {
		const struct call_tree_frame *frame = &tree->frames[frames[i]];

		places[i] = (struct source_lines_place){tree->texts.items[frame->file], frame->file,
							frame->line};
	}
	ok = ok && source_lines_columns(&(struct source_lines_from){profiles, page->side_count},
					places, page->no_source ? 0 : count, columns);
	free(frames);
	free(places);
	return ok;
}

static bool add_side(struct call_tree *tree, struct side *side, struct error *err)
{
	const struct report *report = side->report;

	return call_tree_add(tree, report->profile, report->names, &side->stacks, err);
}

static bool make_columns(struct html_page *page, struct columns *columns, struct error *err)
{
	struct call_tree tree;
	bool ok = call_tree_begin(&tree, err);
	unsigned i;

	for (i = 0; ok && i < page->side_count; i++)
		ok = add_side(&tree, &page->sides[i], err) &&
		     (!page->sides[i].mapped || add_side(&tree, page->sides[i].mapped, err));
	ok = ok && call_tree_finish(&tree, columns, err);
	for (i = 0; ok && i < page->side_count; i++)
		ok = side_columns(&page->sides[i], i, &tree, columns) ||
		     error_set(err, "no memory for the figures");
	if (ok && !add_source(page, &tree, columns))
		ok = error_set(err, "no memory for source lines");
	call_tree_free(&tree);
	return ok;
}

static void put_head(const struct html_page *page, const struct columns *columns, FILE *file)
{
	struct json json;

	json_begin(&json, file);
	json_object(&json);
	json_key_uint(&json, "schema", SCHEMA);
	json_key_string(&json, "key", sites_key_name(report_main_key(page->sides[0].report)));
	json_key_bool(&json, "one",
		      page->side_count > 1 &&
			      page->sides[0].report->profile == page->sides[1].report->profile);
	json_key(&json, "sides");
	json_array(&json);
	for (unsigned i = 0; i < page->side_count; i++)
		side_json(&page->sides[i], &json);
	json_end(&json);
	json_key(&json, "columns");
	columns_list(columns, &json);
	json_end(&json);
}

/* Head and columns, packed. */
static bool put_data(const struct html_page *page, const struct columns *columns, FILE *file,
		     struct error *err)
{
	struct pack *pack = malloc(sizeof(*pack));
	char *head = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&head, &size);
	bool ok = false;

	if (memory) {
		put_head(page, columns, memory);
		ok = fclose(memory) == 0;
	}
	if (ok && pack && pack_begin(pack, file, err)) {
		columns_write(columns, head, size, pack);
		pack_end(pack);
	} else {
		ok = error_set(err, "no memory for the page");
	}
	free(head);
	free(pack);
	return ok;
}

/* "before: server (pid 11), ...; after: ..." */
static void put_title(const struct html_page *page, FILE *file)
{
	for (unsigned i = 0; i < page->side_count; i++) {
		const struct side *side = &page->sides[i];

		fputs(i ? "; " : "", file);
		if (page->diff) {
			answer_escaped(file, side->label);
			fputs(": ", file);
		}
		answer_title(side->report, file);
	}
}

static void put_answer(const struct html_page *page, FILE *file)
{
	if (page->diff)
		answer_compared(page->diff, file);
	else
		answer_write(page->sides[0].report, file);
}

static void put_facts(const struct html_page *page, FILE *file)
{
	for (unsigned i = 0; i < page->side_count; i++) {
		const struct side *side = &page->sides[i];

		if (page->diff) {
			fputs("<h3>", file);
			answer_escaped(file, side->label);
			fputs("</h3>\n", file);
		}
		answer_facts(side->report, side->facts, file);
	}
}

/* What the page may do beyond showing itself. */
static void put_live_slot(const struct html_page *page, const char *slot, FILE *file)
{
	if (strcmp(slot, "live") == 0 && page->live)
		page->live->write(page->live, file);
	else if (strcmp(slot, "connect") == 0 && page->live)
		fputs("; connect-src 'self'", file);
	else if (strcmp(slot, "network") == 0)
		fputs(page->live ? "It asks the pmem that serves it, and nobody else."
				 : "This page needs no network, and sends nothing.",
		      file);
}

static bool put_slot(const struct html_page *page, const char *slot, const struct columns *columns,
		     FILE *file, struct error *err)
{
	if (strcmp(slot, "title") == 0)
		put_title(page, file);
	else if (strcmp(slot, "answer") == 0)
		put_answer(page, file);
	else if (strcmp(slot, "facts") == 0)
		put_facts(page, file);
	else if (strcmp(slot, "version") == 0)
		fputs(PMEM_VERSION, file);
	else if (strcmp(slot, "data") == 0)
		return put_data(page, columns, file, err);
	else
		put_live_slot(page, slot, file);
	return true;
}

static bool write_template(struct html_page *page, const struct template_set *template, FILE *file,
			   struct error *err)
{
	struct columns columns = {0};
	bool ok = make_columns(page, &columns, err);

	ok = ok && prepare_answer(page, err);
	for (size_t i = 0; ok && i < template->count; i++) {
		const struct template_piece *piece = &template->pieces[i];

		fwrite(piece->text, 1, piece->size, file);
		ok = put_slot(page, piece->slot, &columns, file, err);
	}
	for (unsigned i = 0; i < page->side_count; i++) {
		call_tree_stacks_free(&page->sides[i].stacks);
		if (page->sides[i].mapped)
			call_tree_stacks_free(&page->sides[i].mapped->stacks);
	}
	columns_free(&columns);
	return ok;
}

bool html_write(struct html_page *page, FILE *file, struct error *err)
{
	return write_template(page, &template_page, file, err);
}

bool html_write_fragment(struct html_page *page, FILE *file, struct error *err)
{
	return write_template(page, &template_fragment, file, err);
}
