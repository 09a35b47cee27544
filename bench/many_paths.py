#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""many_paths.py - prints a C program with many call paths, each of which allocates through an inlined function.

    many_paths.py [FUNCTIONS [PATHS]]     default 5000 functions, 100000 paths of 12 frames

Every function has eight call sites; a path is a random choice at each level, so nearly all paths differ."""
import sys

functions = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
paths = int(sys.argv[2]) if len(sys.argv) > 2 else 100000
SITES, DEPTH = 8, 12

print("""#include <stdint.h>
#include <stdlib.h>

static uint64_t seed = 1;
static void *volatile kept;

static inline unsigned choose(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 60) / 2;
}

static inline __attribute__((always_inline)) void *allocate(size_t size)
{
	return malloc(size);
}

static inline __attribute__((always_inline)) void remember(size_t size)
{
	kept = allocate(size);
}
""")
for i in range(functions):
    print(f"static void f{i}(int depth);")
for i in range(functions):
    print(f"\nstatic __attribute__((noinline)) void f{i}(int depth)\n{{")
    print(f"\tif (depth <= 0) {{\n\t\tremember({16 + i % 100});\n\t\treturn;\n\t}}\n\tswitch (choose()) {{")
    for site in range(SITES):
        print(f"\tcase {site}:\n\t\tf{(i * 7919 + site * 104729 + 1) % functions}(depth - 1);\n\t\tbreak;")
    print("\t}\n\t__asm__ volatile(\"\");\n}")
print(f"""
int main(void)
{{
	for (int i = 0; i < {paths}; i++)
		f0({DEPTH});
	return 0;
}}""")
