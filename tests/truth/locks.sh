# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# lock-latency: waits as long as the waiters' own clocks say, for locks that a known thread holds, which does what
# its own clock and the kernel's account of it say.

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=lock-latency quick=--no-calibrate

	start alone locks 7 0
	if is_over "$pid"; then
		finish alone "$pid"
		return
	fi
	attach held -p "$pid" -b tid,kind,lock,owner,owner-call
	attach by-name -c l-waiter -b comm,lock
	sleep 1000 &
	started="$started $!"
	attach other -p $!
	launch says -p "$pid"
	await 30 is_tracing says
	go alone
	detach held by-name other says

	start crowd locks 5 8
	attach beside -p "$pid" -t "$pid" -b tid,lock,owner
	attach crowded -p "$pid" -b tid,lock,owner
	go crowd
	detach beside crowded

	start eight locks many 400
	attach contended -p "$pid" -b tid,kind,lock
	attach intervals -p "$pid" -b lock 0.1
	attach few -p "$pid" -b tid,lock --max-keys=1
	go eight
	detach contended intervals few
}

# The rows of one lock of the waiter, as the only ones, and what its holder did.
# known FILE TRUTH LOCK ROW... - which of the row's names must be so
known='def name($t): {position: "f_pos_lock of memfd:locks", inode: "i_rwsem of memfd:locks",
		"busy-inode": "i_rwsem of memfd:locks", pipe: "mutex of pipe \($t.inode)"}[$t.lock];
	def long: [.hist[] | select(.[0] >= 100000) | .[2]] | add // 0;
	def rows($t): [$last.rows[] | select(.key.tid == $t.tid and .key.lock == name($t))];
	def owned($t): [rows($t)[] | select(.key.owner == "l-holder/\($t.holder)")];
	def all_of($name): [$truth[0].calls[] | select(name(.) == $name)];'

# of_own_clocks FILE TRUTH
of_own_clocks() {
	# A clock that is read in user code has also the way there and back, and what of it the waiter has no CPU.
	holds "$1: each wait is in the report, as often as it was and as long as the waiter's own clock says" "$1.json" \
		"$known"' [$truth[0].calls[] | select(.lock != "busy-inode") | name(.)] | length == 3 and all(. as $name
			| all_of($name) as $all | [$all[0] | rows(.)[]] | (map(long) | add) as $n | (map(.sum) | add) as $sum
			| ($all | map(.count) | add) as $count | ($all | map(.sum) | add) as $true
			| if $n >= $count * 0.99 and $n <= $count and $sum <= $true and $sum >= $true * 0.9 - 3000000 * $count then true
				else error("\($name): \($n) of \($count), \($sum) of \($true)") end)' --slurpfile truth "$2.truth"
	holds "$1: ... and its owner is the thread that held the lock, in at least 99 % of those longer than 100 us" "$1.json" \
		"$known"' all($truth[0].calls[]; . as $t | ([owned($t)[] | long] | add) as $right | ([rows($t)[] | long] | add) as $n
			| if $n > 0 and $right >= $n * 0.99 then true else error("\($t.lock): \($right) of \($n)") end)' --slurpfile truth "$2.truth"
	# A thread that was given the lock owns it, and may wait for a CPU then.
	holds "$1: an owner that waits for a page sleeps" "$1.json" \
		"$known"' all($truth[0].calls[] | select(.lock == "pipe" or .lock == "position"); . as $t
			| [owned($t)[].split] | (map(.owner_asleep) | add) as $asleep | (map(.sum) | add) as $sum
			| if $asleep <= $sum and $asleep + (map(.owner_preempted + .owner_on_cpu) | add) == $sum
				and $asleep >= $sum - $t.cpu - $t.delay - $t.waiter_delay - 200000 * $t.count then true
				else error("\($t): \($asleep) of \($sum)") end)' --slurpfile truth "$2.truth"
	# On a busy hypervisor the time with a CPU and the time without one overlap, and add up to more than passed.
	holds "$1: one that allocates has a CPU, or waits for one, as long as its own clock and the kernel say" "$1.json" \
		"$known"' ([$truth[0].calls[] | select(.lock == "busy-inode")][0]) as $t
			| ([$truth[0].calls[] | select(.lock == "inode")][0]) as $i
			| [owned($t)[].split] | (map(.owner_on_cpu) | add) as $on | (map(.owner_preempted) | add) as $off
			| (map(.owner_asleep) | add) as $asleep
			| if $on <= $t.cpu + $i.cpu + 3000000 and $on + $off >= ($t.sum * 0.8) and $off <= ([$t, $i | .delay + .waiter_delay] | add) + 3000000
				and $asleep <= ([$t, $i | [.wall - .cpu - .delay, 0] | max] | add) + 5000000 then true
				else error("\($t), \($i): \($on) on a CPU, \($off) off, \($asleep) asleep") end' --slurpfile truth "$2.truth"
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
	holds "kinds are those of the locks" held.json '[$last.rows[] | select(.hist[-1][0] > 1000000) | [.key.kind, (.key.lock | split(" ")[0])]] | unique
		| . == [["mutex", "f_pos_lock"], ["mutex", "mutex"], ["rwsem-write", "i_rwsem"]]
			or . == [["rt-write", "i_rwsem"], ["rtmutex", "f_pos_lock"], ["rtmutex", "i_rwsem"], ["rtmutex", "mutex"]]
			or . == [["rtmutex", "f_pos_lock"], ["rtmutex", "i_rwsem"], ["rtmutex", "mutex"]]'
	holds "-b owner-call: what the owner was in" held.json \
		'[$last.rows[] | select(.hist[-1][0] > 1000000) | .key["owner-call"]] | unique - ["ftruncate"] == ["fallocate", "pwrite64", "write"]'
	sound "of held" held.json
	evidence by-name.json by-name.err
	holds "-c takes the waiter's name" by-name.json '($last.rows | map(.key.comm) | unique) == ["l-waiter"] and $last.ledger.recorded >= 28'
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
	holds "keys too many are in one row" few.json '($last.rows | map(select(.key.other)) | length) == 1 and $last.ledger.pooled > 0'
}
