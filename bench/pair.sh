#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# pair.sh - what libpmem.so adds to a malloc + free pair on a repeating call site.
#
#   bench/pair.sh [FILE [ROUNDS]]     default build/libpmem.so, 9 rounds
#
# Runs bench/pair.c bare and recorded in turn, for depths of 5, 20 and 60 frames, and prints for each the
# medians over the rounds and their difference, in nanoseconds.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
lib=$(readlink -f "${1:-$root/build/libpmem.so}")
rounds=${2:-9}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${CC:-cc}" -O2 -o "$work/pair" "$root/bench/pair.c"
cd "$work"

median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

printf '%-6s %10s %10s %10s\n' depth bare pmem added
for depth in 5 20 60; do
	: >bare
	: >mine
	for ((i = 0; i < rounds; i++)); do
		./pair "$depth" >>bare
		LD_PRELOAD=$lib ./pair "$depth" >>mine
		rm -f pmem.*
	done
	awk -v d="$depth" -v a="$(median bare)" -v b="$(median mine)" \
		'BEGIN { printf "%-6s %10.1f %10.1f %10.1f\n", d, a, b, b - a }'
done
