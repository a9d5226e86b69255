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

# null_blk NAME DELAY DEPTH [ATTRIBUTE=VALUE...] - a disk that completes each request DELAY ns later, $disk;
# with a DELAY of 0 the thread that submits it does
null_blk() {
	made=$1
	disk=nullb$((n_disks)) # older kernels number them, others take the folder's name
	n_disks=$((n_disks + 1))
	at=/sys/kernel/config/nullb/$disk
	mkdir "$at" || return
	delay=$2 depth=$3
	shift 3
	for set in queue_mode=2 submit_queues=1 size=1024 "hw_queue_depth=$depth" "completion_nsec=$delay" \
		"irqmode=$((delay ? 2 : 0))" "$@" power=1; do
		echo "${set#*=}" >"$at/${set%%=*}" || return
	done
	echo none >"/sys/block/$disk/queue/scheduler" 2>/dev/null
	echo "$disk" >"$made.disk"
}

# mapped NAME TARGET DISK PARAMETERS - a disk of the device mapper, on DISK
mapped() {
	mapper "$1" "0 2000000 $2" >"$1.out" 2>"$1.err" && sed 's,/dev/,,' "$1.out" >"$1.disk"
}

# array NAME LEVEL DISK DISK - of two disks, without a superblock
array() {
	array=$1 level=$2
	shift 2
	echo "$array" >/sys/module/md_mod/parameters/new_array || return
	md=/sys/block/$array/md
	echo none >"$md/metadata_version"
	echo "$level" >"$md/level"
	echo 2 >"$md/raid_disks"
	[ "$level" = raid1 ] || echo 8192 >"$md/chunk_size"
	slot=0
	for member; do
		cat "/sys/block/$member/dev" >"$md/new_dev"
		echo "$slot" >"$md/dev-$member/slot"
		size=$(($(cat "/sys/block/$member/size") / 2))
		[ "$size" -le 65536 ] || size=65536
		echo "$size" >"$md/dev-$member/size"
		slot=$((slot + 1))
	done
	[ "$level" = raid0 ] || echo "$size" >"$md/component_size"
	echo none >"$md/resync_start" 2>/dev/null
	echo active >"$md/array_state" && [ "$(cat "/sys/block/$array/size")" -gt 0 ] || return
	: <"/dev/$array" # the first to open it reads the partitions
	echo "$array" >"$array.disk"
}

# are_held DISK N - does the driver have so many requests?
are_held() {
	read -r reads writes <"/sys/block/$1/inflight"
	[ $((reads + writes)) = "$2" ]
}

# sectors DISK N - were so many written?
sectors() {
	[ "$(awk '{ print $7 }' "/sys/block/$1/stat")" -ge "$2" ]
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
