#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# trace-bias, with tracers whose cost is known: it is a file that they hold while they "trace", and
# the workload does a fifth more where it sees that.

set -uo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$top/tests/lib.sh"
bias=${PLUMB_BIN:-$top/build/bin}/trace-bias
[[ -x $bias ]] || { echo "Bail out! no $bias: make"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit
out=$work/out err=$work/err status=
evidence "$out" "$err"

# What nobody else sleeps: to be looked for when all should be gone.
mark=9$$

script() {
	{ echo "#!/bin/sh"; cat; } >"$1"
	chmod +x "$1"
}

# Units of work, about 20000, a fifth more under the tracer, and up to 3 % of noise in either
# direction, which is the same each time after the same start of "noise" (C's example of rand).
script work-units <<'END'
read -r x <noise
x=$(((x * 1103515245 + 12345) % 2147483648))
echo "$x" >noise
units=$((20000 + (x / 65536 % 1201) - 600))
[ ! -e held ] || units=$((units + units / 5))
i=0
while [ $i -lt $units ]; do i=$((i + 1)); done
echo "units $units"
END
script wild-units <<'END'
read -r x <noise
x=$(((x * 1103515245 + 12345) % 2147483648))
echo "$x" >noise
echo "units $((x / 65536 % 900 + 100))"
END
script empty-tracer <<END
echo "tracing nothing"
exec sleep $mark
END
script slow-tracer <<END
trap 'rm -f held; exit 0' INT
: >held
echo "Tracing... Hit Ctrl-C to end." >&2
sleep $mark &
wait
END

run() {
	status=0
	rm -f held
	timeout -k 5 60 "$bias" "$@" </dev/null >"$out" 2>"$err" || status=$?
}

left() {
	pgrep -xf "sleep $mark"
}

nothing_left() {
	is "$1: nothing is left running" "$(left)" ""
}

# CLAIM STATUS WORD...: one line, no output, and nothing left of what was started
refused() {
	local claim=$1 word failed=0 text
	text=$(<"$err")
	[[ $status == "$2" && ! -s $out && $text == "trace-bias: "* && $text != *$'\n'* ]] || failed=1
	for word in "${@:3}"; do
		[[ $text == *"$word"* ]] || failed=1
	done
	tap_result "$failed" "$claim" <<<"exit status $status, wanted $2, and one line that has: ${*:3}"
	[[ $2 == 2 ]] || nothing_left "$claim"
}

# --- known costs ---

seeds="1 2 3 4 5 6 7 8 9 10"

# TRACER: a line of JSON a seed, to TRACER.json; the statuses, to TRACER.statuses
repeat() {
	local seed
	rm -f "$1.json" "$1.statuses"
	for seed in $seeds; do
		echo "$seed" >noise
		run -j --seed "$seed" --metric 'units ([0-9]+)' --tool "./$1" -- ./work-units
		cat "$out" >>"$1.json"
		echo "$status" >>"$1.statuses"
	done
}

repeat slow-tracer
evidence slow-tracer.json slow-tracer.statuses "$err"
units='map(.measures[] | select(.name == "metric"))'
is "a slowdown of 20 % is status 3, for each seed" "$(sort -u slow-tracer.statuses)" 3
holds "a slowdown of 20 % is biased, for each seed" slow-tracer.json '($all | length) == 10 and
	all($all[]; .verdict == "biased") and ($all | '"$units"' | all(.[]; .verdict == "biased"))'
holds "it is measured right: nearly all intervals hold 20 %, none is wide" slow-tracer.json '$all | '"$units"' | map(.change_percent)
	| ([.[] | select(.low <= 20.01 and .high >= 19.99)] | length) >= 8 and all(.[]; .high - .low < 8 and .low > 12 and .high < 28)'
holds "nor does a clock see nothing of it" slow-tracer.json \
	'[$all[].measures[] | select(.name != "metric")] | length == 20 and all(.[]; .verdict != "unbiased")'

repeat empty-tracer
evidence empty-tracer.json empty-tracer.statuses "$err"
holds "an empty tracer is unbiased, for each seed" empty-tracer.json \
	'($all | length) == 10 and ($all | '"$units"' | all(.[]; .verdict == "unbiased"))'
# Where the noise is larger than the limit, one of 20 is wrong: of ten, four in hardly one test of 500.
holds "nor does a clock make it biased, but for accidents" empty-tracer.json '[$all[].measures[] | select(.verdict == "biased") | .name]
	| group_by(.) | all(.[]; length <= 3)'
holds "either comes first, by chance" empty-tracer.json '[$all[].pairs[].first] | length == 100
	and ([.[] | select(. == "with")] | length | . > 30 and . < 70)'
holds "another seed is another order" empty-tracer.json '[$all[] | [.pairs[].first]] | unique | length >= 9'
jq -c '[.pairs[].first]' slow-tracer.json >order.slow
jq -c '[.pairs[].first]' empty-tracer.json >order.empty
claim "a seed repeats its order" cmp order.slow order.empty
holds "all runs are there, and make up what is said of them" empty-tracer.json 'def median: sort | (.[4] + .[5]) / 2;
	all($all[]; . as $a | .measures | length == 3 and all(.[]; .name as $m | (.with - ($a.pairs | map(.with[$m]) | median) | fabs) < 1e-6
		and (.without - ($a.pairs | map(.without[$m]) | median) | fabs) < 1e-6
		and (.change_percent.median - ($a.pairs | map((.with[$m] / .without[$m] - 1) * 100) | median) | fabs) < 1e-6))'

evidence "$out" "$err"
echo 1 >noise
run --pairs 15 --seed 1 --limit 100 --metric 'units ([0-9]+)' --tool ./empty-tracer -- ./work-units
is "unbiased is status 0" "$status" 0
like "unbiased is said" "$(<"$out")" $'^MEASURE +WITHOUT +WITH +CHANGE +LOW +HIGH +VERDICT\nwall .* unbiased\ncpu .* unbiased\nmetric .* unbiased\n\nunbiased: 15 pairs, seed 1; '
echo 1 >noise
run -j --pairs 5 --seed 1 --limit 75 --metric 'units ([0-9]+)' --tool ./empty-tracer -- ./wild-units
is "not enough runs is status 4" "$status" 4
holds "how many more is said" "$out" '$last.verdict == "not enough runs" and
	($last.measures[] | select(.name == "metric") | .verdict == "not enough runs" and .more_pairs > 0)'
echo 1 >noise
run --pairs 5 --seed 1 --limit 75 --metric 'units ([0-9]+)' --tool ./empty-tracer -- ./wild-units
like "how many more is in the table" "$(tr -s '[:space:]' ' ' <"$out")" 'metric [^%]*%[^%]*%[^%]*% not enough runs: (about|over) [0-9]+ more'
is "a table is no wider than a terminal" "$(awk 'length > 80' "$out")" ""
nothing_left "after all these"

# --- what is run, and when ---

script who-am-i <<'END'
: >begun
[ ! -e tool.words ] || [ "$(cat tool.words)" != "$$ two  words $$" ] || echo right >>known
rm -f tool.words
END
script who-is-it <<END
rm -f begun
echo "\$*" >tool.words
sleep 0.05
[ ! -e begun ] || : >too-early
echo tracing
exec sleep $mark
END
run --pairs 5 --limit 100 --tool './who-is-it {} "two  words" {}' -- ./who-am-i
is "each time the tool is given the workload's pid, and words as a shell gives them" "$(grep -c right known)" 6
claim "the workload waits for the tool" test ! -e too-early

script ready-later <<END
echo "Attaching 1 probe..." >&2
exec sleep $mark
END
run -j --pairs 5 --limit 100 --ready '^Attaching [0-9]+ probe' --settle 0.2 --tool ./ready-later -- true
holds "--ready and --settle: both are waited for" "$out" '($last.end[17:-1] | tonumber) - ($last.start[17:-1] | tonumber)
	| (. + 60) % 60 | . > 1 and . < 20'
is "a workload's output is not ours" "$(grep -c Attaching "$out" "$err")" "$out:0
$err:0"

# Hundredths of a second since it was forked.
script its-age <<'END'
read -r now _ </proc/uptime
stat=$(cat /proc/$$/stat)
set -- ${stat##*) }
echo "age $((${now%.*}${now#*.} - ${20} + 1))"
END
run -j --pairs 5 --limit 25 --metric 'age ([0-9]+)' --settle 0.5 --tool "sleep $mark" -- ./its-age
holds "without a tool the workload is held as long" "$out" \
	'$last.measures[2] | .verdict == "unbiased" and .without >= 50 and .with >= 50'

script leaves-a-child <<END
sleep $mark &
END
run --pairs 5 --limit 100 --tool ./empty-tracer -- ./leaves-a-child
nothing_left "a workload that leaves a child"
run -v --pairs 5 --limit 100 --tool ./empty-tracer -- echo a word
claim "-v has what they print" grep -q "^trace-bias: tool: tracing nothing$" "$err"
claim "-v has what the workload prints" grep -q "^trace-bias: workload: a word$" "$err"
is "-v has each run" "$(grep -c '^trace-bias: pair [1-5], with\(out\)\? the tool: wall 0\.[0-9]\{6\} s, cpu ' "$err")" 10
run --pairs 5 --limit 100 --metric '([0-9]+)' --tool ./empty-tracer -- sh -c 'yes a line | head -n 300000; echo 3; printf 7'
like "the last line counts, of much output, though nothing ends it" "$(<"$out")" 'metric +7 +7 '

# --- what goes wrong ---

run --tool no-such-tool -- true
refused "a tool that is not there" 1 "with the tool" "status 127" no-such-tool
run --tool 'sh -c "echo a reason >&2; exit 77"' -- true
refused "a tool that gives up" 1 "status 77 before it was ready" "a reason"
run --tool 'sh -c "echo tracing; sleep 0.1; kill -9 \$\$"' -- sleep 1
refused "a tool that ends too early" 1 "killed by signal 9 while the workload ran"
run --settle 0.1 --tool true -- true
refused "a tool that ends before the workload begins" 1 "status 0 before the workload began"
SECONDS=0
run --tool "sleep $mark" -- true
refused "a tool that never says that it traces" 1 "[Tt]racing" "10 s" --ready --settle
claim "that is found out in time" test "$SECONDS" -lt 15
run --tool ./empty-tracer -- no-such-workload
refused "a workload that is not there" 1 no-such-workload "No such file"
run --tool ./empty-tracer -- "$work"
refused "a workload that is a directory" 1 "$work" "Permission denied"
run --tool ./empty-tracer -- sh -c 'echo a reason; exit 5'
refused "a workload that fails" 1 "warm-up run" "status 5" "a reason"
run --tool ./empty-tracer -- sh -c 'kill -11 $$'
refused "a workload that crashes" 1 "killed by signal 11"
run --tool ./slow-tracer -- test ! -e held
refused "a workload that fails with the tool only" 1 "with the tool: test ended with status 1"
run --tool ./empty-tracer --metric 'units ([0-9]+)' -- echo 17
refused "a metric that is not printed" 1 --metric 'units ([0-9]+)' echo
run --tool ./empty-tracer --metric 'units (.*)' -- echo units 1,000
refused "a metric that is no number" 1 --metric "'1,000'"
script stubborn <<END
trap '' INT
: >held
echo tracing
exec sleep $mark
END
run --tool ./stubborn -- test ! -e held
is "a tool that does not end: status of the error" "$status" 1
like "a tool that does not end is killed" "$(<"$err")" "the tool did not end within 10 s of SIGINT: it is killed"
nothing_left "a tool that does not end"

# --- being ended ---

# CLAIM SIGNAL ARG...: when something runs
ended_by() {
	local pid
	rm -f held
	"$bias" "${@:3}" </dev/null >"$out" 2>"$err" &
	pid=$!
	for ((i = 0; i < 500; i++)); do [[ -z $(left) ]] || break; sleep 0.01; done
	claim "$1: something runs" test -n "$(left)"
	kill -"$2" "$pid"
	status=0
	wait "$pid" 2>/dev/null || status=$?
}

for signal in INT TERM HUP; do
	ended_by "$signal as the workload runs" "$signal" --tool ./empty-tracer -- sleep "$mark"
	refused "$signal as the workload runs" 1 interrupted
	ended_by "$signal as both run" "$signal" --tool ./slow-tracer -- sh -c "[ ! -e held ] || exec sleep $mark"
	refused "$signal as both run" 1 interrupted
	claim "$signal as both run: the tool ends in its own way" test ! -e held
	ended_by "$signal as the tool starts" "$signal" --ready never --tool "sleep $mark" -- true
	refused "$signal as the tool starts" 1 interrupted
done
ended_by "SIGKILL" KILL --tool ./empty-tracer -- sleep "$mark"
for ((i = 0; i < 500; i++)); do [[ -n $(left) ]] || break; sleep 0.01; done
nothing_left SIGKILL
SECONDS=0
"$bias" --pairs 1000 --tool ./empty-tracer -- sleep 0.01 2>"$err" | { sleep 0.2; exec true; }
is "a reader that goes away ends it well" "${PIPESTATUS[0]}" 0
is "and quietly" "$(<"$err")" ""
claim "and soon" test "$SECONDS" -lt 5
nothing_left "a reader that goes away"
for closed in '>/dev/full' '>&-'; do
	[[ $closed != *full || -c /dev/full ]] || { skip "a full disk" "/dev/full is no device here"; continue; }
	status=0
	eval "'$bias' --pairs 5 --limit 0.001 --tool ./empty-tracer -- true $closed" 2>"$err" </dev/null || status=$?
	: >"$out"
	refused "a judgement that cannot be written ($closed)" 1 "cannot write to standard output"
done

# --- misuse ---

# WORD... : ARG...
misused() {
	local words=()
	while [[ $1 != : ]]; do
		words+=("$1")
		shift
	done
	shift
	run "$@"
	refused "$* is wrong usage" 2 "${words[@]}"
}

misused --tool missing : -- true
misused --tool : --tool '' -- true
misused workload -- : --tool ./empty-tracer
misused stray -- : --tool ./empty-tracer stray -- true
for value in 4 0 -1 x '' 10001 5.5; do
	misused --pairs "$value" : --pairs "$value" --tool ./empty-tracer -- true
done
for value in 0 -1 x '' 101 5% inf 0.0000001; do
	misused --limit "$value" : --limit "$value" --tool ./empty-tracer -- true
done
for value in -1 x '' 4294967296; do
	misused --seed "$value" : --seed "$value" --tool ./empty-tracer -- true
done
for value in 0 -1 x '' 1s; do
	misused --settle "$value" : --settle "$value" --tool ./empty-tracer -- true
done
for option in --ready --metric; do
	misused "$option" '(a' : "$option" '(a' --tool ./empty-tracer -- true
done
misused --metric "figure" "'units'" : --metric units --tool ./empty-tracer -- true

# --- a tracer indeed ---

calls=$top/build/tests/calls
PATH=$top/build/bin:$PATH run -j --pairs 11 --metric '"50":([0-9]+)' --tool 'syscall-latency --no-calibrate -p {}' -- \
	"$calls" 100000 priority
if grep -q 'the tool ended with status \(1\|77\) before it was ready: ' "$err"; then
	skip "a tracer indeed" "$(<"$err")"
else
	is "syscall-latency is a bias to what only makes system calls" "$status" 3
	holds "by what these take themselves, which is longer" "$out" \
		'$last.measures[2] | .name == "metric" and .verdict == "biased" and .change_percent.low > 5'
	holds "nor does a clock see nothing of that" "$out" '$last.measures | length == 3 and all(.[]; .verdict != "unbiased")'
	nothing_left "a tracer indeed"
fi
done_testing
