#!/usr/bin/env bash
# Takes the pictures of the documents from the running programs, which it drives by keys. `./dev screenshot` calls it on a
# display of its own. Arguments: the folder of the programs, the folder of the pictures, and names to make only some.
set -euo pipefail
bin=$1 folder=$2
shift 2
wanted=" $* "

home=$(mktemp -d) program=
trap '[[ -z $program ]] || kill "$program" 2>/dev/null; rm -rf "$home"' EXIT
export XDG_CONFIG_HOME=$home/config XDG_DATA_HOME=$home/data # the user's settings and training runs play no part
width=1440 height=900 theme=light
readonly panel=1080x850+360+20 # the place of the main figure

wants() { [[ $wanted == "  " || $wanted == *" $1 "* ]]; }

capture() {
    kill -0 "$program" || exit 1 # it has crashed; import would wait for a click on another window
    import -silent -window "$window" "$1"
}

# Until two pictures in a row differ by no more than a text cursor.
settle() {
    local try
    capture "$home/new.png"
    for ((try = 0; try < 40; ++try)); do
        mv "$home/new.png" "$home/old.png"
        sleep 1
        capture "$home/new.png"
        if { compare -metric AE "$home/old.png" "$home/new.png" null: 2>&1 || true; } | awk '{ exit !($1 < 100) }'; then return; fi
    done
}

# MODEL VIEW: opens a session, which needs no clicks. The program first opens another model; the session then opens its
# own exactly once, and the view that it restores stays.
session() {
    printf '{"attnlab": 1, "model": "%s", "prompt": "", "view": %s, "layout": "", "locks": {},
        "branches": {"nodes": [], "current": -1, "promptLength": 0},
        "sampling": {"greedy": true, "temperature": 1, "topK": 0, "topP": 1, "minP": 0, "repetitionPenalty": 1, "seed": "0"}}' \
        "$1" "$2" >"$home/picture.attnlab"
    start builtin:reverse --session "$home/picture.attnlab"
}

start() { # as at the first start
    rm -rf "$home/config" "$home/data"
    "$bin/attention-lab" --theme "$theme" --size "${width}x$height" "$@" &
    program=$!
    window=$(xdotool search --sync --onlyvisible --pid "$program" --name 'Attention Lab' | head -n 1)
    xdotool windowfocus --sync "$window" mousemove --window "$window" $((width - 5)) $((height - 5))
    settle
}

stop() {
    kill "$program"
    wait "$program" 2>/dev/null || true
    program=
}

keys() { xdotool key --delay 200 "$@"; }

# NAME [CROP]: the window, or a part of it, in 256 colours.
picture() {
    settle
    convert "$home/new.png" ${2:+-crop "$2" +repage} "$home/picture.png"
    pngquant --force --speed 1 --output "$folder/$1.png" 256 "$home/picture.png"
    printf '%s: %s KB\n' "$folder/$1.png" $(($(stat -c %s "$folder/$1.png") / 1024))
}

if wants tour; then # every workspace at three sizes, on one sheet for each theme
    for theme in light dark; do
        for size in 1440x900 1024x700 1920x1080; do
            width=${size%x*} height=${size#*x}
            start builtin:english
            for workspace in 1 2 3 4 5 6; do
                keys "alt+$workspace"
                settle
                mv "$home/new.png" "$home/tour-$workspace-$size.png"
            done
            stop
        done
        sheet=()
        for workspace in 1 2 3 4 5 6; do
            for size in 1440x900 1024x700 1920x1080; do sheet+=("$home/tour-$workspace-$size.png"); done
        done
        montage "${sheet[@]}" -tile 3x6 -geometry 640x400+4+4 -background gray "$home/picture.png"
        pngquant --force --speed 1 --output "$folder/../../docs/tour/workspaces-$theme.png" 256 "$home/picture.png"
    done
    width=1440 height=900 theme=light
fi

if wants attention; then
    session builtin:english '{"attention": {"level": "head", "site": "blocks.1.attn", "head": 1, "scale": "linear", "colours": "viridis"}}'
    picture attention "$panel"
    stop
fi

if wants changes; then # layer 0, head 0, which looks one letter back, is removed
    session builtin:induction '{"interventions": {"gates": [0, 1, 1, 1]}}'
    keys ctrl+shift+d
    picture changes
    stop
fi

if wants playground; then
    start builtin:english
    keys alt+4
    picture playground
    stop
fi

if wants vision; then
    start builtin:vit-shapes
    picture vision "$panel"
    stop
fi

if wants train; then # Sort, the task that the panel offers first, with its curves
    start builtin:english
    keys alt+3 F6
    sleep 75
    picture train
    stop
fi

if wants writing; then # ten seconds, three pictures a second
    start builtin:english --prompt 'The children played in the garden all day. In the evening'
    keys F5
    for ((end = SECONDS + 10, count = 0; SECONDS < end; ++count)); do
        capture "$home/frame$((100 + count)).ppm"
        sleep 0.25
    done
    convert -delay $((1000 / count)) "$home"/frame*.ppm -crop "$panel" +repage -resize 75% \
        +dither -colors 64 -loop 0 "$home/writing.gif"
    gifsicle -O3 --lossy=60 "$home/writing.gif" -o "$folder/writing.gif"
    printf '%s: %s KB\n' "$folder/writing.gif" $(($(stat -c %s "$folder/writing.gif") / 1024))
    stop
fi
