#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# leaks.sh - how long `pmem leaks` stops a process, and how long it searches.
#
#   bench/leaks.sh [FOLDER [MIB [BLOCK [THREADS [ROUNDS]]]]]     default build, 1024, 100, 8, 3
#
# FOLDER has pmem and libpmem.so.  Prints for each round the pause as pmem tells it, what it announced, the longest gap that the program's own loop saw,
# and the time and memory of the search.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$(readlink -f "${1:-$root/build}")
mib=${2:-1024} block=${3:-100} threads=${4:-8} rounds=${5:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${CC:-cc}" -O2 -pthread -o "$work/leaks" "$root/bench/leaks.c"
cd "$work"

coproc program { LD_PRELOAD=$folder/libpmem.so PMEM_LOG=0 exec ./leaks "$mib" "$block" "$threads"; }
pid=$program_PID
exec 3>&"${program[1]}" 4<&"${program[0]}"
gap() { echo >&3; read -r us <&4; echo "$us"; }
read -r _ <&4
gap >/dev/null
sleep 1
echo "gap without: $(gap) us"
printf '%9s %9s %9s %9s %9s %12s\n' 'pause ms' 'told ms' 'gap ms' 'search s' 'MiB' 'lost'
for ((i = 0; i < rounds; i++)); do
	"$folder/pmem" leaks -q --json "$pid" >out.json &
	tool=$!
	peak=0
	while kill -0 $tool 2>/dev/null; do
		for process in $tool $(cat /proc/$tool/task/$tool/children 2>/dev/null); do
			now=$(awk '/^VmHWM/ { print $2 }' "/proc/$process/status" 2>/dev/null || true)
			[ "${now:-0}" -le "$peak" ] || peak=$now
		done
		sleep 0.1
	done
	wait $tool
	awk -v gap="$(gap)" -v peak="$peak" '
		function value(line) { gsub(/[^0-9]/, "", line); return line }
		/^ "pause_ns"/ { pause = value($2) }
		/^ "expected_pause_ns"/ { told = value($2) }
		/^ "search_ns"/ { search = value($2) }
		/^ "lost_bytes"/ { lost = value($2) }
		END { printf "%9.1f %9.1f %9.1f %9.1f %9d %12d\n", pause / 1e6, told / 1e6, gap / 1e3, search / 1e9, peak / 1024, lost }' out.json
done
input=${program[1]}
exec 3>&- {input}>&-
wait "$pid"
