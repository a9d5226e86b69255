# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# runq-latency: as often as the kernel itself says, and as long; of the thread that waits.

# Where cgroup2 is, alone or beside version 1.
cgroup_mount() {
	awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts
}

# The sleeper, one of two processes, in a cgroup of its own.
enclose() {
	top=$(cgroup_mount)
	[ -n "$top" ] || return
	# shellcheck disable=SC2034 # by what the run does at its end
	cgroups=$top/plumb-runq-$$
	mkdir "$cgroups" && echo "$1" >"$cgroups/cgroup.procs" || return
	attach by-cgroup -g "/plumb-runq-$$"
	attach cgroups -p "$1" -b cgroup
	echo "/plumb-runq-$$" >cgroup
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=runq-latency quick=--no-calibrate

	start spin turns spin 600 3
	attach waits -p "$pid" -b tid
	attach by-cpu -p "$pid" -b cpu
	attach by-name -c turns -b comm,pid
	attached
	open_gate spin go
	await 30 [ -e spin.gates/done ]
	detach waits by-cpu by-name
	open_gate spin end
	finish spin "$pid"

	start held turns held 5 97
	if [ -e held.gates/ready ]; then
		sleeper=$(cd held.gates && echo sleeper-*)
		sleeper=${sleeper#sleeper-}
		sleep 60 &
		started="$started $!"
		attach other -p $!
		attach waiter -p "$sleeper" -b tid
		attach waiting-thread -t "$sleeper"
		attach waiter-name -c turns-sleeper -b comm
		attach waker -p "$pid" -b tid
		enclose "$sleeper"
		attached
		open_gate held go
		await 30 [ -e held.gates/done ]
		detach other waiter waiting-thread waiter-name waker
		[ ! -e by-cgroup.pid ] || detach by-cgroup cgroups
		open_gate held end
	fi
	finish held "$pid"

	# shellcheck disable=SC2034 # by what starts a tool
	quick=''
	traced life -b tid -- turns spin 100 5
	traced alone -d 0.3 -c no-such-name
}

# The sleeper's waits, each at least as long as it was held, and no others.
held() {
	evidence "$2.json" "$2.err" held.truth
	holds "$1 captures the waits of the thread that was woken, as often and as long as they were" "$2.json" \
		'$truth[0].calls[0] as $t | $last.rows[0] | .count == $t.count and .sum >= $t.delay[0] and .sum <= $t.delay[1]
			and .sum >= $t.sum[0] and .max >= $t.max[0] and .max <= $t.max[1]' --slurpfile truth held.truth
	holds "... of which those that were held are 97 at least" "$2.json" \
		'[$last.rows[0].hist[] | select(.[1] >= 5000000) | .[2]] | add >= 97'
	holds "... and the first one, which began before, is unmatched" "$2.json" \
		'($last.rows | length) == 1 and $last.ledger.unmatched == 1'
	sound "of $2" "$2.json"
}

check() {
	# shellcheck disable=SC2034 # by what judges a report
	crowded=true
	evidence waits.json waits.err spin.truth
	# A wait before the thread first looks at the clock is in the sum as well.
	holds "three threads that share a CPU wait while the others have it, by their own clocks" waits.json \
		'[$last.rows[] as $r | $truth[0].calls[] | select(.tid == $r.key.tid)
			| ($r.sum - (.wall - .busy)) as $more | .wall / 20 + 20000000
			| . > -$more and . + 150000000 > $more] == [true, true, true]' --slurpfile truth spin.truth
	holds "new threads are known from their first wait on" waits.json \
		'all($truth[0].calls[]; . as $t | $last.rows | map(select(.key.tid == $t.tid)) | length == 1
			and .[0].count == $t.count and .[0].sum == $t.delay)' --slurpfile truth spin.truth
	holds "... and of those that were there before one wait is unmatched" waits.json '$last.ledger.unmatched == 1'
	sound "of waits" waits.json
	evidence by-cpu.json by-cpu.err spin.truth
	holds "-b cpu is the CPU that was waited for" by-cpu.json \
		'($last.rows | map(.key)) == [{"cpu": $truth[0].calls[0].cpu}]' --slurpfile truth spin.truth
	evidence by-name.json by-name.err
	holds "-b comm,pid makes one row of them" by-name.json \
		'($last.rows | map(.key)) == [{"pid": $pid, "comm": "turns"}]' --argjson pid "$(cat spin.pid)"

	if [ "$(cat held.status)" = 77 ]; then
		skip "waits behind a real-time thread" "$(cat held.err)"
	else
		held "-p" waiter
		holds "... and of nobody else" waiter.json '($last.rows | map(.key)) == [{"tid": $truth[0].calls[0].tid}]' \
			--slurpfile truth held.truth
		held "-t" waiting-thread
		held "-c" waiter-name
		if [ -e by-cgroup.json ]; then
			held "-g" by-cgroup
			held "-b cgroup" cgroups
			holds "... and names the cgroup of the thread that was woken" cgroups.json \
				'($last.rows | map(.key)) == [{"cgroup": $path}]' --arg path "$(cat cgroup)"
		else
			skip "-g captures the thread that was woken" "no cgroup2 file system is mounted"
		fi
		evidence waker.json waker.err
		holds "who wakes another does not wait for it" waker.json \
			'($last.rows | map(.key)) == [{"tid": $pid}] and $last.ledger.recorded > 97' --argjson pid "$(cat held.pid)"
		evidence other.json other.err
		holds "-p of a process that sleeps captures nothing" other.json '$last.rows == []'
	fi

	evidence life.json life.err life.truth
	holds "a command's threads are followed until they end" life.json \
		'all($truth[0].calls[]; . as $t | $last.rows | map(select(.key.tid == $t.tid)) | length == 1
			and .[0].count > $t.count and .[0].count < $t.count + 20 and .[0].sum >= $t.delay)
			and $last.ledger.unmatched <= 2' --slurpfile truth life.truth
	sound "of life" life.json
	evidence alone.json alone.err
	holds "what a switch costs is measured, unless something disturbs that" alone.json '$last.overhead_ns
		| .how == "disturbed" or (.how == "calibrated" and .traced > 0 and .filtered >= 0 and .traced < 100000)'
	holds "nobody of that name: no row" alone.json '$last.rows == [] and $last.ledger.recorded == 0'
}
