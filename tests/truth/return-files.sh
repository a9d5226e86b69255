# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# What a thread waits for behind the last hook of a page fault, or of a read or write of a file, by its own
# clock: under a CPU quota, above memory.high.

# shellcheck source=lib/callers.sh
. "$truth/lib/callers.sh"
# shellcheck source=lib/limits.sh
. "$truth/lib/limits.sh"

# faults NAME [ARG...] - of the thread that starts
faults() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=page-fault-latency
	attach "$@" -b comm,area -p "$pid"
}

# files NAME OP - by both tools, the first also by tracepoints
files() {
	program=file-latency
	attach "$1-latency" --op="$2" -b comm,op -p "$pid"
	attach "$1-raw" --mechanism=raw_tracepoint --op="$2" -b comm,op -p "$pid"
	# shellcheck disable=SC2034 # by what starts a tool
	program=file-io-breakdown
	attach "$1-breakdown" --slower=20ms -b comm,syscall -p "$pid"
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	quick=--no-calibrate
	uname -r >kernel
	# Beside others the kernel at times runs no program on a CPU, and does not count that: so there are several tries.
	if limited quota cpu.max='20000 100000' || limited quota cpu.cfs_quota_us=20000; then
		for try in 1 2 3; do
			start "quota-$try" held 1500 touch 1 "$limited/cgroup.procs"
			faults "quota-$try-faults"
			go "quota-$try"
			detach "quota-$try-faults"
			start "reads-$try" held 1500 read "$PWD/read.file" "$limited/cgroup.procs"
			files "reads-$try" read
			go "reads-$try"
			detach "reads-$try-latency" "reads-$try-raw" "reads-$try-breakdown"
		done
		start others held 1500 touch 1 "$limited/cgroup.procs"
		faults others-faults
		faults others-intervals 0.05
		faults others-off --no-return
		go others
		detach others-faults others-intervals others-off
		cat "$limited/cpu.stat" >cpu.stat
		rm read.file
	else
		echo "no cgroup has a CPU quota here" >quota.skip
	fi
	if limited pages memory.high=32M; then
		start pages held 6000 touch 200 "$limited/cgroup.procs"
		faults pages-faults
		go pages
		detach pages-faults
		cat "$limited/memory.events" >pages.events
		limited memory memory.high=8M
		start writes held 30000 write "$PWD/write.file" "$limited/cgroup.procs"
		files writes write
		go writes
		detach writes-latency writes-raw writes-breakdown
		cat "$limited/memory.events" >writes.events
		rm write.file
	else
		echo "no cgroup has memory.high here" >memory.skip
	fi
	# shellcheck disable=SC2034 # by what starts a tool
	program=page-fault-latency
	traced functions --mechanism=fentry -b type -- held 10 touch 1
}

# The row and the truth; both of the tools' last report.
of='($last.rows[] | select(.key | .area == "[anon]" and .comm == "held-touch" or .op == "read" or .op == "write"
		or .syscall == "pread64" or .syscall == "write")) as $row | $true[0].calls[0] as $true
	| ($true.count + (if $row.key.op == "write" then 1 else 0 end)) as $count # its own report
	| ([$count, if $row.key.area then $true.faults else 0 end] | max) as $most | ' # a touch can be several faults
# Above memory.high a thread may reclaim pages on its way out, on the CPU, which is in no time; where it sleeps, that is short
# beside that. What the tool has more than the caller, a fault at most for each of the longest, is short.
same="$callers"'$row.count >= $count and $row.count <= $most and ($true.max < 100000000 and $memory or same_sum($row.sum; $true)
	and is_longest($row.max; $true) and $row.percentiles["99.9"] >= $true.sure.least["99.9"][lacks + 1] * 0.97 - $true.clock / $true.count)'

# not_more TOOL WORKLOAD - holds whatever the kernel skipped
not_more() {
	evidence "$1.json" "$1.err" "$2.truth"
	holds "$1: nothing is longer than the caller's, and there is no more" "$1.json" "$of"'
		$row.count <= $most and $row.sum <= $true.sum and $row.max <= $true.max' --slurpfile true "$2.truth"
	holds "$1: what is said of the way out is what is in the rows" "$1.json" '
		$last.on_the_way_out | .not_seen == null and .late == 0 and .sum == .quota + .asleep + .preempted
		and .sum <= ([$last.rows[].sum] | add) and .max <= ([$last.rows[].max] | max)
		and (all($last.rows[]; .split == null) or .sum == ([$last.rows[].split.return] | add))
		and all($last.rows[]; .split == null or .sum == (.split | del(.count, .sum, .mostly, .bands) | add))'
}

# once TOOL WORKLOAD... - one of three is the caller's
once() {
	local tool=$1 same_in='' workload
	shift
	for workload; do
		not_more "$workload-$tool" "$workload"
		if "$tap_jq" -n -e --argjson memory false --slurpfile true "$workload.truth" "[inputs] as \$all | \$all[-1] as \$last | $of $same" \
			"$workload-$tool.json" >/dev/null 2>&1; then
			same_in="$same_in $workload"
		fi
	done
	evidence "$1-$tool.json" "$1.truth"
	claim "quota, $tool: count, P99.9, maximum and sum are the caller's" [ -n "$same_in" ]
}

# Programs of raw tracepoints can be preempted there.
skips() {
	[[ $1 == *-raw && $(cat kernel) == 7.* ]]
}

check() {
	local tool
	evidence functions.json functions.err
	if [ "$(cat functions.status)" = 77 ]; then
		skip "a mechanism that does not look there says so" "there is no fentry here"
	else
		holds "a mechanism that does not look there says so" functions.json \
			'$last.on_the_way_out | .calls == null and (.not_seen | length > 0)'
	fi
	if [ -e quota.skip ]; then
		skip "under a CPU quota" "$(cat quota.skip)"
	else
		claim "the quota was used up, more than once" grep -qE '^nr_throttled ([2-9]|[0-9]{2,})$' cpu.stat
		once faults quota-1 quota-2 quota-3
		once latency reads-1 reads-2 reads-3
		skips reads-raw || once raw reads-1 reads-2 reads-3
		once breakdown reads-1 reads-2 reads-3
		evidence reads-1-breakdown.json reads-1.truth
		holds "file-io-breakdown: calls that became slow on the way out are printed" reads-1-breakdown.json '
			[$all[] | .call // empty | select(.syscall == "pread64")] as $calls
			| all($calls[]; .ns >= 20000000 and (.return // 0) >= 0 and .ns <= $true[0].calls[0].max)
			and ($last.on_the_way_out.max < 40000000 or ([$calls[] | select(.return > .ns / 2)] | length >= 1))' --slurpfile true reads-1.truth
		not_more others-faults others
		evidence others-intervals.json others.truth
		holds "quota: no interval has a fault twice" others-intervals.json '
			([$all[].rows[] | select(.key.comm == "held-touch" and .key.area == "[anon]").count] | add) <= $true[0].calls[0].count
			and $last.on_the_way_out.late <= $last.on_the_way_out.calls' --slurpfile true others.truth
		evidence others-off.json
		holds "quota: --no-return is said" others-off.json '$last.on_the_way_out | .not_seen == "--no-return" and .sum == null'
	fi
	if [ -e memory.skip ]; then
		skip "above memory.high" "$(cat memory.skip)"
		return
	fi
	claim "memory.high was passed by memory" grep -qE '^high [1-9]' pages.events
	claim "memory.high was passed by a file" grep -qE '^high [1-9]' writes.events
	for tool in pages-faults writes-latency writes-raw writes-breakdown; do
		skips "$tool" && continue
		not_more "$tool" "${tool%-*}"
		holds "$tool, memory.high: count, maximum and sum are the caller's" "$tool.json" "$of $same" \
			--argjson memory true --slurpfile true "${tool%-*}.truth"
		holds "$tool, memory.high: it slept" "$tool.json" '
			$last.on_the_way_out | .sum < 100000000 or .asleep >= .sum / 2'
	done
}
