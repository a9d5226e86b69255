# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# runq-latency: as long as the threads' own clocks say, as often as the kernel does; of the thread that waits.

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
	attach cgroup-of-each -p "$1" --slower=0
	echo "/plumb-runq-$$" >cgroup
}

# A thread that may have 10 of 100 ms, where there is a controller for that.
throttle() {
	for top in $(awk '$3 == "cgroup2" || $3 == "cgroup" && $4 ~ /(^|,)cpu(,|$)/ { print $2 }' /proc/self/mounts); do
		[ ! -w "$top/cgroup.subtree_control" ] || echo +cpu >"$top/cgroup.subtree_control"
		mkdir "$top/plumb-throttled-$$" || continue
		cgroups="$cgroups $top/plumb-throttled-$$"
		if [ -e "$top/plumb-throttled-$$/cpu.max" ]; then
			echo 10000 100000 >"$top/plumb-throttled-$$/cpu.max" && break
		elif [ -e "$top/plumb-throttled-$$/cpu.cfs_quota_us" ]; then
			echo 10000 >"$top/plumb-throttled-$$/cpu.cfs_quota_us" && break
		fi
	done 2>/dev/null
	case $(cat "$top/plumb-throttled-$$/cpu.max" "$top/plumb-throttled-$$/cpu.cfs_quota_us" 2>/dev/null) in
	10000*) ;;
	*) return ;;
	esac
	start throttled turns spin 1000 1
	echo "$pid" >"$top/plumb-throttled-$$/cgroup.procs"
	attach throttling -p "$pid" -b tid
	program=offcpu-time
	attach quota -p "$pid" -b state,waker
	program=runq-latency
	attached
	open_gate throttled go
	await 30 [ -e throttled.gates/done ]
	detach throttling quota
	open_gate throttled end
	finish throttled "$pid"

	start over causes quota 1500
	echo "$pid" >"$top/plumb-throttled-$$/cgroup.procs"
	attach who-throttles -p "$pid" -c c-victim --who
	attached
	grep -h throttled "$top/plumb-throttled-$$/cpu.stat" >over.before
	open_gate over go
	await 30 [ -e over.gates/done ]
	grep -h throttled "$top/plumb-throttled-$$/cpu.stat" >over.after
	detach who-throttles
	open_gate over end
	finish over "$pid"
	echo "/plumb-throttled-$$" >over.cgroup
}

# Beside another process, of nice 5, on one CPU.
compete() {
	start hog causes hog 1500
	attach who-waits -p "$pid" --who -b tid
	attach who-each -p "$pid" --who 0.3
	attach who-not -p "$pid"
	launch who-says -p "$pid" --who
	await 30 is_tracing who-says
	attached
	open_gate hog go
	await 60 [ -e hog.gates/done ]
	detach who-waits who-each who-not who-says
	open_gate hog end
	finish hog "$pid"
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=runq-latency quick=--no-calibrate

	start spin turns spin 600 3
	attach waits -p "$pid" -b tid
	attach by-cpu -p "$pid" -b cpu
	attach by-name -c turns -b comm,pid
	attach slower -p "$pid" --slower=1ms
	attached
	open_gate spin go
	await 30 [ -e spin.gates/done ]
	detach waits by-cpu by-name slower
	open_gate spin end
	finish spin "$pid"

	start held turns held 5 97
	if [ -e held.gates/ready ]; then
		sleeper=$(cd held.gates && echo sleeper-*)
		sleeper=${sleeper#sleeper-}
		sleep 1000 &
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
		[ ! -e by-cgroup.pid ] || detach by-cgroup cgroups cgroup-of-each
		open_gate held end
	fi
	finish held "$pid"

	compete

	start woken wakes 300
	attach wakeups -p "$pid" -b comm
	go woken
	detach wakeups
	throttle

	# shellcheck disable=SC2034 # by what starts a tool
	quick=''
	traced life -b tid -- turns spin 100 5
	traced alone -d 0.3 -c no-such-name
}

# While another tracer attaches to sched_switch, or leaves it, the kernel may forget to run a program there:
# one wait of few, and one that is counted as unmatched.

# The sleeper's waits, each at least as long as it was held, and no others.
held() {
	evidence "$2.json" "$2.err" held.truth
	holds "$1 captures the waits of the thread that was woken, as often and as long as they were" "$2.json" \
		'$truth[0].calls[0] as $t | $last.ledger.unmatched as $more | $last.rows[0]
			| $more <= 5 and .count + $more == $t.count
			and .sum >= $t.sum[0] - $more * 20000000 and .max >= $t.max[0] and .max <= $t.max[1]' --slurpfile truth held.truth
	holds "... of which those that were held are 97 at least" "$2.json" \
		'[$last.rows[0].hist[] | select(.[1] >= 5000000) | .[2]] | add >= 97 - $last.ledger.unmatched'
	holds "... the first one too, though the thread slept when the trace began" "$2.json" \
		'($last.rows | length) == 1 and $last.rows[0].count >= 97 - $last.ledger.unmatched'
	sound "of $2" "$2.json"
}

# By its own clock a wait is longer: by the rest of the write and the read, and what the tool does in it. Of
# a timer's interrupt it does not know when that was.
woken() {
	case $(jq -r .kernel wakeups.json) in
	*cloud*) more=400000 ;;
	*) more=8000 ;;
	esac
	jq -e --arg kind "$1" '.calls[] | select(.comm == $kind)' woken.truth >/dev/null || {
		skip "waits after wakeups, $1" "no second CPU, or no real-time priorities"
		return
	}
	holds "percentiles of waits after wakeups are as the sleeper's own clock has them, $1" wakeups.json \
		'($truth[0].calls[] | select(.comm == $kind)) as $t | [$last.rows[] | select(.key.comm == $kind)] | length == 1
			and .[0].count >= $t.count * 0.9 and (.[0].percentiles as $p | all(("50", "90"); $p[.] <= $t.percentiles[.][1] * 1.1)
				and $p["50"] > 500 and ($kind == "timer" or all((["50", 0.9], ["90", 0.5]);
					$p[.[0]] >= ($t.percentiles[.[0]][0] - $t.overhead - $more) * .[1])))' \
		--slurpfile truth woken.truth --arg kind "$1" --argjson more "$more"
	if ! jq -e --arg kind "$1" '.calls[] | select(.comm == $kind and .perf != [])' woken.truth >/dev/null; then
		skip "... and as perf has them, $1" "there is no perf, or it has not all switches"
		return
	fi
	# Which of two programs on a tracepoint runs first is not known. The tool has waits before and
	# behind those that perf records. A host that takes the CPU away between the two makes one of
	# their times longer: so may it with one wait in twenty.
	case $(jq -r .kernel wakeups.json) in
	*cloud*) more=60000 ;;
	*) more=2000 ;;
	esac
	holds "... and as perf has them, $1" wakeups.json \
		'($truth[0].calls[] | select(.comm == $kind).perf) as $perf
			| [$last.rows[] | select(.key.comm == $kind)][0] | .percentiles as $p | .count as $n
			| ($n - ($perf | length) | fabs) as $others | ($n / 20 | ceil) as $longer
			| $others <= 3 + $n / 10 and all(("50", "90");
				($n * tonumber / 100 | ceil - 1) as $rank
				| $p[.] >= ($perf[[$rank - $others - $longer, 0] | max] // 0) * 0.9 - $more
				and $p[.] <= ($perf[$rank + $longer] // infinite) * 1.1 + $more)' \
		--slurpfile truth woken.truth --arg kind "$1" --argjson more "$more"
}

# throttled_ns FILE - what cpu.stat said
throttled_ns() {
	awk '$1 == "throttled_time" { print $2 } $1 == "throttled_usec" { print $2 * 1000 }' "$1"
}

# What the lists of --who have in common with the rows, and with what the hog's own clock says.
who() {
	evidence who-waits.json who-waits.err hog.truth
	holds "--who: all waits are in both of its lists" who-waits.json '($last.rows | map(.sum) | add) as $sum
		| ($last.who.waited | map(.sum) | add) == $sum and ($last.who.meanwhile | map(.sum) | add) == $sum
		and ($last.who.waited | map(.count) | add) == ($last.rows | map(.count) | add)'
	holds "... the hog had the CPU as long as its own clock says, at nice 5, pinned to that of the victim" who-waits.json \
		'$truth[0].calls[0] as $t | ([$last.who.meanwhile[] | select(.pid == $t.by.pid)] | map(.sum) | add) as $sum
			# Also while the main thread waited, and the victim for its start.
			| ([$last.who.waited[] | select(.tid != $t.tid).sum] | add // 0 | . + $t.delay_of_life - $t.delay) as $more
			| $sum >= $t.by.cpu - 0.03 * $t.wall and $sum <= $t.by.cpu + 0.03 * $t.wall + $more
			and ([$last.who.waited[] | select(.tid == $t.tid).cpus] | unique) as [$cpu]
			| ([$last.who.meanwhile[] | select(.pid == $t.by.pid) | [.what, .comm, .policy, .nice, .priority, .n_cpus, "\(.cpu)"]] | unique)
				== [["thread", "c-hog", "other", 5, null, 1, $cpu]]' --slurpfile truth hog.truth
	holds "... the thread that waited is named, with its nice value and its only CPU" who-waits.json \
		'$truth[0].calls[0] as $t | $last.who.waited[] | select(.tid == $t.tid)
			| .comm == "c-victim" and .policy == "other" and .nice == 0 and (.cpus | test("^[0-9]+$"))' --slurpfile truth hog.truth
	evidence who-each.json who-each.err
	# Sums are read a little later than rows.
	holds "... intervals have the parts of the whole" who-each.json '([$all[].rows[].sum] | add) as $sum | ($all | length) > 2
		and ([$all[].who.waited[].sum] | add) == $sum and ([$all[].who.meanwhile[].sum] | add) == $sum'
	evidence who-not.json who-not.err
	holds "without --who there are no such lists" who-not.json '$last | has("who") | not'
	evidence who-says.json who-says.err
	like "--who: to people, too" "$(cat who-says.json)" \
		$'waited for a CPU, [^\n]* in all:\n +[^ ]+ +[0-9.]+%  c-victim/[0-9]+ \\(nice 0\\), only on CPU [0-9]+\n.*meanwhile on their CPUs:\n +[^ ]+ +[0-9.]+%  ([^ ]+/[0-9]+ \\((nice|[a-z]+,?) -?[0-9]+|\\[)'
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
	# What the kernel does not count is at most from a wakeup until the thread is in a run queue.
	holds "new threads are known from their first wait on, and waited as often and as long as the kernel says" waits.json \
		'all($truth[0].calls[]; . as $t | $last.rows | map(select(.key.tid == $t.tid)) | length == 1
			and .[0].count <= $t.count and .[0].count >= $t.count - $last.ledger.unmatched
			and .[0].sum >= $t.delay * 0.95 and .[0].sum <= $t.delay * 1.05 + 200000 * $t.count)' \
		--slurpfile truth spin.truth
	holds "... and of who slept or ran when the trace began next to nothing is unmatched" waits.json '$last.ledger.unmatched <= 5'
	sound "of waits" waits.json
	evidence slower.json slower.err spin.truth
	holds "--slower: single waits of these threads, as long as they had no CPU" slower.json '[$all[].wait // empty] as $waits
		| all($waits[]; .ns >= 1000000) and $last.not_printed == 0
		and all($truth[0].calls[]; . as $t | [$waits[] | select(.tid == $t.tid).ns] | add - ($t.wall - $t.busy)
			| . >= -0.1 * $t.wall - 20000000 and . <= $t.wall / 20 + 150000000)' --slurpfile truth spin.truth
	holds "... with who had it meanwhile: the other two, and on a busy machine others" slower.json '[$truth[0].calls[].tid] as $tids
		| [$all[].wait // empty | {tid, ns, all: ([.meanwhile[].sum] | add), others: ([.meanwhile[] | select(.tid as $tid | $tids | index($tid)).sum] | add),
			own: [.meanwhile[].tid]}] as $waits
		| ($waits | length) > 10 and all($waits[]; .tid as $tid | .all <= .ns and (.own | index($tid)) == null)
		and ([$waits[].all] | add) >= 0.99 * ([$waits[].ns] | add)
		and ([$waits[].others] | add) >= ([$waits[].ns] | add) - 450000000' --slurpfile truth spin.truth
	evidence by-cpu.json by-cpu.err spin.truth
	holds "-b cpu is the CPU that was waited for" by-cpu.json \
		'($last.rows | map(.key)) == [{"cpu": $truth[0].calls[0].cpu}]' --slurpfile truth spin.truth
	holds "who has all CPU time that there is, is not throttled" by-cpu.json '$last.throttled == 0'
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
			evidence cgroup-of-each.json cgroup-of-each.err
			holds "... also of single waits" cgroup-of-each.json \
				'[$all[].wait // empty | .cgroup] | length > 20 and unique == [$path]' --arg path "$(cat cgroup)"
		else
			skip "-g captures the thread that was woken" "no cgroup2 file system is mounted"
		fi
		evidence waker.json waker.err
		holds "who wakes another does not wait for it" waker.json \
			'($last.rows | map(.key)) == [{"tid": $pid}] and $last.ledger.recorded > 97' --argjson pid "$(cat held.pid)"
		evidence other.json other.err
		holds "-p of a process that sleeps captures nothing" other.json '$last.rows == []'
	fi

	who
	evidence wakeups.json wakeups.err woken.truth
	for kind in near far beside nice fifo timer; do
		woken "$kind"
	done
	if [ -e throttling.json ]; then
		evidence throttling.json throttling.err throttled.truth
		holds "a thread whose cgroup is throttled waits, by its own clock" throttling.json '$truth[0].calls[0] as $t
			| [$last.rows[] | select(.key.tid == $t.tid)] | length == 1 and (.[0] | .max > 50000000
				and (.sum - ($t.wall - $t.busy)) as $more | $t.wall / 20 + 20000000 | . > -$more and . + 150000000 > $more)' \
			--slurpfile truth throttled.truth
		# In most of its periods; one that is preempted on its way to user mode meanwhile counts twice.
		holds "... and that is said" throttling.json '$last.throttled >= 3 and $last.throttled <= $last.ledger.recorded'
		evidence quota.json quota.err throttled.truth
		# What was preempted before its quota was used up waits for both.
		holds "... because of its quota, as offcpu-time says" quota.json \
			'[$last.rows[] | select(.key.state == "preempted" or .key.state == "throttled")] | (map(.sum) | add) as $all
				| map(select(.key.waker.event == "throttling"))
				| (map(.sum) | add) >= $all * 0.5 and (map(.max) | max) > 50000000'
		evidence who-throttles.json who-throttles.err over.before over.after over.truth
		# The kernel's account begins a little later: from 6.18 on when the thread next tries to return to user mode.
		# Of a wait with more turns of others than are kept the beginning is unknown, which may be where others run much.
		holds "--who: the quota is a part of its own, at least as long as the kernel says, with the cgroup and its limit" who-throttles.json \
			'($from | tonumber) as $from | ($to | tonumber) as $to | ($truth[0].calls[] | select(.comm == "c-victim")) as $t
				| ([$last.who.meanwhile[] | select(.what == "unknown").sum] | add // 0) as $unknown
				| [$last.who.meanwhile[] | select(.what == "quota")] | length == 1
				and (.[0] | .sum >= ($to - $from) / 2 and .quota == 10000000 and .period == 100000000 and .cgroup == $cgroup
				and .sum + $unknown >= ($to - $from) * 0.9 - 20000000 and .sum <= $t.wall - $t.cpu + 0.03 * $t.wall)' --slurpfile truth over.truth \
			--arg from "$(throttled_ns over.before)" --arg to "$(throttled_ns over.after)" --arg cgroup "$(cat over.cgroup)"
	else
		skip "a thread whose cgroup is throttled waits" "no controller of CPU quotas is mounted"
	fi

	evidence life.json life.err life.truth
	holds "a command's threads are followed until they end" life.json \
		'all($truth[0].calls[]; . as $t | $last.rows | map(select(.key.tid == $t.tid)) | length == 1
			and .[0].count >= $t.count and .[0].count < $t.count + 20 and .[0].sum >= $t.delay * 0.95)
			and $last.ledger.unmatched <= 2' --slurpfile truth life.truth
	sound "of life" life.json
	evidence alone.json alone.err
	holds "what a switch costs is measured, unless something disturbs that" alone.json '$last.overhead_ns
		| .how == "disturbed" or ((.how | startswith("calibrated")) and .traced > 0 and .filtered >= 0 and .traced < 100000
			and .traced_interval[0] <= .traced and .traced <= .traced_interval[1]
			and (.how != "calibrated" or .traced >= .filtered))'
	holds "nobody of that name: no row" alone.json '$last.rows == [] and $last.ledger.recorded == 0'
}
