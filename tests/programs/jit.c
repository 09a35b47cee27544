/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jit.c - makes code at run time, tells its names, and allocates through it.
 *
 *   jit map|log|none [wait]
 *
 * "outer" calls "inner", which calls leak(): 10 times 100 bytes.  Then other code is put where inner was, "second": 5 times 100 bytes.
 * map: names go to /tmp/perf-PID.map; log: to jit-PID.dump in the current folder, with lines; none: nowhere.
 * wait: prints "ready" and ends when standard input does.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { OUTER = 0, INNER = 256, SECOND = 512, SIZE = 4096 };

static void *volatile sink;

__attribute__((noinline)) void leak(void);
void leak(void)
{
	sink = malloc(100);
	__asm__ volatile("" ::: "memory");
}

/* push rbp; mov rbp, rsp; mov rax, TARGET; call rax; pop rbp; ret */
static void emit(unsigned char *at, uintptr_t target)
{
	static const unsigned char head[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8};
	static const unsigned char tail[] = {0xff, 0xd0, 0x5d, 0xc3};

	memcpy(at, head, sizeof(head));
	memcpy(at + sizeof(head), &target, sizeof(target));
	memcpy(at + sizeof(head) + sizeof(target), tail, sizeof(tail));
}

static FILE *out;
static int is_log;
static uint64_t next_index = 1;

static void put(uint64_t value, size_t size)
{
	fwrite(&value, size, 1, out);
}

static void begin(const char *kind)
{
	char path[64];

	is_log = strcmp(kind, "log") == 0;
	snprintf(path, sizeof(path), is_log ? "jit-%d.dump" : "/tmp/perf-%d.map", (int)getpid());
	if (strcmp(kind, "none") != 0)
		out = fopen(path, "w");
	if (!is_log)
		return;
	put(0x4a695444, 4);
	put(1, 4);
	put(40, 4);
	put(62, 4);
	put(0, 4);
	put((uint64_t)getpid(), 4);
	put(0, 8);
	put(0, 8);
}

static void log_function(const unsigned char *start, size_t size, const char *name, uint32_t line)
{
	static const char file[] = "/srv/made-up.jit";

	put(2, 4); /* lines */
	put(16 + 16 + 16 + sizeof(file), 4);
	put(0, 8);
	put((uintptr_t)start, 8);
	put(1, 8);
	put((uintptr_t)start, 8);
	put(line, 4);
	put(0, 4);
	fwrite(file, sizeof(file), 1, out);
	put(0, 4); /* function */
	put(16 + 40 + strlen(name) + 1 + size, 4);
	put(0, 8);
	put((uint64_t)getpid(), 4);
	put((uint64_t)getpid(), 4);
	put((uintptr_t)start, 8);
	put((uintptr_t)start, 8);
	put(size, 8);
	put(next_index++, 8);
	fwrite(name, strlen(name) + 1, 1, out);
	fwrite(start, size, 1, out);
}

static void tell(const unsigned char *start, size_t size, const char *name, uint32_t line)
{
	if (out && is_log)
		log_function(start, size, name, line);
	else if (out)
		fprintf(out, "%lx %zx %s\n", (unsigned long)start, size, name);
	if (out)
		fflush(out);
}

int main(int argc, char **argv)
{
	unsigned char *code = mmap(NULL, SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*volatile outer)(void) = (void (*)(void))(code + OUTER);

	if (code == MAP_FAILED || argc < 2)
		return 1;
	begin(argv[1]);
	emit(code + INNER, (uintptr_t)leak);
	tell(code + INNER, 64, "replaced before use", 1);
	tell(code + INNER, 64, "inner", 10);
	emit(code + OUTER, (uintptr_t)(code + INNER));
	tell(code + OUTER, 64, "outer", 20);
	for (int i = 0; i < 10; i++)
		outer();
	emit(code + SECOND, (uintptr_t)leak);
	tell(code + SECOND, 64, "second function; with blanks", 30);
	emit(code + OUTER, (uintptr_t)(code + SECOND));
	for (int i = 0; i < 5; i++)
		outer();
	if (argc > 2) {
		puts("ready");
		fflush(stdout);
		(void)getchar();
	}
	return 0;
}
