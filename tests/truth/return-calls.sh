# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# Calls that are above a threshold only because their thread is held behind their last hook: each one is
# printed, once, as long as its caller saw it.

# shellcheck source=lib/callers.sh
. "$truth/lib/callers.sh"
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

# divided NAME ARG... - where the time of ppoll went, under a quota, or beside busy threads
divided() {
	start "divided-$1" held 3000 ppoll "$@"
	attach "parts-$1" -s ppoll -p "$pid"
	attach "parts-$1-min" --min=5ms -s ppoll -p "$pid"
	attach "parts-$1-off" --no-return -s ppoll -p "$pid"
	go "divided-$1"
	detach "parts-$1" "parts-$1-min" "parts-$1-off"
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
		start numbered numbered 8000 8 "$limited/cgroup.procs"
		attach each 1ms -s lseek -p "$pid"
		go numbered
		detach each
		grep -qw preempt=full /proc/cmdline && echo "the kernel may take the CPU before a call begins" >numbered.skip
	else
		echo "no cgroup has a CPU quota here" >quota.skip
	fi
	start contention held 3000 ppoll 8
	watched contention
	mechanism='' mechanisms='' program=syscall-breakdown
	[ -e quota.skip ] || divided 0 "$limited/cgroup.procs"
	divided 8
}

# What was printed, and what the caller saw, longest first.
calls="$callers"'[$all[] | .call // empty] as $calls | ($calls | map(.ns) | sort | reverse) as $ours
	| ($truth[0].calls[0] | .long | sort | reverse) as $theirs | ($truth[0].calls[0] | .clock / .count + 1) as $clock'

# as_called NAME WORKLOAD MS
as_called() {
	evidence "$1.json" "$1.err" "$2.truth"
	holds "$1: no call is longer than its caller's, and none is printed twice" "$1.json" "$calls"'
		| all([$ours, $theirs] | transpose[] | select(.[0] and .[1]); .[0] <= .[1] * 1.0001 + 10000 + $clock)
		# Its TSC is not disciplined; an end that no switch shows is by the clock of the scheduler, which may be some us off.
		and ($ours | map(select(. > 1000000)) | length) <= ($theirs | length)
		and ($calls | map(.end) | length == (unique | length))' --slurpfile truth "$2.truth"
	holds "$1: their parts add up, and a wait on the way out has its cause" "$1.json" "$calls"'
		| all($calls[]; .on_cpu + .irq + .preempted + .blocked + .runq + .return == .ns and (.return > 0) == (.held_by != null))
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
		holds "$1-$mech: those that became slow on the way out are printed" "$1-$mech.json" "$calls"'
			| ($ours | length) >= ($theirs | map(select(. >= 10000000)) | length) - $truth[0].calls[0].sure.stopped - lacks
			and ($ours | length) <= ($theirs | map(select(. >= 4850000)) | length)
			and is_longest($ours[0]; $truth[0].calls[0]) and all($calls[]; .ns >= 5000000)
			and ($last.ledger.recorded + $last.ledger.filtered_at_exit | . <= $truth[0].calls[0].count and . >= $truth[0].calls[0].count * 0.97)
			and ($calls | map(.return) | add) <= $last.on_the_way_out.sum' --slurpfile truth "$1.truth"
	done
	as_called "$1-all" "$1"
	holds "$1-all: each call of all is printed once" "$1-all.json" "$calls"'
		| ($calls | length) == $truth[0].calls[0].count and $last.ledger.recorded == ($calls | length)
		and $last.on_the_way_out.late <= $last.on_the_way_out.calls' --slurpfile truth "$1.truth"
	evidence "$1-off.json" "$1-off.err"
	holds "$1-off: --no-return is said, and no call was held" "$1-off.json" '
		$last.on_the_way_out.not_seen == "--no-return" and all($all[] | .call // empty; .return == null and .held_by == null)'
}

# Call by call, each known by its arguments.
each_held() {
	case $(cat kernel) in
	5.* | 6.1.* | 6.1-* | 6.12.* | 7.* | *-rt-*) return ;; # emulated; may miss calls
	esac
	[ ! -e numbered.skip ] || return 0
	evidence each.json each.err numbered.truth
	holds "quota: each call of many threads has all that it was held for" each.json '
		([$all[] | .call // empty | {key: "\(-2 - .arguments[0]) \(.arguments[1])", value: .ns}] | from_entries) as $ours
		| [$truth[0].calls[0].held[] | . as [$thread, $number, $ns] | {ns: $ours["\($thread) \($number)"], caller: $ns} | select(.ns)]
		| all(.[]; .ns <= .caller * 65 / 64)
		and (map(select(.ns < .caller * 0.97 - 400000)) | length) <= 1 + length / 200
		and length >= ($truth[0].calls[0].held | length) * 0.99' --slurpfile truth numbered.truth
}

# told_apart BUSY
told_apart() {
	evidence "parts-$1.json" "parts-$1.err" "divided-$1.truth"
	case $("$tap_jq" -rs '.[-1].mechanism.name' "parts-$1.json"):$(cat kernel) in
	raw_tracepoint:7.*) # may miss calls
		skip "where ppoll waits, $1 busy" "executions may be missed"
		return
		;;
	esac
	holds "where ppoll waits, $1 busy: the time of all calls is their caller's, and adds up" "parts-$1.json" "$callers"'$truth[0].calls[0] as $true
		| $last | .calls == $true.count and .ns <= $true.sum and same_sum(.ns; $true)
		and .ns == .on_cpu + .tree.blocked + .tree.preempted_runq
		and .on_the_way_out.late == 0 and .tree.blocked + .tree.preempted_runq >= .on_the_way_out.sum' \
		--slurpfile truth "divided-$1.truth"
	evidence "parts-$1-min.json" "parts-$1-min.err"
	holds "where ppoll waits, $1 busy: --min has those that became long on the way out" "parts-$1-min.json" '$truth[0].calls[0] as $true
		| $last | .calls <= ($true.long | map(select(. >= 4850000)) | length)
		and .calls >= ($true.long | map(select(. >= 10000000)) | length) - $true.sure.stopped - 2
		and .ns == .on_cpu + .tree.blocked + .tree.preempted_runq and .ns >= 5000000 * .calls
		and .ns <= ($true.long | map(select(. >= 4850000)) | add)
		and .ledger.recorded + .ledger.filtered_at_exit == $true.count' --slurpfile truth "divided-$1.truth"
	evidence "parts-$1-off.json" "parts-$1-off.err"
	holds "where ppoll waits, $1 busy: --no-return is said" "parts-$1-off.json" '$last.on_the_way_out.not_seen == "--no-return"'
}

check() {
	# shellcheck disable=SC2034 # by what judges a report
	crowded=true
	# shellcheck disable=SC2034 # by what judges a refusal
	must="raw_tracepoint $(cat tracepoints 2>/dev/null)"
	judged contention
	told_apart 8
	if [ -e quota.skip ]; then
		skip "under a CPU quota" "$(cat quota.skip)"
		return
	fi
	judged quota
	each_held
	told_apart 0
	evidence quota-text.json quota-text.err
	claim "a line says why its thread was held" grep -q 'RET.*CALL$' quota-text.json
	claim "... by its quota" grep -q '%.*ppoll(.*; held on its way out: quota$' quota-text.json
}
