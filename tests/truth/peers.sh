# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# syscall-slower: the processes at the other ends of descriptors, which the workload forked.

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=syscall-slower quick=--no-calibrate mechanisms=${mechanism:-tracepoint raw_tracepoint}
	ip link set lo up 2>/dev/null
	[ -e /sys/kernel/tracing/events/raw_syscalls ] && echo tracepoint >tracepoints
	mkdir here
	start ends peers here
	attach_each who 50ms -p "$pid"
	launch who-text 50ms -p "$pid"
	await 30 is_tracing who-text
	attached
	open_gate ends go
	await 60 [ -e ends.gates/done ]
	sleep 1 # until all is printed
	detach_each who
	detach who-text
	open_gate ends end
	finish ends "$(cat ends.pid)"
}

has_no_arguments() {
	jq -s -e 'any(.[].call; . and .arguments == null)' "who-$1.json" >/dev/null
}

# The descriptors that were found, with their calls, and what the workload knows.
found='[$all[].call // empty | . as $c | .descriptors[] | . + {call: $c.syscall}] as $found | $truth[0].calls as $calls'
is_it='select(.call == $t.syscall and .fd == $t.fd and (.argument == null) == $t.returned)'

check_mechanism() {
	forced "who-$1" "$1" || return
	evidence "who-$1.json" "who-$1.err" ends.truth
	if has_no_arguments "$1"; then
		skip "what is at the other ends, $1" "no arguments are known here"
		return
	fi
	holds "each other end is of the process that was forked for it, $1" "who-$1.json" "$found"'
		| [$calls[] | . as $t | select(any($found[] | '"$is_it"'; .peer
			and [.peer.pid, .peer.comm] == [$t.peer, $t.peer_comm] and .peer.others >= $t.others) | not)]
		| if . == [] then true else error("\(.[0])") end' --slurpfile truth ends.truth
	holds "... by what it has open, if it has that, $1" "who-$1.json" "$found"'
		| def by($case): [$calls[] | select(.case == $case) as $t | $found[] | '"$is_it"'.peer.known_by];
		by("a unix server") == ["descriptor"] and by("a pipe'\''s writer") == ["descriptor"] and by("a TCP server") == ["descriptor"]
			and by("a connection that is not accepted") == ["credentials"]
			and (by("a writer that has exited") - ["wakeup", "descriptor"]) == []' --slurpfile truth ends.truth
	holds "... and who connected or listened is that of SO_PEERCRED, $1" "who-$1.json" "$found"'
		| [$calls[] | select(.credentials > 0)] | length == 3
			and all(.[]; . as $t | any($found[] | '"$is_it"'; .peer_pid == $t.credentials))' --slurpfile truth ends.truth
	holds "what listens has no other end, $1" "who-$1.json" "$found"'
		| any($found[]; .call == "accept4" and .state == "LISTEN" and has("peer") and .peer == null)' --slurpfile truth ends.truth
}

check() {
	# shellcheck disable=SC2034 # by what judges a refusal
	must="raw_tracepoint $(cat tracepoints 2>/dev/null)"
	for mech in ${mechanism:-tracepoint raw_tracepoint}; do
		check_mechanism "$mech"
	done
	evidence who-text.json
	for line in 'read\([0-9]+<pipe from pipe writer/[0-9]+>' 'write\([0-9]+<pipe to pipe reader/[0-9]+>' \
		'<pipe from one of two/[0-9]+ and 1 more>' '<tcp 127.0.0.1:[0-9]+, tcp server/[0-9]+>' \
		'<unix to peers.sock, unix server/[0-9]+>' 'accept4\(.*\) = [0-9]+<tcp [0-9.:]+, tcp client/[0-9]+>'; do
		claim "the text has $line" grep -qE "$line" who-text.json
	done
}
