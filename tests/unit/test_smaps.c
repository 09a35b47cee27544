/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_smaps.c - mappings from the text of /proc/PID/smaps, whatever parts it comes in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/smaps.h"

static const char
	text[] = "55d0c8a00000-55d0c8a02000 r--p 00000000 fe:01 1234    /usr/bin/a b (deleted)\n"
		 "Size:                  8 kB\n"
		 "Rss:                   4 kB\n"
		 "Shared_Clean:          4 kB\n"
		 "Shared_Dirty:          8 kB\n"
		 "Swap:                  0 kB\n"
		 "VmFlags: rd mr mw me \n"
		 "7f0000000000-7f0004000000 rw-s 00000000 00:00 0 \n"
		 "Rss:               65536 kB\n"
		 "Swap:                 12 kB\n"
		 "VmFlags: rd wr sh mr rr nr sd\n"
		 "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0   [vsyscall]\n";

struct input {
	const char *bytes;
	size_t left;
	size_t step;
};

static long read_part(void *context, void *buffer, size_t size)
{
	struct input *input = context;
	size_t count = input->left < size ? input->left : size;

	if (count > input->step)
		count = input->step;
	memcpy(buffer, input->bytes, count);
	input->bytes += count;
	input->left -= count;
	return (long)count;
}

static long read_nothing(void *context, void *buffer, size_t size)
{
	(void)context;
	(void)buffer;
	(void)size;
	return -1;
}

static void check_all(size_t step)
{
	static struct smaps_mapping mapping;
	struct input input = {text, sizeof(text) - 1, step};
	struct smaps_reader reader = {.read = read_part, .context = &input};

	assert_true(smaps_next(&reader, &mapping));
	assert_int_equal(mapping.start, 0x55d0c8a00000);
	assert_int_equal(mapping.end, 0x55d0c8a02000);
	assert_int_equal(mapping.rss, 4096);
	assert_int_equal(mapping.shared, 12288);
	assert_int_equal(mapping.flags, SMAPS_READABLE);
	assert_string_equal(mapping.path, "/usr/bin/a b (deleted)");
	assert_string_equal(smaps_name(&mapping), "a b (deleted)");
	assert_true(smaps_next(&reader, &mapping));
	assert_int_equal(mapping.rss, 64 << 20);
	assert_int_equal(mapping.swap, 12288);
	assert_int_equal(mapping.flags, SMAPS_READABLE | SMAPS_WRITABLE | SMAPS_SHARED |
						SMAPS_NORESERVE | SMAPS_RANDOM);
	assert_string_equal(mapping.path, "");
	assert_true(smaps_next(&reader, &mapping));
	assert_int_equal(mapping.start, 0xffffffffff600000);
	assert_int_equal(mapping.flags, SMAPS_EXECUTABLE);
	assert_string_equal(smaps_name(&mapping), "[vsyscall]");
	assert_false(smaps_next(&reader, &mapping));
	assert_false(reader.failed);
}

static void parts_of_any_size(void **state)
{
	(void)state;
	for (size_t step = 1; step <= sizeof(text); step++)
		check_all(step);
}

static void a_long_path_is_cut(void **state)
{
	static char line[3 * SMAPS_LINE] = "1000-2000 rw-p 0 0:0 0 /";
	static struct smaps_mapping mapping;
	struct input input = {line, sizeof(line), sizeof(line)};
	struct smaps_reader reader = {.read = read_part, .context = &input};

	(void)state;
	memset(line + strlen(line), 'x', sizeof(line) - strlen(line) - 1);
	line[sizeof(line) - 1] = '\n';
	assert_true(smaps_next(&reader, &mapping));
	assert_int_equal(mapping.end, 0x2000);
	assert_true(strlen(mapping.path) > 4000);
	assert_false(smaps_next(&reader, &mapping));
}

static void what_is_none_fails(void **state)
{
	static struct smaps_mapping mapping;
	static const char *const bad[] = {"Rss: 4 kB\n",    "1000-\n", "1000-2000\n",
					  "1000-2000 rw\n", "\n",      "zzz\n"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct input input = {bad[i], strlen(bad[i]), 100};
		struct smaps_reader reader = {.read = read_part, .context = &input};

		assert_false(smaps_next(&reader, &mapping));
		assert_true(reader.failed);
	}
}

static void a_failed_read_is_no_end(void **state)
{
	static struct smaps_mapping mapping;
	struct smaps_reader reader = {.read = read_nothing};

	(void)state;
	assert_false(smaps_next(&reader, &mapping));
	assert_true(reader.failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_of_any_size),
		cmocka_unit_test(a_long_path_is_cut),
		cmocka_unit_test(what_is_none_fails),
		cmocka_unit_test(a_failed_read_is_no_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
