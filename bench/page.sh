#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# page.sh - what each interaction with the page of a large profile takes, in Chromium.
#
#   page.sh [BUILD-FOLDER [CALL-STACKS]]
#
# Default: build, and 56,000 call stacks, which make about 500,000 nodes.  Prints, for each interaction, the time until all is drawn and
# the CPU time of the page's thread (tests/test_page.py); 100 ms of CPU time or more are a failure.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-build}" && pwd)
said=$(mktemp)
trap 'rm -f "$said"' EXIT
cd "$root"
PMEM_TEST_LIB=$build/libpmem.so PMEM_TEST_PAGE_PATHS=${2:-56000} \
	python3 -m pytest -q -s -p no:cacheprovider tests/test_page.py -k large_profile >"$said" || { cat "$said"; exit 1; }
grep ' nodes, ' "$said" || { echo "page.sh: the page was not tested:" >&2; cat "$said" >&2; exit 1; }
if grep -Eq 'CPU [0-9]{3,}' "$said"; then
	echo "page.sh: 100 ms or more" >&2
	exit 1
fi
