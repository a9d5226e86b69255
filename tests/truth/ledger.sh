# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154,SC2034
# Every call has its place: also one that began before the trace, goes on after it, or dies.

run() {
	# 5 threads are inside read when the trace begins, and make 23 more each.
	start begun midcall 5 23
	open_gate begun go
	await 20 [ -e begun.gates/blocked ]
	attach mid-begun -s read -p "$pid"
	attach mid-begun-all -p "$pid" -b syscall
	attached
	open_gate begun end
	await 20 [ -e begun.gates/done ]
	detach mid-begun mid-begun-all
	open_gate begun leave
	finish begun "$pid"

	# 5 threads are inside read when the trace ends.
	start going midcall 5 23
	attach mid-going -s read -p "$pid"
	attached
	open_gate going go
	await 20 [ -e going.gates/blocked ]
	detach mid-going
	open_gate going end
	open_gate going leave
	finish going "$pid"

	# Both: the trace is nothing but the middle of a call.
	start through midcall 5 23
	open_gate through go
	await 20 [ -e through.gates/blocked ]
	attach mid-through -s read -p "$pid"
	attached
	detach mid-through
	open_gate through end
	open_gate through leave
	finish through "$pid"

	# Threads that die.
	traced exits -s exit,exit_group -- dying 23 exit
	traced exit-group -s read,exit_group -b syscall,errno -- dying 7 exit-group
	traced killed -s read,exit_group -b syscall,errno -- dying 7 kill
	start dead dying 7 kill
	open_gate dead go
	await 20 [ -e dead.gates/blocked ]
	attach mid-dead -s read -c dying
	attached
	open_gate dead end
	finish dead "$pid"
	detach mid-dead

	# A whole life, all calls.
	traced life -b syscall -- calls 1009 getppid
}

# ledger CLAIM TOOL {FIELD: VALUE, ...} - these, 0 in all others that could be lost calls
ledger() {
	evidence "$2.json" "$2.err"
	holds "$1" "$2.json" '{unmatched: 0, in_flight: 0, abandoned: 0, no_state: 0, dropped: 0, pooled: 0} + $wanted
		| to_entries | map(select($last.ledger[.key] != .value))
		| if length > 0 then error("differs from: \(.)") else true end' --argjson wanted "$3"
	sound "of $2" "$2.json"
}

# How many of N calls that are already going on a tool can know of: those whose end it sees. A
# function's exit is only seen where its entry was.
known() {
	[ "$(jq -r .mechanism.name "$1.json")" = fentry ] && echo 0 || echo "$2"
}

check() {
	crowded=true
	ledger "5 calls that began before the trace are unmatched, 115 later ones recorded" mid-begun \
		"{\"recorded\": 115, \"unmatched\": $(known mid-begun 5)}"
	crowded=false
	holds "a call whose beginning was not seen is in no row" mid-begun.json \
		'($last.rows | map(.count) | add) == 115'
	evidence mid-begun-all.json mid-begun-all.err
	holds "the same when all calls are traced" mid-begun-all.json \
		'($last.rows | map(select(.key.syscall == "read").count)) == [115] and $last.ledger.unmatched >= 5'
	ledger "5 calls that go on after the trace are in flight" mid-going '{"recorded": 0, "in_flight": 5}'
	ledger "calls that began before and end after the trace are not its business" mid-through '{"recorded": 0}'

	ledger "23 threads that call exit, and a process, are abandoned, not lost" exits \
		'{"recorded": 0, "abandoned": 24}'
	evidence exit-group.json exit-group.err
	ledger "reads that a process's exit ends are recorded; its exit is abandoned" exit-group \
		'{"recorded": 7, "abandoned": 2}'
	holds "a read that a dying process interrupts failed with ERESTARTSYS" exit-group.json \
		'$last.rows | map(select(.key.syscall == "read")) | length == 1 and .[0].count == 7
			and .[0].errors == 7 and .[0].key.errno == "ERESTARTSYS"'
	ledger "reads that SIGKILL ends are recorded" killed '{"recorded": 7, "abandoned": 1}'
	ledger "reads that SIGKILL ends, begun before the trace, are unmatched" mid-dead \
		"{\"recorded\": 0, \"unmatched\": $(known mid-dead 7)}"

	evidence life.json life.err
	holds "of a command's whole life only its exit is abandoned, and nothing else is left over" life.json \
		'$last.ledger | .abandoned == 1 and .unmatched == 0 and .in_flight == 0 and .no_state == 0'
	holds "the calls of a whole life are in its rows" life.json \
		'($last.rows | map(.count) | add) == $last.ledger.recorded
			and ($last.rows | map(select(.key.syscall == "getppid").count)) == [1009]
			and ($last.rows | map(select(.key.syscall == "execve").count)) == [1]'
	sound "of a whole life" life.json
}
