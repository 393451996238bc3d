#!/bin/sh
# Runs a GUI test on the display at hand, or on a virtual one.
if [ -n "${DISPLAY:-}" ]; then
    exec "$@"
fi
exec xvfb-run -a -s "-screen 0 1600x1000x24" "$@"
