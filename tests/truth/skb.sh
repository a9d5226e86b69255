# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# skb-alloc: a datagram that is sent over the loopback device is one socket buffer.

# Without --latency, only the beginning of an allocation is looked at.
entries='fentry kprobe.multi kprobe'

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=skb-alloc quick=--no-calibrate
	uname -r >kernel
	everything || entries=fentry
	sessions=$mechanisms
	start one sends 127.0.0.1,1009,100,udp
	attach_each latency --latency -p "$pid"
	attach other -c no-such-name
	# shellcheck disable=SC2034 # by attach_each
	mechanisms=$entries
	attach_each small -p "$pid"
	go one
	detach_each small
	# shellcheck disable=SC2034
	mechanisms=$sessions
	detach_each latency
	detach other

	start two sends 127.0.0.1,1009,100,udp ::1,211,8000,udp
	awk -F: '$1 == 0 { print $3 }' "/proc/$pid/cgroup" >cgroup
	attach mixed -p "$pid"
	attach by-all -b pid,tid,cgroup,cpu -p "$pid"
	go two
	detach mixed by-all
	# One after the other: past another tool's probe of the same function not every unwinder finds.
	for mech in ${mechanism:-$entries}; do
		traced "stacks-$mech" "--mechanism=$mech" --stacks -b comm -- sends 127.0.0.1,1009,100,udp
	done
	traced intervals 0.2 -- sends 127.0.0.1,1009,100,udp 127.0.0.2,3,1000000,stall:200
}

# Of what size: the datagram, its headers, and what the kernel adds to them.
check_small() {
	forced "small-$1" "$1" || return
	holds "$1: 1009 datagrams of 100 bytes are as many buffers, a bit larger" "small-$1.json" \
		'$last.rows | length == 1 and (.[0] | .key == {"comm": "sends", "pid": $pid} and .count == 1009
			and .min > 128 and .max < 512 and .sum >= 1009 * .min and .sum <= 1009 * .max)' \
		--argjson pid "$(cat one.pid)"
	sound "of buffers, $1" "small-$1.json"
}

check_latency() {
	forced "latency-$1" "$1" || return
	evidence "latency-$1.json" "latency-$1.err" one.truth
	holds "$1: --latency has the times of all, none longer than the send" "latency-$1.json" \
		'$truth[0].calls[0] as $true | $last.rows | length == 1 and (.[0] | .count == 1009
			and .key == {"comm": "sends", "pid": $truth[0].pid} and .latency.min > 0 and .latency.max <= $true.max and .latency.sum < $true.sum
			and .latency.sum >= 1009 * .latency.min and ([.latency.hist[][2]] | add) == 1009)' \
		--slurpfile truth one.truth
	sound "of buffers and times, $1" "latency-$1.json"
}

# Who allocates, and from where.
check_stacks() {
	forced "stacks-$1" "$1" || return
	evidence "stacks-$1.json" "stacks-$1.err"
	holds "$1: --stacks has all 1009 buffers, each from a UDP send of the workload" "stacks-$1.json" \
		'([$last.rows[].count] | add) >= 1009 and ([$last.rows[] | select(.key == {"comm": "sends"})
			| select(.stack | map(select(.kernel).frame) | .[0] == "__alloc_skb" and any(. == "udp_sendmsg")).count]
			| add) == 1009'
	sound "of stacks of buffers, $1" "stacks-$1.json"
}

check() {
	# shellcheck disable=SC2034 # by what judges a report
	crowded=true
	for mech in $entries; do
		check_small "$mech"
		check_stacks "$mech"
	done
	for mech in $(mechanisms); do
		check_latency "$mech"
	done
	# shellcheck disable=SC2086 # words
	if unable mixed $entries; then
		return
	fi
	evidence mixed.json mixed.err
	holds "sizes are told apart" mixed.json '$last.rows | length == 1 and (.[0] | .count == 1220 and .key.comm == "sends"
		and .percentiles["50"] < 512 and .percentiles["90"] > 8000 and .max < 9000
		and .sum > 1009 * 128 + 211 * 8000 and .sum < 1009 * 512 + 211 * 9000 and .rate > 0 and .rate < 1220e3)'
	sound "of buffers of two sizes" mixed.json
	evidence by-all.json by-all.err
	holds "-b pid,tid,cgroup,cpu" by-all.json '($last.rows | map(.count) | add) == 1220
		and all($last.rows[].key; .pid == $pid and .tid == $pid and .cgroup == $cgroup and (.cpu | type == "number"))' \
		--argjson pid "$(cat two.pid)" --arg cgroup "$(cat cgroup)"
	sound "by all keys" by-all.json
	evidence other.json other.err
	holds "-c of another name captures nothing" other.json '$last.rows == [] and $last.ledger.recorded == 0'
	evidence intervals.json intervals.err
	holds "intervals add up" intervals.json '($all | length) >= 3
		and ([$all[].rows[].count] | add) == $last.ledger.recorded and $last.ledger.recorded >= 1012'
	sound "of buffers in intervals" intervals.json
}
