/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * standalone.c - drives a fuzzer without libFuzzer: mutates seed files, the same way each time.
 *
 *   fuzz_X [-n RUNS] [-s SEED] [-r RUN] FILE...
 *
 * First every FILE as it is, then RUNS (default 20000) mutations.  Each is a function of SEED, its
 * number and the files alone; where a sanitizer stops the program it prints the number, and -r runs just
 * that one.  With libFuzzer (clang -fsanitize=fuzzer) this file is left out.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SEEDS_MAX = 4096, INPUT_MAX = 64 * 1024, CHANGES_MAX = 8 };

struct input {
	uint8_t *bytes;
	size_t size;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Of the sanitizers' runtime, where there is one. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static struct input seeds[SEEDS_MAX];
static size_t seed_count;
static uint64_t random_state;
static unsigned long current_run;

static void report_run(void)
{
	fprintf(stderr, "standalone: stopped in run %lu\n", current_run);
}

static void die(const char *what)
{
	perror(what);
	exit(2);
}

/* splitmix64 */
static uint64_t random_bits(void)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static size_t random_below(size_t limit)
{
	return limit ? (size_t)(random_bits() % limit) : 0;
}

static void read_seed(const char *path)
{
	struct input *seed = &seeds[seed_count];
	FILE *file = fopen(path, "rb");

	if (!file || seed_count == SEEDS_MAX)
		die(path);
	seed->bytes = malloc(INPUT_MAX);
	if (!seed->bytes)
		die("malloc");
	seed->size = fread(seed->bytes, 1, INPUT_MAX, file);
	fclose(file);
	seed_count++;
}

static uint64_t interesting_value(void)
{
	static const uint64_t values[] = {0,
					  1,
					  2,
					  4,
					  7,
					  8,
					  0x0b,
					  0x10,
					  0x1b,
					  0x3b,
					  0x40,
					  0x77,
					  0x7f,
					  0x80,
					  0xff,
					  0x100,
					  0x7fff,
					  0xffff,
					  0x7fffffff,
					  0x80000000,
					  0xffffffff,
					  0xfffffff0,
					  0x7fffffffffffffff,
					  0xffffffffffffffff,
					  0xfffffffffffffff8};
	size_t index = random_below(sizeof(values) / sizeof(values[0]) + 4);

	return index < sizeof(values) / sizeof(values[0]) ? values[index] : random_bits();
}

/* Most changes fall among the first bytes, where headers are. */
static size_t random_place(const struct input *input)
{
	size_t size = input->size;

	return random_below(random_below(2) && size > 512 ? 512 : size);
}

static void write_value(struct input *input)
{
	size_t at = random_place(input);
	size_t width = (size_t)1 << random_below(4);
	uint64_t value = interesting_value();

	if (width > input->size - at)
		width = input->size - at;
	memcpy(input->bytes + at, &value, width);
}

static void insert_byte(struct input *input)
{
	size_t at = random_place(input);

	if (input->size == INPUT_MAX)
		return;
	memmove(input->bytes + at + 1, input->bytes + at, input->size - at);
	input->bytes[at] = (uint8_t)interesting_value();
	input->size++;
}

static void copy_piece(struct input *input)
{
	const struct input *from = &seeds[random_below(seed_count)];
	size_t source = random_below(from->size);
	size_t target = random_place(input);
	size_t size = random_below(64);

	if (size > from->size - source)
		size = from->size - source;
	if (size > input->size - target)
		size = input->size - target;
	memcpy(input->bytes + target, from->bytes + source, size);
}

static void change(struct input *input)
{
	size_t at;

	if (input->size == 0)
		return;
	at = random_place(input);
	switch (random_below(8)) {
	case 0:
		input->bytes[at] ^= (uint8_t)(1 << random_below(8));
		break;
	case 1:
		input->bytes[at] = (uint8_t)(input->bytes[at] + random_below(9) - 4);
		break;
	case 2:
		insert_byte(input);
		break;
	case 3:
		memmove(input->bytes + at, input->bytes + at + 1, input->size - at - 1);
		input->size--;
		break;
	case 4:
		copy_piece(input);
		break;
	case 5:
		if (random_below(4) == 0)
			input->size = at;
		break;
	default:
		write_value(input);
		break;
	}
}

static void run_mutation(unsigned long run, uint64_t start, struct input *input)
{
	const struct input *seed;
	size_t changes;

	current_run = run;
	random_state = start * 0x2545f4914f6cdd1d + run;
	seed = &seeds[random_below(seed_count)];
	memcpy(input->bytes, seed->bytes, seed->size);
	input->size = seed->size;
	changes = 1 + random_below(1 + random_below(CHANGES_MAX));
	while (changes-- > 0)
		change(input);
	LLVMFuzzerTestOneInput(input->bytes, input->size);
}

int main(int argc, char **argv)
{
	unsigned long first = 1;
	unsigned long last = 20000;
	uint64_t start = 1;
	struct input input = {.bytes = malloc(INPUT_MAX)};
	int option;

	while ((option = getopt(argc, argv, "n:s:r:")) != -1) {
		if (option == 'n')
			last = strtoul(optarg, NULL, 10);
		else if (option == 's')
			start = strtoull(optarg, NULL, 10);
		else if (option == 'r')
			first = last = strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	for (int i = optind; i < argc; i++)
		read_seed(argv[i]);
	if (seed_count == 0 || !input.bytes)
		die("no seeds");
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(report_run);
	for (size_t i = 0; i < seed_count; i++)
		LLVMFuzzerTestOneInput(seeds[i].bytes, seeds[i].size);
	for (unsigned long run = first; run <= last; run++)
		run_mutation(run, start, &input);
	printf("%zu seeds, runs %lu to %lu: no finding\n", seed_count, first, last);
	for (size_t i = 0; i < seed_count; i++)
		free(seeds[i].bytes);
	free(input.bytes);
	return 0;
}
