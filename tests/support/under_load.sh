#!/usr/bin/env bash
# under_load.sh [--avx2] COMMAND...: runs COMMAND while three busy loops occupy each core. With --avx2, the kernels of the host (Highway's
# and oneDNN's) do without AVX-512, so that a machine that has it also tests the paths of one that has not.
#     tests/support/under_load.sh ./dev test
#     tests/support/under_load.sh --avx2 ./dev test
set -euo pipefail

if [[ ${1:-} == --avx2 ]]; then
    shift
    folder=$(mktemp -d)
    printf '#include <hwy/targets.h>\n__attribute__((constructor)) static void off() { hwy::DisableTargets(HWY_AVX3 | HWY_AVX3_DL); }\n' \
        >"$folder/avx2.cpp"
    "${CXX:-g++}" -shared -fPIC "$folder/avx2.cpp" -o "$folder/libavx2.so" -lhwy
    export LD_PRELOAD=$folder/libavx2.so ONEDNN_MAX_CPU_ISA=AVX2 DNNL_MAX_CPU_ISA=AVX2
fi

loops=()
for ((i = 0; i < 3 * $(nproc); ++i)); do
    (LD_PRELOAD='' && while :; do :; done) &
    loops+=($!)
done
trap 'kill "${loops[@]}"; rm -rf "${folder:-}"' EXIT
"$@"
