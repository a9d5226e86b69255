#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What wall-time writes besides its table: a flame graph with all of the time, and what has changed since an earlier
# run. The workload's own clock is the witness.
. "$(dirname "$0")/lib.sh"

root_or_end "wall-time"
traces wall-time || { echo "1..0 # SKIP wall-time cannot trace here"; exit 0; }

# Of 1.2 s it computes SHARE, and sleeps for the rest; prints the CPU time that it had, in ns.
cat >"$work/work.py" <<'END'
import sys, time
share = float(sys.argv[1])
end = time.monotonic() + 1.2
while time.monotonic() < end:
    until = time.process_time() + 0.02 * share
    while time.process_time() < until:
        pass
    time.sleep(0.02 * (1 - share) + 0.001)
print(time.process_time_ns(), file=open(sys.argv[2], "w"))
END
# traced FILE SHARE ARG... - wall-time of that work; its CPU time into FILE
traced() {
	timeout 60 "$bin/wall-time" --no-calibrate "${@:3}" -c python3 -- /usr/bin/python3 -I "$work/work.py" "$2" "$1" >"$out" 2>"$err" </dev/null
}
# The time in the graph's frames whose name matches, in ns: "1.79s", "26.7ms", "8us".
in_frames() {
	grep -oE "<title>$1 \([0-9.]+(ns|us|ms|s)," "$work/flame.svg" | sed -E 's/.*\(([0-9.]+)([a-z]+),/\1 \2/' |
		awk '{ sum += $1 * ($2 == "s" ? 1e9 : $2 == "ms" ? 1e6 : $2 == "us" ? 1e3 : 1) } END { printf "%.0f", sum }'
}
near() { # WHAT FOUND WANTED PERCENT
	evidence "$out" "$err"
	claim "$1: $2, within $4 % of $3" awk -v a="$2" -v b="$3" -v p="$4" 'BEGIN { exit !(b && (a > b ? a - b : b - a) <= b * p / 100) }'
}

traced "$work/cpu" 0.3 -j --flame="$work/flame.svg"
mv "$out" "$work/before.json"
wall=$(jq .wall_ns "$work/before.json")
near "the graph has all of the time" "$(in_frames all)" "$wall" 1
slept=$(jq '[.rows[] | select(.cause == "timer") | .sum] | add' "$work/before.json")
near "the sleep is a frame of its width" "$(in_frames '\[asleep until a time\][^(]*')" "$slept" 5
near "on the CPU is what the workload had" \
	"$(jq '[.rows[] | select(.cause | IN("user", "system call", "page faults", "interrupts", "kernel", "cpu")) | .sum] | add' "$work/before.json")" "$(<"$work/cpu")" 20

traced "$work/cpu" 0.9 --baseline="$work/before.json"
evidence "$out" "$err"
like "the first lines are what has changed" "$(head -n 1 "$out")" '^(more|less): .*% of the time, .*% before$'
like "more time was runnable or on the CPU" "$(sed '/^$/,$d' "$out")" '(^|'$'\n'')more: (on the CPU in user code|runnable without a CPU)'
like "less was asleep or idle" "$(sed '/^$/,$d' "$out")" '(^|'$'\n'')less: (idle|asleep until a time)'
like "then the report" "$(cat "$out")" $'\n'"python3, 1 thread, "

echo '{}' >"$work/none.json"
traced "$work/cpu" 0.3 --baseline="$work/none.json" || :
like "a file that wall-time has not printed is refused" "$(<"$err")" 'none.json'
is "... before the command starts" "$(<"$out")" ""
rm "$work/cpu"
traced "$work/cpu" 0.3 --baseline="$work/no-such-file" || :
like "and so is one that is not there" "$(<"$err")" 'no-such-file'
claim "... before the command starts" test ! -e "$work/cpu"
done_testing
