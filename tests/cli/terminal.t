#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# On a terminal a table fits on it, and its first row has the most time; for programs it is whole.
. "$(dirname "$0")/lib.sh"

# on_terminal LINES COLUMNS TOOL [ARG...] - its output as a terminal gets it, into $out
on_terminal() {
	local command=("$bin/$3" --no-calibrate "${@:4}")
	"$cli_top/tests/on-terminal" "$1" "$2" sh -c 'exec "$@" 2>"$0"' "$err" "${command[@]}" | tr -d '\r' >"$out"
}
widest() {
	awk '{ if (length > most) most = length } END { print most }' "$out"
}
# The column NAME of rows, in a table without blanks in its cells.
column() {
	awk -v name="$1" '
		!at { for (i = 1; i <= NF; i++) if ($i == name) at = i; if (at) n = NF; next }
		NF != n || /^[(]/ { exit }
		{ print $at }' "$out"
}
# The parts of 100 in stdin, which are rounded to three digits, are all of it.
# shellcheck disable=SC2317 # by claim
is_whole() {
	awk '{ sub("<", ""); sum += $1; n++ } END { exit !(n && sum > 99.5 && sum < 100.5) }'
}

# More than 30 calls that differ; one that is made once takes the most time.
program='import os, socket, time
for i in range(200): os.getppid()
for f in (os.getuid, os.geteuid, os.getgid, os.getegid, os.getpgrp, os.getcwd, os.sched_yield, os.times, os.uname, os.getresuid): f()
os.close(os.dup(0)); os.pipe(); os.sysconf("SC_NPROCESSORS_ONLN"); socket.socketpair(); os.getsid(0); os.umask(0o22)
os.sched_getaffinity(0); os.getpriority(0, 0); os.getgroups(); os.statvfs("/"); os.access("/", 0)
time.sleep(1)'
workload=(-- /usr/bin/python3 -I -c "$program")

on_terminal 24 80 syscall-latency "${workload[@]}"
evidence "$out" "$err"
like "the first row is the one with the most time" "$(column SYSCALL | head -n 1)" nanosleep
claim "all rows are in the order of their time" sort -c -g -r <(column SHARE | tr -d '<')
claim "it has no more lines than the terminal" test "$(wc -l <"$out")" -le 24
claim "and no wider ones" test "$(widest)" -le 80
like "what all rows have in common is above them, once" "$(head -n 1 "$out")" '^pid [0-9]+, comm python3:$'
is "and in no column" "$(grep -c -w -e PID -e COMM "$out")" 0
like "the rest is one line" "$(cat "$out")" "(^|"$'\n'")[(][0-9]+ more rows, [<0-9.]+ % of all: "
claim "the shares of the rows and of the rest are all of it" is_whole \
	< <(column SHARE; sed -n 's/^([0-9]* more rows, \([<0-9.]*\) %.*/\1/p' "$out")
is "the footer is two lines, but for a line that is wrapped" \
	"$(sed '1,/^$/d' "$out" | grep -v '^    ' | sed 's/[ :].*//' | grep -v '^on$' | tr '\n' ' ')" "measured ledger "

on_terminal 24 80 syscall-latency --top=0 "${workload[@]}"
claim "--top=0 prints all rows" test "$(column SYSCALL | wc -l)" -gt 30
claim "and no rest" test "$(grep -c 'more rows' "$out")" = 0
on_terminal 24 80 syscall-latency -v "${workload[@]}"
like "-v has the whole footer" "$(sed '1,/^$/d' "$out" | sed 's/[ :].*//' | tr '\n' ' ')" "measured .*mechanism .*percentiles .*cost .*ledger "

on_terminal 24 80 syscall-latency --split "${workload[@]}"
claim "with the parts of --split it is no wider" test "$(widest)" -le 80
claim "it says which figures have no room" grep -q '^(no room for p90, p99.9.*: --columns)$' "$out"
claim "the sleep was blocked" test "$(column BLOCK | head -n 1)" -gt 90
claim "a row whose bands are all alike has no line for them" test "$(awk '/nanosleep/ { getline; print }' "$out" | grep -c '^  ')" = 0

on_terminal 50 132 syscall-latency --split "${workload[@]}"
claim "on a wide one all figures have room" test "$(grep -c 'no room' "$out")" = 0
claim "and no line is wider" test "$(widest)" -le 132

timeout 30 "$bin/syscall-latency" --no-calibrate "${workload[@]}" >"$out" 2>/dev/null </dev/null
like "for a program each row has all keys" "$(head -n 1 "$out")" '^ *PID COMM +SYSCALL +CALLS +TOTAL SHARE '
claim "and all rows are there" test "$(column SYSCALL | wc -l)" -gt 30
claim "their shares are all of it" is_whole < <(column SHARE)

on_terminal 24 80 syscall-latency -s getppid "${workload[@]}"
like "a call that is the only one is named above them, too" "$(head -n 1 "$out")" '^pid [0-9]+, comm python3, syscall getppid:$'
is "... and all of it is there" "$(column CALLS)" 200

# With keys that fill the line: the parts that have least of the time have no room.
if traces lock-latency; then
	for keys in owner,owner-call kind,lock,owner,owner-call; do
		on_terminal 24 80 lock-latency -b "$keys" -n 1 -- env WORKLOAD_JSON=/dev/null "${bin%/*}/tests/locks" 2 0
		claim "-b $keys: no line is wider" test "$(widest)" -le 80
		like "... and a row has its owner" "$(cat "$out")" 'l-holder/[0-9]+.*(fallocate|pwrite64|write|ioctl) '
	done
	like "what has no room is said" "$(tr '\n' ' ' <"$out" | tr -s ' ')" '[(]no room for p90, .*: --columns[)]'
else
	skip "a table of many keys" "lock-latency cannot trace here"
fi

# Single calls: what a line has no room for is indented below it.
for width in 40 80; do
	on_terminal 24 $width syscall-slower --stacks 100ms "${workload[@]}"
	sed -i '/^$/,$d' "$out"
	claim "no line of a call is wider than $width columns" test "$(widest)" -le $width
	like "and nothing of it is lost" "$(tr -d ' \n' <"$out")" \
		'clock_nanosleep\(CLOCK_[A-Z]*,[^)]*\)=0;wokenbyatimer.*offtheCPU1[.]0[0-9]*s,blocked:.*do_nanosleep'
done

# Where the rest of a line has no room beside the indentation.
for width in 1 13 14; do
	claim "on $width columns it ends" timeout 30 "$cli_top/tests/on-terminal" 24 $width \
		sh -c 'exec "$@" 2>/dev/null' sh "$bin/syscall-slower" --no-calibrate --stacks 100ms "${workload[@]}"
done

# A colour says that figures are of a sample: on a terminal, unless it is refused.
loses=(syscall-slower --buffer=4K 1ns -s getppid -- /usr/bin/python3 -I -c 'import os
for i in range(100000): os.getppid()')
TERM=xterm on_terminal 24 80 "${loses[@]}"
like "with lost calls the summary is yellow" "$(tail -n 20 "$out")" $'\e\\[33mmeasured by .*; a sample: .*\e\\[0m'
NO_COLOR=1 TERM=xterm on_terminal 24 80 "${loses[@]}"
is "not with NO_COLOR" "$(grep -c -F -e $'\e' "$out"):$(grep -c 'a sample: ' "$out")" 0:1
TERM=xterm timeout 30 "$bin/${loses[0]}" --no-calibrate "${loses[@]:1}" >"$out" 2>"$err" </dev/null
is "nor where a program reads it" "$(grep -c -F -e $'\e' "$out"):$(grep -c 'a sample: ' "$out")" 0:1
TERM=xterm on_terminal 24 80 syscall-latency -s getppid "${workload[@]}"
is "nor where nothing was lost" "$(grep -c -F -e $'\e' "$out")" 0

done_testing
