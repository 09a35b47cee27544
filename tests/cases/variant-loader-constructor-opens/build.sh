#!/bin/bash
# builds into ./bin; only compilers and python3 from this machine
set -e
cd "$(dirname "$0")"; mkdir -p bin
CF="-g -O1 -fno-inline -fno-optimize-sibling-calls -Wall -Wno-unused -Wno-unused-result -Wno-misleading-indentation"
g++ $CF -fPIC -shared -o bin/plug.so plug.cpp
gcc $CF -fPIC -shared -Wl,-soname,libopens.so -o bin/libopens.so lib.c -ldl
gcc $CF -o bin/prog prog.c bin/libopens.so -ldl '-Wl,-rpath,$ORIGIN'
touch bin/.built
