#!/bin/bash
# usage: run.sh PRELOAD.so|none    exit 0: the program behaved as it does without a profiler
here=$(cd "$(dirname "$0")" && pwd); lib=${1:-none}
[ -e "$here/bin/.built" ] || "$here/build.sh" >/dev/null || exit 90
tmp=$(mktemp -d); trap 'rm -rf "$tmp"' EXIT
pre=(); [ "$lib" != none ] && pre=("LD_PRELOAD=$lib")
B="$here/bin"; T=${CASE_TIMEOUT:-60}
# go WANT_RC cmd...   runs cmd with the preload, compares exit status
go() { local want=$1; shift; timeout -k 5 "$T" env "${pre[@]}" "$@" >"$tmp/out" 2>"$tmp/err"; local rc=$?
  cat "$tmp/err" >&2; [ $rc -eq "$want" ] || { echo "exit status $rc, wanted $want" >&2; exit 1; }; }
# same EXPECTED-TEXT   stdout must be byte-identical
same() { printf '%s' "$1" | cmp -s - "$tmp/out" || { echo "stdout differs:" >&2; head -c 400 "$tmp/out" >&2; exit 1; }; }
env "$B/prog" >/dev/null 2>&1 || { echo "mlockall is not permitted here" >&2; exit 77; }
go 0 "$B/prog"
same $'OK\n'
echo PASS >&2
