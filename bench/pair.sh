#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# pair.sh - what libpmem.so adds to a malloc + free pair.
#
#   bench/pair.sh [FILE [ROUNDS [PATTERN...]]]     default build/libpmem.so, 9 rounds, "same"
#
# Runs bench/pair.c bare and recorded in turn, for depths of 5, 20 and 60 frames, and prints for each the
# medians over the rounds and their difference, in nanoseconds of CPU time.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
lib=$(readlink -f "${1:-$root/build/libpmem.so}")
rounds=${2:-9}
shift $(($# < 2 ? $# : 2))
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${CC:-cc}" -O2 -pthread -o "$work/pair" "$root/bench/pair.c"
cd "$work"

median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

printf '%-9s %-6s %10s %10s %10s\n' pattern depth bare pmem added
for pattern in "${@:-same}"; do
	for depth in 5 20 60; do
		: >bare
		: >mine
		for ((i = 0; i < rounds; i++)); do
			./pair -p "$pattern" "$depth" >>bare
			LD_PRELOAD=$lib ./pair -p "$pattern" "$depth" >>mine
			rm -f pmem.*
		done
		awk -v p="$pattern" -v d="$depth" -v a="$(median bare)" -v b="$(median mine)" \
			'BEGIN { printf "%-9s %-6s %10.1f %10.1f %10.1f\n", p, d, a, b, b - a }'
	done
done
