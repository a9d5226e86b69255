# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# Calls that are above a threshold only because their thread is held behind their last hook: each one is
# printed, once, as long as its caller saw it.

# shellcheck source=lib/limits.sh
. "$truth/lib/limits.sh"

# watched NAME - by each mechanism, all of them in intervals, and without
watched() {
	attach_each "$1" 5ms -s ppoll -p "$pid"
	attach "$1-all" 0ns -s ppoll -p "$pid" 0.05
	attach "$1-off" --no-return 5ms -s ppoll -p "$pid"
	go "$1"
	detach_each "$1"
	detach "$1-all" "$1-off"
}

# shellcheck disable=SC2034 # by what starts a tool
run() {
	program=syscall-slower quick=--no-calibrate mechanisms=${mechanism:-tracepoint raw_tracepoint}
	uname -r >kernel
	[ -e /sys/kernel/tracing/events/raw_syscalls ] && echo tracepoint >tracepoints

	if limited quota cpu.max='20000 100000' || limited quota cpu.cfs_quota_us=20000; then
		start quota held 3000 ppoll 0 "$limited/cgroup.procs"
		watched quota
		start text held 500 ppoll 0 "$limited/cgroup.procs"
		launch quota-text 5ms -s ppoll -p "$pid"
		await 30 is_tracing quota-text
		go text
		detach quota-text
	else
		echo "no cgroup has a CPU quota here" >quota.skip
	fi
	start contention held 3000 ppoll 8
	watched contention
}

# What was printed, and what the caller saw, longest first.
calls='[$all[] | .call // empty] as $calls | ($calls | map(.ns) | sort | reverse) as $ours
	| ($truth[0].calls[0] | .long | sort | reverse) as $theirs | ($truth[0].calls[0] | .clock / .count + 1) as $clock'

# as_called NAME WORKLOAD MS
as_called() {
	evidence "$1.json" "$1.err" "$2.truth"
	holds "$1: no call is longer than its caller's, and none is printed twice" "$1.json" "$calls"'
		| all([$ours, $theirs] | transpose[] | select(.[0] and .[1]); .[0] <= .[1] + $clock)
		and ($ours | map(select(. > 1000000)) | length) <= ($theirs | length)
		and ($calls | map(.end) | length == (unique | length))' --slurpfile truth "$2.truth"
	holds "$1: their parts add up, and a wait on the way out has its cause" "$1.json" "$calls"'
		| all($calls[]; .on_cpu + .preempted + .blocked + .runq + .return == .ns and (.return > 0) == (.held_by != null))
		and ($calls | length) == $last.ledger.recorded' --slurpfile truth "$2.truth"
}

# judged WORKLOAD
judged() {
	for mech in ${mechanism:-tracepoint raw_tracepoint}; do
		forced "$1-$mech" "$mech" || continue
		as_called "$1-$mech" "$1"
		case $mech:$(cat kernel) in
		raw_tracepoint:7.*) continue ;; # may miss calls
		esac
		# A caller can lose its CPU outside of the call, too; and while other tools attach, a switch may not be seen.
		holds "$1-$mech: those that became slow on the way out are printed" "$1-$mech.json" "$calls"'
			| ($ours | length) >= ($theirs | map(select(. >= 5150000)) | length) * 0.85 - 2
			and ($ours | length) <= ($theirs | map(select(. >= 4850000)) | length)
			and $ours[0] >= $theirs[0] * 0.85 and all($calls[]; .ns >= 5000000)
			and $last.ledger.recorded + $last.ledger.filtered_at_exit == $truth[0].calls[0].count
			and ($calls | map(.return) | add) <= $last.on_the_way_out.sum' --slurpfile truth "$1.truth"
	done
	as_called "$1-all" "$1"
	holds "$1-all: each call of all is printed once" "$1-all.json" "$calls"'
		| ($calls | length) == $truth[0].calls[0].count and $last.ledger.recorded == ($calls | length)
		and $last.on_the_way_out.late <= $last.on_the_way_out.calls' --slurpfile truth "$1.truth"
	evidence "$1-off.json" "$1-off.err"
	holds "$1-off: --no-return is said, and no call was held" "$1-off.json" '
		$last.on_the_way_out.not_seen == "--no-return" and all($all[] | .call // empty; .return == 0 and .held_by == null)'
}

check() {
	# shellcheck disable=SC2034 # by what judges a report
	crowded=true
	# shellcheck disable=SC2034 # by what judges a refusal
	must="raw_tracepoint $(cat tracepoints 2>/dev/null)"
	judged contention
	if [ -e quota.skip ]; then
		skip "under a CPU quota" "$(cat quota.skip)"
		return
	fi
	judged quota
	evidence quota-text.json quota-text.err
	claim "a line says why its thread was held" grep -q 'RET.*CALL$' quota-text.json
	claim "... by its quota" grep -q '%.*ppoll(.*; held on its way out: quota$' quota-text.json
}
