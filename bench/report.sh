#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# report.sh - how long the first page of a large profile takes, and how much memory.
#
#   bench/report.sh [BUILD [DEPTH]]     default build, 30
#
# Compiles a C++ file of DEPTH nested templates with -O2 under `pmem run`, and reports on cc1plus's profile five
# times; as root with dropped page caches.  Prints nodes, bytes on disk, and for each report seconds and KiB.
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
"$build/pmem" run -q --no-log --only cc1plus -- g++ -std=c++17 -O2 -c big.cc
profile=$(ls -S ./*.prof | head -1)
"$build/pmem" info "$profile" | grep -E 'contents|disk'
for i in 1 2 3 4 5; do
	[ "$(id -u)" -ne 0 ] || { sync; echo 3 >/proc/sys/vm/drop_caches; }
	python3 - "$build/pmem" "$profile" <<-'END'
		import resource, subprocess, sys, time
		start = time.monotonic()
		subprocess.run([sys.argv[1], "report", sys.argv[2]], stdout=subprocess.DEVNULL, check=True)
		print("%.2f s  %d KiB" % (time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
	END
done
