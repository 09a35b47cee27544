/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * page.c - lines on a terminal.
 */
#include "report/page.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Without memory the text goes straight to the output: unwrapped is better than lost. */
void page_text_begin(struct page_text *text, const struct output *out)
{
	*text = (struct page_text){0};
	text->file = open_memstream(&text->text, &text->size);
	if (!text->file) {
		text->text = NULL;
		text->file = out->file;
	}
}

/* False: there is no text to print. */
static bool close_text(struct page_text *text, const struct output *out)
{
	if (text->file == out->file)
		return false;
	if (fclose(text->file) == 0 && text->text)
		return true;
	free(text->text);
	text->text = NULL;
	return false;
}

static void print_spaces(const struct output *out, unsigned count)
{
	fprintf(out->file, "%*s", (int)count, "");
}

/* Bytes up to the next place where a line may end: not between a number and its unit. */
static size_t word_size(const char *text)
{
	size_t size = strcspn(text, " ");

	while (size > 0 && text[size] == ' ' && isdigit((unsigned char)text[size - 1]) &&
	       (isalpha((unsigned char)text[size + 1]) || text[size + 1] == '%'))
		size += 1 + strcspn(text + size + 1, " ");
	return size;
}

static unsigned columns_of(const char *text, size_t size)
{
	char *word = strndup(text, size);
	unsigned columns = word ? output_columns(word) : (unsigned)size;

	free(word);
	return columns;
}

static void print_wrapped(const struct output *out, const char *text, unsigned indent)
{
	unsigned column = indent;

	print_spaces(out, indent);
	while (*text) {
		size_t size = word_size(text);
		unsigned columns = columns_of(text, size);

		if (column > indent && column + 1 + columns > out->width) {
			fputc('\n', out->file);
			print_spaces(out, indent);
			column = indent;
		}
		if (column > indent) {
			fputc(' ', out->file);
			column++;
		}
		fprintf(out->file, "%.*s", (int)size, text);
		column += columns;
		text += size;
		text += strspn(text, " ");
	}
	fputc('\n', out->file);
}

void page_text_end(struct page_text *text, const struct output *out, unsigned indent)
{
	if (!close_text(text, out))
		return;
	if (text->text[0])
		print_wrapped(out, text->text, indent);
	free(text->text);
}

unsigned page_text_lines(struct page_text *text)
{
	unsigned lines = 0;
	size_t i;

	fflush(text->file);
	for (i = 0; text->text && i < text->size; i++)
		lines += text->text[i] == '\n';
	return lines;
}

unsigned page_text_print(struct page_text *text, const struct output *out)
{
	unsigned lines = page_text_lines(text);

	if (!close_text(text, out))
		return lines;
	fwrite(text->text, 1, text->size, out->file);
	free(text->text);
	return lines;
}

/* The ":88" at the end of "server.c:88", else the end of the text. */
static const char *line_number(const char *text)
{
	size_t end = strlen(text), size = end;

	while (size > 0 && isdigit((unsigned char)text[size - 1]))
		size--;
	return size > 1 && size < end && text[size - 1] == ':' ? text + size - 1 : text + end;
}

/* A line's number stays: half of one misleads. */
static void print_shortened(const struct output *out, char *text, unsigned width)
{
	const char *number = line_number(text);
	unsigned columns = (unsigned)strlen(number);

	if (columns && output_columns(text) > width && columns < width) {
		char *head = strndup(text, (size_t)(number - text));

		output_shortened(out, head ? head : "?", width - columns);
		fputs(number, out->file);
		free(head);
		return;
	}
	output_shortened(out, text, width);
}

/* Returns the columns that were printed. */
static unsigned print_cut(const struct output *out, const char *text, unsigned width)
{
	struct page_text clean;
	struct output to = *out;
	unsigned columns;

	page_text_begin(&clean, out);
	to.file = clean.file;
	output_safe(&to, text);
	if (!close_text(&clean, out))
		return width;
	columns = output_columns(clean.text);
	print_shortened(out, clean.text, width);
	free(clean.text);
	return columns < width ? columns : width;
}

void page_cut(const struct output *out, const char *text, unsigned width)
{
	print_cut(out, text, width);
}

void page_padded(const struct output *out, const char *text, unsigned width)
{
	print_spaces(out, width - print_cut(out, text, width));
}

void page_sentence(const struct output *out, const char *format, ...)
{
	struct page_text text;
	va_list args;

	page_text_begin(&text, out);
	va_start(args, format);
	vfprintf(text.file, format, args);
	va_end(args);
	page_text_end(&text, out, PAGE_INDENT);
}
