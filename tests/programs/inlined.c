/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inlined.c - static functions that an optimizer inlines into each other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct entry {
	struct entry *next;
	char text[4000];
};

static struct entry *entries;

static void *xmalloc(size_t size)
{
	void *block = malloc(size);

	if (!block)
		abort();
	return block;
}

static void remember(const char *text)
{
	struct entry *entry = xmalloc(sizeof(*entry)); /* LINE remember */

	entry->next = entries;
	strncpy(entry->text, text, sizeof(entry->text) - 1);
	entries = entry;
}

static unsigned hash_of(const char *text)
{
	unsigned hash = 5381;

	while (*text)
		hash = hash * 33 + (unsigned char)*text++;
	return hash;
}

static int compare(const void *a, const void *b)
{
	unsigned left = hash_of(*(char *const *)a), right = hash_of(*(char *const *)b);

	return (left > right) - (left < right);
}

__attribute__((noinline)) void handle_rare_request(const char *text)
{
	if (hash_of(text) % 1000 != 999)
		remember(text); /* LINE handle_rare_request */
	else
		puts("rare");
}

__attribute__((noinline)) void sort_words(char **words, size_t count)
{
	qsort(words, count, sizeof(*words), compare);
	for (size_t i = 0; i + 1 < count; i++)
		if (hash_of(words[i]) > hash_of(words[i + 1]))
			abort();
}

int main(void)
{
	char *words[100];

	for (int i = 0; i < 100; i++) {
		words[i] = xmalloc(20);
		snprintf(words[i], 20, "word %d", i);
	}
	sort_words(words, 100);
	for (int i = 0; i < 1000; i++)
		handle_rare_request(words[i % 100]);
	_exit(0);
}
