/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * output.c - the pager, styles, and text that may be printed.
 *
 * While a pager runs, SIGINT is its business (it ends a search there), and SIGPIPE is ignored: the rest of the output is
 * then dropped.  One output at a time.
 */
#include "base/output.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"

enum { WIDTH_DEFAULT = 80, WIDTH_MIN = 40, WIDTH_MAX = 10000, PROGRESS_NS = 100000000 };

static const char dots[] = "...";

static struct sigaction interrupt_before;
static struct sigaction pipe_before;

static bool has_program(const char *name)
{
	const char *path = getenv("PATH");
	char file[4096];
	size_t length;

	for (; path && *path; path += length + (path[length] == ':')) {
		length = strcspn(path, ":");
		if (length && length < sizeof(file) / 2) {
			snprintf(file, sizeof(file), "%.*s/%s", (int)length, path, name);
			if (access(file, X_OK) == 0)
				return true;
		}
	}
	return false;
}

/* The shell command of the pager, NULL for none. */
static const char *pager_command(void)
{
	const char *command = getenv("PMEM_PAGER");

	if (!command)
		command = getenv("PAGER");
	if (!command)
		command = has_program("less") ? "less -FRX" : "";
	return *command ? command : NULL;
}

static bool is_dumb(void)
{
	const char *term = getenv("TERM");

	return !term || !*term || strcmp(term, "dumb") == 0;
}

static bool wants_colors(void)
{
	const char *no_color = getenv("NO_COLOR");

	return isatty(STDOUT_FILENO) && !is_dumb() && !(no_color && *no_color);
}

unsigned output_width(unsigned least)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	long width = 0;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		width = size.ws_col;
	if (width <= 0 && columns)
		width = strtol(columns, NULL, 10);
	if (width <= 0)
		width = WIDTH_DEFAULT;
	if (width > WIDTH_MAX)
		width = WIDTH_MAX;
	return width < (long)least ? least : (unsigned)width;
}

static FILE *start_pager(void)
{
	const struct sigaction ignore = {.sa_handler = SIG_IGN};
	const char *command = isatty(STDOUT_FILENO) ? pager_command() : NULL;
	FILE *pager;

	if (!command)
		return NULL;
	fflush(stdout);
	pager = popen(command, "we");
	if (pager) { /* only now: the pager has the signals as they were */
		sigaction(SIGINT, &ignore, &interrupt_before);
		sigaction(SIGPIPE, &ignore, &pipe_before);
	}
	return pager;
}

void output_begin(struct output *out)
{
	FILE *pager;

	out->colors = wants_colors();
	out->width = output_width(WIDTH_MIN);
	pager = start_pager();
	out->file = pager ? pager : stdout;
}

void output_end(struct output *out)
{
	if (out->file == stdout) {
		fflush(stdout);
		return;
	}
	pclose(out->file);
	out->file = stdout;
	sigaction(SIGPIPE, &pipe_before, NULL);
	sigaction(SIGINT, &interrupt_before, NULL);
}

/* stdio keeps that a write failed, but not why: another try, of what is lost anyway, tells. */
bool output_flush(FILE *file)
{
	bool ok = !ferror(file);

	errno = 0;
	ok = fflush(file) == 0 && ok;
	if (!ok && errno == 0 && write(fileno(file), "\n", 1) >= 0)
		errno = EIO;
	return ok;
}

bool output_finish(FILE *file, struct error *err)
{
	return output_flush(file) || errno == EPIPE || error_set_errno(err, "standard output");
}

const char *output_style(const struct output *out, enum output_style style)
{
	static const char *const sequences[] = {
		[OUTPUT_PLAIN] = "\033[0m",  [OUTPUT_BOLD] = "\033[1m",
		[OUTPUT_DIM] = "\033[2m",    [OUTPUT_RED] = "\033[31m",
		[OUTPUT_GREEN] = "\033[32m", [OUTPUT_YELLOW] = "\033[33m",
	};

	return out->colors ? sequences[style] : "";
}

/* Bytes of the character, or of what stands for one, at text; 0 at the end. */
static unsigned step(const char *text)
{
	unsigned length = *text ? utf8_length(text) : 0;

	return *text && !length ? 1 : length;
}

/* The characters that turn the direction of what follows: U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069. */
static bool turns_text(const unsigned char *text)
{
	if (text[0] != 0xe2)
		return false;
	if (text[1] == 0x80)
		return text[2] == 0x8e || text[2] == 0x8f || (text[2] >= 0xaa && text[2] <= 0xae);
	return text[1] == 0x81 && text[2] >= 0xa6 && text[2] <= 0xa9;
}

bool output_is_control(const char *text)
{
	const unsigned char *bytes = (const unsigned char *)text;

	return bytes[0] < 0x20 || bytes[0] == 0x7f || (bytes[0] == 0xc2 && bytes[1] < 0xa0) ||
	       turns_text(bytes);
}

/* Prints count characters of text; returns where the next begins. */
static const char *put_safe(FILE *file, const char *text, unsigned count)
{
	unsigned length;

	for (; count && (length = step(text)) != 0; count--, text += length) {
		if (output_is_control(text) || !utf8_length(text))
			fputc('?', file);
		else
			fwrite(text, 1, length, file);
	}
	return text;
}

static unsigned count_characters(const char *text)
{
	unsigned count = 0, length;

	for (; (length = step(text)) != 0; text += length)
		count++;
	return count;
}

static const char *skip_characters(const char *text, unsigned count)
{
	while (count--)
		text += step(text);
	return text;
}

void output_safe(const struct output *out, const char *text)
{
	put_safe(out->file, text, (unsigned)-1);
}

/* Two thirds of what is kept are from the beginning. */
void output_shortened(const struct output *out, const char *text, unsigned width)
{
	unsigned count = count_characters(text), left, right;

	if (count <= width) {
		output_safe(out, text);
		return;
	}
	if (width < sizeof(dots)) {
		put_safe(out->file, text, width);
		return;
	}
	left = ((width - 3) * 2 + 2) / 3;
	right = width - 3 - left;
	text = put_safe(out->file, text, left);
	fputs(dots, out->file);
	output_safe(out, skip_characters(text, count - left - right));
}

/* The bytes of an escape sequence at text (ECMA-48, 5.4: CSI, parameters, one final byte); 0: there is none. */
static size_t escape_length(const char *text)
{
	size_t length = 2;

	if (text[0] != '\033' || text[1] != '[')
		return 0;
	while (text[length] >= 0x20 && text[length] < 0x40)
		length++;
	return text[length] >= 0x40 ? length + 1 : 0;
}

unsigned output_columns(const char *text)
{
	unsigned count = 0;
	size_t length;

	while (*text) {
		length = escape_length(text);
		if (!length) {
			length = step(text);
			count++;
		}
		text += length;
	}
	return count;
}

static uint64_t progress_ns; /* when the line was written last; 0 = none is shown */

void output_progress(const char *what, unsigned long done, unsigned long total)
{
	uint64_t now = clock_monotonic_ns();

	if (now - progress_ns < PROGRESS_NS || !isatty(STDERR_FILENO) || is_dumb())
		return;
	progress_ns = now;
	if (total)
		fprintf(stderr, "\r%s %u %%\033[K", what,
			(unsigned)((double)done / (double)total * 100));
	else
		fprintf(stderr, "\r%s %lu\033[K", what, done);
	fflush(stderr);
}

void output_progress_end(void)
{
	if (progress_ns)
		fputs("\r\033[K", stderr);
	progress_ns = 0;
}
