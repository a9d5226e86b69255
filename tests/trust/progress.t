#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Long work shows itself in a line on a terminal, which is removed at its end, and nowhere else.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh

((EUID == 0)) || { echo "1..0 # SKIP tracing takes root"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
run=(build/bin/trace-bias --pairs=5 --tool='sh -c "echo tracing; exec sleep 60"' -- sleep 0.2)

timeout 60 script -qec "${run[*]@Q}" "$work/typescript" </dev/null >"$work/terminal"
claim "the pair is shown on a terminal" grep -q 'trace-bias: pair [2-5] of 5' "$work/terminal"
# What is after the last one begins with the removal of its line.
like "... and removed at the end" "$(tr -d '\n' <"$work/terminal" | sed 's/.*pair [0-9] of 5//')" $'^\033\\[K\r\033\\[K'
timeout 60 "${run[@]}" >"$work/out" 2>"$work/err" </dev/null
is "nothing is shown in a file" "$(grep -c 'pair [0-9]' "$work/err")" 0

# 1.5 GB of reports, as 150 files.
tests/cli/reports.py many 14 256 4 >"$work/reports"
merge="build/bin/hist-merge $(printf "$work/reports %.0s" {1..150})"
script -qec "$merge >'$work/out'" "$work/typescript" </dev/null >"$work/terminal"
claim "hist-merge shows how much it has read" grep -qE 'reports read, MB: [0-9]+ of 15[0-9]{2}' "$work/terminal"
like "... and removes that at the end" "$(sed -E 's/.*of 15[0-9]{2}//' "$work/terminal" | tail -n 1)" $'^\033\\[K\r\033\\[K'
script -qec "timeout --foreground -s INT 1.5 $merge ${merge#* }" "$work/typescript" </dev/null >"$work/terminal"
like "... and when it is interrupted" "$(sed -E 's/.*MB: [0-9]+ of [0-9]+//' "$work/terminal" | tail -n 1)" $'^\033\\[K\r\033\\[K$'
$merge >"$work/out" 2>"$work/err" </dev/null
is "nothing of it is in a file" "$(<"$work/err")" ""

# Probes of a program of our own, which the kernel detaches one by one.
{
	printf '__attribute__((noinline)) void fn_%d(void) { __asm__ volatile("nop"); }\n' {1..600}
	echo 'int main(void) { return 0; }'
} | "${CC:-cc}" -x c -O1 -o "$work/many" -
traced=$PWD/build/bin/user-func-latency

# seen PATTERN - once it is there
seen() {
	for _ in {1..600}; do
		grep -q "$1" "$work/terminal" && return
		sleep 0.05
	done
	return 1
}

# By one call, if the kernel can.
timeout 60 script -qec "$traced --no-calibrate -d 0.1 '$work/many:fn_*'" "$work/typescript" </dev/null >"$work/terminal"
if grep -q 'by uprobe\.\(multi\|session\)' "$work/terminal"; then
	claim "attaching by one call is shown before it" grep -q 'attaching 600 at once' "$work/terminal"
	like "... and removed before the next message" "$(tr -d '\n' <"$work/terminal" | sed 's/.*at once//')" $'^\033\\[K\r\033\\[K.*tracing'
else
	skip "attaching by one call is shown before it" "this kernel attaches one by one"
fi

# A signal while they are detached: the report comes before the kernel has detached them, which takes it as long
# when the tool exits.
: >"$work/terminal"
script -qefc "sh -c 'echo \$\$ >\"$work/pid\"; exec \"$traced\" --no-calibrate --mechanism=uprobe \"$work/many:fn_?\" \"$work/many:fn_[1-5]?\" >\"$work/out\"'" \
	"$work/typescript" </dev/null >"$work/terminal" &
seen 'tracing …'
tool=$(<"$work/pid")
kill -INT "$tool"
claim "detaching is shown" seen 'detaching [0-9]* of 118'
kill -INT "$tool"
claim "... and left to the kernel at the next signal" seen 'leaves [0-9]* probes for the kernel'
for _ in {1..100}; do
	grep -q '^ledger: 0 recorded' "$work/out" && break
	sleep 0.05
done
claim "... and the report comes" grep -q '^ledger: 0 recorded' "$work/out"
wait
claim "... and it ends" test ! -e "/proc/$tool"
done_testing
