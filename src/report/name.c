/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * name.c - what a frame is called on a screen.
 */
#include "report/name.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "profile/inner_name.h"
#include "report/page.h"

enum { WHERE_IN_TEXT = 30, GAP = 2, FUNCTION_MIN = 12 };

struct name name_of_place(const struct report *report, uint32_t place)
{
	const struct place *at = places_get(report->places, place);

	return (struct name){at->location, at->symbol};
}

struct name name_of_site(const struct report *report, const struct site *site)
{
	return name_of_place(report, site->place);
}

/* Text to be freed; NULL: no memory. */
static char *__attribute__((format(printf, 1, 2))) formatted(const char *format, ...)
{
	va_list args;
	char *text;
	int size;

	va_start(args, format);
	size = vasprintf(&text, format, args);
	va_end(args);
	return size < 0 ? NULL : text;
}

char *name_function_full(const struct report *report, const struct name *name)
{
	const struct profile_location *location = &report->profile->locations[name->location];
	const struct symbol *symbol = name->symbol;
	const struct profile_module *module;

	if (location->special)
		return strdup(location->special);
	if (report->options->raw_names && symbol->raw_name)
		return strdup(symbol->raw_name);
	if (symbol->function)
		return strdup(symbol->function);
	module = &report->profile->modules[location->module];
	return formatted("%s+0x%" PRIx64,
			 module->path[0] ? path_last_part(module->path) : "[anonymous]",
			 location->offset);
}

char *name_function(const struct report *report, const struct name *name)
{
	const struct profile_location *location = &report->profile->locations[name->location];

	if (!location->special && !report->options->raw_names && name->symbol->function)
		return strdup(names_short(report->names, name->location, name->symbol));
	return name_function_full(report, name);
}

char *name_where(const struct report *report, const struct name *name)
{
	const struct profile_location *location = &report->profile->locations[name->location];
	const struct symbol *symbol = name->symbol;
	const struct profile_module *module;

	if (symbol->file && symbol->line)
		return formatted("%s:%" PRIu32, path_last_part(symbol->file), symbol->line);
	if (location->special || !symbol->function)
		return strdup("");
	module = &report->profile->modules[location->module];
	if (strcmp(module->path, report->profile->program) == 0)
		return strdup("");
	/* Compilers at run time may tell the file alone. */
	if (!module->path[0] && symbol->file)
		return strdup(path_last_part(symbol->file));
	return strdup(module->path[0] ? path_last_part(module->path) : "[anonymous]");
}

void name_in_text(const struct report *report, const struct name *name, FILE *file)
{
	char *function = name_function(report, name), *where = name_where(report, name);
	struct output out = *report->out;

	out.file = file;
	page_cut(&out, function ? function : "?", NAME_IN_TEXT);
	if (where && where[0]) {
		fputs(" (", file);
		page_cut(&out, where, WHERE_IN_TEXT);
		fputc(')', file);
	}
	free(function);
	free(where);
}

/* Prints the outermost scope, so many bytes, dots, and the longest rest that fits beside them.  False: none does, and nothing is printed. */
static bool put_inner(const struct output *out, const char *function, size_t outermost,
		      unsigned width)
{
	char *outer = formatted("%.*s...::", (int)outermost, function);
	const char *inner = inner_name(function + outermost);
	unsigned taken = outer ? output_columns(outer) : 0;
	bool fits;

	while (outer && inner && output_columns(inner) + taken > width)
		inner = inner_name(inner);
	fits = outer && inner;
	if (fits) {
		fprintf(out->file, "%s%s", outer, inner);
	}
	free(outer);
	return fits;
}

/* The text as it is printed, to be freed; NULL: no memory. */
static char *safe_copy(const char *text)
{
	struct output out = {.width = 0};
	char *copy = NULL;
	size_t size;

	out.file = open_memstream(&copy, &size);
	if (!out.file)
		return NULL;
	output_safe(&out, text);
	return fclose(out.file) == 0 ? copy : NULL;
}

static void cut_safe(const struct output *out, const char *function, unsigned width)
{
	const char *inner = inner_name(function), *last = function;

	if (inner && output_columns(function) > width &&
	    (put_inner(out, function, (size_t)(inner - function), width) ||
	     put_inner(out, function, 0, width)))
		return;
	while (output_columns(function) > width && (inner = inner_name(last)))
		last = inner;
	page_cut(out, last, width);
}

void name_cut(const struct output *out, const char *function, unsigned width)
{
	char *safe = safe_copy(function);

	cut_safe(out, safe ? safe : "?", width);
	free(safe);
}

void name_line(const struct report *report, const struct name *name, unsigned used)
{
	char *function = name_function(report, name), *where = name_where(report, name);
	const struct output *out = report->out;
	unsigned room = out->width > used + 16 ? out->width - used : 16, taken, most;

	taken = where && where[0] ? output_columns(where) + GAP : 0;
	most = room / 2 + FUNCTION_MIN < room ? room - FUNCTION_MIN : room / 2;
	if (taken > most)
		taken = most;
	name_cut(out, function ? function : "?", room - taken);
	if (taken) {
		fprintf(out->file, "%*s", GAP, "");
		page_cut(out, where, taken - GAP);
	}
	free(function);
	free(where);
}
