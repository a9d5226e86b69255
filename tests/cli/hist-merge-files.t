#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# hist-merge and what it reads: compressed files, pipes, what has no end; and the order of rows.
. "$(dirname "$0")/lib.sh"

tool=hist-merge
"$cli_top/tests/cli/reports.py" make "$work"
what='del(.sources)'
run_bare "$tool" -j "$work"/[a-e].json
wanted=$(jq -c "$what" "$out")
run_bare "$tool" -j --every=1m "$work"/[a-e].json
each=$(jq -c "$what" "$out")

# --- files of gzip ---
gzip -k "$work"/[a-d].json
run_bare "$tool" -j "$work"/[a-d].json.gz "$work/e.json"
is "files of gzip are read" "$status$(<"$err") $(jq -c "$what" "$out")" "0 $wanted"
run_bare "$tool" -j --every=1m "$work"/[a-d].json.gz "$work/e.json"
is "... side by side, too" "$status$(<"$err") $(jq -c "$what" "$out")" "0 $each"
head -c -20 "$work/a.json.gz" >"$work/cut.gz"
run_bare "$tool" -j "$work/cut.gz"
refused "a file that was cut off" 1 "$tool" "$work/cut.gz: what gzip has compressed is damaged, or cut off"
run_bare "$tool" -k -j "$work/cut.gz" "$work/b.json.gz"
is "... with -k is left out" "$status $(tail -n 1 "$err")" "1 $tool: left out 1 file that cannot be read"
head -c 100000000 /dev/zero | gzip >"$work/zeros.gz"
run_bare "$tool" "$work/zeros.gz"
refused "what is far larger than it is compressed" 1 "$tool" "$work/zeros.gz:1: a line of more than 64 MB"

# --- what has no end, or no beginning ---
for device in /dev/zero /dev/full; do
	run_bare "$tool" "$device"
	refused "$device" 1 "$tool" "$device: a device, not a file or pipe"
done
truncate -s 1T "$work/sparse"
run_bare "$tool" "$work/sparse"
refused "a line without an end" 1 "$tool" "$work/sparse:1: a line of more than 64 MB"
mkfifo "$work/fifo"
run_bare "$tool" "$work/fifo"
refused "a pipe that nobody writes to" 1 "$tool" "$work/fifo: a pipe that no process writes to"
{
	sleep 1
	cat "$work/a.json" >"$work/fifo"
} &
run_bare "$tool" -j "$work/fifo" "$work"/[b-e].json
is "one whose writer comes later is read" "$status$(<"$err") $(jq -c "$what" "$out")" "0 $wanted"
wait
run_bare "$tool" -j <(sleep 1; cat "$work/a.json") "$work"/[b-e].json
is "... as is one without a name" "$status$(<"$err") $(jq -c "$what" "$out")" "0 $wanted"
{
	head -c 70000000 /dev/zero | tr '\0' x
	echo
	cat "$work/a.json"
} >"$work/long"
run_bare "$tool" -k -j "$work/long" "$work"/[b-e].json
is "with -k what follows a line that is too long is read" "$status $(jq -c '.reports, .left_out' "$out" | paste -s -d ' ')" \
	"1 $(jq '.reports' <<<"$wanted") 1"

# --- --sort ---
for column in calls:.count errors:.errors total:.sum mean:.sum/.count max:.max p99:'.percentiles["99"]'; do
	run_bare "$tool" -j -b pid,comm,host --sort="${column%%:*}" "$work"/[a-e].json
	holds "rows are sorted by ${column%%:*}" "$out" "[\$last.rows[] | ${column#*:}] | length > 20 and . == (sort | reverse)"
done
run_bare "$tool" -b host --sort=p99 "$work"/[a-e].json
worst=$(for host in a b c d e; do
	"$bin/$tool" -j -b none "$work/$host.json" | jq -r '"\(.rows[0].percentiles["99"]) '"$host"'"'
done | sort -n -r | awk '{ print $2 }' | paste -s -d ' ')
is "the slowest host is the first" "$(awk 'NR > 1 && NR < 7 { print $1 }' "$out" | paste -s -d ' ')" "$worst"
is "--sort=help lists the columns" "$("$bin/hist-merge" --sort=help | paste -s -d ' ')" "calls errors total mean max p99, or another percentile"
run_bare "$tool" --sort=p0 "$work/a.json"
refused "a column that is none" 2 "$tool" "--sort: calls, errors, total, mean, max or a percentile, as in p99: p0"

# --- what is read is not replaced ---
cp "$work/a.json" "$work/in.prom"
run_bare "$tool" --openmetrics="$work/./in.prom" "$work/in.prom"
is "a file to merge is not where metrics go" "$status $(<"$err")" \
	"2 $tool: --openmetrics: $work/./in.prom is a file to merge as well"
claim "... and is as it was" cmp -s "$work/a.json" "$work/in.prom"

# --- a file of another user ---
if ((EUID)); then
	skip "another user's file is replaced by root" "this is not root"
else
	mkdir "$work/his"
	: >"$work/his/f.prom"
	chown -R 65534 "$work/his"
	chmod 755 "$work"
	run_bare "$tool" --openmetrics="$work/his/f.prom" "$work/a.json"
	is "another user's file is replaced by root, and stays his" "$status$(<"$err") $(stat -c %u "$work/his/f.prom")" "0 65534"
	claim "... and is written" grep -q ^plumb_ "$work/his/f.prom"

	# --- what it could write if it were taken over ---
	status=0
	WORKLOAD_JSON=$work/provoked "$cli_top/build/tests/provokes" "$bin/$tool" -v --openmetrics="$work/o.prom" "$work/a.json" \
		>"$out" 2>"$err" || status=$?
	is "what writes --openmetrics cannot open a file for writing, nor rename one" "$status $(jq -r '[.calls[]
		| select(.call | test("^open(at)?-(write|update|create)$|^renameat$")) | .result] | "\(length) \(unique | join(" "))"' \
		"$work/provoked")" "0 5 EPERM"
	claim "... and has written it" grep -q ^plumb_ "$work/o.prom"
fi
done_testing
