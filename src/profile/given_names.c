/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * given_names.c - see given_names.h.
 */
#include "profile/given_names.h"

#include <stdlib.h>
#include <string.h>

#include "profile/jit_files.h"
#include "symbol/jit_label.h"

/* --- questions ------------------------------------------------------------------------------- */

size_t given_names_at(const struct profile *profile, uint32_t location, const struct symbol **found)
{
	const struct given_names *given = profile->given;

	if (!given || location >= profile->location_count)
		return 0;
	*found = given->by_location[location].symbols;
	return given->by_location[location].count;
}

const struct symbol *given_names_fast(const struct profile *profile, uint32_t location)
{
	const struct given_names *given = profile->given;

	return given && location < profile->location_count ? given->by_location[location].fast
							   : NULL;
}

bool given_names_compiled(const struct profile *profile)
{
	return profile->given && profile->given->has_compiled;
}

bool given_names_all(const struct profile *profile)
{
	return profile->given && profile->given->from == GIVEN_FROM_BUNDLE;
}

const char *given_names_problem(const struct profile *profile, uint32_t module)
{
	if (!given_names_all(profile) || module >= profile->module_count)
		return NULL;
	return profile->given->problems ? profile->given->problems[module] : NULL;
}

/* True if the piece lies before the line that is asked for. */
static bool is_before(const struct given_source *source, const char *file, uint32_t line)
{
	int order = strcmp(source->file, file);

	return order < 0 ||
	       (order == 0 && line >= source->first && line - source->first >= source->count);
}

const char *given_names_line(const struct profile *profile, const char *file, uint32_t line)
{
	const struct given_names *given = profile->given;
	uint32_t low = 0, high = given ? given->source_count : 0;
	const struct given_source *source;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (is_before(&given->sources[middle], file, line))
			low = middle + 1;
		else
			high = middle;
	}
	if (!given || low == given->source_count)
		return NULL;
	source = &given->sources[low];
	if (strcmp(source->file, file) != 0 || line < source->first)
		return NULL;
	return source->lines[line - source->first];
}

/* --- making ---------------------------------------------------------------------------------- */

struct given_names *given_names_new(const struct profile *profile, enum given_from from)
{
	struct given_names *given = calloc(1, sizeof(*given));

	if (!given)
		return NULL;
	given->from = from;
	given->by_location = calloc((size_t)profile->location_count + 1,
				    sizeof(*given->by_location));
	if (given->by_location)
		return given;
	free(given);
	return NULL;
}

void given_names_free(struct given_names *given)
{
	if (!given)
		return;
	for (size_t i = 0; i < given->owned_count; i++)
		free(given->owned[i]);
	free(given->owned);
	free(given->by_location);
	free(given->problems);
	free(given->sources);
	jit_names_end(&given->jit);
	free(given);
}

void *given_names_own(struct given_names *given, void *memory)
{
	size_t count = given->owned_count;
	void **grown = given->owned;

	if (!memory)
		return NULL;
	/* Grows when count is a power of two, or 0. */
	if ((count & (count - 1)) == 0)
		grown = realloc(given->owned, (count ? count * 2 : 1) * sizeof(*grown));
	if (!grown) {
		free(memory);
		return NULL;
	}
	given->owned = grown;
	grown[given->owned_count++] = memory;
	return memory;
}

/* The symbol of a name, but for the offset. */
static bool set_symbol(struct given_names *given, const struct jit_name *name, struct symbol *symbol)
{
	struct jit_label label;

	if (!jit_label_parse(name->raw_name, &label))
		return false;
	symbol->raw_name = given_names_own(given, strdup(name->raw_name));
	symbol->function = symbol->raw_name;
	if (label.function)
		symbol->function = given_names_own(given, label.function);
	if (label.file)
		symbol->file = given_names_own(given, label.file);
	symbol->line = label.line;
	/* Lines of calls say more than those of functions. */
	if (name->file) {
		symbol->file = given_names_own(given, strdup(name->file));
		symbol->line = name->line;
	}
	return symbol->raw_name && symbol->function && (symbol->file || !label.file) &&
	       (symbol->file || !name->file);
}

static int compare(const void *key, const void *item)
{
	uint64_t address = *(const uint64_t *)key;
	const struct jit_name *name = item;

	return (address > name->address) - (address < name->address);
}

static bool is_jit(const struct profile_location *location)
{
	return !location->special && location->module == 0;
}

static bool add_one(struct given_names *given, const struct jit_name *name, uint32_t location)
{
	struct symbol *symbols = given_names_own(given, calloc(2, sizeof(*symbols)));

	if (!symbols || !set_symbol(given, name, symbols))
		return false;
	symbols->offset = name->address - name->start;
	symbols[1] = symbols[0];
	symbols[1].file = NULL;
	symbols[1].line = 0;
	given->by_location[location] = (struct given_frames){symbols, symbols + 1, 1};
	given->has_compiled = true;
	return true;
}

bool given_names_add_jit(struct given_names *given, const struct profile *profile,
			 const struct jit_names *names)
{
	for (uint32_t i = 0; i < profile->location_count; i++) {
		const struct profile_location *location = &profile->locations[i];
		const struct jit_name *name;

		if (!is_jit(location))
			continue;
		name = bsearch(&location->offset, names->items, names->count, sizeof(*names->items),
			       compare);
		if (name && name->raw_name && !add_one(given, name, i))
			return false;
	}
	return true;
}

/* --- maps ------------------------------------------------------------------------------------ */

/* The return addresses outside of modules; *count of them.  NULL: none, or no memory. */
static uint64_t *list_addresses(const struct profile *profile, size_t *count)
{
	uint64_t *addresses;

	*count = 0;
	for (uint32_t i = 0; i < profile->location_count; i++)
		*count += is_jit(&profile->locations[i]);
	addresses = *count ? calloc(*count, sizeof(*addresses)) : NULL;
	if (!addresses)
		return NULL;
	*count = 0;
	for (uint32_t i = 0; i < profile->location_count; i++)
		if (is_jit(&profile->locations[i]))
			addresses[(*count)++] = profile->locations[i].offset;
	return addresses;
}

bool given_names_look_up(struct profile *profile)
{
	struct given_names *given;
	uint64_t *addresses;
	size_t count;
	bool done;

	if (profile->given)
		return true;
	addresses = list_addresses(profile, &count);
	if (!addresses)
		return count == 0;
	given = given_names_new(profile, GIVEN_FROM_MAPS);
	done = given && jit_names_begin(&given->jit, addresses, count) &&
	       jit_files_read(profile, &given->jit) &&
	       given_names_add_jit(given, profile, &given->jit);
	free(addresses);
	if (done && given->jit.found > 0)
		profile->given = given;
	else
		given_names_free(given);
	return done;
}
