#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# hist-merge --diff: a change that is there is found, none is made up, and the exit status says which.
. "$(dirname "$0")/lib.sh"

tool=hist-merge
mkdir "$work"/{same,slower}
"$cli_top/tests/cli/reports.py" pair "$work/same" 1
"$cli_top/tests/cli/reports.py" pair "$work/slower" 1.3

# PAIR OPTION...
compare() {
	run_bare "$tool" --diff -j "${@:2}" "$work/$1/before" "$work/$1/after"
}

compare slower
is "a comparison ends well" "$status $(<"$err")" "0 "
claim "its JSON is as the schema says" "$cli_top/tests/truth/schema" "${bin%/*}/plumb-2.schema.json" "$out"
holds "and has what was drawn" "$out" '$last | [.calls_before, .calls_after, .blocks_before, .blocks_after] == [40050, 40050, 40, 40]'
holds "what is 30 % slower is called so at p50, p90 and p99" "$out" \
	'[$last.changes[] | select(.key.comm == "changed" and .percentile != "99.9") | .verdict] == ["slower", "slower", "slower"]'
holds "30 % are within the intervals" "$out" \
	'[$last.changes[] | select(.key.comm == "changed")] | length == 4 and all(.[]; .low < 30 and 30 < .high)'
holds "what is the same is not" "$out" \
	'[$last.changes[] | select(.key.comm == "same") | .verdict] | length == 4 and all(.[]; . == "no difference that these samples can show")'
holds "calls in one report of 40 are too few" "$out" '[$last.changes[] | select(.key.comm == "seldom") | .verdict] | unique == ["too few calls"]'
holds "keys of one file are listed" "$out" '$last | .only_before == [{comm: "only before"}] and .only_after == [{comm: "only after"}]'
cp "$out" "$work/once"
compare slower
is "the same files give the same" "$(<"$out")" "$(<"$work/once")"
run_bare "$tool" --diff -j "$work/slower/after" "$work/slower/before"
holds "the other way round it is faster" "$out" \
	'[$last.changes[] | select(.key.comm == "changed" and .percentile != "99.9") | .verdict] == ["faster", "faster", "faster"]'

run_bare "$tool" --diff "$work/slower/before" "$work/slower/after"
like "the table says what was drawn" "$(<"$out")" "before: $work/slower/before: 40 reports, 40050 calls; drawn by 40 blocks of reports"
like "and lists keys of one file" "$(<"$out")" "only before: comm=only before"
"$bin/hist-merge" --diff <(head -n 3 "$work/slower/before") - <"$work/slower/after" >"$out"
like "of few reports calls are drawn, of others blocks" "$(grep drawn "$out" | paste -sd ' ')" "3 reports.* drawn by calls.*40 reports.* by 40 blocks"

# --- the exit status ---
for limit in 5% 5 0%; do
	compare slower --fail-above="$limit"
	is "30 % are above $limit" "$status" 3
done
holds "of which JSON has the number" "$out" '$last.above_limit == ([$last.changes[] | select(.verdict == "slower")] | length)'
compare slower --fail-above=60%
is "but not above 60 %" "$status" 0
compare same --fail-above=0%
is "what is the same is not above 0 %" "$status" 0
run_bare "$tool" --diff --fail-above=5% "$work/slower/before" "$work/none"
is "a file that is not there is an error" "$status" 1
sed '2s/"count":/"count":1/' "$work/slower/after" >"$work/damaged"
run_bare "$tool" --diff -k --fail-above=5% "$work/slower/before" "$work/damaged"
is "so is a line that is left out" "$status" 1
run_bare "$tool" --diff --fail-above=5% <(sed 's/"pid":/"pid":1/g' "$work/slower/before") <(sed 's/"comm":"/&x/g' "$work/slower/after")
is "and so is a comparison of nothing" "$status $(<"$err")" "1 $tool: --fail-above: nothing could be compared"
like "which says how to compare something" "$(<"$out")" "nothing compared: .*--by"
run_bare "$tool" --diff "$work/same/before" <(sed 's/"lost":0/"lost":700/' "$work/same/after")
is "lost calls are told of the side that has them" "$(grep -oE '^(before|after): .*lost: a sample' "$out" | sed 's/:.*; /: /')" "after: 700 lost: a sample"
sed 's/"syscall-latency"/"func-latency"/' "$work/same/after" >"$work/other"
run_bare "$tool" --diff "$work/same/before" "$work/other"
refused "files of two tools" 1 "$tool" --diff syscall-latency func-latency
done_testing
