#!/bin/sh
# Runs a script of this folder on a display and a session bus of its own: run.sh teacher|memory|walk PROGRAM FOLDER [OPTIONS]
# Ends with 77 where a thing that it needs is missing.
for tool in Xvfb dbus-run-session xdotool convert; do
    command -v "$tool" >/dev/null || { echo "skipped: $tool is missing" && exit 77; }
done
# The system's Python has the packages of the system.
/usr/bin/python3 -c 'import pyatspi' 2>/dev/null || { echo "skipped: the Python module pyatspi is missing" && exit 77; }
[ -e /usr/share/dbus-1/services/org.a11y.Bus.service ] || { echo "skipped: at-spi2-core is missing" && exit 77; }

XDG_RUNTIME_DIR=$(mktemp -d)
# The server chooses its number, so that two that start at once do not take the same. It stays when its first client leaves.
Xvfb -displayfd 3 -noreset -screen 0 1440x900x24 -nolisten tcp 3>"$XDG_RUNTIME_DIR/display" 2>/dev/null &
server=$!
trap 'kill $server; rm -rf "$XDG_RUNTIME_DIR"' EXIT
until [ -s "$XDG_RUNTIME_DIR/display" ]; do
    kill -0 $server || exit 1
    sleep 0.1
done
DISPLAY=:$(cat "$XDG_RUNTIME_DIR/display")
export DISPLAY XDG_RUNTIME_DIR
unset WAYLAND_DISPLAY XAUTHORITY
# A window manager moves and frames windows as on a desktop; without one, the walk does without.
[ "$1" != walk ] || ! command -v openbox >/dev/null || openbox 2>/dev/null &
script=$(dirname "$0")/$1.py
shift
dbus-run-session -- /usr/bin/python3 "$script" "$@" </dev/null
