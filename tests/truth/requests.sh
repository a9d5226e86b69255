# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# request-latency: as many requests as clients made, as long as by the clocks of both ends, with what servers did
# meanwhile in its own part; those that are not separable are counted, and in no row.

# shellcheck source=lib/limits.sh
. "$truth/lib/limits.sh"

be_busy() {
	hogs=
	for _ in 1 2 3 4 5 6 7 8; do
		sh -c 'while :; do :; done' &
		hogs="$hogs $!"
	done
	started="$started $hogs"
}

# answer WORKLOAD TOOL... - let it run while they trace
answer() {
	attached
	open_gate "$1" go
	await 120 [ -e "$1.gates/done" ]
	answered=$1
	[ "$1" != earlier ] || sleep 0.3 # no reply since then
	shift
	detach "$@"
	open_gate "$answered" end
	finish "$answered" "$(cat "$answered.pid")"
}

# Servers whose cgroup has a fifth of a CPU.
serve_without_quota() {
	limited requests cpu.max='20000 100000' || limited requests cpu.cfs_quota_us=20000 || return 0
	start throttled requests 24
	echo "$pid" >"$limited/cgroup.procs"
	attach quota -p "$pid" -b comm
	grep throttled "$limited/cpu.stat" >quota.before
	answer throttled quota
	grep throttled "$limited/cpu.stat" >quota.after
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=request-latency quick=--no-calibrate
	everything && count=100 || count=30
	start known requests $count
	attach served -p "$pid" -b comm
	attach with-calls -p "$pid" -b comm --calls
	attach stages -p "$pid" -b comm,stage
	attach keyed -p "$pid" -b pid,process,comm,server,raddr,lport
	attach slow -p "$pid" -c r-sleep,r-spin,r-down --slower=1ms --perfetto="$PWD/slow.perfetto"
	attach none -p "$pid" --slower=100s
	attach not-these -c no-such-name
	answer known served with-calls stages keyed slow none not-these

	start closing requests 2
	attach mostly -p "$pid" -c r-unix -b comm
	answer closing mostly

	start earlier requests 10 before
	attach before -p "$pid" -b comm
	answer earlier before

	# Beside 8 busy threads.
	be_busy
	start crowd requests 6
	attach crowded -p "$pid" -b comm
	answer crowd crowded
	# shellcheck disable=SC2086 # words
	kill $hogs
	serve_without_quota

	[ ! -e /sys/kernel/tracing/events/sock/sk_data_ready ] || return 0
	"$program" --mechanism=raw_tracepoint -d 1 </dev/null >forced.out 2>forced.err
	echo "$?" >forced.status
}

# Each server's row is .r, and what it says itself .t.
each='def each(f): all($truth[0].calls[] | select(.lost or .unanswered | not); . as $t
		| [$last.rows[] | select(.key.comm == $t.comm)] as $rows
		| if ($rows | length) == 1 then {$t, r: $rows[0]} else error("\($rows | length) rows of \($t.comm)") end
		| if f then true else error("\(.r | del(.hist, .split.bands)): \(.t)") end);'

# What a row spent in PART in a system CALL; whether the system calls of the parts, and the peers, are all of them.
uses='def in_call(part; call): [.split.calls[] | select(.part == part and .syscall == call).ns] | add // 0;
	def adds_up: . as $s | (.peers | map(.ns) | add // 0) == .downstream
		and all("blocked", "lock", "disk", "kernel"; . as $p | ($s.calls | map(select(.part == $p).ns) | add // 0) == ($s[$p] // 0));'

# clocks TOOL WORKLOAD [SERVER] - requests by their counts and by their clocks. SERVER may lack a CPU where it means to sleep.
clocks() {
	evidence "$1.json" "$1.err" "$2.truth"
	holds "each server has as many requests as its clients made, $1" "$1.json" "$each"' each(.r.count == .t.count)' --slurpfile truth "$2.truth"
	holds "... by TCP, unix sockets, sendfile and io_uring, in pieces, pipelined, and by one connection each" "$1.json" \
		'[$last.rows[].key.comm] - ["r-back"] | sort == ["r-burst", "r-busy", "r-calls", "r-disk", "r-down", "r-file", "r-handed", "r-late", "r-lock", "r-once", "r-packet", "r-pieces", "r-piped", "r-ring", "r-sleep", "r-spin", "r-unix"]'
	# A softirq or the socket's lock can hold up what arrives.
	holds "... that took as long as by the clocks of their clients and servers, within 2 %" "$1.json" \
		"$each"' each(.t.comm == "r-back" or (.r.sum >= .t.least.sum * 0.98 - 200000 and .r.sum <= .t.most.sum))' --slurpfile truth "$2.truth"
	holds "... as have their p50 and p99" "$1.json" "$each"' each(.t.comm == "r-back" or (.t as $t | .r as $r | all("50", "99";
		$r.percentiles[.] >= $t.least.percentiles[.] * 0.98 - 20000 and $r.percentiles[.] <= $t.most.percentiles[.] * (1 + 1 / 64))))' --slurpfile truth "$2.truth"
	# fsync can wait for a CPU between its sleeps; CPU time in calls is told from that in user mode by --calls.  Where TCP does not say
	# that it takes bytes, a request is handed if the next one arrives before the program at the end of the send has run.
	holds "... with what servers did on purpose in its own part, at least 95 %" "$1.json" \
		"$each"' each(.t.part == "" or .t.comm == $but or (.t as $t | .r.split
			| if $t.part == "disk" then .disk + .runq + .preempted + .irq + $t.count * 20000 else .[$t.part] // .on_cpu end
				+ if $t.part == "handed" or ($last.mechanism.hooks | index("tcp_sendmsg_locked")) then 0 else .handed end) >= .t.planted * 0.95)' \
		--slurpfile truth "$2.truth" --arg but "${3-}"
	holds "... and by the system call, or the peer, that it was in" "$1.json" "$each$uses"'
		each({"r-sleep": ["blocked", "clock_nanosleep"], "r-lock": ["lock", "futex"], "r-disk": ["disk", "fsync"]}[.t.comm] as $of
			| $of == null or (.r | in_call($of[0]; $of[1]) >= .split[$of[0]] * 0.95)) and all($last.rows[].split; adds_up)' --slurpfile truth "$2.truth"
	holds "... whose parts add up to all" "$1.json" 'all($last.rows[]; .sum == ([.split
		| .queued_busy, .queued_runq, .queued_asleep, .on_cpu, .kernel, .irq, .preempted, .quota, .lock, .disk, .blocked, .downstream, .runq, .handed] | add)
		and .sum == .split.sum and .count == .split.count)'
	holds "requests of two pieces that a loop of events reads, and what splice reads, are not separable" "$1.json" \
		'$last.ledger.unpaired == ([$truth[0].calls[] | select(.lost).count] | add)' --slurpfile truth "$2.truth"
	holds "... those without a reply are abandoned, and none is in flight" "$1.json" \
		'$last.ledger.abandoned == ([$truth[0].calls[] | select(.unanswered).count] | add) and $last.ledger.in_flight == 0 and $last.ledger.unmatched == 0' --slurpfile truth "$2.truth"
	whole "of $1" "$1.json"
	# Before 5.12, and of kprobes before 6.7, the kernel does not count what it misses.
	holds "nothing else is lost, of $1" "$1.json" '$last.ledger.lost_at_least == $last.ledger.unpaired
		and ($last.ledger | .missed == 0 and .lost == .unpaired or .missed == null and .lost == null and ($last.kernel[:2] | IN("5.", "6.")))
		or ($last.kernel[:2] == "7." and $last.ledger.missed > 0)'
}

check_quota() {
	if [ ! -e quota.json ]; then
		skip "a server without quota" "no cgroup has a CPU quota here"
		return
	fi
	evidence quota.json quota.err throttled.truth quota.before quota.after
	# Once there is quota again, a thread can wait for a CPU.
	holds "servers wait for quota when the kernel throttles them, no longer than it says" quota.json \
		'([$last.rows[].split.quota] | add) as $quota | ($throttled == 0 or $quota > 0) and $quota <= $throttled * 1.02 + $times * 25000000' \
		--argjson throttled "$(($(throttled_ns quota.after) - $(throttled_ns quota.before)))" --argjson times "$(awk '$1 == "nr_throttled" { print $2 }' quota.after)"
	holds "... and without a limit never" served.json '([$last.rows[].split.quota] | add) == 0'
}

check() {
	if [ -e forced.status ]; then
		like "where tracepoints of sockets are missing, the tool says which, and takes functions by default" "$(cat forced.status forced.err | tr '\n' ' ')$(jq -rs '.[-1].mechanism.name' served.json)" \
			'^77 .*no tracepoint s[a-z_]+ here: sk_data_ready came in 6\.2, sock_recv_length and sock_send_length in 6\.3.*(fentry|kprobe)$'
	fi
	clocks served known
	evidence with-calls.json with-calls.err
	# A server that spins reads its CPU time by a system call: natively some 8 % of that, beside other work.
	holds "with --calls CPU time in system calls is told from that in user mode, by call" with-calls.json "$each$uses"'
		each(.t.comm != "r-calls" or (.r | in_call("kernel"; "getrandom") + .split.irq) >= .t.planted * 0.95)
		and each(.t.comm != "r-spin" or (.t as $t | .r | .split.on_cpu + .split.irq + in_call("kernel"; "clock_gettime") >= $t.planted * 0.95 and .split.on_cpu >= $t.planted * 0.7)) and all($last.rows[].split; adds_up)' --slurpfile truth known.truth
	holds "... and without it is not looked for" served.json 'all($last.rows[].split; .kernel == null)'
	holds "what servers wait for is the peer that they ask" keyed.json "$uses"' ($last.rows[] | select(.key.comm == "r-back").key.server) as $port
		| [$last.rows[] | select(.key.comm == "r-down").split.peers[].peer] == ["127.0.0.1:\($port)"]' --slurpfile truth known.truth
	evidence stages.json keyed.json slow.json none.json not-these.json mostly.json
	holds "the stages of requests add up to all" stages.json '$last.rows | group_by(.key.comm) | all((map({(.key.stage): .}) | add)
		| .whole.sum == .queued.sum + .service.sum and .whole.count == .queued.count and .whole.count == .service.count
		and .queued.split.on_cpu == 0 and .service.split.queued_asleep == 0)'
	holds "keys are the process, and the port or the name of a unix socket, with the peer" keyed.json 'all($last.rows[].key;
		.pid == $truth[0].pid and .process == "requests" and if .comm == "r-unix" or .comm == "r-packet"
			then .server == "@\(.comm)" and .raddr == null else .server == "\(.lport)" and .raddr == "127.0.0.1" end)' --slurpfile truth known.truth
	holds "with --slower each that took as long is there, with its parts" slow.json '[$all[] | select(.request).request] as $each
		| ($truth[0].calls | map(select(.comm | IN("r-sleep", "r-spin", "r-down")).count) | add) == ($each | length)
		and all($each[]; .whole == .queued + .service and .whole >= 2000000
			and .whole == ([.queued_busy, .queued_runq, .queued_asleep, .on_cpu, .kernel, .irq, .preempted, .quota, .lock, .disk, .blocked, .downstream, .runq, .handed] | add))' --slurpfile truth known.truth
	holds "... and one after the other, by their clock" slow.json '[$all[] | select(.request).request] | all(. as $r | .timeline
		| ([.[].ns] | add) == $r.whole and .[0] == {what: "queued", at: 0, ns: $r.queued}
		and (. as $t | all(range(1; length); . as $i | $t[$i].at == $t[$i - 1].at + $t[$i - 1].ns))
		and ([.[] | select(.what == "blocked in clock_nanosleep").ns] | add // 0) == $r.blocked
		and ([.[] | select(.what | startswith("downstream 127.0.0.1:")).ns] | add // 0) == $r.downstream)'
	holds "... also in a trace for Perfetto" slow.json '([$all[] | select(.request).request | .whole, .timeline[].ns] | add) as $ns
		| $trace[0].traceEvents | map(select(.ph == "e").ts) as $e | map(select(.ph == "b").ts) as $b
		| ($e | add) - ($b | add) | . * 1000 - $ns | fabs < 1000000' --slurpfile trace slow.perfetto
	holds "... and none where none did: they are filtered at their end" none.json \
		'[$all[] | select(.request)] == [] and $last.rows == [] and ($last.ledger | .filtered_at_exit + .unmatched) == ([$truth[0].calls[] | select(.lost or .unanswered | not).count] | add)' --slurpfile truth known.truth
	holds "a thread of another name is not captured" not-these.json '$last.rows == [] and $last.ledger.recorded == 0'
	holds "... and with a filter by name only those of that thread" mostly.json '[$last.rows[].key.comm] == ["r-unix"]'
	evidence before.json before.err earlier.truth
	holds "the first request of a connection from before the trace is unmatched, and the others are recorded" before.json \
		'($last.rows | map({(.key.comm): .count}) | add) == {"r-tcp": 8, "r-unix": 9} and $last.ledger.unmatched == 2 and $last.ledger.lost == 0'
	holds "... but those in flight, with a reply and without, by the name of the thread when it read them" before.json \
		'[$last.in_flight[] | [.comm, .state]] | sort == [["r-tcp", "replied"], ["r-unix", "read"]]'
	holds "... as long as the reply took" before.json \
		'($last.in_flight[] | select(.state == "replied").age_ns | 2000000 <= . and . < 250000000) and ($last.in_flight[] | select(.state == "read").age_ns) >= 300000000'
	holds "... of which the ledger says so" before.json '$last.ledger.in_flight == 2'
	clocks crowded crowd r-late
	check_quota
}
