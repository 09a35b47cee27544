/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * route.c - see route.h.
 */
#include "serve/route.h"

#include <stdlib.h>
#include <string.h>

struct word {
	const char *text;
	enum route_kind kind;
};

static const struct word top_words[] = {
	{"", ROUTE_HOME},
	{"list", ROUTE_LIST},
	{"metrics", ROUTE_METRICS},
	{"debug/pprof/heap", ROUTE_HEAP},
	{"debug/pprof/allocs", ROUTE_ALLOCS},
	{"compare", ROUTE_REDIRECT},
	{"compare/", ROUTE_COMPARE},
	{"compare/data", ROUTE_COMPARE_DATA},
	{NULL, ROUTE_NOTHING},
};

/* Behind "p/ID/". */
static const struct word profile_words[] = {
	{"", ROUTE_PAGE},
	{"data", ROUTE_DATA},
	{"remember", ROUTE_REMEMBER},
	{"forget", ROUTE_FORGET},
	{"debug/pprof/heap", ROUTE_HEAP},
	{"debug/pprof/allocs", ROUTE_ALLOCS},
	{NULL, ROUTE_NOTHING},
};

static enum route_kind find(const struct word *words, const char *text)
{
	while (words->text && strcmp(words->text, text) != 0)
		words++;
	return words->kind;
}

/* False: too long for any. */
static bool set_id(char id[ROUTE_ID_SIZE], const char *text, size_t length)
{
	if (length >= ROUTE_ID_SIZE)
		return false;
	memcpy(id, text, length);
	id[length] = '\0';
	return true;
}

static enum route_kind parse_profile(const char *text, struct route *route)
{
	size_t length = strcspn(text, "/");

	if (length == 0 || !set_id(route->id, text, length))
		return ROUTE_NOTHING;
	return text[length] == '\0' ? ROUTE_REDIRECT : find(profile_words, text + length + 1);
}

void route_parse(const char *path, struct route *route)
{
	*route = (struct route){0};
	if (strncmp(path, "p/", 2) == 0)
		route->kind = parse_profile(path + 2, route);
	else
		route->kind = find(top_words, path);
}

static bool set_seconds(struct route *route, const char *value)
{
	char *end;
	unsigned long seconds = strtoul(value, &end, 10);

	if (value[0] < '0' || value[0] > '9' || *end || seconds > ROUTE_SECONDS_MAX)
		return false;
	route->seconds = (unsigned)seconds;
	return true;
}

bool route_argument(struct route *route, const char *name, const char *value)
{
	bool compares = route->kind == ROUTE_COMPARE || route->kind == ROUTE_COMPARE_DATA;
	bool is_pprof = route->kind == ROUTE_HEAP || route->kind == ROUTE_ALLOCS;

	if (compares && strcmp(name, "before") == 0)
		return set_id(route->id, value, strlen(value));
	if (compares && strcmp(name, "after") == 0)
		return set_id(route->other, value, strlen(value));
	if (is_pprof && strcmp(name, "seconds") == 0)
		return set_seconds(route, value);
	if (is_pprof && strcmp(name, "pid") == 0 && !route->id[0])
		return set_id(route->id, value, strlen(value));
	return true;
}

bool route_changes(const struct route *route)
{
	return route->kind == ROUTE_REMEMBER || route->kind == ROUTE_FORGET;
}
