#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# compile.sh - builds libpmem.so in the current folder with nothing but bash, coreutils and gcc.
#
#   mkdir build && cd build && PREFIX=.. ../compile.sh
#
# PREFIX  root of the sources, default "."
# CC      compiler, default cc, else gcc
# CFLAGS  appended to the flags in src/libpmem/flags.txt, for example -DPMEM_CHURN_THRESH=65536

# sh compile.sh: plain sh has got no further than this line, which it understands.
[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"
set -eu
shopt -s nullglob

die() {
	echo "compile.sh: $*" >&2
	exit 1
}

root=${PREFIX:-.}
for needed in config.h src/libpmem/flags.txt; do
	[[ -f $root/$needed ]] ||
		die "$root/$needed is missing: set PREFIX to the root of the pmem sources"
done

if [[ -z ${CC:-} ]]; then
	for CC in cc gcc ''; do
		[[ -n $CC ]] || die "no C compiler: neither cc nor gcc is in PATH; set CC"
		type -P "$CC" >/dev/null && break
	done
fi

cpu=$(uname -m)
[[ -d $root/src/arch/$cpu ]] || die "no support for this CPU: $root/src/arch/$cpu is missing"

flags=()
while read -r flag; do
	[[ -z $flag || $flag == '#'* ]] || flags+=("$flag")
done <"$root/src/libpmem/flags.txt"

sources=("$root"/src/libpmem/*.c "$root"/src/core/*.c "$root/src/arch/$cpu"/*.c)
((${#sources[@]})) || die "no sources in $root/src/libpmem"

# The compiler looks for its assembler and linker in PATH; where PATH is cut down, they lie beside it.
compiler=$(type -P "${CC%% *}") || die "the compiler ${CC%% *} is not in PATH"
beside=()
type -P as >/dev/null || beside=("-B$(dirname "$(readlink -f "$compiler")")")

# A new file, then a rename: a running program may have the old one mapped.
# CC and CFLAGS may hold several words.
# shellcheck disable=SC2086
$CC ${beside[@]+"${beside[@]}"} "${flags[@]}" -shared -I"$root/src" -I"$root" ${CFLAGS:-} \
	-o libpmem.so.new "${sources[@]}"
mv libpmem.so.new libpmem.so
