#!/bin/sh
# Runs a GUI test on the display at hand, or on a virtual one.
# A bare container has no runtime folder, of which Qt and others complain on standard error.
if [ -z "${XDG_RUNTIME_DIR:-}" ]; then
    XDG_RUNTIME_DIR=$(mktemp -d)
    export XDG_RUNTIME_DIR
fi
if [ -n "${DISPLAY:-}" ]; then
    exec "$@"
fi
exec xvfb-run -a -s "-screen 0 1600x1000x24" "$@"
