/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diff_frames.c - numbers for the names of frames.
 *
 * Names are kept whole and compared byte for byte: a hash only leads to them, so two names never have one number.
 */
#include "profile/diff_frames.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { SIDES = 2, BOTH = 3, START = 1024, HASH_DIGITS = 16 };

/* First byte of a key. */
enum { KEY_FUNCTION = 'f', KEY_OFFSET = 'o', KEY_MODULE = 'm', KEY_SPECIAL = 's', KEY_FILE = 'b' };

struct key {
	size_t at; /* in bytes */
	size_t size;
	uint64_t hash;
};

struct module {
	const char *name;
	bool offsets; /* mean the same in both profiles */
};

struct diff_frames {
	const struct profile *profiles[SIDES];
	struct module *modules[SIDES];
	char *bytes;
	size_t bytes_used;
	size_t bytes_room;
	struct key *keys; /* by number - 1 */
	uint32_t count;
	uint32_t *slots; /* numbers, open addressing; 0 = free; twice as many as keys have room */
	uint32_t room;	 /* of keys; a power of 2 */
};

/* --- keys ------------------------------------------------------------------------------------ */

static uint64_t hash_bytes(const char *bytes, size_t size)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (uint8_t)bytes[i]) * UINT64_C(0x100000001b3);
	hash *= UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

static uint32_t *find_slot(const struct diff_frames *frames, const struct key *key)
{
	uint64_t mask = (uint64_t)frames->room * 2 - 1;

	for (uint64_t i = key->hash & mask;; i = (i + 1) & mask) {
		uint32_t number = frames->slots[i];
		const struct key *known = number ? &frames->keys[number - 1] : NULL;

		if (!known ||
		    (known->hash == key->hash && known->size == key->size &&
		     memcmp(frames->bytes + known->at, frames->bytes + key->at, key->size) == 0))
			return &frames->slots[i];
	}
}

static bool grow(struct diff_frames *frames)
{
	uint32_t room = frames->room ? frames->room * 2 : START;
	struct key *keys;
	uint32_t *slots;

	if (room > UINT32_MAX / 4)
		return false;
	keys = realloc(frames->keys, room * sizeof(*keys));
	slots = keys ? calloc((size_t)room * 2, sizeof(*slots)) : NULL;
	frames->keys = keys ? keys : frames->keys;
	if (!slots)
		return false;
	free(frames->slots);
	frames->slots = slots;
	frames->room = room;
	for (uint32_t i = 0; i < frames->count; i++)
		*find_slot(frames, &keys[i]) = i + 1;
	return true;
}

/* Appends to the key that begins at bytes_used and has *size bytes so far; SIZE_MAX: no memory. */
static void append(struct diff_frames *frames, size_t *size, const void *bytes, size_t count)
{
	size_t needed, room;
	char *grown;

	if (*size == SIZE_MAX || count == 0)
		return;
	needed = frames->bytes_used + *size + count;
	if (needed > frames->bytes_room) {
		room = needed * 2;
		grown = realloc(frames->bytes, room);
		if (!grown) {
			*size = SIZE_MAX;
			return;
		}
		frames->bytes = grown;
		frames->bytes_room = room;
	}
	memcpy(frames->bytes + frames->bytes_used + *size, bytes, count);
	*size += count;
}

/* The number of the key that was appended; 0: no memory. */
static uint32_t intern(struct diff_frames *frames, size_t size)
{
	struct key key = {.at = frames->bytes_used, .size = size};
	uint32_t *slot;

	if (size == SIZE_MAX || (frames->count == frames->room && !grow(frames)))
		return 0;
	key.hash = hash_bytes(frames->bytes + key.at, size);
	slot = find_slot(frames, &key);
	if (*slot == 0) {
		frames->keys[frames->count] = key;
		frames->bytes_used += size;
		*slot = ++frames->count;
	}
	return *slot;
}

/* Kind and module's name; a NUL ends it, which names do not have. */
static size_t begin_key(struct diff_frames *frames, char kind, const char *module)
{
	size_t size = 0;

	append(frames, &size, &kind, 1);
	append(frames, &size, module, strlen(module) + 1);
	return size;
}

/* --- modules --------------------------------------------------------------------------------- */

/* No file is called "/". */
static const char *module_name(const struct profile *profile, const struct profile_module *module)
{
	const char *slash = strrchr(module->path, '/');

	if (module->path[0] && strcmp(module->path, profile->program) == 0)
		return "/";
	return slash ? slash + 1 : module->path;
}

/* Marks in *sides, by number of the file's key, that a side has the file.  Sets *number, 0 = has no build-id. */
static bool note_file(struct diff_frames *frames, unsigned side, uint32_t index, uint32_t *number)
{
	const struct profile_module *module = &frames->profiles[side]->modules[index];
	size_t size;

	*number = 0;
	frames->modules[side][index].name = module_name(frames->profiles[side], module);
	if (module->build_id_size == 0)
		return true;
	size = begin_key(frames, KEY_FILE, frames->modules[side][index].name);
	append(frames, &size, module->build_id, module->build_id_size);
	*number = intern(frames, size);
	return *number != 0;
}

static bool read_modules(struct diff_frames *frames)
{
	size_t counts[SIDES] = {frames->profiles[0]->module_count,
				frames->profiles[1]->module_count};
	uint32_t *numbers = calloc(counts[0] + counts[1] + 1, sizeof(*numbers));
	uint8_t *sides = calloc(counts[0] + counts[1] + 1, sizeof(*sides)); /* by number */
	bool same = frames->profiles[0] == frames->profiles[1], ok = numbers && sides;

	for (unsigned side = 0; side < SIDES; side++) {
		frames->modules[side] = calloc(counts[side] + 1, sizeof(**frames->modules));
		ok = ok && frames->modules[side];
		for (uint32_t i = 0; ok && i < counts[side]; i++) {
			uint32_t *number = &numbers[side * counts[0] + i];

			ok = note_file(frames, side, i, number);
			sides[*number] |= (uint8_t)(1 << side);
		}
	}
	for (unsigned side = 0; ok && side < SIDES; side++)
		for (uint32_t i = 0; i < counts[side]; i++) {
			uint32_t number = numbers[side * counts[0] + i];

			frames->modules[side][i].offsets = same || (number && sides[number] == BOTH);
		}
	free(numbers);
	free(sides);
	return ok;
}

struct diff_frames *diff_frames_new(const struct profile *a, const struct profile *b)
{
	struct diff_frames *frames = calloc(1, sizeof(*frames));

	if (!frames)
		return NULL;
	frames->profiles[0] = a;
	frames->profiles[1] = b;
	if (read_modules(frames))
		return frames;
	diff_frames_free(frames);
	return NULL;
}

void diff_frames_free(struct diff_frames *frames)
{
	if (!frames)
		return;
	for (unsigned side = 0; side < SIDES; side++)
		free(frames->modules[side]);
	free(frames->bytes);
	free(frames->keys);
	free(frames->slots);
	free(frames);
}

uint32_t diff_frames_count(const struct diff_frames *frames)
{
	return frames->count;
}

/* --- functions ------------------------------------------------------------------------------- */

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* True at what a compiler appends to the name of a function's variant (gcc's clone_function_name() and LLVM's mangling for
 * ThinLTO): words, then a number. */
static bool is_variant(const char *dot)
{
	static const char *const words[] = {".constprop.", ".isra.", ".part.", ".lto_priv.",
					    ".llvm.",	   ".cold.", ".warm."};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (begins(dot, words[i]) && isdigit((unsigned char)dot[strlen(words[i])]))
			return true;
	return strcmp(dot, ".cold") == 0 || strcmp(dot, ".localalias") == 0;
}

/* "::h0123456789abcdef" at the end, Rust's hash of what was compiled: changes with each build. */
static bool ends_with_hash(const char *name, size_t length)
{
	const char *at = name + length - HASH_DIGITS - 3;

	if (length < HASH_DIGITS + 4 || !begins(at, "::h"))
		return false;
	return strspn(at + 3, "0123456789abcdef") >= HASH_DIGITS;
}

/* Bytes of a function's name without variant. */
static size_t stem(const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 1; i < length; i++)
		if ((name[i] == '.' && is_variant(name + i)) ||
		    (name[i] == ' ' && begins(name + i, " [clone ."))) {
			length = i;
			break;
		}
	return ends_with_hash(name, length) ? length - HASH_DIGITS - 3 : length;
}

bool diff_frames_is_shared(const struct diff_frames *frames, unsigned side, uint32_t location)
{
	const struct profile_location *at = &frames->profiles[side]->locations[location];

	return !at->special && frames->modules[side][at->module].offsets;
}

bool diff_frames_is_part(const struct symbol *symbol)
{
	const char *name = symbol->raw_name ? symbol->raw_name : symbol->function;

	return name && (strstr(name, ".part.") || strstr(name, ".cold"));
}

uint32_t diff_frames_find(struct diff_frames *frames, const struct diff_frames_place *place)
{
	const struct profile_location *location = &frames->profiles[place->side]
							   ->locations[place->location];
	const struct profile_module *module = &frames->profiles[place->side]->modules[location->module];
	const struct module *known = &frames->modules[place->side][location->module];
	const char *function = place->symbol->function;
	size_t size;

	if (location->special)
		return intern(frames, begin_key(frames, KEY_SPECIAL, location->special));
	if (function) {
		size = begin_key(frames, KEY_FUNCTION, known->name);
		append(frames, &size, function, stem(function));
	} else if (known->offsets) {
		size = begin_key(frames, KEY_OFFSET, known->name);
		append(frames, &size, &location->offset, sizeof(location->offset));
		append(frames, &size, module->build_id, module->build_id_size);
	} else {
		size = begin_key(frames, KEY_MODULE, known->name);
	}
	return intern(frames, size);
}
