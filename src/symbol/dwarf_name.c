/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwarf_name.c - see dwarf_name.h.
 *
 * An entry does not say what it is in.  So the scopes of a unit are listed in one walk, at the first question that needs them:
 * in the order of the file, which makes the list sorted.
 */
#include "symbol/dwarf_name.h"

#include <dwarf.h>
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/demangle.h"

enum { SCOPES_MAX = 32, PART_MAX = 1024, LISTED_MAX = 1 << 24 };

#define NONE UINT32_MAX

/* Something with a name that others may be in, or a function. */
struct scope {
	void *entry;
	uint32_t around; /* index; NONE = the unit */
};

struct unit {
	void *entry;	      /* of the unit */
	struct scope *scopes; /* by entry */
	uint32_t count;
	uint32_t room;
	uint32_t at[DWARF_WALK_DEPTH]; /* while listing: index of the scope at each depth, or around it */
};

static const char *linkage_name(Dwarf_Die *function)
{
	Dwarf_Attribute attribute;

	if (!dwarf_attr_integrate(function, DW_AT_linkage_name, &attribute) &&
	    !dwarf_attr_integrate(function, DW_AT_MIPS_linkage_name, &attribute))
		return NULL;
	return dwarf_formstring(&attribute);
}

/* The entry that says where the function was declared: there its scopes are. */
static Dwarf_Die declaration_of(Dwarf_Die *function)
{
	static const unsigned links[] = {DW_AT_abstract_origin, DW_AT_specification};
	Dwarf_Die die = *function;

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		Dwarf_Attribute attribute;
		Dwarf_Die target;

		if (dwarf_attr(&die, links[i], &attribute) && dwarf_formref_die(&attribute, &target))
			die = target;
	}
	return die;
}

/* Only there a name without scopes says little. */
static bool has_scopes(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case DW_LANG_Rust:
	case DW_LANG_D:
		return true;
	default:
		return false;
	}
}

/* "app::"; compilers write "<lambda(int)>", or nothing, where demanglers write "{lambda(int)#1}". */
static void put_scope(FILE *text, Dwarf_Die *scope, const char *function)
{
	const char *name = dwarf_diename(scope);
	size_t length = name ? strnlen(name, PART_MAX) : 0;
	bool is_lambda = length > 2 && strncmp(name, "<lambda", 7) == 0 && name[length - 1] == '>';

	switch (dwarf_tag(scope)) {
	case DW_TAG_namespace:
		fprintf(text, "%.*s::", name ? (int)length : 21,
			name ? name : "(anonymous namespace)");
		break;
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_subprogram:
		if (is_lambda)
			fprintf(text, "{%.*s}::", (int)length - 2, name + 1);
		else if (name)
			fprintf(text, "%.*s::", (int)length, name);
		else if (strncmp(function, "operator()", 10) == 0)
			fputs("{lambda}::", text);
		break;
	default:
		break;
	}
}

/* --- which scopes there are ------------------------------------------------------------------ */

static bool is_listed(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_namespace:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_subprogram:
		return true;
	default:
		return false;
	}
}

/* Index of the new scope; around if there is no room for it. */
static uint32_t add_scope(struct unit *unit, void *entry, uint32_t around)
{
	if (unit->count == unit->room) {
		uint32_t room = unit->room ? unit->room * 2 : 256;
		struct scope *grown = NULL;

		if (room <= LISTED_MAX)
			grown = realloc(unit->scopes, room * sizeof(*grown));
		if (!grown)
			return around;
		unit->scopes = grown;
		unit->room = room;
	}
	unit->scopes[unit->count] = (struct scope){entry, around};
	return unit->count++;
}

static bool visit(Dwarf_Die *die, size_t depth, void *data)
{
	struct unit *unit = data;
	uint32_t around = depth > 0 ? unit->at[depth - 1] : NONE;
	bool listed = is_listed(die);

	unit->at[depth] = listed ? add_scope(unit, die->addr, around) : around;
	return listed || dwarf_tag(die) == DW_TAG_lexical_block;
}

static int by_unit(const void *a, const void *b)
{
	const char *left = ((const struct unit *)a)->entry;
	const char *right = ((const struct unit *)b)->entry;

	return (left > right) - (left < right);
}

/* NULL: no memory. */
static const struct unit *unit_of(Dwarf_Die *die, struct dwarf_names *names,
				  struct dwarf_limit *limit)
{
	void *const *known = tfind(&(struct unit){.entry = die->addr}, &names->units, by_unit);
	struct unit *unit;

	if (known)
		return *known;
	unit = calloc(1, sizeof(*unit));
	if (!unit)
		return NULL;
	unit->entry = die->addr;
	if (!tsearch(unit, &names->units, by_unit)) {
		free(unit);
		return NULL;
	}
	dwarf_walk(die, limit, visit, unit);
	return unit;
}

static int by_entry(const void *key, const void *scope)
{
	const char *left = key;
	const char *right = ((const struct scope *)scope)->entry;

	return (left > right) - (left < right);
}

/* The scopes around a function, innermost first; how many. */
static size_t scopes_of(const struct unit *unit, Dwarf_Die *function, Dwarf_Die *scopes)
{
	const struct scope *scope = unit->count == 0
					    ? NULL
					    : bsearch(function->addr, unit->scopes, unit->count,
						      sizeof(*scope), by_entry);
	size_t count = 0;

	while (scope && scope->around != NONE && count < SCOPES_MAX) {
		scope = &unit->scopes[scope->around];
		scopes[count] = *function;
		/* In the same unit, so all but the place is the same; the abbreviation is looked up again. */
		scopes[count].addr = scope->entry;
		scopes[count].abbrev = NULL;
		count++;
	}
	return count;
}

/* --- names ----------------------------------------------------------------------------------- */

/* Scopes from the outermost in.  A function's name for the linker has all those around it. */
static void put_scopes(FILE *text, Dwarf_Die *scopes, size_t count, const char *function)
{
	char *demangled = NULL;
	const char *linkage = NULL;
	size_t outer = 0;

	for (; !linkage && outer < count; outer++)
		if (dwarf_tag(&scopes[outer]) == DW_TAG_subprogram)
			linkage = linkage_name(&scopes[outer]);
	if (linkage)
		demangled = demangle(linkage);
	if (demangled)
		fprintf(text, "%s::", demangled);
	for (size_t i = demangled ? outer - 1 : count; i > 0; i--)
		put_scope(text, &scopes[i - 1], function);
	free(demangled);
}

/* Kept; name itself if there is nothing to add. */
static const char *scoped_name(const struct unit *unit, Dwarf_Die *declaration, const char *name,
			       struct arena *arena)
{
	Dwarf_Die scopes[SCOPES_MAX];
	size_t count = scopes_of(unit, declaration, scopes);
	struct arena_text *kept = NULL;
	char *text = NULL;
	size_t size;
	FILE *file = count > 0 ? open_memstream(&text, &size) : NULL;

	if (file) {
		put_scopes(file, scopes, count, name);
		fprintf(file, "%s", name);
		fclose(file);
		if (text)
			kept = arena_intern(arena, text);
	}
	free(text);
	return kept ? kept->text : name;
}

const char *dwarf_name(Dwarf_Die *function, struct dwarf_names *names, struct dwarf_limit *limit)
{
	const char *name = linkage_name(function);
	const struct unit *unit;
	Dwarf_Die declaration, die;
	struct arena_text *known;
	char key[32];

	if (name)
		return name;
	name = dwarf_diename(function);
	declaration = declaration_of(function);
	if (!name || !dwarf_diecu(&declaration, &die, NULL, NULL) || !has_scopes(&die))
		return name;
	snprintf(key, sizeof(key), "\1%p", declaration.addr);
	known = arena_intern(&names->texts, key);
	unit = known && !known->value ? unit_of(&die, names, limit) : NULL;
	if (unit)
		known->value = scoped_name(unit, &declaration, name, &names->texts);
	return known && known->value ? known->value : name;
}

static void free_unit(void *data)
{
	struct unit *unit = data;

	free(unit->scopes);
	free(unit);
}

void dwarf_names_free(struct dwarf_names *names)
{
	arena_free(&names->texts);
	tdestroy(names->units, free_unit);
	names->units = NULL;
}
