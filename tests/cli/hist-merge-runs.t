#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# hist-merge and reports of one run: dumps that share intervals, in any order; what is missing; clocks that are set.
. "$(dirname "$0")/lib.sh"

tool=hist-merge
"$cli_top/tests/cli/reports.py" make "$work"
what='[.rows, .ledger, .hosts, .unaccounted] | tostring'
jq -c '. + {run: "0123456789abcdef0123456789abcdef", elapsed_ns: 10000000000}' "$work/a.json" >"$work/run"
run_bare "$tool" -j "$work/run"
wanted=$(jq -r "$what" "$out")

# begun N ROWS - the report N as a dump has it that is written as it begins
begun() {
	jq -c --argjson n "$1" --argjson rows "$2" -s '.[$n - 2].ledger as $before | .[$n - 1]
		| .elapsed_ns = (if .run then 8000000 else null end) | .end = (.start[:20] + "99" + .start[22:]) | .rows = ($rows | if . then . else [] end)
		| .ledger = $before | .dump = {number: 1, why: "trigger", forgotten: 0} | del(..|nulls)' "$3"
}

# Three dumps by triggers, of which only the last one has the end of the run.
dumps() {
	{ sed -n 1,3p "$1" && begun 4 null "$1"; } >"$work/d1"
	{ sed -n 2,5p "$1" && begun 6 null "$1"; } >"$work/d2"
	{ sed -n 4,6p "$1" && sed -n 7p "$1" | jq -c '.dump = {number: 3, why: "end", forgotten: 0}'; } >"$work/d3"
}

jq -c 'del(.run, .elapsed_ns)' "$work/run" >"$work/old"
for kind in run old; do
	dumps "$work/$kind"
	for order in "1 2 3" "1 3 2" "2 1 3" "2 3 1" "3 1 2" "3 2 1"; do
		read -r a b c <<<"$order"
		run_bare "$tool" -j "$work/d$a" "$work/d$b" "$work/d$c"
		is "the order of dumps is no matter, $kind: $order" "$status $(jq -r "$what" "$out")" "0 $wanted"
	done
done

# An interval in progress counts if no dump has all of it.
dumps "$work/run"
run_bare "$tool" "$work/d2" "$work/d1"
missing=$(jq -s '[.[0:5][].rows[].count] | add' "$work/run")
claim "a run without its end adds up, too" grep -q "^ledger: $missing recorded" "$out"
claim "... and nothing is said of missing calls" test "$(grep -c 'in no report' "$out")" = 0
run_bare "$tool" "$work/d3"
less=$(jq -s '[.[0:3][].rows[].count] | add' "$work/run")
like "calls that only the ledger has are said" "$(<"$out")" "  $less of these are in no report that was merged"
run_bare "$tool" -j "$work/d3"
is "... and in JSON" "$(jq .unaccounted "$out")" "$less"
jq -c '.rows[].key.stage = "whole"' "$work/d3" >"$work/stages"
run_bare "$tool" -j "$work/stages"
is "of rows of stages they are not counted, which is null" "$(jq .unaccounted "$out")" null
sed 's/"host":"a"/"host":"b"/; s/"ledger":{"recorded":[0-9]*/"ledger":{"recorded":0/' "$work/run" >"$work/uncounted"
run_bare "$tool" "$work/uncounted"
like "rows that no ledger has are said" "$(<"$out")" "  the rows have [0-9]+ more: reports were counted twice"

# The clock is set back by two hours in report 4: lengths are monotonic.
jq -c 'if .seq >= 4 then .end |= "2026-01-31T10" + .[13:] else . end | if .seq >= 5 then .start |= "2026-01-31T10" + .[13:] else . end' \
	"$work/run" >"$work/back"
claim "a clock is set back in the test" jq -e -s '.[3].end < .[3].start' "$work/back"
run_bare "$tool" -j "$work/back"
is "a run whose clock was set back is merged" "$status $(jq -r "$what" "$out")" "0 $wanted"
jq -c 'del(.elapsed_ns)' "$work/back" >"$work/unmeasured"
run_bare "$tool" "$work/unmeasured"
refused "without its length it is refused" 1 "$tool" "$work/unmeasured:4: the end is before the start"
run_bare "$tool" <(sed '1s/"run":"0/"run":"/' "$work/run")
refused "a run that is none" 1 "$tool" "the run is not 32 digits"

# --- --every: a result for each time ---
per_time() {
	jq -r '"\(.start[11:19]) \(.end[11:19]) \(.reports) \(.data) \([.rows[].count] | add // 0) \(.final)"' "$out"
}

# An idle time, a time without reports, and an idle end.
jq -c 'if .seq == 3 or .seq == 7 then .rows = [] else . end | select(.seq != 5)' "$work/run" >"$work/idle"
run_bare "$tool" -j -b none --every=10s "$work/idle"
counts=$(jq -s -r '[.[].rows | map(.count) | add // 0] | "\(.[0]) \(.[1]) \(.[3]) \(.[4])"' "$work/idle")
read -r first second fourth sixth <<<"$counts"
is "each time has a result, in which no calls and no data differ" "$(per_time)" "11:59:40 11:59:50 1 true $first false
11:59:50 12:00:00 1 true $second false
12:00:00 12:00:10 1 true 0 false
12:00:10 12:00:20 1 true $fourth false
12:00:20 12:00:30 0 false 0 false
12:00:30 12:00:40 1 true $sixth false
12:00:40 12:00:50 1 true 0 true"
run_bare "$tool" --every=10s "$work/idle"
is "... in the table, too" "$(grep -A 1 -E '^2026-' "$out" | grep -B 1 '^(' | grep -v ^--)" "2026-01-31T12:00:00Z
(no calls)
2026-01-31T12:00:20Z
(no data)
2026-01-31T12:00:40Z
(no calls)"
run_bare "$tool" --every=5s "$work/run"
is "a time in the midst of a report is none without calls" "$(grep -c '^(no report starts here)' "$out")" 6
jq -c 'if .seq == 7 then .start |= "2027" + .[4:] | .end |= "2027" + .[4:] else . end' "$work/run" >"$work/year"
run_bare "$tool" -j --every=10s "$work/year"
is "a year without data is one result" "$(wc -l <"$out") $(jq -r 'select(.data | not) | .start, .end' "$out" | paste -s -d ' ')" \
	"8 2026-01-31T12:00:40.000000000Z 2027-01-31T12:00:40.000000000Z"

# The clock is set back while two other hosts go on.
"$cli_top/tests/cli/reports.py" make "$work"
sed 's/"host":"a"/"host":"z"/; s/"run":"0/"run":"1/' "$work/run" >"$work/other"
run_bare "$tool" -j -b none --every=10s "$work/run" "$work/other"
wanted=$(per_time)
run_bare "$tool" -j -b none --every=10s "$work/back" "$work/other"
is "a run whose clock was set back goes on where it was" "$status $(per_time)" "0 $wanted"
is "... which is said" "$(jq -s '.[-1].moved' "$out")" 4
jq -c -s 'sort_by(.seq, .host)[]' "$work/back" "$work/other" >"$work/mixed"
run_bare "$tool" -j -b none --every=10s "$work/mixed"
is "... also if its reports are in one file with others" "$status $(per_time)" "0 $wanted"
done_testing
