# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# tcp-retransmits, tcp-connect-latency, tcp-accept-latency: connections in network namespaces of their own, against
# the kernel's counters there and the workload's own clock.

# lost NAME MODE ADDRESS - what was sent again, by its namespace, and by its process
lost() {
	start "$1" edges "$2" "$3"
	[ -e "$1.gates/ready" ] || return
	attach "$1-all" -b netns,kind,state,drop
	attach "$1-own" -p "$pid" -b pid,comm,kind
	[ ! "${4-}" ] || attach "$1-none" -p $$
	go "$1"
	# The handshakes of the last connections are over.
	detach "$1-all" "$1-own" ${4:+"$1-none"}
}

connected() {
	start "$1" edges connect "$2"
	[ -e "$1.gates/ready" ] || return
	attach "$1-own" -p "$pid" -b pid,comm,raddr,rport,result
	attached
	open_gate "$1" go
	await 30 [ -e "$1.gates/done" ]
	detach "$1-own"
	open_gate "$1" end
	finish "$1" "$pid"
}

queued() {
	start "$1" edges accept "$2"
	[ -e "$1.gates/ready" ] || return
	attach "$1-own" -p "$pid" -b pid,comm,listener,raddr,laddr
	[ "$1" != accept-4 ] || attach "$1-all" -b listener,netns
	go "$1"
	detach "$1-own"
	[ "$1" != accept-4 ] || detach "$1-all"
}

# hung NAME ADDRESS - a listener that accepts none
hung() {
	start "$1" edges hang "$2"
	[ -e "$1.gates/ready" ] || return
	attach "$1-own" -p "$pid"
	attach "$1-all" -b netns
	attach "$1-other" -p $$
	attached
	open_gate "$1" go
	await 30 [ -e "$1.gates/done" ]
	detach "$1-own" "$1-all" "$1-other"
	open_gate "$1" end
	finish "$1" "$pid"
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	quick=--no-calibrate program=tcp-retransmits
	lost lose-4 lose 127.0.0.1 none
	also lost lose-6 lose ::1
	lost random-4 random 127.0.0.1
	also lost random-6 random ::1
	lost copies copies 127.0.0.1
	program=tcp-connect-latency
	connected connect-4 127.0.0.1
	also connected connect-6 ::1
	start storm-connect edges storm 127.0.0.1
	attach storm-connected -p "$pid" -b pid,result
	go storm-connect
	detach storm-connected
	program=tcp-accept-latency
	queued accept-4 127.0.0.1
	also queued accept-6 ::1
	also queued accept-unix unix
	queued accept-abstract abstract
	hung hang-4 127.0.0.1
	also hung hang-6 ::1
	hung hang-abstract abstract
	start share edges share 127.0.0.1
	attach share-own -p "$pid"
	attach share-both -p "$pid,$(head -n 1 share.out)"
	attached
	open_gate share go
	await 30 [ -e share.gates/done ]
	detach share-own share-both
	open_gate share end
	finish share "$pid"
	start again edges again 127.0.0.1
	attach again-own -p "$pid,$(head -n 1 again.out)"
	attached
	open_gate again go
	await 30 [ -e again.gates/done ]
	detach again-own
	open_gate again end
	finish again "$pid"
	# The modules that show what listens are not in emulated machines.
	[ ! -e /modules ] || : >hidden
	start queue edges queue 127.0.0.1
	attach queue-own -p "$pid"
	attached
	open_gate queue go
	await 30 [ -e queue.gates/done ]
	detach queue-own
	open_gate queue end
	finish queue "$pid"
	start crowd edges crowd abstract
	attach crowded -p "$pid" -b listener
	go crowd
	detach crowded
	start storm-accept edges storm ::1
	attach storm-accepted -p "$pid" -b pid
	go storm-accept
	detach storm-accepted
}

# unable_here WORKLOAD - it says why
unable_here() {
	[ "$(cat "$1.status")" = 77 ] || return 1
	skip "connections of $1" "$(cat "$1.err")"
}

# Those of the workload's namespace.
theirs='($truth[0].calls[-1]) as $t | [$last.rows[] | select(.key.netns == $t.netns)] as $rows
	| def segments(f): [$rows[] | select(f).segments] | add // 0;
	def events(f): [$rows[] | select(f).count] | add // 0;'

check_lost() {
	everything || [[ -e $1.status ]] || return 0
	unable_here "$1" && return
	evidence "$1-all.json" "$1-all.err" "$1.truth"
	holds "$1: as many segments as the kernel counts (RetransSegs)" "$1-all.json" \
		"$theirs"' $t.RetransSegs > 0 and segments(true) == $t.RetransSegs' --slurpfile truth "$1.truth"
	holds "... and of each kind as it counts those" "$1-all.json" "$theirs"'
		events(.key.kind == "syn" or .key.kind == "synack") == $t.TCPSynRetrans
		and segments(.key.kind == "fast") == $t.TCPFastRetrans
		and segments(.key.kind == "after-timeout") == $t.TCPSlowStartRetrans
		and (events(.key.kind == "timeout" or .key.kind == "syn" or .key.kind == "synack") as $n
			| $n >= $t.TCPTimeouts and events(.key.kind == "timeout") <= $t.TCPTimeouts)
		and events(.key.kind == "loss-probe") <= $t.TCPLossProbes' --slurpfile truth "$1.truth"
	holds "... of what was dropped next to nothing was forgotten before it was looked for" "$1-all.json" \
		'$last.drops | .lost <= .seen / 20 and (.missed // 0) == 0 and .seen >= .retransmitted and .retransmitted > 0'
	sound "of $1" "$1-all.json"
	evidence "$1-own.json" "$1-own.err" "$1.truth"
	holds "... -p: of the process that connected or listens" "$1-own.json" '($truth[0].calls[-1]) as $t
		| ($last.rows | map(.segments) | add) == $t.RetransSegs and $last.retrans_segs == $t.RetransSegs
		and all($last.rows[]; .key.pid == $truth[0].pid and .key.comm == "edges")' --slurpfile truth "$1.truth"
}

check_lose() {
	[[ -e $1-all.json ]] || return 0
	evidence "$1-all.json" "$1.truth"
	# The last segment of a connection that is dropped is sent again by a probe, and that by the timer.
	holds "$1: each message that was dropped was sent again, and that for 300 ms twice" "$1-all.json" "$theirs"'
		segments(.key.state == "established") >= 3 * 23 and events(.key.kind == "syn") >= 1 and events(.key.kind == "synack") >= 1' \
		--slurpfile truth "$1.truth"
	holds "... because the filter dropped it: that is the reason" "$1-all.json" "$theirs"'
		[$rows[] | select(.key.state == "established" and .key.drop == "none-seen").count] == []
		and all($rows[]; .key.drop | . == "none-seen" or . == "SOCKET_FILTER" or $old)' \
		--slurpfile truth "$1.truth" --argjson old "$([[ $(jq -r .kernel "$1-all.json") == 5.10* ]] && echo true || echo false)"
	holds "... it cost as much as the messages were late, by the workload's clock" "$1-all.json" "$theirs"'
		[$rows[] | select(.key.state == "established").sum] | add | . <= $t.sum and . >= $t.sum * 0.9' --slurpfile truth "$1.truth"
	holds "... a handshake that was dropped for 300 ms at least as much" "$1-all.json" "$theirs"'
		[$rows[] | select(.key.kind == "syn" and .key.drop != "none-seen")] | length == 1 and .[0].min >= 300000000 and .[0].max < 10000000000' \
		--slurpfile truth "$1.truth"
}

check_copies() {
	[[ -e copies-all.json ]] || return 0
	evidence copies-all.json copies.truth
	holds "copies: what arrived and was sent again was not dropped, though the copies were discarded" copies-all.json "$theirs"'
		events(.key.kind == "syn") >= 2 and events(.key.state == "established") >= 2
		and all($rows[]; .key.drop == "none-seen" or .key.kind == "synack")' --slurpfile truth copies.truth
	holds "... but the SYN-ACKs were" copies-all.json "$theirs"'
		events(.key.kind == "synack" and .key.drop != "none-seen") >= 1' --slurpfile truth copies.truth
}

check_connected() {
	everything || [[ -e $1.status ]] || return 0
	unable_here "$1" && return
	evidence "$1-own.json" "$1-own.err" "$1.truth"
	holds "$1: as many connections as were made, by result" "$1-own.json" \
		'($last.rows | map([.key.result, .count, .errors]) | sort) == ([$truth[0].calls[] | select(.result)
			| [.result, .count, if .result == "established" then 0 else .count end]] | sort)
		and all($last.rows[]; .key.raddr == $address and .key.rport == (if .key.result == "refused" then 7199 else 7101 end)
			and .key.pid == $truth[0].pid and .key.comm == "edges")' --slurpfile truth "$1.truth" --arg address "$2"
	holds "... as long as the workload's own clock says" "$1-own.json" \
		'all($last.rows[]; . as $r | $truth[0].calls[] | select(.result == $r.key.result)
			| $r.sum <= .sum and $r.max <= .max and $r.min <= .min
			and (if .result == "closed" then $r.min >= 100000000 and $r.sum >= .sum * 0.9
				elif .result == "timed-out" then $r.min >= 500000000 and $r.sum >= .sum * 0.9 else true end))' --slurpfile truth "$1.truth"
	holds "... and the one that is still being made is in flight" "$1-own.json" \
		'($last.in_flight | map([.pid, .connection])) == [[$truth[0].pid, "\($address) 7101"]] and $last.ledger.in_flight == 1' \
		--slurpfile truth "$1.truth" --arg address "$2"
	sound "of $1" "$1-own.json"
}

check_queued() {
	everything || [[ -e $1.status ]] || return 0
	unable_here "$1" && return
	evidence "$1-own.json" "$1-own.err" "$1.truth"
	holds "$1: each connection waited as long as the workload's own clock says" "$1-own.json" \
		'[$last.rows[] | select(.key.listener == $listener)] | length == 1 and (.[0] as $r
			| ($truth[0].calls | map({(.result // "kernel"): .}) | add) as $t
			| $r.count == $t.least.count and all("sum", "min", "max"; $t.least[.] <= $r[.] and $r[.] <= $t.most[.])
			and $r.backlog == 64 and $r.longest == 23)' --slurpfile truth "$1.truth" --arg listener "$2"
	holds "... from and to an address, of unix sockets none" "$1-own.json" '($listener | capture("^\\[?(?<a>[0-9.:]+?)\\]?:[0-9]+$").a // null) as $a
		| all($last.rows[].key; .raddr == $a and .laddr == $a)' --arg listener "$2"
	sound "of $1" "$1-own.json"
}

check_overflow() {
	[[ -e $1-own.json ]] || return 0
	holds "$1: overflows as the kernel counts them, and which listener had them" "$1-own.json" \
		'$truth[0].calls[-1] as $t | $t.ListenOverflows > 0 and $last.listen_overflows == $t.ListenOverflows and $last.listen_drops == $t.ListenDrops
		and ([$last.rows[] | select(.key.listener == $listener)] | length == 1 and (.[0]
			| .count == 3 and .backlog == 2 and .longest == 3 and .drops > 0 and .drops <= $t.ListenDrops and .min >= 1200000000 * 0.9))' \
		--slurpfile truth "$1.truth" --arg listener "$2"
}

# The workload reads its counter later: a SYN that is sent again can be dropped in between.
dropped='def all_dropped: $truth[0].calls[-1] as $t | . <= $t.ListenDrops and . >= $t.ListenDrops - $t.TCPSynRetrans;'

# check_hung NAME LISTENER WAIT BEFORE - of WAIT connections, BEFORE began before the trace
check_hung() {
	local file
	everything || [[ -e $1.status ]] || return 0
	unable_here "$1" && return
	for file in own all; do
		evidence "$1-$file.json" "$1-$file.err" "$1.truth"
		holds "$1: each connection in the queue is in flight, with its listener and who holds that ($file)" "$1-$file.json" '
			[$last.in_flight[] | select(.pid == $truth[0].pid)] | length == $wait
			and all(.[]; .listener == $listener and .comm == "edges" and .tid == .pid)
			and ([.[] | select(.age_ns == null and .since_before)] | length) == $before
			and all(.[] | select(.age_ns); .age_ns >= 90000000 and .age_ns < 30000000000)' \
			--slurpfile truth "$1.truth" --arg listener "$2" --argjson wait "$([[ $file = own ]] && echo "$3" || echo $(($3 - $4)))" \
			--argjson before "$([[ $file = own ]] && echo "$4" || echo 0)"
	done
	holds "... and none with -p of another process" "$1-other.json" '$last.in_flight == []'
	holds "... the drops are those of its namespace" "$1-own.json" "$dropped"' $last.listen_drops | all_dropped' \
		--slurpfile truth "$1.truth"
}

# check_drops NAME LISTENER - of a listener that accepts none
check_drops() {
	everything || [[ -e $1.status ]] || return 0
	[[ "$(cat "$1.status")" != 77 ]] || return 0
	evidence "$1-own.json" "$1-own.err" "$1.truth"
	if [[ -e hidden ]]; then
		holds "$1: drops of single listeners are not known here" "$1-own.json" '$last.listeners_with_drops == null'
		return
	fi
	holds "$1: of which listener and process they are, though it accepts none" "$1-own.json" "$dropped"' $truth[0] as $t
		| $last.listeners_with_drops | map([.listener, .pid, .comm, .waiting, .backlog]) == [[$listener, $t.pid, "edges", 3, 2]]
			and .[0].drops > 0 and (.[0].drops | all_dropped)' --slurpfile truth "$1.truth" --arg listener "$2"
	holds "... and none of another process" "$1-other.json" '$last.listeners_with_drops == []'
}

# Two processes listen at one port.
check_share() {
	unable_here share && return
	evidence share-own.json share-own.err share-both.json share.truth
	if [[ -e hidden ]]; then
		holds "share: drops of single listeners are not known here" share-own.json '$last.listeners_with_drops == null'
		return
	fi
	holds "two listeners of one port: each with its drops and its process, together as the kernel counts them" share-both.json "$dropped"' $truth[0] as $t
		| $last.listeners_with_drops | length == 2 and (map(.inode) | unique | length) == 2
		and (map({(.comm): .pid}) | add) == {edges: $t.pid, "edges\\x0aother": $t.calls[-1].other}
		and all(.[]; .listener == "127.0.0.1:7600" and .drops > 0 and .waiting == 3 and .backlog == 2)
		and (map(.drops) | add | all_dropped)' --slurpfile truth share.truth
	holds "... -p: that of this one" share-own.json '$last.listeners_with_drops | map(.comm) == ["edges"]'
}

check_crowded() {
	[[ -e crowd.status ]] || return 0
	unable_here crowd && return
	evidence crowded.json
	holds "in a crowd no more wait than there is room for, and sometimes all" crowded.json \
		'($last.rows | length) == 1 and ($last.rows[0] | .key.listener == $listener and .count == 600 and .backlog == 2 and .longest >= 2 and .longest <= 3)' \
		--arg listener "$1"
}

check() {
	local abstract='@plumb@\x1b["\xff'
	# shellcheck disable=SC2034 # by what judges a report
	crowded=true
	check_lost lose-4
	check_lost lose-6
	check_lose lose-4
	check_lose lose-6
	evidence lose-4-none.json lose-4-none.err
	holds "-p of another process captures nothing" lose-4-none.json '$last.rows == []'
	check_lost random-4
	check_lost random-6
	check_lost copies
	check_copies
	check_connected connect-4 127.0.0.1
	check_connected connect-6 ::1
	check_queued accept-4 127.0.0.1:7101
	check_queued accept-6 '[::1]:7101'
	check_queued accept-unix plumb-edges.sock
	check_queued accept-abstract "$abstract"
	check_hung hang-4 127.0.0.1:7400 3 1
	check_hung hang-6 '[::1]:7400' 3 1
	check_hung hang-abstract "$abstract" 2 0
	check_drops hang-4 127.0.0.1:7400
	check_drops hang-6 '[::1]:7400'
	check_share
	if ! unable_here again; then
		evidence again-own.json again-own.err again.truth
		holds "-p: the connections and drops of a process that got the number of one that ended are not listed" again-own.json \
			'$truth[0].calls[-1].ListenDrops > 0 and $last.in_flight == [] and $last.in_flight_not_listed == 0
				and (.listeners_with_drops // []) == []' --slurpfile truth again.truth
	fi
	if ! unable_here queue; then
		evidence queue-own.json queue-own.err queue.truth
		holds "connections that come while the tool attaches are in the list once" queue-own.json \
			'($last.in_flight | length) + $last.in_flight_not_listed == $truth[0].calls[0].count
				and ([$last.in_flight[].since_before] | unique) == [false, true]' --slurpfile truth queue.truth
	fi
	check_crowded "$abstract"
	check_overflow accept-4 127.0.0.1:7200
	check_overflow accept-6 '[::1]:7200'
	evidence storm-connected.json storm-accepted.json storm-connected.err storm-accepted.err
	# On 7.x the kernel can skip all copies of a program, and counts that.
	every='4000 - ($last.rows | map(.count) | add) | . == 0 or (($last.kernel | startswith("7.")) and . > 0 and . < 40 and $last.ledger.missed >= .)'
	holds "8 busy threads: each of 4000 connections is recorded" storm-connected.json \
		"($every)"' and ($last.rows | map(.key.result)) == ["established"] and $last.ledger.unmatched == 0'
	holds "... and each is accepted" storm-accepted.json "$every"
	sound "of connections by 8 threads" storm-connected.json
	sound "of their queues" storm-accepted.json
}
