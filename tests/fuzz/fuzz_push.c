/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_push.c - fuzzes what `pmem push` reads: files of its spool, and what servers answer.
 *
 * Input: any of them; all readers get it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "push/base.h"
#include "push/grpc_status.h"
#include "push/rejected.h"
#include "push/spool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

static void check_base(const uint8_t *data, size_t size)
{
	struct base base;
	uint32_t i;

	if (!base_parse(&base, data, size)) {
		require(base.entries == NULL && base.count == 0);
		return;
	}
	for (i = 0; i < base.count; i++)
		require(base_find(&base, base.entries[i].number) == &base.entries[i]);
	base_free(&base);
}

static void check_head(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct spool_head head;
	size_t length;

	require(text != NULL);
	memcpy(text, data, size);
	length = spool_head_parse(text, size, &head);
	require(length <= size);
	if (length > 0)
		require(strlen("pmem-push 1") + strlen(head.type) + strlen(head.encoding) +
				strlen(head.query) + 4 ==
			length);
	free(text);
}

static void check_answer(const uint8_t *data, size_t size)
{
	char why[REJECTED_TEXT];
	struct grpc_status status;

	rejected_profiles(data, size, why);
	require(memchr(why, '\0', sizeof(why)) != NULL);
	if (!grpc_status_find(&status, data, size))
		return;
	require(status.code < 1000);
	require(memchr(status.text, '\0', sizeof(status.text)) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_base(data, size);
	check_head(data, size);
	check_answer(data, size);
	return 0;
}
