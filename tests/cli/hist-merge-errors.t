#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# hist-merge and lines that are no reports, cut off or hostile: named by file and line, and nothing of
# them is merged.
. "$(dirname "$0")/lib.sh"

tool=hist-merge
"$cli_top/tests/cli/reports.py" make "$work"
sed -n 1p "$work/a.json" >"$work/first"
sed -n 2p "$work/a.json" >"$work/good"
sed -n 3p "$work/a.json" >"$work/last"
cat "$work/first" "$work/last" >"$work/both"
run_bare "$tool" -j "$work/both"
what='del(.sources, .left_out)'
wanted=$(jq -c "$what" "$out")

# WORD - "bad" is in the midst of two good lines
refuses() {
	cat "$work/first" "$work/bad" "$work/last" >"$work/file"
	run_bare "$tool" "$work/file"
	refused "${2-$1}: refused" 1 "$tool" "$work/file:2: " "$1"
	run_bare "$tool" -k -j "$work/file"
	is "${2-$1}: the rest is kept" "$status $(jq -c "$what" "$out")" "1 $wanted"
	is "${2-$1}: and said" "$(grep -c "file:2: .*$1" "$err") $(tail -n 1 "$err")" "1 $tool: left out 1 line that cannot be merged"
}

# WORD PERL - the good line, changed
bad() {
	perl -pe "$2" "$work/good" >"$work/bad"
	if cmp -s "$work/bad" "$work/good"; then
		claim "$1: $2 changes the line" false
	else
		refuses "$1" "$1, $2"
	fi
}

bad "the parts of wall-time are not merged" 's/"tool":"[^"]*"/"tool":"wall-time"/'
bad "the buckets do not add up" 's/"count":(\d+)/"count":@{[$1+1]}/'
bad "more errors than calls" 's/"errors":0/"errors":99/'
bad "a negative number" 's/"count":/"count":-/'
bad "a number above 2^63-1" 's/"sum":\d+/"sum":9223372036854775808/'
bad "a number above 2^63-1" 's/"sum":\d+/"sum":100000000000000000000000000/'
bad "the buckets have more than 2^63-1 calls" 's/(\d+)\]\],?/9223372036854775807],[4398046511104,4398046511104,5]]/'
bad "a whole number" 's/"sum":(\d+)/"sum":$1.0/'
bad "a whole number" 's/"sum":(\d+)/"sum":1e3/'
bad "a leading 0" 's/"sum":/"sum":0/'
bad "a leading 0" 's/"hist":\[\[/"hist":[[0/'
bad "a number is expected" 's/"sum":\d+/"sum":NaN/'
bad "a number is expected" 's/"sum":\d+/"sum":"5"/'
bad "ascending order" 's/"hist":\[(\[\d+,\d+,\d+\]),(\[\d+,\d+,\d+\])/"hist":[$2,$1/'
bad "ascending order" 's/"hist":\[(\[\d+,\d+,\d+\]),/"hist":[$1,$1,/'
bad "no bucket of this precision" 's/"hist":\[\[(\d+),(\d+),/"hist":[[$1,@{[$2+1]},/'
bad "no bucket of this precision" 's/"precision_bits":6/"precision_bits":5/'
bad "the precision is not 1 to 10" 's/"precision_bits":6/"precision_bits":11/'
bad "an empty bucket" 's/(\d+)\]\]/0]]/'
bad "a bucket has three numbers" 's/(\d+)\]\]/$1,1]]/'
bad "a bucket has three numbers" 's/,(\d+)\]\]/]]/'
bad "the maximum is below" 's/"max":\d+/"max":0/'
bad "the minimum is above" 's/"min":\d+/"min":99999999999/'
bad "the minimum is above the maximum" \
	's/"min":\d+,"max":\d+(,"percentiles":\{[^}]*\},"low_samples":\[[^]]*\],"hist":\[\[(\d+),(\d+),\d+\]\])/"min":$3,"max":$2$1/'
bad "a negative number" 's/"sum":/"sum":-/'
bad "a row without a histogram that others have" 's/"hist":/"other":/'
bad "its rows have no histograms, unlike those before" 's/"hist":/"other":/g'
bad "rows of the report have different keys" 's/"pid":1,/"tid":1,/'
bad "a key with a NUL" 's/"key":\{/"key":{"a":"\\u0000",/'
bad "a histogram without sum" 's/"sum":/"other":/'
bad "a row without key" 's/"key":/"kay":/'
bad "the key is no object" 's/"key":\{.*?\}/"key":5/'
bad "a key with a member that is there twice" 's/"key":\{/"key":{"pid":1,/'
bad "no scalar" 's/"key":\{/"key":{"tid":[1],/'
bad "a member is there twice" 's/"rows":/"rows":[],"rows":/'
bad "a member of a row is there twice" 's/"count":/"count":1,"count":/'
bad "a member of the ledger is there twice" 's/"recorded":/"recorded":1,"recorded":/'
bad "no member ledger" 's/"ledger":/"leger":/'
bad "no member schema" 's/"schema":/"scheme":/'
bad "the schema is not plumb/2" 's/plumb.2/plumb\/3/'
bad "the unit is not that of the tool's reports" 's/"seq":2/"unit":"bytes","seq":2/'
bad "seq is 0" 's/"seq":2/"seq":0/'
bad "the end is before the start" 's/"end":"2026/"end":"2025/'
bad "no time as in" 's/"end":"2026/"end":"26/'
bad "no time as in" 's/Z","end/+01:00","end/'
bad "no such time" 's/"start":"2026-01-31/"start":"2026-02-30/'
bad "unexpected character" 's/\}$/,}/; s/"rows":/"rows":/; s/"seq":2,/"seq":2 2,/'
bad "a string is expected" 's/\}$/,}/'
bad "something follows the value" 's/$/ {}/'
bad "nested too deep" 's/"overhead_ns":\{\}/q("overhead_ns":) . "[" x 100000 . "]" x 100000/e'
bad "the text ends inside a value" 's/"overhead_ns":\{\}/"overhead_ns":[[[/; s/,"rows.*//'
bad "not UTF-8" 's/"x86_64"/"x86\xff64"/'
bad "not UTF-8" 's/"x86_64"/"\xed\xa0\x80"/'
bad "not UTF-8" 's/"x86_64"/"\xc0\xaf"/'
bad "no such escape" 's/"x86_64"/"\\x41"/'
bad "no such escape" 's/"x86_64"/"\\ud800"/'
bad "a control character" 's/"x86_64"/"x\t86"/'
bad "a NUL" 's/"x86_64"/"x\x0086"/'
bad "a NUL" 's/"seq":2/"seq":2\x00/'
bad "a report of func-latency, after those of syscall-latency" 's/"syscall-latency"/"func-latency"/'
: >"$work/empty"
echo >"$work/bad"
refuses "an object is expected" "an empty line"
echo '{"call":{"pid":1},"seq":1}' >"$work/bad"
refuses "no report: it has no member schema" "a line of another program"
{
	printf '{"a":"'
	head -c 70000000 /dev/zero | tr '\0' x
	echo '"}'
} >"$work/bad"
refuses "a line of more than 64 MB"
# A line that is long because of what nobody reads.
perl -pe 's/"overhead_ns":\{\}/q("overhead_ns":[) . "0," x 5000000 . "0]"/e' "$work/good" >"$work/long"
run_bare "$tool" -j "$work/first" "$work/long" "$work/last"
claim "a line of 10 MB is merged" test "$status $(jq .reports "$out")" = "0 3"

# --- the end of a file ---
head -c 5000 "$work/a.json" >"$work/cut"
run_bare "$tool" "$work/cut"
refused "a file that was cut off" 1 "$tool" "$work/cut:" truncated
printf %s "$(<"$work/first")" >"$work/bare"
run_bare "$tool" -j "$work/bare" "$work/last"
is "a last line without newline is a line" "$status $(jq .reports "$out")" "0 2"
for file in "$work/empty" /dev/null; do
	run_bare "$tool" "$file"
	refused "no reports at all" 1 "$tool" "no reports to merge"
done
run_bare "$tool" "$work/none"
refused "a file that is not there" 1 "$tool" "$work/none" "No such file"
run_bare "$tool" "$work"
refused "a directory" 1 "$tool" "$work" "a directory"
run_bare "$tool" --tool=skb-alloc "$work/first"
refused "no report of the tool that is asked for" 1 "$tool" "no reports to merge" --tool
run_bare "$tool" -b syscall "$work/first"
refused "a key that the reports do not have" 1 "$tool" "$work/first:1: " "no key syscall"
run_bare "$tool" --hgrm=/dev/null/x "$work/first"
refused "a directory that cannot be made" 1 "$tool" --hgrm /dev/null/x

# --- what is no error ---
{
	echo '{"call":{"pid":1,"args":[]}}'
	cat "$work/first"
	echo '{"request":{"dev":"8:0"}}'
	cat "$work/last"
} >"$work/records"
run_bare "$tool" -j "$work/records"
is "records of single calls are passed over" "$status$(<"$err") $(jq -c "$what" "$out")" "0 $wanted"
run_bare "$tool" --tool=syscall-latency "$work/records"
like "and counted, also with --tool" "$(<"$out")" "passed over: 2 records of single calls"
sed 's/"syscall-latency"/"func-latency"/' "$work/good" >"$work/other"
run_bare "$tool" -j --tool=syscall-latency "$work/first" "$work/other" "$work/last"
is "--tool passes over another's reports" "$status $(jq -c "$what" "$out")" "0 $wanted"
jq -S -c . "$work/both" >"$work/sorted"
run_bare "$tool" -j "$work/sorted"
is "members may be in any order" "$(jq -c "$what" "$out")" "$wanted"
sed -E 's/([][{},:])/ \1\t/g' <(jq -c '.rows |= map(select(.key.comm == "cat")) | .start = "2026-01-31T11:59:40.000000000Z" | del(.end)' "$work/first") |
	sed 's/"2026.*Z"/"2026-01-31T11:59:40.000000000Z", "end": "2026-01-31T11:59:50.000000000Z"/' >"$work/spaced"
run_bare "$tool" -j "$work/spaced"
holds "blanks are no matter" "$out" '$last | .reports == 1 and (.rows | length) == 2'
perl -pe 's/"comm"/"c\\u006fmm"/g; s/cat/c\\u0061t/g' "$work/good" >"$work/escaped"
run_bare "$tool" -j "$work/good" && cp "$out" "$work/plain"
run_bare "$tool" -j "$work/escaped"
is "nor are escapes in keys" "$(jq -c .rows "$out")" "$(jq -c .rows "$work/plain")"
perl -pe 's/"comm":"cat"/"comm":"\\u001b[31m\\n"/g' "$work/good" >"$work/control"
run_bare "$tool" -H --ladder "$work/control"
claim "control characters of keys are escaped in tables" test "$(LC_ALL=C grep -c $'[\001-\010\013-\037]' "$out")" = 0 -a -s "$out"
like "as \\xHH" "$(<"$out")" '\\x1b'

# Sums beyond the largest number of JSON stay there; calls cannot be so many.
for part in first good; do
	perl -pe 's/"rows":\[.*?\]\}\]/"rows":[{"key":{},"count":1,"errors":0,"sum":MOST,"min":MOST,"max":MOST,"hist":[[4398046511104,MOST,1]]}]/;
		s/MOST/9223372036854775807/g' "$work/$part" >"$work/large.$part"
done
run_bare "$tool" -j "$work"/large.*
is "a sum stays at 2^63-1" "$(grep -o '"sum":[0-9]*' "$out")" '"sum":9223372036854775807'
perl -pe 's/"rows":\[.*?\]\}\]/"rows":[{"key":{},"count":9223372036854775807,"errors":0}]/' "$work/first" >"$work/calls"
run_bare "$tool" "$work/calls" "$work/good"
refused "more calls than a number holds" 1 "$tool" "$work/good:1: " "more than 2^63-1 calls"
jq -c '.rows = []' "$work/first" >"$work/idle"
run_bare "$tool" "$work/idle"
like "no rows are called so" "$(<"$out")" "^[(]no calls[)]"$'\n'
# A running trace may have a call in the sum and not in the buckets, or the other way round: a sum is what it can be.
for sum in 0 9223372036854775807; do
	perl -pe 's/"sum":\d+/"sum":'$sum'/' "$work/good" >"$work/sum"
	run_bare "$tool" -j "$work/sum"
	holds "of a sum of $sum what is possible is taken" "$out" '$last | .corrected == 1 and all(.rows[]; .count * .min <= .sum and .sum <= .count * .max)'
done
run_bare "$tool" "$work/sum"
like "... and the footer says so" "$(<"$out")" "corrected: 1 sum of values, which minimum and maximum rule out"
# A tool may print two rows whose keys look alike; a row that is there twice has calls that the ledger does not have.
jq -c '.rows += .rows[:1]' "$work/first" >"$work/twice"
run_bare "$tool" "$work/twice"
like "a row that is there twice is not taken for a report that is" "$status $(<"$out")" \
	"^0 .*  the rows have $(jq '.rows[0].count' "$work/twice") more: rows with the same key in a report, or reports, were counted twice"
jq -c '.rows |= map(select(.key.comm == "cat") | del(.hist) | .stack = [])' "$work/good" >"$work/stacks"
jq -c '.rows[1].key = .rows[0].key | .rows[1].stack = [{frame: "f", kernel: true}]' "$work/stacks" >"$work/stacks.same"
run_bare "$tool" -j "$work/stacks.same"
is "stacks of a key are one row" "$status $(jq -c '[.rows[].count]' "$out")" "0 $(jq -c '[[.rows[].count] | add]' "$work/stacks.same")"
run_bare "$tool" -j "$work/stacks" "$work/last"
refused "histograms after rows without" 1 "$tool" "$work/last:1: its rows have histograms, unlike those before"
# --- files that cannot be read; output that cannot be written ---
mkdir "$work/folder"
run_bare "$tool" -k -j "$work/absent" "$work/good" "$work/folder"
is "with -k files that cannot be read are left out" "$status $(jq -c .reports "$out") $(tail -n 1 "$err")" \
	"1 1 $tool: left out 2 files that cannot be read"
run_bare "$tool" -j "$work/good" "$work/absent"
is "without, nothing is printed" "$status $(<"$out")" "1 "
for format in -j -H --ladder "--diff $work/good"; do
	# shellcheck disable=SC2086 # words
	"$bin/$tool" $format "$work/good" >/dev/full 2>"$err"
	is "$format on a full disk" "$? $(<"$err")" "1 $tool: cannot write to standard output: No space left on device"
done
done_testing
