/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * blame_file.c - see blame_file.h.
 */
#include "profile/blame_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RULES_START = 16 };

static const char module_key[] = "module:";
static const char function_key[] = "function:";

/* The line that is looked at. */
struct line {
	const char *name; /* of the file */
	unsigned number;
	char *at; /* what is left of it */
	struct error *err;
};

static bool fail(const struct line *line, const char *what, const char *text)
{
	return error_set(line->err, "%s:%u: %s%s%.80s%s", line->name, line->number, what,
			 text ? " \"" : "", text ? text : "", text ? "\"" : "");
}

/* Steps over word if the line goes on with it, and over the blanks behind it. */
static bool take_word(struct line *line, const char *word)
{
	size_t length = strlen(word);
	char after = strncmp(line->at, word, length) == 0 ? line->at[length] : 'x';

	if (after != ' ' && after != '\0')
		return false;
	line->at += length;
	line->at += strspn(line->at, " ");
	return true;
}

static bool begins(const char *text, const char *key)
{
	return strncmp(text, key, strlen(key)) == 0;
}

/* The pattern of a module ends at a blank. */
static bool take_module(struct line *line, struct blame_rule *rule)
{
	char *end;

	rule->module = line->at += strlen(module_key);
	end = line->at + strcspn(line->at, " ");
	line->at = end + strspn(end, " ");
	*end = '\0';
	if (!rule->module[0])
		return fail(line, "module: without a pattern", NULL);
	if (strcmp(rule->module, "\"\"") == 0)
		rule->module = "";
	else if (strchr(rule->module, '/'))
		return fail(line, "a module is named by the last part of its path, without \"/\"",
			    NULL);
	return true;
}

static bool take_patterns(struct line *line, struct blame_rule *rule)
{
	if (begins(line->at, module_key) && !take_module(line, rule))
		return false;
	if (begins(line->at, function_key)) {
		rule->function = line->at + strlen(function_key);
		if (!rule->function[0])
			return fail(line, "function: without a pattern", NULL);
		return true;
	}
	if (line->at[0])
		return fail(line, "module:PATTERN or function:PATTERN is expected, not", line->at);
	return rule->module || fail(line, "module:PATTERN or function:PATTERN is missing", NULL);
}

static bool parse_rule(struct line *line, struct blame_rule *rule)
{
	*rule = (struct blame_rule){.names = BLAME_ALL_NAMES};
	if (take_word(line, "own"))
		rule->blame = BLAME_OWN;
	else if (take_word(line, "runtime"))
		rule->blame = BLAME_RUNTIME;
	else
		return fail(line, "a rule begins with own or runtime, not", line->at);
	return take_patterns(line, rule);
}

/* Without the blanks around it; tabs are blanks.  False: there are characters that are none. */
static bool trim(struct line *line)
{
	size_t length = strlen(line->at);

	for (char *at = line->at; *at; at++) {
		if (*at == '\t' || *at == '\r')
			*at = ' ';
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			return fail(line, "a control character", NULL);
	}
	while (length > 0 && line->at[length - 1] == ' ')
		line->at[--length] = '\0';
	line->at += strspn(line->at, " ");
	return length <= BLAME_FILE_LINE_MAX || fail(line, "longer than a line may be", NULL);
}

static bool add_rule(struct blame_file *file, const struct blame_rule *rule)
{
	size_t count = file->count;
	struct blame_rule *grown = file->rules;

	/* Grows when count is a power of two from RULES_START on, or 0. */
	if (count == 0 || (count >= RULES_START && (count & (count - 1)) == 0))
		grown = realloc(file->rules, (count ? count * 2 : RULES_START) * sizeof(*grown));
	if (!grown)
		return false;
	file->rules = grown;
	grown[file->count++] = *rule;
	return true;
}

static bool parse_line(struct line *line, struct blame_file *file)
{
	struct blame_rule rule;

	if (!trim(line))
		return false;
	if (!line->at[0] || line->at[0] == '#')
		return true;
	if (!parse_rule(line, &rule))
		return false;
	return add_rule(file, &rule) || fail(line, "no memory", NULL);
}

static bool parse_lines(struct blame_file *file, size_t size, struct line *line)
{
	char *next = file->text;
	char *end = file->text + size;

	while (next < end) {
		char *stop = memchr(next, '\n', (size_t)(end - next));

		stop = stop ? stop : end;
		line->at = next;
		line->number++;
		if (memchr(next, '\0', (size_t)(stop - next)))
			return fail(line, "a control character", NULL);
		*stop = '\0';
		if (!parse_line(line, file))
			return false;
		next = stop + 1;
	}
	return true;
}

bool blame_file_parse(const char *bytes, size_t size, const char *name, struct blame_file *file,
		      struct error *err)
{
	struct line line = {.name = name, .err = err};

	*file = (struct blame_file){0};
	if (size > BLAME_FILE_SIZE_MAX)
		return error_set(err, "%s: larger than a file of rules may be", name);
	file->text = malloc(size + 1);
	if (!file->text)
		return error_set(err, "%s: no memory", name);
	memcpy(file->text, bytes, size);
	file->text[size] = '\0';
	if (parse_lines(file, size, &line))
		return true;
	blame_file_free(file);
	return false;
}

void blame_file_free(struct blame_file *file)
{
	free(file->rules);
	free(file->text);
	*file = (struct blame_file){0};
}

/* --- files ----------------------------------------------------------------------------------- */

/* What there is, at most one byte more than allowed. */
static bool read_bytes(int fd, char *bytes, size_t *size)
{
	ssize_t got;

	for (*size = 0; *size <= BLAME_FILE_SIZE_MAX; *size += (size_t)got) {
		got = read(fd, bytes + *size, BLAME_FILE_SIZE_MAX + 1 - *size);
		if (got < 0 && errno == EINTR)
			got = 0;
		else if (got < 0)
			return false;
		else if (got == 0)
			break;
	}
	return true;
}

static bool read_file(int fd, const char *path, struct blame_file *file, struct error *err)
{
	char *bytes = malloc(BLAME_FILE_SIZE_MAX + 1);
	struct stat status;
	size_t size;
	bool done;

	if (!bytes)
		return error_set(err, "%s: no memory", path);
	if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode))
		errno = EISDIR;
	else
		errno = 0;
	if (errno || !read_bytes(fd, bytes, &size))
		done = error_set_errno(err, "%s", path);
	else
		done = blame_file_parse(bytes, size, path, file, err);
	free(bytes);
	return done;
}

bool blame_file_read(const char *path, struct blame_file *file, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	bool done;

	*file = (struct blame_file){0};
	if (fd < 0)
		return error_set_errno(err, "%s", path);
	done = read_file(fd, path, file, err);
	close(fd);
	return done;
}

/* To be freed; NULL: no memory, or there is no such folder. */
static char *default_path(void)
{
	const char *config = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");
	char *path;

	if (config && config[0] == '/')
		return asprintf(&path, "%s/pmem/blame", config) < 0 ? NULL : path;
	if (!home || home[0] != '/')
		return NULL;
	return asprintf(&path, "%s/.config/pmem/blame", home) < 0 ? NULL : path;
}

static struct blame_file used;
static bool is_chosen; /* by an option */

static bool use(const char *path, struct error *err)
{
	struct blame_file file;

	if (!blame_file_read(path, &file, err))
		return false;
	blame_use(file.rules, file.count);
	blame_file_free(&used);
	used = file;
	return true;
}

static bool use_environment(struct error *err)
{
	const char *named = getenv("PMEM_BLAME");
	char *path;
	bool done;

	if (named)
		return !named[0] || use(named, err);
	path = default_path();
	done = !path || access(path, F_OK) != 0 || use(path, err);
	free(path);
	return done;
}

bool blame_file_use(const char *given, struct error *err)
{
	if (!given)
		return is_chosen || use_environment(err);
	is_chosen = true;
	return !given[0] || use(given, err);
}
