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
done_testing
