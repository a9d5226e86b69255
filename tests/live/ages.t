#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What is in flight at the end is as old as the end of the trace makes it, not as the detaching of the
# probes, which takes longer than each of these calls.
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
((EUID == 0)) || { echo "1..0 # SKIP tracing takes root"; exit 0; }

bin=$PWD/${PLUMB_BIN:-build/bin}
work=$(mktemp -d)
trap 'kill $sleeper 2>/dev/null; rm -rf "$work"' EXIT
evidence "$work/out" "$work/err" "$work/longest"

# It sleeps for 20 ms again and again, and says what was the longest by its own clock.
python3 -c 'import signal, sys, time
def end(number, frame):
    print(longest, flush=True)
    sys.exit()
signal.signal(signal.SIGTERM, end)
longest = 0
while True:
    begin = time.monotonic_ns()
    time.sleep(0.02)
    longest = max(longest, time.monotonic_ns() - begin)' >"$work/longest" &
sleeper=$!
for _ in 1 2 3 4 5; do
	"$bin/user-func-latency" --no-calibrate -j -d 0.2 -p $sleeper 'libc.so.6:*nanosleep' 2>"$work/err" | gojq -c '.in_flight[]?' >>"$work/out"
done
kill $sleeper
wait $sleeper
claim "calls are in flight at the end" test -s "$work/out"
is "... no longer than the longest of all took" \
	"$(gojq -s --argjson longest "$(cat "$work/longest")" '[.[] | select(.age_ns > $longest)] | length' "$work/out")" 0
done_testing
