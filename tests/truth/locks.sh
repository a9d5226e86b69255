# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# lock-latency: waits as long as the waiters' own clocks say, for locks that a known thread holds, which does what
# its own clock and the kernel's account of it say.

# shellcheck source=lib/limits.sh
. "$truth/lib/limits.sh"

# One whose cgroup has used up its quota holds a lock; kernels throttle it there, or, from 6.18 on, later.
hold_without_quota() {
	limited locks cpu.max='20000 100000' || limited locks cpu.cfs_quota_us=20000 || return 0
	start throttled locks 2 0
	echo "$pid" >"$limited/cgroup.procs"
	attach quota -p "$pid" -b tid,lock,owner
	grep throttled "$limited/cpu.stat" >quota.before
	go throttled
	grep throttled "$limited/cpu.stat" >quota.after
	detach quota
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=lock-latency quick=--no-calibrate

	start alone locks 7 0
	if is_over "$pid"; then
		finish alone "$pid"
		return
	fi
	attach held -p "$pid" -b tid,kind,lock,owner,owner-call,asleep
	attach stacks -p "$pid" --stacks -b tid,lock
	attach by-name -c l-waiter -b comm,lock
	sleep 1000 &
	started="$started $!"
	attach other -p $!
	launch says -p "$pid"
	await 120 is_tracing says
	go alone
	detach held stacks by-name other says
	grep -c ' rtnl_mutex$' /proc/kallsyms >symbols
	uname -r >kernel

	start crowd locks 5 8
	attach beside -p "$pid" -t "$pid" -b tid,lock,owner
	attach crowded -p "$pid" -b tid,lock,owner
	go crowd
	detach beside crowded

	start eight locks many 4000
	attach contended -p "$pid" -b tid,kind,lock
	attach intervals -p "$pid" -b lock 0.1
	attach few -p "$pid" -b tid,lock --max-keys=1
	go eight
	detach contended intervals few

	start napping locks naps 300
	attach after-calls -p "$pid" -b lock,asleep
	go napping
	detach after-calls

	start queue queues 20
	attach queued -c 'q-*' -b comm,kind,lock,owner,owner-call
	go queue
	detach queued
	start directory queues crowd 1000
	attach by-owner -p "$pid" -b comm,kind,lock,owner,owner-call
	attach by-caller -p "$pid" -b kind,caller,owner
	attach by-place -p "$pid" -b kind,lock,asleep
	go directory
	detach by-owner by-caller by-place

	for what in position inode; do
		start "turns-$what" owners "$what" 30 300
		attach "of-$what" -p "$pid" -b comm,tid,lock,owner --max-keys=1000 --precision=2
		go "turns-$what"
		detach "of-$what"
	done

	hold_without_quota
}

# The rows of one lock of the waiter, as the only ones, and what its holder did.
# known FILE TRUTH LOCK ROW... - which of the row's names must be so
known='def name($t): {position: "f_pos_lock of memfd:locks", inode: "i_rwsem of memfd:locks",
		"busy-inode": "i_rwsem of memfd:locks", pipe: "mutex of pipe \($t.inode)", rtnl: "rtnl_mutex"}[$t.lock];
	def named: if test("^0x[0-9a-f]+ in (rtnl_lock|dev_ethtool)$") then "rtnl_mutex" else . end;
	def long: [.hist[] | select(.[0] >= 100000) | .[2]] | add // 0;
	def rows($t): [$last.rows[] | select(.key.tid == $t.tid and (.key.lock | named) == name($t))];
	def owned($t): [rows($t)[] | select(.key.owner == "l-holder/\($t.holder)")];
	def all_of($name): [$truth[0].calls[] | select(name(.) == $name)];'

# Waits of more than 100 us of calls of owners, and the turn of the owner that is named. It is right if that thread can have had the
# lock, between the turns before and after, when the wait began: not before the call, and as long before the turn as the wait took.
# It is certain if no other one can.
turns='def waits: ($truth[0].calls | sort_by(.turn)) as $turns
		| ([$turns[] | {key: "\(.comm)/\(.tid)", value: .turn}] | from_entries) as $turn_of
		| ([$turns[] | {key: .comm, value: .}] | from_entries) as $calls
		| [$last.rows[] | select(.max >= 100000 and .key.lock and $calls[.key.comm // ""]) | . as $row | $calls[.key.comm] as $call
			| select(.key.lock == {position: "f_pos_lock of memfd:owners", inode: "i_rwsem of memfd:owners"}[$call.lock])
			| ($call.came - .max) as $until | $turn_of[.key.owner] as $turn | {$row, $call, $turn}
			| .right = ($turn != null and $turn < $call.turn and $turns[$turn + 1].came >= $call.began
				and ($turn == 0 or $turns[$turn - 1].goes <= $until))
			| .certain = (.right and $turns[$turn].came < $call.began and ($turn + 1 == $call.turn or $turns[$turn].goes > $until))];'

# of_own_clocks FILE TRUTH
of_own_clocks() {
	# A clock that is read in user code has also the way there and back, and what of it the waiter has no CPU.
	holds "$1: each wait is in the report, as often as it was and as long as the waiter's own clock says" "$1.json" \
		"$known"' [$truth[0].calls[] | select(.lock != "busy-inode") | name(.)] | length == 4 and all(. as $name
			| all_of($name) as $all | [$all[0] | rows(.)[]] | (map(long) | add) as $n | (map(.sum) | add) as $sum
			| ($all | map(.count) | add) as $count | ($all | map(.sum) | add) as $true
			| if $n >= ($all | map(.long) | add) and $n <= $count and $sum <= $true and $sum >= $true * 0.9 - 3000000 * $count then true
				else error("\($name): \($n) of \($count), \($sum) of \($true)") end)' --slurpfile truth "$2.truth"
	holds "$1: ... and its owner is the thread that held the lock, in at least 99 % of those longer than 100 us" "$1.json" \
		"$known"' all($truth[0].calls[]; . as $t | ([owned($t)[] | long] | add) as $right | ([rows($t)[] | long] | add) as $n
			| if $n > 0 and $right >= $n * 0.99 then true else error("\($t.lock): \($right) of \($n)") end)' --slurpfile truth "$2.truth"
	# A thread that was given the lock owns it, and may wait for a CPU then.
	holds "$1: an owner that waits for a page sleeps" "$1.json" \
		"$known"' all($truth[0].calls[] | select(.lock == "pipe" or .lock == "position" or .lock == "rtnl"); . as $t
			| [owned($t)[].split] | (map(.owner_asleep) | add) as $asleep | (map(.sum) | add) as $sum
			| if $asleep <= $sum and $asleep + (map(.owner_preempted + .owner_on_cpu) | add) == $sum
				and $asleep >= $sum - $t.cpu - $t.delay - $t.waiter_delay - 200000 * $t.count then true
				else error("\($t): \($asleep) of \($sum)") end)' --slurpfile truth "$2.truth"
	# On a busy hypervisor the time with a CPU and the time without one overlap, and add up to more than passed. An emulated
	# 6.12 has 2 % of the time between switches from the CPU and to it that are in no account of the kernel.
	holds "$1: one that allocates has a CPU, or waits for one, as long as its own clock and the kernel say" "$1.json" \
		"$known"' ([$truth[0].calls[] | select(.lock == "busy-inode")][0]) as $t
			| ([$truth[0].calls[] | select(.lock == "inode")][0]) as $i
			| [owned($t)[].split] | (map(.owner_on_cpu) | add) as $on | (map(.owner_preempted) | add) as $off
			| (map(.owner_asleep) | add) as $asleep
			| if $on <= $t.cpu + $i.cpu + 3000000 and $on + $off >= ($t.sum * 0.8) and $off <= ([$t, $i | .delay + .waiter_delay] | add) + $t.wall / 40 + 3000000
				and $asleep <= ([$t, $i | [.wall - .cpu - .delay, 0] | max] | add) + 5000000 then true
				else error("\($t), \($i): \($on) on a CPU, \($off) off, \($asleep) asleep") end' --slurpfile truth "$2.truth"
}

# The function of the workload that waits is named after the lock; the owner's stack is where it slept, or else what it called.
# While the owner has a CPU, a writer can spin before it is in the queue, which the kernel does not report.
check_stacks() {
	evidence stacks.json stacks.err
	holds "--stacks: waiters and owners are where they are, as long as the waiter's clock says" stacks.json \
		"$known"' def has($name): any(.[]; .frame | test($name));
			all($truth[0].calls[] | select(.lock != "inode"); . as $t
			| [rows($t)[] | select(.owner_stack | has(if $t.lock == "busy-inode" then "fallocate|ftruncate" else "^\($t.asleep)$" end))] as $right
			| ($right | map(.sum) | add // 0) as $sum
			| if ($right | all(.stack | has("^wait_for$") and has("^take_\($t.lock | ltrimstr("busy-"))$")))
				and $sum <= $t.sum and $sum >= $t.sum * (if $t.lock == "busy-inode" then 0.8 else 0.9 end) - 3000000 * $t.count then true
				else error("\($t): \($sum), \(rows($t))") end)' --slurpfile truth alone.truth
	holds "... innermost is the kernel" stacks.json \
		"$known"' [rows($truth[0].calls[])[] | select(.sum > 1000000)] | length >= 5 and all(.stack[0].kernel and (.stack[-1].kernel | not))' --slurpfile truth alone.truth
	sound "of stacks" stacks.json
}

# A thread that sends a signal has not released the lock, and with PREEMPT_RT a writer has it while it waits for readers.
check_readers() {
	evidence queued.json queued.err queue.truth
	holds "readers hold the lock, in no system call that is known; each wait is there, and the killed ones are errors" queued.json \
		'[$last.rows[] | select(.key.lock | startswith("i_rwsem of queue-"))] as $rows | ($rows | any(.[].key.kind; startswith("rt")))
			or all($truth[0].calls[]; . as $t | [$rows[] | select(.key.comm == $t.comm)]
				| if map([.key.owner, .key["owner-call"], ([.hist[][2]] | add), .errors]) == [["[readers]", "-", $t.count, $t.errors]] then true
					else error("\($t.comm): \(.)") end)' --slurpfile truth queue.truth
	holds "... the one behind a writer saw the lock handed on, the writer itself did not" queued.json \
		'[$last.rows[] | select(.key.lock | startswith("i_rwsem of queue-"))] as $rows | ($rows | any(.[].key.kind; startswith("rt")))
			or all($truth[0].calls[]; . as $t | ([$rows[] | select(.key.comm == $t.comm).handed] | add)
				== if .comm == "q-seeker" then .count else 0 end)' --slurpfile truth queue.truth
	sound "of queued" queued.json
	for report in by-owner by-caller by-place; do
		evidence "$report.json" "$report.err"
		holds "$report: no two rows have the same keys" "$report.json" \
			'[$last.rows[].key] | length > 1 and (group_by(.) | map(select(length > 1)) | if . == [] then true else error("\(.)") end)'
		# A lock that an interrupt waits for while a program runs is missed, which is counted.
		holds "what is lost is counted, of $report" "$report.json" \
			'$last.final and ($last.ledger | .no_state == 0 and .dropped == 0 and .lost <= 2 * .missed)'
	done
	holds "... and readers are no owner by name" by-owner.json \
		'[$last.rows[].key | select(((.kind // "") | startswith("rwsem")) and (.lock | startswith("i_rwsem of queue-"))).owner | split("/")[0]] | all(. != "q-list")'
	holds "of readers and unknown owners no system call is named, and what owners of a lock do that does not tell is unknown" by-owner.json \
		'[$last.rows[] | select(.key.owner == "[readers]" or .key.owner == "[unknown]")]
			| all(.key["owner-call"] == "-") and (map(select(.key.kind | test("^(mutex|rwsem|rt)") | not).split)
				| if (map(.owner_unknown) | add // 0) >= (map(.sum) | add // 0) * 0.9 then true else error("\(.)") end)'
}

# Each call has a name of its own, and so have its owners. A thread that takes and releases the lock while the one that was woken
# for it has no CPU is seen by nobody: it is missing in HANDED.
check_turns() {
	for what in position inode; do
		evidence "of-$what.json" "of-$what.err" "turns-$what.truth"
		holds "$what: 8 busy threads: the owner is the thread that had the lock, in at least 99 % of waits longer than 100 us" "of-$what.json" \
			"$turns"' waits | (map(select(.certain)) | length) as $certain | (map(select(.right)) | length) as $right
				| if length >= 100 and $certain >= 5 and $right >= length * 0.99 then true
					else error("\($right) of \(length), \($certain) certain: \([.[] | select(.right | not) | [.row.key, .turn, .call]][:3])") end' \
			--slurpfile truth "turns-$what.truth"
		holds "... no wait is missing" "of-$what.json" \
			"$turns"' [$truth[0].calls[] | select(.waits and .came - .began > 200000).comm] as $all | [waits[].call.comm] as $there
				| ($all - $there) as $missing | if ($missing | length) <= ($all | length) * 0.05 then true else error("\($missing)") end' \
			--slurpfile truth "turns-$what.truth"
		holds "... and it was handed on, or not, in at least 95 %" "of-$what.json" \
			"$turns"' [waits[] | select(.right) | (.row.handed == 1) == (.call.turn > .turn + 1)]
				| (map(select(.)) | length) as $right | if $right >= length * 0.95 then true else error("\($right) of \(length)") end' \
			--slurpfile truth "turns-$what.truth"
	done
}

# The kernel's account is of the cgroup, on both CPUs.
check_quota() {
	if [ ! -e quota.json ]; then
		skip "an owner without quota" "no cgroup has a CPU quota here"
		return
	fi
	evidence quota.json quota.err throttled.truth
	later=false
	[ "$(printf '6.18\n%s\n' "$(cat kernel)" | sort -V | head -n 1)" != 6.18 ] || later=true
	holds "an owner whose quota is used up has none, not longer than the kernel says" quota.json \
		"$known"' ([$truth[0].calls[] | select(.lock == "busy-inode")][0]) as $t | ([owned($t)[].split.owner_quota] | add) as $without
			| if $without <= $throttled + 20000000 and (if $later then true else $without >= ($t.sum - $t.cpu) * 0.6 and $t.sum > $t.cpu * 1.5 end) then true
				else error("\($t): \($without) of \($throttled)") end' --slurpfile truth throttled.truth \
		--argjson throttled "$(($(throttled_ns quota.after) - $(throttled_ns quota.before)))" --argjson later "$later"
}

check() {
	if [ "$(cat alone.status)" = 77 ]; then
		skip "waits for locks" "there is no userfaultfd"
		return
	fi
	evidence held.json held.err alone.truth
	if [ "$(cat held.status)" = 77 ]; then
		like "a kernel without the tracepoints is refused" "$(cat held.err)" 'contention_begin'
		return
	fi
	of_own_clocks held alone
	holds "kinds are those of the locks" held.json "$known"'[$last.rows[] | select(.hist[-1][0] > 1000000) | [.key.kind, (.key.lock | named | split(" ")[0])]] | unique
		| . == [["mutex", "f_pos_lock"], ["mutex", "mutex"], ["mutex", "rtnl_mutex"], ["rwsem-write", "i_rwsem"]]
			or . == [["rt-write", "i_rwsem"], ["rtmutex", "f_pos_lock"], ["rtmutex", "i_rwsem"], ["rtmutex", "mutex"], ["rtmutex", "rtnl_mutex"]]
			or . == [["rtmutex", "f_pos_lock"], ["rtmutex", "i_rwsem"], ["rtmutex", "mutex"], ["rtmutex", "rtnl_mutex"]]' --slurpfile truth alone.truth
	holds "-b owner-call: what the owner was in" held.json \
		'[$last.rows[] | select(.hist[-1][0] > 1000000) | .key["owner-call"]] | unique - ["ftruncate"] == ["fallocate", "ioctl", "pwrite64", "write"]'
	sound "of held" held.json
	holds "-b asleep: where the kernel's wchan of the owner says, in at least 95 % of the time that it slept" held.json \
		"$known"' all($truth[0].calls[] | select(.lock != "busy-inode"); . as $t | owned($t)
			| (map(.split.owner_asleep) | add) as $all | (map(select(.key.asleep == $t.asleep).split.owner_asleep) | add) as $there
			| if $all > 0 and $there >= $all * 0.95 then true else error("\($t): \($there) of \($all)") end)' --slurpfile truth alone.truth
	holds "a lock that is a variable of the kernel has its name, if the kernel lists variables" held.json \
		"$known"' [$truth[0].calls[] | select(.lock == "rtnl")][0] as $t | [owned($t)[] | select((.key.lock == "rtnl_mutex") == $listed) | long]
			| add // 0 | . >= $t.long' --slurpfile truth alone.truth --argjson listed "$(awk '{ print $1 ? "true" : "false" }' symbols)"
	check_stacks
	evidence by-name.json by-name.err
	holds "-c takes the waiter's name" by-name.json '($last.rows | map(.key.comm) | unique) == ["l-waiter"]
		and $last.ledger.recorded >= ([$truth[0].calls[].long] | add)' --slurpfile truth alone.truth
	evidence other.json other.err
	holds "-p of a process that sleeps captures nothing" other.json '$last.rows == []'
	like "a table has what owners did" "$(cat says.json)" 'rwsem-write +i_rwsem of memfd:locks'

	# shellcheck disable=SC2034 # by what judges a report
	crowded=true
	evidence crowded.json crowded.err crowd.truth
	of_own_clocks crowded crowd
	sound "of crowded" crowded.json

	evidence contended.json contended.err eight.truth
	# The lock is the only reason for which these threads sleep; a writer that spins before it is in the queue has no event.
	holds "eight threads wait for one lock at least as long as they sleep, and not longer than they live" contended.json \
		'all($truth[0].calls[]; . as $t | [$last.rows[] | select(.key.tid == $t.tid and .key.lock == "i_rwsem of memfd:locks")]
			| (map(.sum) | add // 0) as $sum | if $sum <= $t.wall - $t.cpu / 2 and $sum >= ($t.wall - $t.cpu - $t.delay) * 0.98 - 2000000
				then true else error("\($t): \($sum)") end)' --slurpfile truth eight.truth
	sound "of contended" contended.json
	holds "... of which the owner, one of them, has a CPU, or waits for one, but for what they sleep for other reasons" contended.json \
		'[$last.rows[] | select(.key.lock == "i_rwsem of memfd:locks")] | (map(.sum) | add) as $sum | map(.split)
			| (map(.owner_on_cpu + .owner_preempted) | add) >= $sum * 0.8 and (map(.owner_unknown) | add) <= $sum * 0.15'
	evidence intervals.json intervals.err
	whole "of intervals" intervals.json
	evidence few.json few.err
	evidence after-calls.json after-calls.err
	holds "a thread that sleeps after it has released a lock is no owner that sleeps" after-calls.json \
		'[$last.rows[] | select(.key.lock | test("f_pos_lock|i_rwsem"))] | (map([.hist[][2]] | add) | add) >= 20
			and (map(select(.key.asleep | test("nanosleep"))) as $wrong | if $wrong == [] then true else error("\($wrong)") end)'
	holds "keys too many are in one row" few.json '($last.rows | map(select(.key.other)) | length) == 1 and $last.ledger.pooled > 0'
	check_readers
	check_turns
	check_quota
}
