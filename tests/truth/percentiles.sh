# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# The percentiles against a workload of known latencies.  A percentile lies between what the calls
# had to take and what the workload measured around them, plus the bound of the histogram.

run() {
	start target latencies
	attach percentiles -s nanosleep,ppoll,read -p "$pid"
	attach fine -s nanosleep,ppoll,read -p "$pid" --precision=10 -q 50,99
	attach coarse -s nanosleep,ppoll,read -p "$pid" --precision=1
	attach long -s nanosleep,ppoll,read -p "$pid" --min=1ms
	go target
	detach percentiles fine coarse long
}

# For each row: exact count, and every figure in its place. $bits is the precision.
percentiles_hold() {
	for call in nanosleep ppoll read; do
		evidence "$2.json" "$2.err" target.truth
		holds "$call: the sum, the least and the longest are between the two measures, $1" "$2.json" "$rows
			"'| $row.count == $true.count and $row.errors == 0
				and $row.sum <= $true.sum and $row.sum >= $true.least.sum
				and $row.min <= $true.min and $row.min >= $true.least.min
				and $row.max <= $true.max and $row.max >= $true.least.max' \
			--arg call "$call" --slurpfile truth target.truth
		holds "$call: each percentile is between the two measures plus the bound, $1" "$2.json" "$rows
			"'| ($row.percentiles | length > 1) and all($row.percentiles | to_entries[];
				.value >= $true.least.percentiles[.key]
				and .value <= $true.percentiles[.key] * (1 + 1 / $bound)
				and .value <= $true.max)' \
			--arg call "$call" --slurpfile truth target.truth --argjson bound "$3"
	done
	sound "$1" "$2.json"
}

rows='$truth[0].calls[] | select(.syscall == $call) as $true
	| $last.rows[] | select(.key.syscall == $call) as $row'

check() {
	# shellcheck disable=SC2034 # by what judges a report
	crowded=true
	percentiles_hold "at the default precision" percentiles 64
	percentiles_hold "at --precision=10" fine 1024
	percentiles_hold "at --precision=1" coarse 2

	evidence fine.json fine.err
	holds "-q asks for these percentiles and no other" fine.json \
		'all($last.rows[]; .percentiles | keys == ["50", "99"])'
	evidence coarse.json coarse.err
	holds "the report names its precision" coarse.json '$last.precision_bits == 1'

	evidence long.json long.err target.truth
	for call in nanosleep ppoll read; do
		holds "--min=1ms keeps of $call what took longer, and leaves out what did not" long.json "$rows
			"'| $row.min >= 1000000
				and $row.count >= $true.at_least_1ms.least and $row.count <= $true.at_least_1ms.outside' \
			--arg call "$call" --slurpfile truth target.truth
	done
	holds "what --min leaves out is neither recorded nor lost" long.json \
		'($last.rows | map(.count) | add) == $last.ledger.recorded
			and $last.ledger.unmatched == 0 and $last.ledger.in_flight == 0'
	sound "under --min" long.json
}
