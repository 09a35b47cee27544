/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_say.c - see run_say.h.
 */
#include "cmd/run_say.h"

#include <string.h>

#include "base/output.h"

enum { WIDTH = 80, WORD_MAX = 4096 };

void run_say(FILE *file, const char *text)
{
	const struct output out = {.file = file};
	const int margin = fprintf(file, "pmem:");
	int column = margin;
	char word[WORD_MAX];
	size_t length;

	while (*text) {
		length = strcspn(text, " ");
		length = length < WORD_MAX - 1 ? length : WORD_MAX - 1;
		memcpy(word, text, length);
		word[length] = 0;
		if (column > margin && column + 1 + (int)length > WIDTH) {
			fprintf(file, "\n%*s", margin, "");
			column = margin;
		}
		fputc(' ', file);
		output_safe(&out, word);
		column += 1 + (int)length;
		text += length;
		text += *text == ' ';
	}
	fputc('\n', file);
}
