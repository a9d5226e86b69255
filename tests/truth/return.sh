# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# What a caller waits for behind the last hook of its call, by its own clock: under a CPU quota, above
# memory.high, beside busy threads.

# shellcheck source=lib/callers.sh
. "$truth/lib/callers.sh"
# shellcheck source=lib/limits.sh
. "$truth/lib/limits.sh"

# watched NAME - by each mechanism, in intervals, and without
watched() {
	attach_each "$1" --split -s ppoll -b comm,syscall -p "$pid"
	attach "$1-intervals" -s ppoll -b comm,syscall -p "$pid" 0.05
	attach "$1-min" --min=1ms -s ppoll -b comm,syscall -p "$pid"
	attach "$1-off" --no-return -s ppoll -b comm,syscall -p "$pid"
	go "$1"
	detach_each "$1"
	detach "$1-intervals" "$1-min" "$1-off"
}

# alone NAME - by the tool's own choice, and no other tool
alone() {
	attach "$1-alone" --split -s ppoll -b comm,syscall -p "$pid"
	go "$1"
	detach "$1-alone"
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	quick=--no-calibrate mechanisms=${mechanism:-fentry tracepoint raw_tracepoint}
	uname -r >kernel
	[ -e /sys/kernel/tracing/events/raw_syscalls ] && echo tracepoint >tracepoints

	everything && ms=4000 || ms=1500
	if limited quota cpu.max='20000 100000' || limited quota cpu.cfs_quota_us=20000; then
		start quota held "$ms" ppoll 0 "$limited/cgroup.procs"
		watched quota
		start quota-1 held "$ms" ppoll 0 "$limited/cgroup.procs"
		alone quota-1
		cat "$limited/cpu.stat" >cpu.stat
	else
		echo "no cgroup has a CPU quota here" >quota.skip
	fi
	start contention held "$ms" ppoll 8
	watched contention
	start contention-1 held "$ms" ppoll 8
	alone contention-1
	start notified notified 200 3000
	attach_each notified --split -s ppoll -b comm,syscall -p "$pid"
	go notified
	detach_each notified
	if limited memory memory.high=8M; then
		start memory held 30000 write "$PWD/memory.file" "$limited/cgroup.procs"
		attach memory-raw_tracepoint --split -s write -b comm,syscall -p "$pid"
		attach memory-intervals -s write -b comm,syscall -p "$pid" 0.05
		go memory
		detach memory-raw_tracepoint memory-intervals
		cat "$limited/memory.events" >memory.events
		rm memory.file
	else
		echo "no cgroup has memory.high here" >memory.skip
	fi
}

# true_to_caller WHAT TOOL WORKLOAD
true_to_caller() {
	evidence "$2.json" "$2.err" "$3.truth"
	holds "$1: count, percentiles, maximum and sum are the caller's" "$2.json" \
		"$callers"' $last.rows | length == 1 and same(.[0]; $truth[0].calls[0])' --slurpfile truth "$3.truth"
	holds "$1: what is said of the way out is what is in the row" "$2.json" '
		$last.rows[0].split as $s | ($s | .on_cpu + .irq + .preempted + .blocked + .runq + .return) == $last.rows[0].sum
		and ($last.on_the_way_out | .not_seen == null and .late == 0
		and .sum == $s.return and .sum == .quota + .asleep + .preempted and .max <= $last.rows[0].max
		and $s.mostly.return <= .calls)'
}

judged() {
	for mech in ${mechanism:-fentry tracepoint raw_tracepoint}; do
		forced "$1-$mech" "$mech" || continue
		case $mech:$(cat kernel) in
		fentry:7.* | fentry:*-rt-* | raw_tracepoint:7.*) # may miss calls
			holds "$1, $mech: no call is longer than the caller's" "$1-$mech.json" \
				'all($last.rows[]; .max <= $truth[0].calls[0].max)' --slurpfile truth "$1.truth"
			continue
			;;
		esac
		true_to_caller "$1, $mech" "$1-$mech" "$1"
	done
	true_to_caller "$1" "$1-1-alone" "$1-1"
	evidence "$1-intervals.json" "$1-intervals.err"
	holds "$1: the intervals' calls are all of them, once" "$1-intervals.json" '
		([$all[].rows[].count] | add) == $truth[0].calls[0].count and $last.ledger.recorded == $truth[0].calls[0].count
		and $last.on_the_way_out.late <= $last.on_the_way_out.calls' --slurpfile truth "$1.truth"
	evidence "$1-min.json" "$1-min.err"
	holds "$1: calls that became long on the way out pass --min" "$1-min.json" '
		[$last.rows[] | .count] | add >= 1' # the longest one at least
	holds "$1: ... and the longest is the caller's" "$1-min.json" "$callers"'
		is_longest($last.rows[0].max; $truth[0].calls[0])
		and $last.rows[0].min >= 1000000
		and $last.ledger.recorded + $last.ledger.filtered_at_exit == $truth[0].calls[0].count' --slurpfile truth "$1.truth"
	evidence "$1-off.json" "$1-off.err"
	holds "$1: --no-return is said" "$1-off.json" '
		$last.on_the_way_out == {not_seen: "--no-return", calls: null, sum: null, max: null, quota: null,
			asleep: null, preempted: null, late: null, late_sum: null}'
}

check() {
	# shellcheck disable=SC2034 # by what judges a report
	crowded=true
	# shellcheck disable=SC2034 # by what judges a refusal
	must="raw_tracepoint $(cat tracepoints 2>/dev/null)"
	judged contention
	for mech in ${mechanism:-fentry tracepoint raw_tracepoint}; do
		forced "notified-$mech" "$mech" || continue
		holds "$mech: what a call waits for before it begins is in no call" "notified-$mech.json" '
			$last.rows[0].count > 0 and $last.rows[0].sum <= ($truth[0].calls[0] | .sum - .count * 3000000)' \
			--slurpfile truth notified.truth
	done
	if [ -e quota.skip ]; then
		skip "under a CPU quota" "$(cat quota.skip)"
	else
		claim "the quota was used up, more than once" grep -qE '^nr_throttled ([2-9]|[0-9]{2,})$' cpu.stat
		judged quota
	fi
	if [ -e memory.skip ]; then
		skip "above memory.high" "$(cat memory.skip)"
	else
		claim "memory.high was passed" grep -qE '^high [1-9]' memory.events
		true_to_caller "memory.high" memory-raw_tracepoint memory
		holds "memory.high: no interval has a call twice" memory-intervals.json '
			([$all[].rows[].count] | add) == $truth[0].calls[0].count' --slurpfile truth memory.truth
	fi
}
