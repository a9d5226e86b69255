# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# Known numbers of calls are counted exactly, and what is said of their times cannot be otherwise.

run() {
	for n in 23 1009 100003; do
		traced "command-$n" -s getppid -- calls "$n" getppid
	done
	start target-1009 calls 1009 getppid
	attach pid-1009 -s getppid -p "$pid"
	go target-1009
	detach pid-1009

	# Four threads on two CPUs take turns in the middle of everything.
	traced threads -s getppid -b tid -- calls -t 4 25013 getppid
	# Read while they go on.
	traced busy -s getppid -b tid 0.02 -- calls -t 8 60013 getppid
	# More keys than fit once for each CPU: the CPUs share their histograms, by atomic additions.
	traced shared -s getppid --max-keys=7100 -- calls -t 4 25013 getppid

	start target-kinds calls 1009 getppid close-bad read write open-missing nosys:1000
	attach kinds -b syscall -p "$pid"
	go target-kinds
	detach kinds

	traced samples-999 -s getppid -- calls 999 getppid
	traced samples-1000 -s getppid -- calls 1000 getppid

	# As fast as can be, over the loopback device.
	start target-loop loop udp 1 100
	attach loop -s sendto -p "$pid"
	go target-loop
	detach loop
}

# Holds for a row of some calls whose count and times the workload told as well.
within='($row.count == $true.count)
	and ($row.sum <= $true.sum) and ($row.min <= $true.min) and ($row.max <= $true.max)
	and all($row.percentiles | to_entries[];
		.value <= $true.percentiles[.key] * 65 / 64 and .value <= $row.max and .value >= $row.min)'

check() {
	for n in 23 1009 100003; do
		evidence "command-$n.json" "command-$n.err"
		holds "counts $n calls of a command exactly" "command-$n.json" \
			'$last.rows | length == 1 and .[0].count == $n and .[0].errors == 0
				and .[0].key.syscall == "getppid" and .[0].key.comm == "calls"' --argjson n "$n"
		holds "the ledger knows of $n calls and of no other" "command-$n.json" \
			'$last.ledger | .recorded == $n and .unmatched == 0 and .in_flight == 0 and .abandoned == 0' \
			--argjson n "$n"
		holds "the times of $n calls are within what the workload measured around them" \
			"command-$n.json" '$truth[0].calls[0] as $true | $last.rows[0] as $row | '"$within" \
			--slurpfile truth "command-$n.truth"
		holds "the row of $n calls names the pid" "command-$n.json" \
			'$last.rows[0].key.pid == $truth[0].pid' --slurpfile truth "command-$n.truth"
		sound "of $n calls" "command-$n.json"
		is "a traced command's good end is passed on, $n calls" "$(cat "command-$n.status")" 0
	done

	evidence busy.json busy.err
	holds "in no interval are there more calls in flight than threads, and none at the end" busy.json \
		'($all | length) > 1 and all($all[]; .ledger.in_flight <= 8) and $last.ledger.in_flight == 0'
	evidence pid-1009.json pid-1009.err target-1009.truth
	holds "counts 1009 calls of a running process exactly" pid-1009.json \
		'$truth[0].calls[0] as $true | $last.rows[0] as $row | $row.errors == 0 and '"$within" \
		--slurpfile truth target-1009.truth
	holds "nothing of a running process is unmatched or in flight when nothing was" pid-1009.json \
		'$last.ledger | .recorded == 1009 and .unmatched == 0 and .in_flight == 0 and .abandoned == 0'
	sound "of a running process" pid-1009.json

	evidence threads.json threads.err threads.truth
	holds "counts 25013 calls in each of 4 threads exactly" threads.json \
		'$last.rows | map({tid: .key.tid, count}) | sort
			== ($truth[0].calls | map({tid, count}) | sort)' --slurpfile truth threads.truth
	holds "the ledger adds 4 threads up to 100052" threads.json '$last.ledger.recorded == 100052'
	evidence shared.json shared.err
	holds "counts as exactly where CPUs share their histograms" shared.json \
		'($last.rows | map(.count)) == [100052]'
	sound "of shared histograms" shared.json
	sound "of 4 threads" threads.json

	evidence kinds.json kinds.err target-kinds.truth
	for call in getppid close read write openat syscall_1000; do
		holds "counts 1009 calls of $call, and their errors, when all calls are traced" kinds.json \
			'$truth[0].calls[] | select(.syscall == $call) as $true
				| $last.rows[] | select(.key.syscall == $call) as $row
				| $row.errors == $true.errors and '"$within" \
			--arg call "$call" --slurpfile truth target-kinds.truth
	done
	sound "of all calls" kinds.json

	evidence samples-999.json samples-999.err
	holds "the 99.9th percentile of 999 calls is marked as of too few" samples-999.json \
		'$last.rows[0].low_samples == ["99.9"]'
	evidence samples-1000.json samples-1000.err
	holds "the 99.9th percentile of 1000 calls is not" samples-1000.json '$last.rows[0].low_samples == []'
	evidence command-23.json
	holds "of 23 calls the 99th percentile is marked too" command-23.json \
		'$last.rows[0].low_samples == ["99", "99.9"]'

	evidence loop.json loop.err target-loop.truth
	holds "counts each call of a second of sending" loop.json \
		'$truth[0].calls[0] as $true | $last.rows[0] as $row
			| $row.errors == $true.errors and $true.count > 1000 and '"$within" \
		--slurpfile truth target-loop.truth
	sound "of a second of sending" loop.json
}
