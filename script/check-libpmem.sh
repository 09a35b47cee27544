#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-libpmem.sh - fails if libpmem.so is not fit to be loaded into a stranger's program:
#
#   needs more than libc and the loader, imports a symbol that is not in src/libpmem/imports.txt,
#   exports other names than those in exports.txt, uses dynamic TLS (its first access may call
#   malloc()), has text relocations or an executable stack, or claims to be libpmem.so.1 (another project's).
#
#   check-libpmem.sh FILE [folder of imports.txt and exports.txt]
set -u
lib=${1:?usage: check-libpmem.sh FILE [FOLDER]}
dir=${2:-$(dirname "$0")/../src/libpmem}
bad=0
complain() {
	echo "$lib: $*"
	bad=1
}

[ -r "$lib" ] || { complain "cannot be read"; exit 1; }
dynamic=$(readelf -dW "$lib") || { complain "is no ELF file"; exit 1; }

for need in $(echo "$dynamic" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
	case $need in libc.so*|ld-*.so*|libc.musl-*) ;; *) complain "needs $need" ;; esac
done
for name in $(echo "$dynamic" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p'); do
	complain "has the SONAME $name; it must have none"
done
echo "$dynamic" | grep -q TEXTREL && complain "has text relocations"

for sym in $(nm -D --undefined-only "$lib" | awk '{ sub(/@.*/, "", $2); print $2 }'); do
	grep -qxF -- "$sym" "$dir/imports.txt" || complain "imports $sym"
done
exports=$(nm -D --defined-only "$lib" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }')
for sym in $exports; do
	grep -qxF -- "$sym" "$dir/exports.txt" || complain "exports $sym"
done
for sym in $(grep -v '^#' "$dir/exports.txt"); do
	echo "$exports" | grep -qxF -- "$sym" || complain "does not export $sym"
done

readelf -rW "$lib" | grep -qE 'DTPMOD|TLSDESC' && complain "uses dynamic TLS"
stack=$(readelf -lW "$lib" | awk '$1 == "GNU_STACK" { print $7 }')
[ "$stack" = RW ] || complain "has an executable stack (GNU_STACK: ${stack:-missing})"
exit $bad
