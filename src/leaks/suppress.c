/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * suppress.c - see suppress.h.
 */
#include "leaks/suppress.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char kind[] = "leak:";

static bool add(struct suppress *suppress, const char *pattern)
{
	struct suppress_rule *rules = suppress->rules;

	if (suppress->count == suppress->room) {
		suppress->room = suppress->room ? 2 * suppress->room : 16;
		rules = realloc(rules, suppress->room * sizeof(*rules));
		if (!rules)
			return false;
		suppress->rules = rules;
	}
	rules[suppress->count] = (struct suppress_rule){.pattern = strdup(pattern)};
	return rules[suppress->count].pattern && ++suppress->count;
}

/* Without blanks around it. */
static char *trim(char *line)
{
	size_t size;

	while (isspace((unsigned char)*line))
		line++;
	size = strlen(line);
	while (size && isspace((unsigned char)line[size - 1]))
		line[--size] = '\0';
	return line;
}

/* Returns false with a message. */
static bool read_line(struct suppress *suppress, const char *line, struct error *err)
{
	if (!line[0] || line[0] == '#')
		return true;
	if (strncmp(line, kind, sizeof(kind) - 1) != 0)
		return error_set(err, "\"%.60s\" does not begin with %s", line, kind);
	line += sizeof(kind) - 1;
	if (!line[0])
		return error_set(err, "an empty pattern");
	return add(suppress, line) || error_set(err, "no memory");
}

bool suppress_read(struct suppress *suppress, const char *path, struct error *err)
{
	FILE *file = fopen(path, "re");
	struct error reason;
	char *line = NULL;
	size_t room = 0;
	unsigned number = 0;
	bool ok = true;

	if (!file)
		return error_set_errno(err, "%s", path);
	while (ok && getline(&line, &room, file) > 0) {
		number++;
		ok = read_line(suppress, trim(line), &reason);
	}
	if (!ok)
		error_set(err, "%s:%u: %s", path, number, reason.text);
	else if (ferror(file))
		ok = error_set_errno(err, "%s", path);
	free(line);
	fclose(file);
	return ok;
}

void suppress_free(struct suppress *suppress)
{
	for (uint32_t i = 0; i < suppress->count; i++)
		free(suppress->rules[i].pattern);
	free(suppress->rules);
	*suppress = (struct suppress){0};
}

/* --- matching -------------------------------------------------------------------------------- */

/* The part of a pattern up to the next star, or to its end without a $ there. */
static size_t part_size(const char *pattern)
{
	size_t size = strcspn(pattern, "*");

	if (!pattern[size] && size && pattern[size - 1] == '$')
		size--;
	return size;
}

bool suppress_matches(const char *pattern, const char *text)
{
	bool fixed = *pattern == '^';

	for (pattern += fixed;;) {
		size_t size = part_size(pattern);
		bool last = pattern[size] == '$' && !pattern[size + 1];
		const char *at = text;

		if (last && !fixed)
			at = strlen(text) >= size ? text + strlen(text) - size : NULL;
		else if (!fixed)
			at = memmem(text, strlen(text), pattern, size);
		if (!at || strncmp(at, pattern, size) != 0 || (last && at[size]))
			return false;
		text = at + size;
		pattern += size;
		if (last || !*pattern)
			return true;
		while (*pattern == '*')
			pattern++;
		fixed = false;
	}
}

static bool matches_symbol(const char *pattern, const struct symbol *symbol)
{
	return (symbol->function && suppress_matches(pattern, symbol->function)) ||
	       (symbol->file && suppress_matches(pattern, symbol->file));
}

static bool matches_frame(const char *pattern, struct names *names, const struct profile *profile,
			  uint32_t index)
{
	const struct profile_location *location = &profile->locations[index];
	const struct symbol *found;
	size_t count = names_at(names, index, &found);

	for (size_t i = 0; i < count; i++)
		if (matches_symbol(pattern, &found[i]))
			return true;
	return !location->special &&
	       suppress_matches(pattern, profile->modules[location->module].path);
}

struct suppress_rule *suppress_find(const struct suppress *suppress, struct names *names,
				    const struct profile *profile, uint32_t stack)
{
	const struct profile_node *nodes = profile->nodes;

	for (uint32_t i = 0; i < suppress->count; i++)
		for (uint32_t node = profile->stacks[stack].node; node != 0;
		     node = nodes[node].parent)
			if (matches_frame(suppress->rules[i].pattern, names, profile,
					  nodes[node].location))
				return &suppress->rules[i];
	return NULL;
}
