#!/usr/bin/env bash
# Reads ninja's log of a build folder and says what compiling took: core-minutes in all, by target, and the ten most expensive
# translation units and headers. Durations are those of the log: exact when nothing else ran and the compiler cache was empty.
#   build_cost.sh [--no-headers] BUILD_FOLDER
set -euo pipefail
headers=yes
if [[ ${1:-} == --no-headers ]]; then
    headers=no
    shift
fi
build=${1:?usage: build_cost.sh [--no-headers] BUILD_FOLDER}
[[ -f $build/.ninja_log ]] || {
    printf 'build_cost: %s holds no .ninja_log: build first\n' "$build" >&2
    exit 1
}

# The newest duration of each object and precompiled header, in milliseconds.
durations=$(mktemp)
trap 'rm -f "$durations"' EXIT
awk -F'\t' 'NR > 1 && $4 ~ /\.(o|gch|pch)$/ { took[$4] = $2 - $1 } END { for (each in took) printf "%d\t%s\n", took[each], each }' \
    "$build/.ninja_log" | sort -rn >"$durations"

printf 'compiling: %.1f core-minutes in %d translation units\n' \
    "$(awk '{ sum += $1 } END { print sum / 60000 }' "$durations")" "$(wc -l <"$durations")"
awk -F'\t' '{ is = $2 ~ /^tests\// ? "tests" : "programs"; sum[is] += $1 } END {
    printf "  programs %.1f, tests %.1f\n", sum["programs"] / 60000, sum["tests"] / 60000 }' "$durations"

printf '\nby target (s):\n'
awk -F'\t' '{ target = $2; sub(/CMakeFiles\//, "", target); sub(/\.dir\/.*/, "", target); sum[target] += $1; count[target]++ }
    END { for (each in sum) printf "%8.1f  %3d units  %s\n", sum[each] / 1000, count[each], each }' "$durations" | sort -rn | head -12

printf '\nmost expensive translation units (s):\n'
head -10 "$durations" | awk -F'\t' '{ printf "%8.1f  %s\n", $1 / 1000, $2 }'

[[ $headers == yes ]] || exit 0
# Parsing time of a header by itself, times the translation units that include it. Those that reach many units are tried.
printf '\nmost expensive headers (s to parse x units = s):\n'
root=$(awk -F= '/^CMAKE_HOME_DIRECTORY/ { print $2 }' "$build/CMakeCache.txt")
compiler=$(awk -F= '/^CMAKE_CXX_COMPILER:/ { print $2 }' "$build/CMakeCache.txt")
flags=$(awk '/^  (DEFINES|INCLUDES|FLAGS) = / { sub(/^[^=]*= /, ""); print }' "$build/build.ninja" | tr ' ' '\n' |
    grep -E '^-(I|D|isystem)' | grep -v '\\' | sort -u | tr '\n' ' ')
flags+=$(grep -hoE -- '-isystem [^ ]+' "$build/build.ninja" | sort -u | tr '\n' ' ')
ninja -C "$build" -t deps |
    awk -v root="$root/" '/^    / { header = $1; if (index(header, root) == 1 ||
        header ~ /(nlohmann\/json|CLI\/CLI|vulkan\/vulkan|fmt\/format|catch2\/catch|Qt[A-Z][a-z]+\/Q[A-Z][A-Za-z]*|imgui|filesystem|regex)(\.hpp|\.h)?$/)
        if (header ~ /(\.h|\.hpp|\/Q[A-Za-z]*|filesystem|regex)$/) units[header]++ } END { for (each in units) print units[each] "\t" each }' |
    sort -rn | head -40 |
    while IFS=$'\t' read -r units header; do
        began=$(date +%s%N)
        # shellcheck disable=SC2086
        printf '#include "%s"\n' "$header" | "$compiler" -std=c++20 -fPIC -w -fsyntax-only $flags -x c++ - 2>/dev/null || continue
        awk -v ns=$(($(date +%s%N) - began)) -v units="$units" -v header="${header#"$root"/}" \
            'BEGIN { printf "%8.2f x %3d = %7.1f  %s\n", ns / 1e9, units, ns / 1e9 * units, header }'
    done | sort -t= -k2 -rn | head -10
