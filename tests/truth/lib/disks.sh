# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# What groups about disks share: the devices, a workload on one, claims about its requests.

# load MODULE [PARAMETER...] - of an emulated machine
load() {
	module=$1
	shift
	[ ! -e "/modules/$module.ko" ] || insmod "/modules/$module.ko" "$@" 2>/dev/null || :
}

# start_on DEVICE NAME ARG... - blocks on it, which is ready; $pid
start_on() {
	device=$1
	workload=$2
	shift 2
	start "$workload" blocks "/dev/$device" "$@"
	echo "$device" >"$workload.disk"
}

# go_to_done NAME - all its I/O, with the kernel's counters before and after
go_to_done() {
	attached
	cat "/sys/block/$(cat "$1.disk")/stat" >"$1.before"
	open_gate "$1" go
	await 120 [ -e "$1.gates/done" ]
	cat "/sys/block/$(cat "$1.disk")/stat" >"$1.after"
}

end() {
	open_gate "$1" end
	finish "$1" "$(cat "$1.pid")"
}

# shellcheck disable=SC2317 # claims, of groups
# as_truth WHAT REPORT TRUTH KEYS - rows of REPORT, which are by KEYS of the workload's rows, count what it did
as_truth() {
	evidence "$2" "${2%.json}.err" "$3"
	holds "$1" "$2" '
		def sums: group_by([.[$keys | split(",") | .[]]]) | map({key: [.[0][$keys | split(",") | .[]]],
			count: map(.count) | add, errors: map(.errors) | add, bytes: map(.bytes) | add});
		($truth[0].calls | map(. + {pid: $truth[0].pid, disk: $disk}) | sums) as $wanted
		| ($last.rows | map(. + .key) | sums) as $found
		| $found == $wanted or error("found \($found), wanted \($wanted)")' \
		--slurpfile truth "$3" --arg keys "$4" --arg disk "$(cat "${3%.truth}.disk" 2>/dev/null)"
}

# A request is a part of its call.
within() {
	evidence "$2" "$3"
	holds "$1: no longer than the threads' own clocks say" "$2" '
		all($last.rows[]; . as $r | $truth[0].calls[] | select(.op == $r.key.op and .tid == $r.key.tid)
			| $r.sum <= .sum and $r.max <= .max and $r.min <= .min
			and $r.percentiles["50"] <= .percentiles["50"] * 1.016)' --slurpfile truth "$3"
}

# add_up REPORT TRUTH KEY - the stages of requests that are grouped by KEY
add_up() {
	evidence "$1" "${1%.json}.err" "$2"
	holds "the stages of requests, each counted once in each, add up to their whole time, ${1%.json}" "$1" '
		($last.rows | group_by([.key.op, .key[$key]]) | map(map({(.key.stage): .}) | add)) as $all
		| ($last.ledger.recorded == ($truth[0].calls | map(.count) | add))
		and all($all[]; .before.sum + .queued.sum + .device.sum == .whole.sum
			and .before.count == .whole.count and .queued.count == .whole.count and .device.count == .whole.count)' \
		--slurpfile truth "$2" --arg key "$3"
}
