/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * render.c - see render.h.
 *
 * What is made is in memory, up to a limit.  A profile that cannot change any more is made once: its document is good until the file's
 * stamp is another.
 */
#include "serve/render.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bounded.h"
#include "base/json.h"
#include "export/export.h"
#include "serve/index.h"
#include "serve/links.h"
#include "serve/metrics.h"

#define BYTES_MAX ((size_t)256 << 20) /* of a document */
#define SECOND_NS UINT64_C(1000000000)

enum {
	OK = 200,
	CREATED = 201,
	FOUND = 302,
	BAD = 400,
	MISSING = 404,
	CONFLICT = 409,
	FAILED = 500
};

static struct rendered *failed(const struct error *err)
{
	return rendered_text(FAILED, "%s\n", err->text);
}

static struct rendered *missing(const char *id)
{
	return rendered_text(MISSING, id[0] ? "There is no such process or profile here.\n"
					    : "Nothing is served now.\n");
}

/* Something is written to a stream; NULL: no memory. */
static struct rendered *finish(struct bounded *bounded, bool ok, enum rendered_form form,
			       const struct error *err)
{
	struct rendered *rendered;

	if (!bounded_close(bounded))
		return rendered_text(FAILED, "too large, or no memory\n");
	if (!ok) {
		free(bounded->bytes);
		return failed(err);
	}
	rendered = rendered_new(OK, form, bounded->bytes, bounded->size);
	if (rendered)
		rendered_set_tag(rendered);
	return rendered;
}

/* --- pages ----------------------------------------------------------------------------------- */

/* The subjects of a page, one or two. */
struct sides {
	struct subject *subjects[HTML_SIDES];
	unsigned count;
	bool is_fragment; /* what a page that is open takes over, else a page */
};

static bool is_final(const struct sides *sides)
{
	for (unsigned i = 0; i < sides->count; i++)
		if (sides->subjects[i]->is_running)
			return false;
	return true;
}

static uint64_t stamp_of(const struct sides *sides)
{
	uint64_t stamp = 0;

	for (unsigned i = 0; i < sides->count; i++)
		stamp = stamp * 31 + subject_stamp(sides->subjects[i]);
	return stamp;
}

/* What a side of a comparison is called. */
static const char *label_of(const struct sides *sides, unsigned side)
{
	const struct subject *subject = sides->subjects[side];

	if (subject->is_moment)
		return subject->label;
	return subject->is_running && side == sides->count - 1 ? "now" : subject->id;
}

static bool open_sides(const struct render *render, const struct sides *sides,
		       struct opened *opened, struct error *err)
{
	const char *labels[HTML_SIDES];
	struct profile *profile;

	for (unsigned i = 0; i < sides->count; i++) {
		labels[i] = label_of(sides, i);
		if (!subject_open(sides->subjects[i], &profile, err) ||
		    !opened_add(opened, profile, &render->how, err))
			return false;
	}
	if (sides->count < HTML_SIDES)
		return true;
	/* Two moments of the same second. */
	if (strcmp(labels[0], labels[1]) == 0)
		for (unsigned i = 0; i < HTML_SIDES; i++)
			labels[i] = sides->subjects[i]->id;
	return opened_compare(opened, labels, err);
}

static bool write_page(const struct render *render, const struct sides *sides,
		       struct bounded *bounded, struct error *err)
{
	struct opened *opened = calloc(1, sizeof(*opened));
	const struct subject *last = sides->subjects[sides->count - 1];
	struct links_live live;
	bool ok = opened ? open_sides(render, sides, opened, err) : error_set(err, "no memory");

	if (ok) {
		live = links_live(render->subjects, last, sides->count > 1);
		opened->page.live = &live.live;
		ok = sides->is_fragment ? html_write_fragment(&opened->page, bounded->file, err)
					: html_write(&opened->page, bounded->file, err);
	}
	if (opened)
		opened_close(opened);
	free(opened);
	return ok;
}

static struct rendered *make_page(const struct render *render, const struct sides *sides,
				  struct rendered *before)
{
	uint64_t stamp = stamp_of(sides);
	struct rendered *rendered;
	struct bounded bounded;
	struct error err = {""};
	bool ok;

	/* The links to moments are on the page: it is made anew. */
	if (before && before->is_final && is_final(sides) && before->stamp == stamp &&
	    sides->is_fragment)
		return before;
	if (!bounded_open(&bounded, BYTES_MAX))
		return NULL;
	ok = write_page(render, sides, &bounded, &err);
	rendered = finish(&bounded, ok, sides->is_fragment ? RENDERED_FRAGMENT : RENDERED_HTML,
			  &err);
	if (rendered && rendered->status == OK) {
		rendered->is_final = is_final(sides);
		rendered->stamp = stamp;
	}
	return rendered;
}

static struct rendered *make_one(const struct render *render, const struct document *document)
{
	struct subject *subject = subjects_find(render->subjects, document->route.id);
	struct sides sides = {{subject}, 1, document->route.kind == ROUTE_DATA};

	return subject ? make_page(render, &sides, document->rendered) : missing(document->route.id);
}

static struct rendered *make_comparison(const struct render *render, const struct document *document)
{
	const struct route *route = &document->route;
	struct sides sides = {{subjects_find(render->subjects, route->id),
			       subjects_find(render->subjects, route->other)},
			      HTML_SIDES,
			      route->kind == ROUTE_COMPARE_DATA};

	if (!route->id[0] || !route->other[0])
		return rendered_text(BAD,
				     "Choose in the list what is before, and what is after.\n");
	if (!sides.subjects[0] || !sides.subjects[1])
		return missing(sides.subjects[0] ? route->other : route->id);
	return make_page(render, &sides, document->rendered);
}

/* --- list, redirections ---------------------------------------------------------------------- */

static struct rendered *make_list(const struct render *render)
{
	struct bounded bounded;

	if (!bounded_open(&bounded, BYTES_MAX))
		return NULL;
	index_write(render->subjects, bounded.file);
	return finish(&bounded, true, RENDERED_HTML, NULL);
}

/* To "p/ID/" behind up; id NULL: to "compare/". */
static struct rendered *redirect(const char *up, const char *id)
{
	struct rendered *rendered = rendered_text(FOUND, "%s", "");
	char *location = NULL;
	size_t size;
	FILE *file = open_memstream(&location, &size);

	if (file) {
		fputs(up, file);
		links_put_id(file, id ? id : "compare");
		fputc('/', file);
		fclose(file);
	}
	if (!rendered || !location) {
		rendered_release(rendered);
		free(location);
		return NULL;
	}
	rendered->location = location;
	return rendered;
}

static struct rendered *make_home(const struct render *render)
{
	struct subject *main = subjects_main(render->subjects);

	return main && subjects_is_single(render->subjects) ? redirect("p/", main->id)
							    : make_list(render);
}

/* --- for programs ---------------------------------------------------------------------------- */

static struct rendered *make_metrics(const struct render *render, const struct documents *documents)
{
	struct metrics_query query = {render->subjects, render->known, render->sites,
				      documents_made(documents)};
	struct error err = {""};
	struct bounded bounded;

	if (!bounded_open(&bounded, BYTES_MAX))
		return NULL;
	return finish(&bounded, metrics_write(&query, bounded.file, &err), RENDERED_METRICS, &err);
}

static struct subject *find_or_main(const struct render *render, const char *id)
{
	return id[0] ? subjects_find(render->subjects, id) : subjects_main(render->subjects);
}

static bool write_pprof(const struct render *render, const struct export_source *asked, FILE *file,
			struct error *err)
{
	struct export_source source = *asked;
	bool ok;

	source.names = known_take(render->known, source.profile);
	ok = source.names ? export_pprof(&source, file, err) : error_set(err, "no memory");
	known_give(render->known, source.names, source.profile);
	return ok;
}

/* "pmem.11.prof; pid=11", as it may stand in a header; to be freed; NULL: no memory. */
static char *header_of(const struct subject *subject)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return NULL;
	links_put_id(file, subject->id);
	if (subject->pid)
		fprintf(file, "; pid=%" PRIu32, subject->pid);
	return fclose(file) == 0 ? text : NULL;
}

/* base NULL: of the whole time, as the state that it led to.  To Parca a profile with a duration would be a difference. */
static struct rendered *make_pprof(const struct render *render, const struct route *route,
				   const struct profile *base)
{
	struct export_source source = {.value = route->kind == ROUTE_ALLOCS ? EXPORT_ALLOC
									    : EXPORT_LIVE,
				       .base = base,
				       .is_state = !base};
	struct subject *subject = find_or_main(render, route->id);
	struct error err = {""};
	struct rendered *rendered;
	struct profile *profile;
	struct bounded bounded;
	bool ok;

	if (!subject)
		return missing(route->id);
	if (!subject_open(subject, &profile, &err))
		return failed(&err);
	ok = bounded_open(&bounded, BYTES_MAX);
	if (ok) {
		source.profile = profile;
		ok = write_pprof(render, &source, bounded.file, &err);
	}
	profile_close(profile);
	rendered = bounded.file ? finish(&bounded, ok, RENDERED_GZIP, &err) : NULL;
	if (rendered)
		rendered->profile = header_of(subject);
	return rendered;
}

/* The profile at the beginning of the time that is asked for; its end will be of the same one.  NULL: *rendered says why not. */
static struct profile *open_base(const struct render *render, struct route *route,
				 struct rendered **rendered)
{
	struct subject *subject = find_or_main(render, route->id);
	struct profile *profile = NULL;
	struct error err;

	if (!subject)
		*rendered = missing(route->id);
	else if (!subject_open(subject, &profile, &err))
		*rendered = failed(&err);
	else
		snprintf(route->id, sizeof(route->id), "%s", subject->id);
	return profile;
}

/* --- changes --------------------------------------------------------------------------------- */

/* {"id": "moment-1", "label": "10:42:13", "compare": "../../compare/?..."} */
static struct rendered *describe(const struct subject *moment)
{
	struct rendered *rendered;
	char *text = NULL, *link = NULL;
	size_t size, link_size;
	FILE *file = open_memstream(&link, &link_size);
	struct json json;

	if (file) {
		links_put_compare(file, "../../", "&", moment->id, moment->of);
		fclose(file);
	}
	file = open_memstream(&text, &size);
	if (file) {
		json_begin(&json, file);
		json_object(&json);
		json_key_string(&json, "id", moment->id);
		json_key_string(&json, "label", moment->label);
		json_key_string(&json, "compare", link);
		json_end(&json);
		fclose(file);
	}
	free(link);
	rendered = rendered_new(CREATED, RENDERED_JSON, text, size);
	return rendered;
}

static struct rendered *remember(const struct render *render, const struct route *route)
{
	struct subject *subject = subjects_find(render->subjects, route->id), *moment;
	struct error err = {""};

	if (!subject)
		return missing(route->id);
	moment = subjects_remember(render->subjects, subject, render->how.symbols, &err);
	if (!moment)
		return rendered_text(CONFLICT, "%s\n", err.text);
	return describe(moment);
}

static struct rendered *forget(const struct render *render, const struct route *route)
{
	struct subject *subject = subjects_find(render->subjects, route->id);

	if (!subject)
		return missing(route->id);
	if (!subject->is_moment)
		return rendered_text(CONFLICT, "only moments can be forgotten\n");
	subjects_forget(render->subjects, subject);
	return rendered_text(OK, "forgotten\n");
}

/* --------------------------------------------------------------------------------------------- */

static struct rendered *make(const struct render *render, const struct documents *documents,
			     struct document *document)
{
	const struct route *route = &document->route;

	switch (route->kind) {
	case ROUTE_HOME:
		return make_home(render);
	case ROUTE_LIST:
		return make_list(render);
	case ROUTE_METRICS:
		return make_metrics(render, documents);
	case ROUTE_HEAP:
	case ROUTE_ALLOCS:
		return make_pprof(render, route, document->kept);
	case ROUTE_PAGE:
	case ROUTE_DATA:
		return make_one(render, document);
	case ROUTE_COMPARE:
	case ROUTE_COMPARE_DATA:
		return make_comparison(render, document);
	case ROUTE_REMEMBER:
		return remember(render, route);
	case ROUTE_FORGET:
		return forget(render, route);
	case ROUTE_REDIRECT:
		return redirect("", route->id[0] ? route->id : NULL);
	default:
		return missing("?");
	}
}

void render_make(const struct render *render, struct documents *documents, struct document *document)
{
	uint64_t began_ns = documents_now();
	struct rendered *rendered = NULL;

	subjects_refresh(render->subjects);
	if (document->route.seconds > 0 && !document->kept) {
		document->kept = open_base(render, &document->route, &rendered);
		if (document->kept)
			documents_postpone(documents, document,
					   documents_now() + document->route.seconds * SECOND_NS);
		else
			documents_publish(documents, document, rendered, began_ns);
		return;
	}
	rendered = make(render, documents, document);
	profile_close(document->kept);
	document->kept = NULL;
	documents_publish(documents, document, rendered, began_ns);
}
