# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# irq-latency: as many interrupts and softirqs as /proc counts; what a thread lacks, by its own clock.

# counted FILE - interrupts and softirqs so far, by the kernel
counted() {
	cat /proc/softirqs /proc/interrupts >"$1"
	grep -E '^(cpu|softirq)' /proc/stat >"$1.stat"
}

# Datagrams over the loopback device are received on the last CPU but one, where they can be steered.
flood() {
	rps=/sys/class/net/lo/queues/rx-0/rps_cpus
	before=$(cat $rps 2>/dev/null)
	if ! echo 2 2>/dev/null >$rps; then
		echo "packets cannot be steered here" >softirq.skip
		return
	fi
	start softirq causes softirq 1500
	attach of-softirq -p "$pid"
	attached
	open_gate softirq go
	await 60 [ -e softirq.gates/done ]
	detach of-softirq
	open_gate softirq end
	finish softirq "$pid"
	echo "$before" >$rps
}

be_busy() {
	hogs=
	for _ in 1 2 3 4 5 6 7 8; do
		sh -c 'while :; do :; done' &
		hogs="$hogs $!"
	done
	started="$started $hogs"
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=irq-latency quick=--no-calibrate
	ip link set lo up 2>/dev/null

	start gaps gaps 97 5000
	attach of-gaps -p "$pid"
	attach not-these -c no-such-name
	attached
	open_gate gaps go
	await 60 [ -e gaps.gates/done ]
	detach of-gaps not-these
	open_gate gaps end
	finish gaps "$pid"

	flood

	# Of the whole machine, beside 8 busy threads.
	be_busy
	counted outer.before
	attach all
	attach by-thread -b tid,cpu
	attach phases -b phase,handler
	attached
	counted inner.before
	sleep 2
	counted inner.after
	detach all by-thread phases
	counted outer.after
	# shellcheck disable=SC2086 # words
	kill $hogs
}

# more_of NAME FILE FILE - by how much the kernel's count of NAME grew between the two
more_of() {
	awk -v name="$1:" '$1 == name { for (i = 2; i <= NF && $i ~ /^[0-9]+$/; i++) n[FILENAME] += $i }
		END { print n[ARGV[2]] - n[ARGV[1]] }' "$2" "$3"
}

# as_often ROW NAME
as_often() {
	holds "$1 is counted as often as in /proc" all.json \
		'[$last.rows[] | select(.key.handler as $h | $names | index($h)).count] | (add // 0) as $n
			| if $n >= $least and $n <= $most then true else error("\($n), the kernel: \($least) to \($most)") end' \
		--argjson names "$2" \
		--argjson least "$(more_of "$1" inner.before inner.after)" --argjson most "$(more_of "$1" outer.before outer.after)"
}

check() {
	evidence of-gaps.json of-gaps.err gaps.truth
	if jq -e '.calls[0].switched == 0' gaps.truth >/dev/null 2>&1; then
		# The way to an interrupt and back takes less than 3 us. A hypervisor makes single gaps longer.
		holds "gaps of a thread by its own clock are those that the timer took from it, to 3 %" of-gaps.json \
			'$truth[0].calls[0] as $t | [$last.rows[] | select(.key.handler == "local_timer")][0]
				| [.hist[] | select(.[0] >= $t.min * 0.9)] as $long | ([$long[] | .[2]] | add) as $n
				| [$long[] | . as $h | range(.[2]) | $h[1]] as $all | [$all[$n / 2 | floor], $all[$n * 0.9 | floor]] as [$p50, $p90]
				| if $n == $t.count and .max <= $t.max
					and $p50 <= $t.percentiles["50"] * 1.02 and $p50 >= $t.percentiles["50"] * 0.97 - 3000
					and $p90 <= $t.percentiles["90"] * 1.05 and $p90 >= $t.percentiles["50"] * 0.97 - 3000
					then true else error("\($n), \($p50), \($p90) of \($t)") end' --slurpfile truth gaps.truth
		# A hypervisor takes more of all gaps.
		holds "... in all, too" of-gaps.json \
			'$truth[0].calls[0] as $t | $last.victims[0].sum as $sum
				| if $sum <= $t.all and $sum >= 0.97 * $t.most - 3000 * $t.count then true else error("\($sum) of \($t)") end' --slurpfile truth gaps.truth
		holds "... the longest is named, and is no longer than by its own clock" of-gaps.json \
			'$truth[0].calls[0] as $t | $last.victims[0] | .tid == $t.tid and .longest_by == "local_timer"
				and .longest <= $t.max and .longest >= $t.percentiles["50"] * 0.97' --slurpfile truth gaps.truth
	else
		skip "gaps of a thread by its own clock" "another thread had its CPU, or setting timers takes too long"
	fi
	holds "... a thread of another name has no gap" not-these.json '$last.rows == [] and $last.victims == [] and $last.ledger.recorded == 0'

	if [ -e softirq.skip ] || [ "$(cat softirq.status)" = 77 ]; then
		skip "what softirqs take from a thread" "$(cat softirq.skip softirq.err 2>/dev/null)"
	else
		evidence of-softirq.json of-softirq.err softirq.truth
		holds "softirqs and interrupts take as much from a thread as its clock says, to 3 %" of-softirq.json \
			'$truth[0].calls[] | select(.comm == "c-victim") | . as $t | ([$last.victims[] | select(.tid == $t.tid and .comm == "c-victim").sum] | add // 0) as $sum
				| if $sum >= 0.97 * $t.cause[0] and $sum <= 1.03 * $t.cause[1] then true else error("\($sum), \($t.cause)") end' \
			--slurpfile truth softirq.truth
		# Of a real-time kernel softirqs of others run in threads of their own, which preempt.
		holds "... most of it is of NET_RX" of-softirq.json '[$last.rows[] | .key.handler] | if $last.kernel | test("-rt-")
			then length > 0 and all(. != "NET_RX") else .[0] == "NET_RX" end'
	fi

	evidence all.json all.err inner.before inner.after
	for vector in TIMER NET_RX SCHED RCU; do
		as_often $vector "[\"$vector\"]"
	done
	as_often LOC '["local_timer"]'
	as_often RES '["reschedule"]'
	as_often CAL '["call_function", "call_function_single"]'
	sound "of all" all.json
	holds "what was taken from threads, and from idle CPUs, is all" all.json \
		'($last.rows | map(.sum) | add) as $sum | $last.taken | .threads + .idle + .softirqd | fabs - $sum | fabs <= 0.001 * $sum + 100000'
	holds "by thread and CPU it is the same time, of as many" by-thread.json \
		'($last.rows | map(.sum) | add) as $sum | $last.taken | .threads + .idle + .softirqd - $sum | fabs <= 0.001 * $sum + 100000'
	holds "a softirq waits for its turn as often as it runs" phases.json \
		'def n($phase; $of): [$last.rows[] | select(.key.phase == $phase and .key.kind == "softirq" and .key.handler == $of).count] | add // 0;
			all("TIMER", "SCHED", "RCU"; . as $of | n("runs"; $of) as $runs | n("raised"; $of) | . <= $runs and . >= 0.98 * $runs - 3)'
}
