#!/usr/bin/env bash
# What a disk, a signal or the surroundings can do to the programs. `./dev faults` builds them and runs this.
#
# usage: run.sh BIN_FOLDER [NAMES] [--kills N] [--soak SECONDS]
#   NAMES: some of kills full_disk read_only no_home no_fonts no_vulkan decimal_comma low_memory soak; all if none is named
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly all=(kills full_disk read_only no_home no_fonts no_vulkan decimal_comma low_memory soak)
bin=$(cd "$1" && pwd)
shift
names=()
kills=200
soak=3600
while (($#)); do
    case $1 in
    --kills | --soak)
        if [[ ! ${2:-} =~ ^[0-9]+$ ]]; then
            printf 'faults: %s needs a number\n' "$1" >&2
            exit 2
        fi
        if [[ $1 == --kills ]]; then kills=$2; else soak=$2; fi
        shift
        ;;
    *)
        name=${1//-/_}
        if [[ " ${all[*]} " != *" $name "* ]]; then
            printf 'faults: there is no fault "%s"; there are %s\n' "$1" "${all[*]}" >&2
            exit 2
        fi
        names+=("$name")
        ;;
    esac
    shift
done
((${#names[@]})) || names=("${all[@]}")

work=$(mktemp -d -t attention-lab-faults-XXXXXX)
# The programs' settings and caches are their own here.
export XDG_CONFIG_HOME=$work/config XDG_DATA_HOME=$work/data XDG_CACHE_HOME=$work/cache
# shellcheck source=tests/faults/common.sh
source "$here/common.sh"
source "$here/kills.sh"
source "$here/surroundings.sh"
source "$here/soak.sh"
finish() {
    local process
    for process in $(jobs -p); do kill -KILL "$process"; done
    wait
    unmount_all
    rm -rf "$work"
}
trap 'finish 2>/dev/null' EXIT
trap 'exit 130' INT TERM

start_display
for name in "${names[@]}"; do
    printf '%s\n' "${name//_/ }"
    "fault_$name"
done

printf '\n'
printf '%s\n' "${results[@]}"
if ((failures > 0)); then
    printf '\n%s of %s checks failed\n' "$failures" "${#results[@]}"
    exit 1
fi
printf '\nall %s checks passed; nothing was lost beyond the last checkpoint\n' "${#results[@]}"
