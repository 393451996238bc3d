# 200 kills with SIGKILL at random moments of training and of every kind of save. Sourced by run.sh.

# One kill of a training run that writes a checkpoint at every second step. The next one resumes what this one left.
kill_training() {
    local run=$work/kills/run before after
    if (($(last_step "$run") >= 400)); then rm -rf "$run"; fi
    before=$(last_step "$run")
    local arguments=(--resume)
    if ((before < 0)); then
        rm -rf "$run"
        arguments=("${small_recipe[@]}" --steps 400 --checkpoint-every 2)
    fi
    "$cli" train "${arguments[@]}" --out "$run" >/dev/null 2>"$work/errors" &
    end_after "$(random_seconds 2)" $! || grep -q . "$work/errors" || return 0
    if ((ended != 137 && ended != 0)); then
        lost+=("training: $(tail -n 1 "$work/errors")")
        return 0
    fi
    after=$(last_step "$run")
    ((after >= before)) || lost+=("training: the checkpoint of step $before")
    has_metrics "$run" || lost+=("training: metrics before step $after")
}

# One kill of a finished run that writes its model again.
kill_final_model() {
    local run=$work/kills/finished
    [[ -d $run ]] || "$cli" train "${small_recipe[@]}" --steps 4 --checkpoint-every 4 --out "$run" >/dev/null 2>&1
    "$cli" train --resume --out "$run" >/dev/null 2>&1 &
    end_after "$(random_seconds 1)" $!
    opens "$run" || lost+=("final model: $(tail -n 1 "$work/errors")")
    has_metrics "$run" || lost+=("final model: metrics")
}

# One kill of an export over an older file of the same name. The file is the older one or the new one.
kill_export() {
    local suffix new file
    local suffixes=(png npz safetensors svg)
    suffix=${suffixes[RANDOM % 4]}
    file=$work/kills/export.$suffix
    for new in old new; do
        [[ -f $work/kills/$new.$suffix ]] || (export_file "$new" "$work/kills/$new.$suffix")
    done
    cp "$work/kills/old.$suffix" "$file"
    export_file new "$file" &
    end_after "$(random_seconds 0.6)" $!
    cmp -s "$file" "$work/kills/old.$suffix" || cmp -s "$file" "$work/kills/new.$suffix" ||
        lost+=("export: $suffix is neither the older nor the new file")
}
export_file() {
    local size=900
    [[ $1 == new ]] && size=1000
    if [[ $2 == *.svg ]]; then
        exec "$cli" render builtin:induction --tokens "$([[ $1 == new ]] && echo 1,2,3,1,2 || echo 1,2,1)" --out "$2" 2>/dev/null
    fi
    exec "$cli" mask 'causal & window(32)' --size "$size" --cell 1 --out "$2" 2>/dev/null
}

# One kill of the window while it trains (F6), generates (F5) and saves its session (Ctrl+S) again and again.
kill_window() {
    local home=$work/kills/home session=$work/kills/a.attnlab run before after pid
    run=$(ls -d "$home"/data/attention-lab/attention-lab/runs/*/ 2>/dev/null | tail -n 1)
    before=$(last_step "${run:-/none}")
    [[ -f $session ]] || write_session "$session"
    window "$home" --session "$session" >/dev/null 2>&1 &
    pid=$!
    wait_for_window || true
    keys F6 F5
    (while keys ctrl+s; do sleep 0.1; done) 2>/dev/null &
    local typist=$!
    end_after "$(random_seconds 6)" "$pid"
    kill "$typist" 2>/dev/null
    wait "$typist" 2>/dev/null
    if ((ended != 137)); then lost+=("window: it ended by itself with status $ended"); fi
    [[ $(head -c 1 "$session") == '{' && $(tail -c 2 "$session") == '}' ]] && grep -q '"attnlab"' "$session" ||
        lost+=("session: the file is not whole")
    [[ -n $run ]] || return 0
    after=$(last_step "$run")
    ((after >= before)) || lost+=("window: the checkpoint of step $before")
    ((after < 0)) || opens "$run" || lost+=("window: $(tail -n 1 "$work/errors")")
    has_metrics "$run" || lost+=("window: metrics before step $after")
}

write_session() {
    cat >"$1" <<'SESSION'
{"attnlab": 1, "model": "builtin:induction", "prompt": "abcabc",
 "branches": {"nodes": [], "current": -1, "promptLength": 0},
 "sampling": {"greedy": true, "temperature": 1, "topK": 0, "topP": 1, "minP": 0, "repetitionPenalty": 1, "seed": "1"},
 "view": {}, "layout": "", "locks": {}}
SESSION
}

# Kills a process after some seconds. Its status is in `ended`; 137: it was killed.
end_after() {
    sleep "$1"
    kill -KILL "$2" 2>/dev/null
    ended=0
    { wait "$2"; } 2>/dev/null || ended=$?
}

fault_kills() {
    local kinds=(training training training training final_model export export window) kind i
    local -A count=()
    lost=()
    mkdir -p "$work/kills"
    for ((i = 0; i < kills; i++)); do
        kind=${kinds[i % ${#kinds[@]}]}
        if [[ $kind == window && -z $display ]]; then kind=training; fi
        "kill_$kind"
        if ((ended == 137)); then count[$kind]=$((${count[$kind]:-0} + 1)); else i=$((i - 1)) missed=$((missed + 1)); fi
        if ((missed > 5 * kills)); then lost+=("the programs ended before they could be killed") && break; fi
    done
    for kind in training final_model export window; do
        printf '  %s: %s kills\n' "$kind" "${count[$kind]:-0}"
    done
    local run=$work/kills/run
    if (($(last_step "$run") >= 0)); then opens "$run" || lost+=("training: $(tail -n 1 "$work/errors")"); fi
    if ((${#lost[@]} == 0)); then
        passed "$kills kills lost nothing beyond the last checkpoint"
    else
        printf '  lost: %s\n' "${lost[@]}" | sort | uniq -c
        failed "$kills kills: ${#lost[@]} losses"
    fi
}
missed=0
ended=0
