/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * short_name.c - see short_name.h.
 *
 * There is no grammar for demangled text, so this goes by brackets.  Two kinds of them open nothing: those in
 * an operator's name, and "->".  First the name itself is found, between the last blank outside of brackets (a return type ends
 * there) and the parentheses with its parameters; then it is copied without its bracketed parts.  Text that makes no
 * sense gives a name that makes no sense, never a read past its end.
 */
#include "symbol/short_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { DEPTH_MAX = 4096, SELF_DEPTH_MAX = 8 };

static const char anonymous[] = "(anonymous namespace)";

struct output {
	char *at;
	char *end; /* last place, for the NUL */
};

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

/* The word "operator" at at, in the name that begins at start. */
static bool is_operator(const char *at, const char *start)
{
	return begins(at, "operator") && !is_word(at[8]) && at[8] != 0 &&
	       (at == start || !is_word(at[-1]));
}

static const char *skip_group(const char *at, const char *start);

/* Past a conversion operator's type, which parameters follow. */
static const char *skip_conversion(const char *at, const char *start)
{
	while (*at && *at != '(')
		at = *at == '<' ? skip_group(at, start) : at + 1;
	return at;
}

/* Of an operator's symbol; what follows may be a bracket: "operator==<int>". */
static size_t symbol_length(const char *symbol)
{
	static const char *const longer[] = {
		"<=>", "<<=", ">>=", "<<", ">>", "<=", ">=", "==", "!=", "+=", "-=",
		"*=",  "/=",  "%=",  "&=", "|=", "^=", "++", "--", "&&", "||"};

	for (size_t i = 0; i < sizeof(longer) / sizeof(longer[0]); i++)
		if (begins(symbol, longer[i]))
			return strlen(longer[i]);
	return *symbol && strchr("<>=!+-*/%&|^~,", *symbol) ? 1 : 0;
}

/* Past the name of the operator at at: "operator<<", "operator new[]", "operator std::string". */
static const char *skip_operator(const char *at, const char *start)
{
	static const char *const words[] = {" new[]", " delete[]", " new", " delete", " co_await",
					    "()",     "[]",	   "->*",  "->"};
	const char *symbol = at + strlen("operator");

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (begins(symbol, words[i]))
			return symbol + strlen(words[i]);
	if (begins(symbol, "\"\""))
		return symbol + 2 + strcspn(symbol + 2, "(<");
	if (*symbol == ' ')
		return skip_conversion(symbol, start);
	symbol += symbol_length(symbol);
	/* "operator<< <int>": the blank keeps the brackets apart. */
	return begins(symbol, " <") ? symbol + 1 : symbol;
}

/* "(", "<", "[" or "{" by what closes it. */
static char closer_of(char c)
{
	switch (c) {
	case '(':
		return ')';
	case '<':
		return '>';
	case '[':
		return ']';
	case '{':
		return '}';
	default:
		return 0;
	}
}

/* Takes c, which closes something, off the stack of what is to be closed.  An unmatched "<" is a less-than
 * sign; ">" without one is greater-than. */
static size_t close_group(const char *closers, size_t depth, char c)
{
	size_t left = depth;

	if (c == '>')
		return closers[depth - 1] == '>' ? depth - 1 : depth;
	while (left > 0 && closers[left - 1] != c)
		left--;
	return left > 0 ? left - 1 : depth;
}

/* Past the bracket that closes the one at at; to the end if none does, or if they are too deep. */
static const char *skip_group(const char *at, const char *start)
{
	char closers[DEPTH_MAX];
	size_t depth = 0;

	while (*at) {
		char closer = closer_of(*at);

		if (is_operator(at, start)) {
			/* A conversion's type may have brackets of its own: they pair up by themselves. */
			at = at[8] == ' ' ? at + 8 : skip_operator(at, start);
			continue;
		}
		if (closer && depth == DEPTH_MAX)
			return at + strlen(at);
		if (closer)
			closers[depth++] = closer;
		else if (strchr(")>]}", *at) && !(*at == '>' && at[-1] == '-'))
			depth = close_group(closers, depth, *at);
		at++;
		if (depth == 0)
			return at;
	}
	return at;
}

/* Past what may stand between parameters and "::", or the end. */
static const char *skip_qualifiers(const char *at)
{
	static const char *const words[] = {" const", " volatile", " &&", " &"};
	bool found = true;

	while (found) {
		found = false;
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
			if (!begins(at, words[i]))
				continue;
			at += strlen(words[i]);
			found = true;
			break;
		}
	}
	return at;
}

static bool follows(const char *at, const char *start, const char *word)
{
	size_t length = strlen(word);

	if (at > start && at[-1] == ' ')
		at--;
	return (size_t)(at - start) >= length && memcmp(at - length, word, length) == 0;
}

/* Where the name begins and ends. */
struct span {
	const char *start;
	const char *end;
};

/* One step at "(": past it, or NULL if the name ends here. */
static const char *pass_parenthesis(const char *at, const char *start, struct span *span)
{
	const char *after;

	/* A function that returns a pointer to a function has its name inside. */
	if ((at[1] == '*' || at[1] == '&') && at > start && at[-1] == ' ') {
		span->start = at + 2;
		return at + 2;
	}
	after = skip_group(at, start);
	if (follows(at, start, "decltype"))
		return after;
	after = skip_qualifiers(after);
	return begins(after, "::") ? after : NULL;
}

static struct span find_name(const char *text)
{
	struct span span = {.start = text};
	const char *at = text;

	while (at && *at) {
		span.end = at;
		if (begins(at, anonymous)) {
			at += strlen(anonymous);
		} else if (is_operator(at, text)) {
			at = skip_operator(at, text);
		} else if (*at == '(') {
			at = pass_parenthesis(at, text, &span);
		} else if (closer_of(*at)) {
			at = skip_group(at, text);
		} else if (begins(at, " [clone")) {
			at = NULL;
		} else if (*at++ == ' ') {
			span.start = at;
		}
	}
	if (at)
		span.end = at;
	if (span.end <= span.start)
		span = (struct span){.start = text, .end = text + strlen(text)};
	return span;
}

static void put(struct output *out, const char *bytes, size_t size)
{
	if (size > (size_t)(out->end - out->at))
		size = (size_t)(out->end - out->at);
	memcpy(out->at, bytes, size);
	out->at += size;
}

/* "{lambda(int)#1}" without the parameters. */
static void put_braces(struct output *out, struct span span)
{
	const char *at = span.start;

	while (at < span.end) {
		const char *after = *at == '(' ? skip_group(at, span.start) : at + 1;

		if (*at != '(')
			put(out, at, 1);
		at = after;
	}
}

/* The argument list at at; in Rust "::" introduces it, and goes with it. */
static void put_arguments(struct output *out, const char *at, const char *start, const char *first)
{
	if (at - start < 2 || !begins(at - 2, "::"))
		put(out, "<...>", 5);
	else if (out->at - first >= 2 && out->at < out->end)
		out->at -= 2;
}

static const char *put_self(struct output *out, struct span span, unsigned depth);

/* An operator and the template arguments behind it, which a blank may come before. */
static const char *put_operator(struct output *out, struct span span, const char *at)
{
	const char *after = skip_operator(at, span.start);

	put(out, at, (size_t)((after < span.end ? after : span.end) - at));
	if (*after != '<' || after >= span.end)
		return after;
	put(out, "<...>", 5);
	return skip_group(after, span.start);
}

/* True if the "<" at at introduces a path, as only in Rust, and no arguments: nothing that could take some is before it. */
static bool is_self(const char *at, const char *start)
{
	return at == start || strchr(" &<([,", at[-1]) != NULL;
}

static void put_name(struct output *out, struct span span, unsigned depth)
{
	const char *at = span.start;
	const char *first = out->at;

	while (at < span.end) {
		const char *from = at;

		if (begins(at, anonymous)) {
			at += strlen(anonymous);
			put(out, from, (size_t)(at - from));
		} else if (is_operator(at, span.start)) {
			at = put_operator(out, span, at);
		} else if (*at == '<' && is_self(at, span.start)) {
			at = put_self(out, (struct span){at, span.end}, depth + 1);
		} else if (*at == '<') {
			at = skip_group(at, span.start);
			put_arguments(out, from, span.start, first);
		} else if (*at == '{') {
			at = skip_group(at, span.start);
			put_braces(out, (struct span){from, at < span.end ? at : span.end});
		} else if (*at == '(' && depth > 0) {
			/* A tuple. */
			at = skip_group(at, span.start);
			put(out, "(...)", 5);
		} else if (*at == '(') {
			at = skip_qualifiers(skip_group(at, span.start));
		} else if (begins(at, "[abi:")) {
			at = skip_group(at, span.start);
		} else {
			put(out, at++, 1);
		}
	}
}

/* True if text, which ends at end, is a path: "app::Tree<...>", not "str" or "Type as Trait". */
static bool is_path(const char *text, const char *end)
{
	size_t length = (size_t)(end - text);

	return length > 0 && is_word(*text) && memmem(text, length, "::", 2) &&
	       !memchr(text, ' ', length);
}

/* Rust's "<Type as Trait>" and "<Type>"; the brackets go if there is just a path in them. */
static const char *put_self(struct output *out, struct span span, unsigned depth)
{
	const char *after = skip_group(span.start, span.start);
	struct span inner = {span.start + 1, after - 1};
	char *first = out->at;

	if (after > span.end || inner.end < inner.start || depth > SELF_DEPTH_MAX) {
		put(out, "<...>", 5);
		return after;
	}
	put(out, "<", 1);
	put_name(out, inner, depth);
	if (out->at > first && is_path(first + 1, out->at)) {
		memmove(first, first + 1, (size_t)(out->at - first) - 1);
		out->at--;
	} else {
		put(out, ">", 1);
	}
	return after;
}

size_t short_name(const char *function, char *out, size_t size)
{
	struct output output = {.at = out, .end = out + size - 1};
	struct span span = {.start = function, .end = function + strlen(function)};

	/* "main.(*Server).remember" is Go. */
	if (!strstr(function, ".(")) {
		span = find_name(function);
		put_name(&output, span, 0);
	}
	if (output.at == out)
		put(&output, function, strlen(function));
	*output.at = 0;
	return (size_t)(output.at - out);
}

const char *short_name_inner(const char *function)
{
	const char *at = function;

	while (*at) {
		if (is_operator(at, function))
			at = skip_operator(at, function);
		else if (closer_of(*at))
			at = skip_group(at, function);
		else if (begins(at, "::") && at > function && at[-1] != '}' && at[2] && at[2] != '{')
			return at + 2;
		else
			at++;
	}
	return NULL;
}
