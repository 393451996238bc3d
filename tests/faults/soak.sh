# Generation, training and random clicks for a long time, with the memory recorded. Sourced by run.sh.

resident_mib() { awk '/^VmRSS:/ { printf "%.1f", $2 / 1024 }' "/proc/$1/status" 2>/dev/null; }

# The line of least squares through the second half of a column: MiB an hour, and MiB over that time.
slope() {
    awk -v column="$2" 'NR > 1 { x[++n] = $1; y[n] = $column }
        END {
            for (i = int(n / 2) + 1; i <= n; i++) { m++; sx += x[i]; sy += y[i]; sxx += x[i] * x[i]; sxy += x[i] * y[i] }
            d = m * sxx - sx * sx
            b = d > 0 ? (m * sxy - sx * sy) / d : 0
            printf "%.1f %.1f\n", b * 3600, b * (x[n] - x[int(n / 2) + 1])
        }' "$1"
}

fault_soak() {
    local end=$((SECONDS + soak)) start=$SECONDS window_id trainer clicks=0 generated=0
    local record=${FAULTS_RECORD:-$PWD/build/faults-memory.txt}
    [[ -n $display ]] || { skipped "soak: Xvfb and xdotool are missing" && return; }
    mkdir -p "$(dirname "$record")"
    printf 'seconds window_mib training_mib\n' >"$record"
    (window "$work/soak" builtin:stories --prompt 'Once upon a time') >"$work/window-said" 2>&1 &
    window_id=$!
    "$cli" train "${small_recipe[@]}" --steps 100000000 --checkpoint-every 500 --out "$work/soak-run" >/dev/null 2>&1 &
    trainer=$!
    wait_for_window || true
    sleep 5
    keys F6
    while ((SECONDS < end)) && kill -0 "$window_id" 2>/dev/null; do
        # The menu bar stays out of reach: its last entry closes the program, others open files of this machine.
        DISPLAY=$display xdotool mousemove $((RANDOM % 1440)) $((40 + RANDOM % 850)) click $((RANDOM % 8 == 0 ? 3 : 1)) >/dev/null 2>&1
        ((++clicks % 5)) || DISPLAY=$display xdotool key Escape Escape >/dev/null 2>&1
        ((clicks % 50)) || { keys F5 && generated=$((generated + 1)); }
        ((clicks % 100)) || keys F6 || true
        if ((clicks % 20 == 0)); then
            printf '%s %s %s\n' $((SECONDS - start)) "$(resident_mib "$window_id")" "$(resident_mib "$trainer")" >>"$record"
        fi
    done
    printf '  %s clicks, %s generations, %s steps of training; the memory is in %s\n' "$clicks" "$generated" \
        "$(wc -l <"$work/soak-run/metrics.jsonl")" "$record"
    if kill -0 "$window_id" 2>/dev/null; then passed "soak: the window lived for $soak s"; else failed "soak: the window ended: $(tail -n 2 "$work/window-said")"; fi
    if kill -0 "$trainer" 2>/dev/null; then passed "soak: the training lived for $soak s"; else failed "soak: the training ended"; fi
    local last name column hourly grown
    for column in 2 3; do
        name=$([[ $column == 2 ]] && echo window || echo training)
        read -r hourly grown < <(slope "$record" "$column")
        last=$(awk -v column="$column" 'END { print $column }' "$record")
        printf '  %s: %s MiB at the end; in the second half it grew by %s MiB, or %s MiB an hour%s\n' "$name" "$last" "$grown" \
            "$hourly" "$( ((soak >= 1200)) || echo ' (too short a time for a trend)')"
        # A window that shows more needs more; a leak grows without an end. 128 MiB is many times the caches of one panel.
        expect "soak: the memory of the $name stays within bounds" awk -v grown="$grown" 'BEGIN { exit grown < 128 ? 0 : 1 }'
    done
    kill -TERM "$window_id" "$trainer" 2>/dev/null
    wait "$window_id" 2>/dev/null
    expect "soak: the window saves and ends when it is asked to" test $? -eq 0
    wait "$trainer" 2>/dev/null
    expect "soak: the training kept its checkpoint" opens "$work/soak-run"
    expect "soak: the training kept its metrics" has_metrics "$work/soak-run"
}
