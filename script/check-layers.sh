#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-layers.sh - fails if a file includes a header of a layer it may not see.
#
# The table is the architecture: change it together with doc/ARCHITECTURE.md.
rules='
arch    arch
core    core arch
libpmem libpmem core arch
base    base core
symbol  symbol base core
profile profile symbol base core
report  report profile base core
export  export profile base core
page    page export report profile symbol base core
top     top report profile symbol base core
push    push export report profile symbol base core
leaks   leaks report profile symbol base core arch
serve   serve page export report profile symbol base core
cmd     cmd leaks top push serve page export report profile symbol base core arch
'
cd "$(dirname "$0")/../src" || exit 2
find . -name '*.[chS]' | sed 's|^\./||' | sort |
xargs grep -Hn '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' |
awk -v rules="$rules" '
BEGIN {
	rows = split(rules, row, "\n")
	for (i = 1; i <= rows; i++)
		for (j = split(row[i], word, " "); j > 1; j--)
			may[word[1], word[j]]
}
{
	split($0, where, ":"); split($0, quoted, "\"")
	if (quoted[2] == "config.h")
		next
	split(where[1], from, "/"); split(quoted[2], to, "/")
	if (!((from[1], to[1]) in may)) {
		printf "%s:%s: layer %s may not include \"%s\"\n", where[1], where[2], from[1], quoted[2]
		bad = 1
	}
}
END { exit bad }'
