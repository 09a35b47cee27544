/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * blame.c - see blame.h.  The table is in blame_rules.c, its meaning in doc/BLAME.md.
 */
#include "profile/blame.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "symbol/jit_label.h"
#include "symbol/short_name.h"

/* Longer short names are cut: no pattern needs more of them. */
enum { NAME_SIZE = 1024, RUST_HASH = 16 };

/* A function as the rules see it. */
struct subject {
	const char *module;   /* "" = compiled at run time */
	const char *raw_name; /* of such code; else NULL */
	bool is_rust;
	char function[NAME_SIZE]; /* "" = unknown */
};

/* The user's. */
static const struct blame_rule *user_rules;
static size_t user_count;

/* Only "*" is special.  On a mismatch the last "*" takes one character more; earlier ones need not be tried again. */
static bool fits(const char *pattern, const char *text)
{
	const char *star = NULL;
	const char *resume = NULL;

	while (*text) {
		if (*pattern == '*') {
			star = pattern++;
			resume = text;
		} else if (*pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++resume;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == 0;
}

static bool rule_fits(const struct blame_rule *rule, const struct subject *subject)
{
	if (rule->names == BLAME_RUST_NAMES && !subject->is_rust)
		return false;
	if (rule->names == BLAME_JIT_NAMES && subject->module[0])
		return false;
	if (rule->module && !fits(rule->module, subject->module))
		return false;
	return !rule->function || fits(rule->function, subject->function) ||
	       (subject->raw_name && fits(rule->function, subject->raw_name));
}

void blame_use(const struct blame_rule *rules, size_t count)
{
	user_rules = rules;
	user_count = count;
}

static const struct blame_rule *user_rule(const struct subject *subject)
{
	for (size_t i = user_count; i-- > 0;)
		if (rule_fits(&user_rules[i], subject))
			return &user_rules[i];
	return NULL;
}

static enum blame by_rules(const struct subject *subject)
{
	size_t count;
	const struct blame_rule *rules = blame_rules(&count);

	for (size_t i = 0; i < count; i++)
		if (rule_fits(&rules[i], subject))
			return rules[i].blame;
	return BLAME_OWN;
}

/* Legacy mangling is C++'s with a last part "h" and 16 hexadecimal digits; what follows it, a compiler has added. */
static bool is_rust(const char *raw_name, const char *function)
{
	const char *hash;
	size_t digits = 0;

	/* Functions have parameters in C++. */
	if (!raw_name)
		return function && strstr(function, "::") && !strchr(function, '(');
	if (strncmp(raw_name, "_R", 2) == 0)
		return true;
	hash = strncmp(raw_name, "_ZN", 3) == 0 ? strstr(raw_name, "17h") : NULL;
	for (; hash; hash = strstr(hash + 1, "17h")) {
		for (digits = 0; digits < RUST_HASH && isxdigit((unsigned char)hash[3 + digits]);)
			digits++;
		if (digits == RUST_HASH && hash[3 + RUST_HASH] == 'E')
			return true;
	}
	return false;
}

/* "xmalloc.part.0" */
static void cut_clone(char *name)
{
	static const char *const suffixes[] = {".part",	    ".isra", ".constprop",
					       ".lto_priv", ".llvm", ".cold"};

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		char *suffix = strstr(name, suffixes[i]);
		char after = suffix ? suffix[strlen(suffixes[i])] : 'x';

		if (after == 0 || after == '.')
			*suffix = 0;
	}
}

/* The type that another one is made of: "&mut app::Tree" is about app::Tree. */
static const char *skip_type_prefix(const char *type)
{
	static const char *const prefixes[] = {"&",    "mut ", "*const ", "*mut ",
					       "dyn ", "[",    "(",	  "<"};
	bool found = true;

	while (found) {
		found = false;
		for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]) && !found; i++) {
			found = strncmp(type, prefixes[i], strlen(prefixes[i])) == 0;
			if (found)
				type += strlen(prefixes[i]);
		}
	}
	return type;
}

/* True if type, which ends at end, is somebody's: a path that no rule fits. */
static bool is_own_type(const struct subject *subject, const char *type, const char *end)
{
	struct subject part = {.module = subject->module, .is_rust = true};
	size_t length;

	type = skip_type_prefix(type);
	length = type < end ? (size_t)(end - type) : 0;
	if (!memmem(type, length, "::", 2))
		return false;
	memcpy(part.function, type, length);
	return by_rules(&part) == BLAME_OWN;
}

/* For "<Type as Trait>::method" that no rule fits as a whole: the type's owner, else the trait's.  "<Type>::method" without
 * a path in the brackets is about a primitive type, and only the standard library may add methods to those. */
static enum blame by_parts(const struct subject *subject)
{
	struct subject trait = {.module = subject->module, .is_rust = true};
	const char *type = subject->function + 1;
	const char *as = strstr(subject->function, " as ");
	enum blame blame;

	if (!subject->is_rust || subject->function[0] != '<')
		return BLAME_OWN;
	if (!as && strncmp(type, "dyn ", 4) != 0)
		return BLAME_RUST;
	if (is_own_type(subject, type, as ? as : type + strlen(type)))
		return BLAME_OWN;
	if (!as)
		return BLAME_RUST;
	as += strlen(" as ");
	memcpy(trait.function, as, strlen(as) + 1);
	blame = by_rules(&trait);
	/* Traits inside of methods: "<u8 as <[_]>::to_vec::Convert>::convert". */
	return blame == BLAME_OWN ? by_parts(&trait) : blame;
}

/* Most names that compilers at run time give are no C++: "get size" has no return type. */
static void set_function(struct subject *subject, const char *raw_name, const char *function)
{
	if (!function)
		return;
	if (!subject->module[0] && raw_name && !jit_label_has_types(raw_name))
		snprintf(subject->function, NAME_SIZE, "%s", function);
	else
		short_name(function, subject->function, NAME_SIZE);
}

enum blame blame_of(const char *module, const char *raw_name, const char *function)
{
	const char *slash = strrchr(module, '/');
	struct subject subject = {.module = slash ? slash + 1 : module};
	const struct blame_rule *rule;
	enum blame blame;

	if (!function)
		function = raw_name;
	subject.is_rust = is_rust(raw_name, function);
	set_function(&subject, raw_name, function);
	cut_clone(subject.function);
	if (!module[0])
		subject.raw_name = raw_name;
	rule = user_rule(&subject);
	if (rule)
		return rule->blame;
	blame = by_rules(&subject);
	return blame == BLAME_OWN ? by_parts(&subject) : blame;
}

const char *blame_name(enum blame blame)
{
	static const char *const names[BLAME_COUNT] = {
		[BLAME_OWN] = "own",	     [BLAME_ALLOCATOR] = "allocator",
		[BLAME_START] = "start",     [BLAME_LIBC] = "C library",
		[BLAME_CXX] = "C++",	     [BLAME_RUST] = "Rust",
		[BLAME_GO] = "Go",	     [BLAME_PYTHON] = "Python",
		[BLAME_JS] = "JavaScript",   [BLAME_JAVA] = "Java",
		[BLAME_RUNTIME] = "runtime",
	};

	return names[blame];
}
