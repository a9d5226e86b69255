# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# The table says what the JSON says.

# table TOOL ARG... - until its command ends; what it prints is TOOL.json all the same
table() {
	table=$1
	shift
	export WORKLOAD_JSON="$PWD/$table.truth"
	launch "$table" -s getppid,close,read -b syscall "$@" -- \
		calls 1009 getppid close-bad read:10 read:20 read:30
	unset WORKLOAD_JSON
	finish "$table" "$tool"
}

run() {
	table plain
	table full -v
	quick=--no-calibrate
	table top -n 1 --sort=calls
	also table sorted --sort=errors -n 1
	also table ns -u ns
	table histogram -H -n 1 --sort=calls
	table percentiles -q 10,99.99,10.0
	start target calls 1009 getppid
	attach json -s getppid -p "$pid" -b comm -m 2000
	launch both -s getppid -p "$pid" -u ns -b comm
	await 30 is_tracing both
	go target
	detach both json
	start target-min calls 1009 getppid
	launch min-count -s getppid -p "$pid" -b comm -m 1010
	await 30 is_tracing min-count
	go target-min
	detach min-count
	quick=
	traced verbose -v -s getppid -- calls 23 getppid
	traced calibrated-1 -s getppid -- calls 23 getppid
	traced calibrated-2 -s getppid -- calls 23 getppid
	quick=--no-calibrate
	launch stamped -s getppid 0.25 2 -- sleep 1
	finish stamped "$tool"
	quick=
	for cost in 1 2 3; do
		WORKLOAD_JSON=$PWD/cost-$cost.bare calls 20000 priority:4 >bare.out
		traced "cost-$cost" --mechanism=raw_tracepoint -s sched_get_priority_max --errors -- \
			calls 20000 priority:4
	done
	traced uncalibrated --no-calibrate -s getppid -- calls 23 getppid

	# shellcheck disable=SC2034 # by what starts a tool
	quick=--no-calibrate
	# Who says when the run ends finds its numbers; who interrupts one without an end finds none.
	traced bound-command -s getppid --openmetrics="$PWD/bound-command.prom" -- calls 1009 getppid
	launch bound-duration -s clock_nanosleep --openmetrics="$PWD/bound-duration.prom" -d 1 -- \
		sh -c 'sleep 0.3; exec sleep 60'
	finish bound-duration "$tool"
	launch bound-count -j -s getppid --openmetrics="$PWD/bound-count.prom" 0.2 2 -- sleep 60
	finish bound-count "$tool"
	sleep 60 &
	endless=$!
	launch endless -j --openmetrics="$PWD/endless.prom" --otlp="$PWD/endless.otlp" -p "$endless" 0.2
	await 30 [ -s endless.prom ]
	cp endless.prom endless.seen
	kill -INT "$tool"
	finish endless "$tool"
	kill "$endless"
}

# Lines of the rows: between the headings and the empty line.
rows_of() {
	sed -n '2,/^$/p' "$1.json" | sed '/^$/d'
}

# What tracing adds by the caller's own clock is near the interval that the tool printed: so near as a host
# allows on which others may run.  One of three measurements is enough.
check_cost() {
	near=false
	for cost in 1 2 3; do
		evidence "cost-$cost.json" "cost-$cost.truth" "cost-$cost.bare"
		holds "a cost is in its interval, and a traced call's is not below a rejected one's without a word, $cost" \
			"cost-$cost.json" '$last.overhead_ns | if .how == "disturbed" then .traced == null
				and .filtered == null and .traced_interval == null
				elif (.how | test("run-time statistics")) then .traced > 0
				and .filtered == null and .traced_interval == null else
				.traced_interval[0] <= .traced and .traced <= .traced_interval[1]
				and .filtered_interval[0] <= .filtered and .filtered <= .filtered_interval[1]
				and (.traced >= .filtered or .how != "calibrated") end'
		! jq -e --slurpfile bare "cost-$cost.bare" --slurpfile traced "cost-$cost.truth" --slurpfile of "cost-$cost.json" -n '
			def p50: .[0].calls[0].percentiles["50"];
			(($traced | p50) - ($bare | p50)) as $added | $of[-1].overhead_ns.traced_interval
			| . != null and $added >= .[0] / 2 - 50 and $added <= .[1] * 2 + 50' >/dev/null || near=true
	done
	is "what the caller's own clock finds added is near that interval" "$near" true
}

check() {
	# shellcheck disable=SC2034 # by what judges a report
	crowded=true
	evidence plain.json plain.err
	is "the table has a row with count and errors for each call" \
		"$(rows_of plain | awk '{ print $1, $2, $5 }' | sort)" \
		"$(printf 'close 1009 1009\ngetppid 1009 0\nread 3027 0')"
	claim "... those that took most time in all first" sort -c -g -r "$(rows_of plain | awk '{ print $4 }' >shares; echo shares)"
	like "the headings are the keys and figures" "$(head -n 1 plain.json)" \
		'SYSCALL +CALLS +TOTAL +SHARE +ERRORS +P50 +P90 +P99 +P99.9 +MAX'
	like "the footer says how it was measured" "$(grep '^measured by ' plain.json)" '; percentiles at most 1.6 % high; cost '
	evidence full.json full.err
	for word in mechanism percentiles cost ledger; do
		claim "with -v the footer has its line of $word" grep -q "^$word: " full.json
	done
	like "the ledger says that nothing is lost" "$(grep ^ledger: plain.json)" 'recorded, 0 lost'
	evidence top.json top.err
	is "-n 1 shows one row, the one with most calls" "$(rows_of top | grep -c -E '^(getppid|close|read) ')" 1
	like "... that is it" "$(rows_of top)" '^read '
	evidence sorted.json sorted.err
	also like "--sort=errors shows the one with most errors first" "$(rows_of sorted)" '^close '
	evidence histogram.json histogram.err
	is "the lines of -H add up to the row's calls" \
		"$(sed -n 's/^ .* \([0-9]*\) |#* *|$/\1/p' histogram.json | awk '{ n += $1 } END { print n }')" 3027
	evidence percentiles.json percentiles.err
	like "-q gives the columns" "$(head -n 1 percentiles.json)" 'P10 +P99.99 +MAX'
	like "a percentile of too few calls is marked" "$(rows_of percentiles | grep ^read)" '\?'
	evidence both.json json.json both.err json.err
	is "the table and the JSON of one process agree on count and name" "$(rows_of both | awk '{ print $1, $2 }')" \
		"$(jq -r '.rows[] | "\(.key.comm) \(.count)"' json.json)"
	holds "--min-count does not touch the JSON" json.json '$last.rows | length == 1'
	evidence min-count.json min-count.err
	is "--min-count leaves rows out of the table" "$(grep -c '^calls ' min-count.json)" 0
	like "... and says so" "$(cat min-count.json)" '1 more row'

	evidence verbose.json verbose.err
	claim "-v says more on stderr" test "$(wc -l <verbose.err)" -gt 1
	holds "... and the JSON stays JSON" verbose.json '$last.rows[0].count == 23'
	is "the tracing line is printed once" "$(grep -c 'tracing …' verbose.err)" 1
	evidence stamped.json stamped.err
	is "reports of a fraction of a second have times of their own" \
		"$(grep -cE '^[0-9][0-9]:[0-9][0-9]:[0-9][0-9]\.[0-9]{3}$' stamped.json) $(sort stamped.json | grep -E '^[0-9:.]{12}$' | uniq -d)" "2 "
	check_cost
	evidence bound-command.prom bound-command.err bound-command.truth
	is "--openmetrics of a COMMAND's run leaves the numbers of the whole run" \
		"$(sed -n 's/^plumb_syscall_latency_seconds_count{.*syscall="getppid".*} //p' bound-command.prom)" 1009
	evidence bound-duration.prom bound-duration.err
	is "... of -d, too, with what has not ended" \
		"$(sed -n 's/^plumb_in_flight_calls{.*} //p' bound-duration.prom)" 1
	claim "... and the oldest one's age: that of a sleep that is not yet over" awk \
		'/^plumb_in_flight_oldest_seconds/ { age = $NF } END { exit !(age > 0 && age < 60) }' bound-duration.prom
	claim "... of COUNT, too" test -s bound-count.prom
	evidence endless.seen endless.err endless.otlp
	claim "one that is interrupted removes it" test ! -e endless.prom
	is "... its gauge had what was in flight since before the trace" \
		"$(sed -n 's/^plumb_in_flight_calls{.*} //p' endless.seen)" 1
	holds "... OTLP has the age, too" endless.otlp '[$last | .. | objects | select(.name? == "plumb.in_flight_oldest")
		| .gauge.dataPoints[0].asDouble] | length == 1 and .[0] > 0'
	evidence uncalibrated.json uncalibrated.err
	holds "--no-calibrate leaves the cost unknown and says why" uncalibrated.json \
		'$last.overhead_ns | .traced == null and .filtered == null and (.how | length > 0)'
	evidence verbose.json calibrated-1.json calibrated-2.json
	# Somebody else who traces, and stops it meanwhile, spoils one.
	holds "calibration tells what a call costs more" verbose.json \
		'[$last, $one[], $two[] | .overhead_ns | .traced > 0 and .traced < 100000 and .filtered != null
			and .how == "calibrated"] | any' --slurpfile one calibrated-1.json --slurpfile two calibrated-2.json
}
