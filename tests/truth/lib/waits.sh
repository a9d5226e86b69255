# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# Of slow calls: what happened while their threads waited for a CPU.

# shellcheck source=limits.sh
. "$truth/lib/limits.sh"

# long_calls NAME
long_calls() {
	attached
	open_gate "$1" go
	await 60 [ -e "$1.gates/done" ]
}

# Long calls beside another process of nice 5, also under a quota, which the other process is not; and under a quota alone.
wait_for_cpus() {
	nice >inside.nice
	start inside causes inside 1500
	attach beside 1ms -s getrandom -p "$pid"
	also launch beside-text 1ms -s getrandom -p "$pid"
	! everything || await 30 is_tracing beside-text
	long_calls inside
	detach beside beside-text
	open_gate inside end
	finish inside "$pid"
	limited waits cpu.max='20000 100000' || limited waits cpu.cfs_quota_us=20000 || return 0
	start both causes inside 1500
	echo "$pid" >"$limited/cgroup.procs"
	attach both-waits 1ms -s getrandom -p "$pid"
	long_calls both
	detach both-waits
	open_gate both end
	finish both "$pid"
	everything || return 0
	start confined causes confined 1500
	echo "$pid" >"$limited/cgroup.procs"
	attach quota 1ms -s getrandom -p "$pid"
	grep -h throttled "$limited/cpu.stat" >quota.before
	long_calls confined
	grep -h throttled "$limited/cpu.stat" >quota.after
	detach quota
	open_gate confined end
	finish confined "$pid"
	echo "/${limited##*/}" >quota.cgroup
}

check_waits() {
	evidence beside.json beside.err inside.truth
	holds "what happened while a thread waited for a CPU: a hog of nice 5, pinned to it, had it, as long as its own clock says" beside.json "$calls"' as $found
		| $truth[0].calls[0] as $t | [$found[].meanwhile[] | select(.pid == $t.by.pid)] as $hog
		| ([$found[].meanwhile[] | select(.what == "unknown").sum] | add) as $unknown
		| ($hog | map(.sum) | add) as $sum
		| ([$found[].waited | select(.).cpus] | unique) as [$cpu]
		| ($hog | map([.what, .comm, .policy, .nice, .priority, .n_cpus, "\(.cpu)"]) | unique) == [["thread", "c-hog", "other", 5, null, 1, $cpu]]
			and $sum + $unknown >= 0.8 * $t.by.cpu - 0.03 * $t.wall and $sum <= $t.by.cpu + 0.03 * $t.wall' --slurpfile truth inside.truth
	holds "... of all waits of the call, by a thread with its nice value and one CPU" beside.json "$calls"' as $found
		| $truth[0].calls[0] as $t | [$found[] | select(.waited)] | length > 0 and all(.waited.sum as $sum
			| .waited.tid == $t.tid and .waited.nice == $nice and (.waited.cpus | test("^[0-9]+$"))
			and $sum >= .preempted + .runq and $sum <= .preempted + .runq + .return
			and (.meanwhile | length > 0 and ([.[].sum] | . == (sort | reverse) and add <= $sum)))' --slurpfile truth inside.truth \
		--argjson nice "$(cat inside.nice)"
	holds "... nothing if it did not wait" beside.json "$calls"' | all(.preempted + .runq + .return > 0 or (.waited == null and .meanwhile == []))'
	evidence beside-text.json beside-text.err
	also like "... to people, too" "$(cat beside-text.json 2>/dev/null)" \
		'; waited for a CPU \([a-z, ]*nice -?[0-9]+\), only on CPU [0-9]+: [0-9.]+[mu]?s ([^ ]+/[0-9]+ \((nice|[a-z]+,?) -?[0-9]+|\[)'
	if [ ! -e both-waits.json ]; then
		skip "in a call no quota is lacked, but others have the CPU" "no cgroup has a CPU quota here"
	elif jq -s -e 'last.kernel | split("[^0-9]+"; "g") | .[:2] | map(tonumber) < [6, 18]' both-waits.json >before-6.18; then
		skip "in a call no quota is lacked, but others have the CPU" "before 6.18 it is"
	else
		evidence both-waits.json both-waits.err both.truth
		holds "from 6.18 on no quota is lacked in a call but on its way out" both-waits.json "$calls"' as $found
			| ([$found[].return] | add) as $out | ([$found[].meanwhile[] | select(.what == "quota").sum] | add // 0) as $quota
			| if ($found | length) >= 3 and $quota <= $out * 1.01 then true else error("\($quota) of quota, \($out) on the way out") end'
		holds "... and others have the CPU meanwhile" both-waits.json "$calls"' as $found
			| ([$found[] | .preempted + .runq] | add) as $waited | ([$found[].meanwhile[] | select(.what != "quota").sum] | add // 0) as $others
			| if $others >= $waited * 0.97 and $waited > 20000000 then true else error("\($others) of \($waited)") end'
	fi
	everything || return 0
	if [ ! -e quota.json ]; then
		skip "a quota is a part of its own" "no cgroup has a CPU quota here"
		return
	fi
	evidence quota.json quota.err quota.before quota.after confined.truth
	# The kernel's account is also of another thread of the process, on another CPU at the same time.
	holds "... a quota is a part of its own, at least as long as the kernel says, with the cgroup and its limit" quota.json "$calls"' as $found
		| $truth[0].calls[0] as $t | [$found[].meanwhile[] | select(.what == "quota")]
		| (map([.cgroup, .quota, .period]) | unique) == [[$cgroup, 20000000, 100000000]]
			and (map(.sum) | add) >= ([$to - $from, $t.delay] | min) * 0.75 - 20000000 and (map(.sum) | add) <= $t.wall - $t.cpu + 0.03 * $t.wall' --slurpfile truth confined.truth \
		--argjson from "$(throttled_ns quota.before)" --argjson to "$(throttled_ns quota.after)" --arg cgroup "$(cat quota.cgroup)"
}
