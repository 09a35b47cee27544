#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# report.sh - how long the first page of a large profile takes, and how much memory; heaptrack's analysis beside it.
#
#   bench/report.sh [BUILD [DEPTH]]     default build, 30
#
# Records three programs: cc1plus, which compiles a C++ file of DEPTH nested templates with -O2 and has no debug
# information, bench/many_paths.py's program, built with -g, whose sites are inlined functions, and, if there is rustc,
# bench/stacks.rs's with 900,000 call stacks.  Reports on each profile five times, as root with dropped page caches, in
# turn with heaptrack_print on heaptrack's own recording of the same program if heaptrack is installed (not of the last one, which
# heaptrack does not finish).  Prints nodes, bytes on disk, and for each report seconds and KiB.
#
#   BEFORE=PATH bench/report.sh ...     reports with this pmem too, in turn
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$root/build}" && pwd)
depth=${2:-30}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >big.cc <<END
#include <algorithm>
#include <array>
#include <map>
#include <regex>
#include <string>
#include <variant>
#include <vector>
template <int N> struct S {
	std::map<std::string, std::vector<std::variant<int, std::string, std::array<char, N>>>> m;
	void f()
	{
		std::regex r("a[b-z]*");
		std::smatch s;
		for (auto &kv : m)
			if (std::regex_search(kv.first, s, r))
				kv.second.emplace_back(N);
		std::sort(m.begin()->second.begin(), m.begin()->second.end(),
			  [](auto &a, auto &b) { return a.index() < b.index(); });
	}
};
template <int N> void go()
{
	S<N> s;
	s.m["x"];
	s.f();
	if constexpr (N > 1)
		go<N - 1>();
}
int main() { go<$depth>(); }
END

# timed COMMAND...: seconds of wall clock and of CPU, peak memory.
timed() {
	[ "$(id -u)" -ne 0 ] || { sync; echo 3 >/proc/sys/vm/drop_caches; }
	python3 - "$@" <<-'END'
		import os, resource, subprocess, sys, time
		start = time.monotonic()
		subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
		used = resource.getrusage(resource.RUSAGE_CHILDREN)
		print("  %-16s %.2f s, %.2f s CPU, %d KiB" % (os.path.basename(sys.argv[1]), time.monotonic() - start,
		      used.ru_utime + used.ru_stime, used.ru_maxrss))
	END
}

# compare NAME PEER ONLY COMMAND...: records the program called ONLY, by PEER ("heaptrack" or nothing) too, and reports.
compare() {
	echo "$1:"
	peer=$2
	only=$3
	shift 3
	rm -f ./*.prof heaptrack.*
	"$build/pmem" run -q --no-log --only "$only" -- "$@"
	profile=$(ls -S ./*.prof | head -1)
	"$build/pmem" info "$profile" | grep -E 'contents|disk'
	recording=
	if [ -n "$peer" ] && command -v heaptrack >/dev/null; then
		heaptrack -o heaptrack "$@" >/dev/null 2>&1 || true
		recording=$(ls -S heaptrack.* 2>/dev/null | head -1)
	fi
	for _ in 1 2 3 4 5; do
		[ -z "${BEFORE-}" ] || timed "$BEFORE" report "$profile"
		timed "$build/pmem" report "$profile"
		[ -z "$recording" ] || timed heaptrack_print "$recording"
	done
}

compiler=$(g++ -print-prog-name=cc1plus)
g++ -std=c++17 -E big.cc -o big.ii
compare "cc1plus, no debug information" heaptrack cc1plus "$compiler" -quiet -std=c++17 -O2 big.ii -o /dev/null
python3 "$root/bench/many_paths.py" >paths.c
gcc -g -O1 -o paths paths.c
compare "many paths, inlined functions" heaptrack paths ./paths
if command -v rustc >/dev/null; then
	rustc -O -o stacks "$root/bench/stacks.rs"
	compare "900,000 call stacks" "" stacks ./stacks 75000
fi
