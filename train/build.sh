#!/bin/sh
# Builds the scene generator and the filter level: for the GPU where nvcc is found, and for the CPU (slow, for checks).
set -e
cd "$(dirname "$0")"
mkdir -p build
if command -v nvcc >/dev/null; then
    arch="${ARCH:-sm_90}"
    nvcc -O3 -arch="$arch" --use_fast_math -shared -Xcompiler -fPIC scenes/library.cu -o build/libscenes.so &
    nvcc -O3 -arch="$arch" --use_fast_math scenes/selftest.cu -o build/selftest &
    nvcc -O3 -arch="$arch" -shared -Xcompiler -fPIC filter/level.cu -o build/liblevel.so &
    wait
    [ -f build/libscenes.so ] && [ -f build/liblevel.so ]
else
    g++ -x c++ -O2 -fopenmp -DHOST -shared -fPIC scenes/library.cu -o build/libscenes_host.so
    g++ -x c++ -O2 -fopenmp -DHOST scenes/selftest.cu -o build/selftest_host
    g++ -x c++ -O2 -fopenmp -DHOST -shared -fPIC filter/level.cu -o build/liblevel_host.so
fi
