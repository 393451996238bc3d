# What the fault tests share. Sourced by run.sh, which sets: bin (folder of the programs), work (a temporary folder).

cli=$bin/attention-cli
lab=$bin/attention-lab
results=() # "NAME: what happened", one for each check
failures=0

passed() { results+=("ok      $1"); printf '  ok: %s\n' "$1"; }
failed() {
    results+=("FAILED  $1")
    failures=$((failures + 1))
    printf '  FAILED: %s\n' "$1"
}
skipped() { results+=("skipped $1") && printf '  skipped: %s\n' "$1"; }

# expect TEXT COMMAND...: passes if the command succeeds.
expect() {
    local text=$1
    shift
    if "$@"; then passed "$text"; else failed "$text"; fi
}

# A training run that takes a few milliseconds a step.
small_recipe=(--task sort --layers 1 --heads 2 --width 16 --batch 8 --evaluate-every 1000000)

last_step() { # of the checkpoints of a run; -1 if there is none
    local last
    last=$(ls "$1/checkpoints" 2>/dev/null | sed -nE 's/^step-0*([0-9]+)$/\1/p' | sort -n | tail -n 1)
    printf '%s\n' "${last:--1}"
}

# Whether metrics.jsonl has each step from 1 to that of the last checkpoint.
has_metrics() {
    local run=$1 last
    last=$(last_step "$run")
    ((last > 0)) || return 0
    sed -nE 's/.*"step":([0-9]+)[,}].*/\1/p' "$run/metrics.jsonl" | sort -nu |
        awk -v last="$last" '$1 >= 1 && $1 <= last { count++ } END { exit count == last ? 0 : 1 }'
}

# Whether a run's last checkpoint opens, with the right checksums.
opens() { timeout 120 "$cli" eval "$1" --split test >/dev/null 2>"$work/errors"; }

random_seconds() { awk -v most="$1" -v r="$RANDOM" 'BEGIN { printf "%.3f", most * r / 32768 }'; }

seconds_of() { # how long a command takes
    local start=$EPOCHREALTIME
    "$@" >/dev/null 2>&1
    awk -v from="$start" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.3f", to - from }'
}

# wait_for_text SECONDS PATTERN FILE: waits until a file has a pattern.
wait_for_text() {
    local tries
    for ((tries = 0; tries < $1 * 10; tries++)); do
        grep -qs -e "$2" "$3" && return 0
        sleep 0.1
    done
    return 1
}

# Runs a program and puts its exit status into `status` and what it said into $work/said. A status of 124: it hung.
run_program() {
    status=0
    (timeout -k 5 120 "$@" >"$work/output" 2>"$work/said" </dev/null) 2>/dev/null || status=$?
}

# Whether the last program ended as it should: with success, or with a sentence and status 1.
ended_well() { ((status == 0)) || ended_with_sentence; }
ended_with_sentence() {
    ((status == 1)) && grep -qE '^attention-(cli|lab|scope): .*[a-z]' "$work/said" && return 0
    printf '  status %s: %s\n' "$status" "$(tail -n 3 "$work/said")"
    return 1
}

# A folder on a file system of its own of a number of kilobytes, for root. Fails for other users.
mount_small() {
    mkdir -p "$1"
    [[ $EUID -eq 0 ]] && mount -t tmpfs -o "size=${2}k" attention-lab-faults "$1" 2>/dev/null && mounts+=("$1")
}
mounts=()
unmount_all() {
    local folder
    for folder in "${mounts[@]}"; do umount -l "$folder" 2>/dev/null || true; done
    mounts=()
}

# ---- the window, on a display of its own ----------------------------------------------------------------------------------------

display= # such as :99; empty: none could be started
start_display() {
    command -v Xvfb >/dev/null && command -v xdotool >/dev/null || return 0
    Xvfb -displayfd 3 -screen 0 1440x900x24 -nolisten tcp 3>"$work/display" >/dev/null 2>&1 &
    wait_for_text 20 '[0-9]' "$work/display" && display=:$(<"$work/display")
}

# window HOME ARGUMENTS...: runs attention-lab with settings and data in a folder. Replaces the (sub)shell.
window() {
    local home=$1
    shift
    mkdir -p "$home"/{config,data,cache,runtime}
    chmod 700 "$home/runtime"
    exec env -u WAYLAND_DISPLAY DISPLAY="$display" XDG_CONFIG_HOME="$home/config" XDG_DATA_HOME="$home/data" \
        XDG_CACHE_HOME="$home/cache" XDG_RUNTIME_DIR="$home/runtime" "$lab" --size 1440x900 "$@"
}

# The window takes keys only when it has the focus, and without a window manager nobody gives it.
keys() {
    local id
    id=$(DISPLAY=$display xdotool search --onlyvisible --name 'Attention Lab' 2>/dev/null | tail -n 1) && [[ -n $id ]] || return 1
    DISPLAY=$display xdotool windowfocus "$id" key --delay 30 "$@" >/dev/null 2>&1
}
wait_for_window() {
    local tries
    for ((tries = 0; tries < 300; tries++)); do
        [[ -n $(DISPLAY=$display xdotool search --onlyvisible --name 'Attention Lab' 2>/dev/null) ]] && return 0
        sleep 0.1
    done
    return 1
}

# screenshot HOME FILE [ENVIRONMENT...]: takes the window's first picture; its status is in `status`.
screenshot() {
    local home=$1 file=$2
    shift 2
    mkdir -p "$home/runtime" && chmod 700 "$home/runtime"
    run_program env -u WAYLAND_DISPLAY DISPLAY="$display" XDG_RUNTIME_DIR="$home/runtime" XDG_CONFIG_HOME="$home/config" \
        XDG_DATA_HOME="$home/data" XDG_CACHE_HOME="$home/cache" "$@" "$lab" builtin:induction --screenshot "$file"
}
