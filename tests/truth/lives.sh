# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# process-life: as many processes as there were, with their statuses, life times and CPU time; storms of them.

be_busy() {
	hogs=
	for _ in 1 2 3 4 5 6 7 8; do
		sh -c 'while :; do :; done' &
		hogs="$hogs $!"
	done
	started="$started $hogs"
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=process-life quick=--no-calibrate
	start known lives known
	attach of-known -c 'l-*,exe'
	attach parents -c 'l-*,exe' -b process,parent
	attach arguments -c 'l-*,exe' --arguments
	attach not-these -c no-such-name
	attached
	open_gate known go
	await 60 [ -e known.gates/done ]
	detach of-known parents arguments not-these
	open_gate known end
	finish known "$(cat known.pid)"

	start zombies lives zombies
	attach unreaped -c 'l-*'
	attached
	open_gate zombies go
	await 60 [ -e zombies.gates/done ]
	detach unreaped
	open_gate zombies end
	finish zombies "$pid"

	start endless lives storm 1000000 2
	open_gate endless go
	traced continuing -c l-storm -d 1
	kill -9 "$pid"

	everything && times=20000 || times=5000
	traced storm -- lives storm $times 2
	echo $times >times

	# Beside 8 busy threads.
	be_busy
	traced crowded -- lives storm 1009 2
	# shellcheck disable=SC2086 # words
	kill $hogs
}

# The same children, by name and status.
same='($truth[0].calls | map({comm, status, count, errors})) as $wanted
	| [$last.rows[] | {comm: .key.process, status: .key.status, count, errors}] as $found
	| ($wanted - $found) as $missing | ($found - $wanted) as $more'

check() {
	evidence of-known.json of-known.err known.truth
	holds "processes are counted by program and status, those that failed too" of-known.json \
		"$same"' | if $missing == [] and $more == [] then true else error("missing \($missing), more: \($more)") end' --slurpfile truth known.truth
	holds "... they lived no shorter than by their own clocks, and no longer than by their parent'\''s" of-known.json \
		'all($last.rows[]; . as $r | $truth[0].calls[] | select(.comm == $r.key.process)
			| $r.sum >= .least and $r.sum <= .most or error("\($r.key) \($r.sum): \(.least) to \(.most)"))' --slurpfile truth known.truth
	# By the child's clock it lacks the way to the end; the last moments are in neither of the others.
	holds "... and had as much CPU time as by wait4(2) and by their own clocks" of-known.json \
		'all($last.rows[]; . as $r | $truth[0].calls[] | select(.comm == $r.key.process)
			| $r.cputime >= .cpu and $r.cputime >= .rusage - 1000 * .count and $r.cputime <= .rusage * 1.03 + 4000000 * .count
				or error("\($r.key) \($r.cputime): own \(.cpu), rusage \(.rusage)"))' --slurpfile truth known.truth
	holds "... of all that ended" of-known.json '$last.without_cpu == 0 and $last.began_before == 0'
	holds "... whose parent is that which forked them" parents.json '[$last.rows[].key.parent] | unique == ["lives"]'
	holds "with --arguments, rows have those of programs that were executed, escaped and cut" arguments.json '[$last.rows[] | select(.key.process == "exe") | {(.key.arguments): .count}] | add
		== {("exe exit 7 a\\x20b \\x1b[7m\\\\ " + "x" * (200 - ("exe exit 7 a b " | length) - ("\u001b[7m\\ " | length)) + "..."): 7}'
	holds "... and those of programs executed before the trace are not known" arguments.json '[$last.rows[] | select(.key.process != "exe").key.arguments] | unique == ["-"]'
	holds "without it none are read" of-known.json 'all($last.rows[]; .key | has("arguments") | not)'
	holds "a process of another name is not captured" not-these.json '$last.rows == [] and $last.ledger.recorded == 0'
	sound "of processes" of-known.json
	evidence unreaped.json unreaped.err zombies.truth
	holds "zombies, for which nobody has waited, have the CPU time that their clocks show" unreaped.json '
		all($truth[0].calls[]; . as $t | [$last.rows[] | select(.key.process == $t.comm)] | map([.count, .cputime]) == [[$t.count, $t.clock]]
			or error("\(.): \($t)")) and $last.without_cpu == 1' --slurpfile truth zombies.truth
	holds "... and one that is not reaped as a whole has none, nor 0" unreaped.json '[$last.rows[] | select(.key.process == "l-held")] | length == 1 and (.[0]
		| .count == 1 and .key.status == "5" and (has("cputime") or has("user") | not))'
	evidence continuing.json continuing.err
	holds "in a storm that goes on, those lack it only that end while the report is made" continuing.json \
		'$last.began > 100 and $last.without_cpu <= 0.02 * $last.ledger.recorded'
	for storm in storm crowded; do
		evidence $storm.json $storm.err $storm.truth
		holds "all processes of a storm are counted, or their loss is, $storm" $storm.json \
			'$truth[0].calls[0].count as $n | ($last.rows | map(.count) | add) as $found | ($last.ledger.missed // 0) as $missed
				| if $found <= $n + 1 and $found + $missed >= $n + 1 then true else error("\($found) and \($missed) of \($n) and their parent") end' \
			--slurpfile truth $storm.truth
		holds "... of as many as began" $storm.json '($last.ledger.missed // 0) as $missed | ($last.rows | map(.count) | add) - 1 - $last.began
			| if fabs <= $missed then true else error("\(.) more have ended than began, \($missed) missed") end'
		holds "... and all that began" $storm.json '$truth[0].calls[0].count as $n | $last.began <= $n and $last.began + ($last.ledger.missed // 0) >= $n' \
			--slurpfile truth $storm.truth
	done
}
