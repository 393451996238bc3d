# A disk, a home or a system that lacks something. Sourced by run.sh.

fault_full_disk() {
    local disk=$work/full run=$work/full/run files
    if ! mount_small "$disk" 700; then
        full_disk_by_preload
        return
    fi
    mkdir -p "$work/full-home"
    "$cli" mask causal --size 40 --out "$disk/old.png" && cp "$disk/old.png" "$work/old.png"

    # Metrics: the disk is full between two checkpoints, and then it is not.
    "$cli" train "${small_recipe[@]}" --steps 1000000 --checkpoint-every 1000000 --out "$run" >/dev/null 2>"$work/said" &
    local trainer=$!
    wait_for_text 60 '"step":3[,}]' "$run/metrics.jsonl"
    head -c 1M /dev/zero >"$disk/filler" 2>/dev/null
    expect "full disk: training warns that its metrics cannot be written" \
        wait_for_text 60 'warning: .*metrics cannot be written: No space left on device' "$work/said"
    "$cli" mask causal --size 2000 --out "$disk/old.png" 2>"$work/errors"
    expect "full disk: an export fails with its reason" grep -q 'No space left on device; free some disk space' "$work/errors"
    expect "full disk: an export leaves the older file" cmp -s "$disk/old.png" "$work/old.png"
    rm "$disk/filler"
    expect "full disk: training writes its metrics when there is space again" wait_for_text 60 'metrics are written again' "$work/said"
    kill -TERM "$trainer"
    wait "$trainer"
    expect "full disk: no metrics are lost" has_metrics "$run"

    # Checkpoints until nothing fits.
    rm -rf "$run"
    run_program "$cli" train "${small_recipe[@]}" --steps 100000 --checkpoint-every 20 --out "$run"
    expect "full disk: a checkpoint that does not fit ends the training with a sentence" ended_with_sentence
    files=$(find "$disk" -name '*.part' | wc -l)
    expect "full disk: no temporary file is left" test "$files" -eq 0
    rm -rf "$run"/checkpoints/*.partial
    cp -r "$run" "$work/full-run"
    expect "full disk: the last checkpoint opens" opens "$work/full-run"
    expect "full disk: it has its metrics" has_metrics "$work/full-run"
}

# The same without root, with a library that makes every write beyond a number of bytes fail.
full_disk_by_preload() {
    local run=$work/full/run
    mkdir -p "$work/full"
    if ! ${CC:-cc} -shared -fPIC -O1 -o "$work/full_disk.so" "$here/full_disk.c" -ldl 2>"$work/errors"; then
        skipped "full disk: neither a small file system nor a C compiler is at hand"
        return
    fi
    "$cli" mask causal --size 40 --out "$work/full/old.png" && cp "$work/full/old.png" "$work/old.png"
    run_program env LD_PRELOAD="$work/full_disk.so" FULL_DISK_BYTES=100 "$cli" mask causal --size 2000 --out "$work/full/old.png"
    expect "full disk: an export fails with its reason" grep -q 'No space left on device; free some disk space' "$work/said"
    expect "full disk: an export leaves the older file" cmp -s "$work/full/old.png" "$work/old.png"
    run_program env LD_PRELOAD="$work/full_disk.so" FULL_DISK_BYTES=2000000 "$cli" train "${small_recipe[@]}" --steps 100000 \
        --checkpoint-every 20 --out "$run"
    expect "full disk: a checkpoint that does not fit ends the training with a sentence" ended_with_sentence
    expect "full disk: the last checkpoint opens" opens "$run"
    expect "full disk: it has its metrics" has_metrics "$run"
}

fault_read_only() {
    local run=$work/read-only before
    "$cli" train "${small_recipe[@]}" --steps 4 --checkpoint-every 2 --out "$run" >/dev/null 2>&1
    before=$(find "$run" -type f -exec cksum {} + | sort)
    if [[ $EUID -eq 0 ]]; then
        mount --bind "$run" "$run" 2>/dev/null && mounts+=("$run") && mount -o remount,ro,bind "$run" 2>/dev/null ||
            { skipped "read-only folder: this root may not mount" && return; }
    else
        chmod -R a-w "$run"
    fi
    run_program "$cli" train --resume --out "$run"
    expect "read-only folder: a run cannot be resumed, and the message says why" ended_with_sentence
    run_program "$cli" train "${small_recipe[@]}" --steps 4 --out "$run/inner"
    expect "read-only folder: a run cannot begin, and the message says why" ended_with_sentence
    run_program "$cli" mask causal --size 4 --out "$run/a.png"
    expect "read-only folder: an export fails with a sentence" ended_with_sentence
    expect "read-only folder: its model opens" opens "$run"
    run_program env XDG_CACHE_HOME="$run" "$cli" generate builtin:induction --tokens 1,2,1 --max-tokens 2
    expect "read-only folder: it does no harm as the place of caches" test "$status" -eq 0
    if [[ -n $display ]]; then
        screenshot "$work/read-only-home" "$work/a.png" XDG_CONFIG_HOME="$run" XDG_DATA_HOME="$run" XDG_CACHE_HOME="$run"
        expect "read-only folder: the window opens with it as its home" test "$status" -eq 0
    fi
    [[ $EUID -eq 0 ]] && unmount_all || chmod -R u+w "$run"
    expect "read-only folder: nothing has changed in it" test "$before" = "$(find "$run" -type f -exec cksum {} + | sort)"
}

fault_no_home() {
    local none=(env -u HOME -u XDG_CONFIG_HOME -u XDG_DATA_HOME -u XDG_CACHE_HOME)
    run_program "${none[@]}" "$cli" generate builtin:induction --tokens 1,2,1 --max-tokens 2
    expect "no home: text is generated" test "$status" -eq 0
    run_program env -u XDG_CONFIG_HOME -u XDG_DATA_HOME -u XDG_CACHE_HOME HOME=/dev/null/home \
        "$cli" generate builtin:induction --tokens 1,2,1 --max-tokens 2
    expect "no home: text is generated with a home that does not exist" test "$status" -eq 0
    [[ -n $display ]] || return 0
    screenshot "$work/no-home" "$work/a.png" HOME=/dev/null/home XDG_CONFIG_HOME=/dev/null/a XDG_DATA_HOME=/dev/null/b \
        XDG_CACHE_HOME=/dev/null/c
    expect "no home: the window opens" test "$status" -eq 0
}

fault_no_fonts() {
    printf '<?xml version="1.0"?><fontconfig><cachedir>%s</cachedir></fontconfig>\n' "$work/fonts" >"$work/fonts.conf"
    run_program env FONTCONFIG_FILE="$work/fonts.conf" QT_QPA_PLATFORM=offscreen "$cli" render builtin:induction --tokens 1,2,1 \
        --out "$work/no-fonts.svg"
    expect "no fonts: a figure is drawn, or a sentence says why not" ended_well
    [[ -n $display ]] || return 0
    screenshot "$work/no-fonts" "$work/a.png" FONTCONFIG_FILE="$work/fonts.conf"
    expect "no fonts: the window opens, or a sentence says why not" ended_well
}

fault_no_vulkan() {
    local none=(env VK_DRIVER_FILES=/nonexistent VK_ICD_FILENAMES=/nonexistent)
    run_program "${none[@]}" "$cli" generate builtin:induction --tokens 1,2,1
    expect "no Vulkan driver: the command line says so" ended_with_sentence
    run_program "${none[@]}" "$cli" mask causal --size 4
    expect "no Vulkan driver: what needs no device works" test "$status" -eq 0
    [[ -n $display ]] || return 0
    screenshot "$work/no-vulkan" "$work/a.png" "${none[@]:1}"
    expect "no Vulkan driver: the window says so" ended_with_sentence
}

fault_decimal_comma() {
    local german=(env LC_ALL=de_DE.UTF-8) plain=(env LC_ALL=C.UTF-8) run=$work/comma
    if ! locale -a 2>/dev/null | grep -qiE '^de_DE\.utf-?8$'; then
        mkdir -p "$work/locales"
        if ! localedef -i de_DE -f UTF-8 "$work/locales/de_DE.UTF-8" 2>/dev/null; then
            skipped "decimal comma: de_DE.UTF-8 cannot be made (package locales)"
            return
        fi
        german+=(LOCPATH="$work/locales")
    fi
    expect "decimal comma: the locale is in force" test "$("${german[@]}" bash -c 'printf "%.1f" 1,5' 2>/dev/null)" = 1,5
    local command
    for command in "perplexity builtin:stories --prompt Once" "mask causal --size 4 --count" "eval builtin:sort --split test"; do
        # shellcheck disable=SC2086
        run_program "${german[@]}" "$cli" $command && mv "$work/output" "$work/german"
        run_program "${plain[@]}" "$cli" $command
        expect "decimal comma: attention-cli ${command%% *} prints the same numbers" cmp -s "$work/german" "$work/output"
    done
    "${german[@]}" "$cli" train "${small_recipe[@]}" --lr 0.01 --steps 4 --checkpoint-every 2 --out "$run" >/dev/null 2>&1
    "${plain[@]}" "$cli" train "${small_recipe[@]}" --lr 0.01 --steps 4 --checkpoint-every 2 --out "$run-plain" >/dev/null 2>&1
    expect "decimal comma: training writes the same metrics" cmp -s "$run/metrics.jsonl" "$run-plain/metrics.jsonl"
    expect "decimal comma: training writes the same model" cmp -s "$run/model.safetensors" "$run-plain/model.safetensors"
    local out
    for out in german plain; do
        local -n surroundings=$out
        "${surroundings[@]}" QT_QPA_PLATFORM=offscreen "$cli" render builtin:induction --tokens 1,2,1 --out "$work/$out.svg" 2>"$work/errors"
    done
    expect "decimal comma: a figure has the same numbers" cmp -s "$work/german.svg" "$work/plain.svg"
    [[ -n $display ]] || return 0
    screenshot "$work/comma-home" "$work/a.png" "${german[@]:1}"
    expect "decimal comma: the window opens" test "$status" -eq 0
}

fault_low_memory() {
    local megabytes
    for megabytes in 100 200 300 400 600 900 1200; do
        run_program bash -c 'ulimit -v $((1024 * $1)); shift; exec "$@"' _ "$megabytes" "$cli" generate builtin:stories \
            --prompt Once --max-tokens 2 --greedy
        ((status == 127)) || expect "low memory: attention-cli with $megabytes MB generates or says that memory is short" ended_well
        [[ -n $display ]] || continue
        screenshot "$work/low-memory" "$work/a.png" bash -c 'ulimit -v $((1024 * $1)); shift; exec "$@"' _ "$megabytes"
        ((status == 127)) || expect "low memory: the window with $megabytes MB opens or says that memory is short" ended_well
    done
}
