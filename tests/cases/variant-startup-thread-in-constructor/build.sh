#!/bin/bash
# builds into ./bin; only compilers and python3 from this machine
set -e
cd "$(dirname "$0")"; mkdir -p bin
CF="-g -O1 -fno-inline -fno-optimize-sibling-calls -Wall -Wno-unused -Wno-unused-result -Wno-misleading-indentation"
gcc $CF -shared -fPIC -o bin/libearly.so early.c -lpthread
gcc $CF -o bin/prog prog.c -Lbin -learly -Wl,-rpath,'$ORIGIN' -lpthread
touch bin/.built
