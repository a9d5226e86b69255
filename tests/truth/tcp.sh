# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# tcp-sendmsg-lat: known sends of known sizes, to whom, and how long they took.

# The local port of the connection to 127.0.0.3:7103, as the kernel's table has it.
local_port() {
	port=$(awk '$3 == "0300007F:1BBF" && $4 == "01" { split($2, end, ":"); print end[2]; exit }' /proc/net/tcp)
	echo $((0x${port:-1}))
}

# Three sockets of MPTCP, if this kernel has it, and there is a program that makes them.
hold_mptcp() {
	python3 -c 'import socket, time
l = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
l.bind(("127.0.0.1", 0))
l.listen()
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
s.connect(l.getsockname())
a = l.accept()
print("ready", flush=True)
time.sleep(600)' >mptcp.out 2>mptcp.skip &
	holder=$!
	started="$started $holder"
	await 20 mptcp_is_decided
	[ -s mptcp.out ] || return
	traced mptcp -p $$ 0.1 1
	kill $holder
}

mptcp_is_decided() {
	[ -s mptcp.out ] || is_over $holder
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=tcp-sendmsg-lat quick=
	start sending contend 2 5000000 send
	open_gate sending go
	traced cost -p "$pid" 0.1 3
	kill "$pid"
	# shellcheck disable=SC2034 # as before
	quick=--no-calibrate
	hold_mptcp
	mechanisms="$mechanisms raw_tracepoint"
	uname -r >kernel
	# Where these are, and root is allowed to use them, the tool has to work.
	grep ' __traceiter_\(tcp_sendmsg_locked\|sock_send_length\)$' /proc/kallsyms >tracepoints
	# Where it is, sendfile and splice do not pass tcp_sendmsg.
	grep ' tcp_sendpage$' /proc/kallsyms >sendpage
	cat >labels <<-'END'
		# who is where
		127.0.0.2           alpha
		127.0.0.0/8:7103    beta
		[::1]:7101          gamma
		127.0.0.0/8         rest    # but for those above
	END
	readlink /proc/self/ns/net | tr -dc 0-9 >netns

	start target sends 127.0.0.2@7102,23,100 127.0.0.3@7103,1009,4096 ::1@7101,23,70000 \
		::ffff:127.0.0.4@7104,23,100,spread 127.0.0.5@7105,23,100,epipe 127.0.0.6@7106,7,4096,eagain \
		127.0.0.1@7107,23,100,udp 127.0.0.8@7108,46,1009,file
	target=$pid
	start stalled sends 127.0.0.12,11,1000000,stall:20 ::1,23,1000000,stall:5
	attach_each all -b pid,raddr,rport,errno -p "$target,$pid"
	go target
	go stalled
	detach_each all

	# Servers with 20 connections each: IPv4, IPv6, and IPv4 that comes to a socket of IPv6.
	start served-4 accepts 127.0.0.1 127.0.0.1 20 7
	servers=$pid
	start served-6 accepts ::1 ::1 20 7
	servers=$servers,$pid
	start served-mapped accepts :: 127.0.0.1 20 7
	attach_each served -p "$servers,$pid"
	go served-4
	go served-6
	go served-mapped
	detach_each served

	start keyed sends 127.0.0.2@7102,23,100 127.0.0.3@7103,1009,4096 ::1@7101,23,70000 \
		::ffff:127.0.0.4@7104,23,100,spread 127.0.0.5@7105,23,100,epipe
	local_port >lport
	attach by-size -b size -p "$pid"
	attach by-step -b size:1000 -p "$pid"
	attach by-ends -b laddr,lport,raddr,rport,pid,tid,comm,netns -p "$pid"
	attach by-label -b label -p "$pid" --labels=labels
	attach errors -b raddr,errno -p "$pid" --errors
	attach filter-rport -b raddr -p "$pid" --rport=7101,7104-7105
	attach filter-raddr -b raddr -p "$pid" --raddr=127.0.0.2/31,::1
	go keyed
	detach by-size by-step by-ends by-label errors filter-rport filter-raddr

	# The rest of the filters where the mechanisms of two kinds are.
	if [ "$(wc -l <tracepoints)" = 2 ]; then
		start filtered sends 127.0.0.2@7102,23,100 127.0.0.3@7103,1009,4096 ::1@7101,23,70000 \
			::ffff:127.0.0.4@7104,23,100,spread 127.0.0.5@7105,23,100,epipe
		local_port >lport
		filters='mapped laddr-6 lport between together'
		attach filter-mapped -b raddr -p "$pid" --raddr=127.0.0.4
		attach filter-laddr-6 -b raddr -p "$pid" --laddr=::1
		attach filter-lport -b raddr -p "$pid" "--lport=$(cat lport)"
		attach filter-between -b raddr -p "$pid" --min-size=101 --max-size=4096
		attach filter-together -b raddr -p "$pid" --min-size=100 --rport=7102-7105 --raddr=127.0.0.0/8 \
			--laddr=127.0.0.0/8 --max-size=100 -c sends
		# What each of them leaves out is the same for all mechanisms.
		case $(everything && cat kernel) in
		'' | *cloud*) ;;
		*)
			filters="$filters none all laddr lport-none min max comm"
			attach filter-none -b raddr -p "$pid" --raddr=127.0.0.9
			attach filter-all -b raddr -p "$pid" --raddr=::/0
			attach filter-laddr -b raddr -p "$pid" --laddr=127.0.0.1
			attach filter-lport-none -b raddr -p "$pid" --lport=7103
			attach filter-min -b raddr -p "$pid" --min-size=4096
			attach filter-max -b raddr -p "$pid" --max-size=4095
			attach filter-comm -b raddr -c receiver --rport=7101-7105
			;;
		esac
		go filtered
		# shellcheck disable=SC2046,SC2086 # words
		detach $(printf 'filter-%s ' $filters)
	fi

	# shellcheck disable=SC2034
	quick=
	# Later than the kernel's statistics are looked at.
	traced command -b raddr -- sh -c 'sleep 0.2; exec sends 127.0.0.2,23,100 127.0.0.3,1009,4096'
}

# What is to be seen of what was sent, by destination. A mapped address is the one that it maps.
destinations='def plain: sub("^::ffff:"; "");
	[$truth[0].calls | map(select(seen)) | group_by(.remote_address)[] | .[0] as $first | {
		raddr: ($first.remote_address | plain), rport: $first.remote_port,
		laddr: ($first.local_address | plain), lport: $first.local_port, size: $first.size,
		sends: (map(.sends) | add), errors: (map(.errors) | add), asked: (map(.asked) | add),
		sent: (map(.sent) | add), error: ($first.failed | keys[0]), $first}] as $to'

# One row each, or with errors beside.
figures='def figures: [(map(.count) | add), (map(.errors) | add), (map(.asked) | add), (map(.sent) | add)];
	def by_destination: group_by(.key.raddr) | map([.[0].key.raddr] + figures) | sort'

# sends_to CLAIM TOOL JQ WORKLOAD - what JQ selects of all destinations is what the tool counted
sends_to() {
	evidence "$2.json" "$2.err" "$4.truth" notes
	holds "$1" "$2.json" "$figures; $destinations"'
		| ($last.rows | by_destination) == ($to | map(select('"$3"'))
			| map([.raddr, .sends, .errors, .asked, .sent]) | sort)' --slurpfile truth "$4.truth"
	sound "of $2" "$2.json"
}

# The same of the process of WORKLOAD only.
own='def own($pid): map(select(.key.pid == $pid))'

check_mechanism() {
	forced "all-$1" "$1" || return
	evidence "all-$1.json" "all-$1.err" target.truth stalled.truth
	for workload in target stalled; do
		holds "$1: counts sends and bytes by destination exactly, $workload" "all-$1.json" \
			"$own; $figures; $destinations"'
			| ($last.rows | own($truth[0].pid) | by_destination)
				== ($to | map([.raddr, .sends, .errors, .asked, .sent]) | sort)' \
			--slurpfile truth $workload.truth
		holds "$1: and ports and errors, $workload" "all-$1.json" "$own; $destinations"'
			| ($last.rows | own($truth[0].pid)) as $rows
			| ($rows | map(select(.errors > 0) | [.key.raddr, .key.rport, .key.errno, .errors]) | sort)
				== ($to | map(select(.errors > 0) | [.raddr, .rport, .error, .errors]) | sort)
			and ($rows | map([.key.raddr, .key.rport]) | unique) == ($to | map([.raddr, .rport]) | sort)' \
			--slurpfile truth $workload.truth
		holds "$1: no send takes longer than the workload measured around it, $workload" "all-$1.json" \
			"$own; $destinations"'
			| ($last.rows | own($truth[0].pid)) as $rows
			| all($to[]; . as $one | [$rows[] | select(.key.raddr == $one.raddr).max] | max
				<= ([$truth[0].calls[] | select(.remote_port == $one.rport).max] | max))' \
			--slurpfile truth $workload.truth
	done
	holds "$1: sends that wait for their receiver take as long" "all-$1.json" "$own; $destinations"'
		| [$to[] | . as $one | $last.rows | own($truth[0].pid)[] | select(.key.raddr == $one.raddr)
			| .min >= $one.first.least.min * 0.99 and .min <= $one.first.min and .sum <= $one.first.sum
			and all(.percentiles | to_entries[]; .value >= $one.first.least.percentiles[.key] * 0.99
				and .value <= $one.first.percentiles[.key] * 65 / 64)] == [true, true]' \
		--slurpfile truth stalled.truth
	holds "$1: says what sends it does not see" "all-$1.json" "\$last.not_seen == $not_seen"
	sound "of sends, $1" "all-$1.json"
}

# served MECHANISM NAME ADDRESS - by default a server has one row for all its connections, and so has a client
served() {
	evidence "served-$1.json" "served-$1.err" "served-$2.truth"
	[ "$1" != fentry ] || known_on_7 "served-$1.json" "fentry misses calls, where it is forced"
	holds "$1: a server's connections over $2 are one row, by its own port, and a client's are one" "served-$1.json" '
		$truth[0] as $t | $t.calls[0].port as $port
		| def row($comm; $rport; $lport):
			{pid: $t.pid, comm: $comm, raddr: $raddr, rport: $rport, lport: $lport};
		[$last.rows[] | select(.key.pid == $t.pid)]
		| (map(.key) | sort_by(.comm)) == [row("accepts"; null; $port), row("client"; $port; null)]
			and ($last.ledger.missed > 0 or map(.count) == [140, 140])' \
		--slurpfile truth "served-$2.truth" --arg raddr "$3"
	known_to_fail ''
}

check_served() {
	forced "served-$1" "$1" || return
	served "$1" 4 127.0.0.1
	served "$1" 6 ::1
	served "$1" mapped 127.0.0.1
	holds "$1: ... and there are no others" "served-$1.json" '$last.rows | length == 6'
	sound "of connections, $1" "served-$1.json"
}

check_filters() {
	sends_to "--raddr=ADDRESS captures a mapped one too" filter-mapped '.raddr == "127.0.0.4"' filtered
	sends_to "--laddr=::1 captures what is sent from there" filter-laddr-6 '.raddr == "::1"' filtered
	sends_to "--lport captures one connection" filter-lport '.raddr == "127.0.0.3"' filtered
	sends_to "--min-size and --max-size include their values" filter-between '.size == 4096' filtered
	sends_to "filters together capture what passes all" filter-together '.size == 100 and .raddr != "::1"' filtered
	everything && [[ $(cat kernel) != *cloud* ]] || return 0
	sends_to "--raddr of nobody captures nothing" filter-none false filtered
	sends_to "--raddr=::/0 captures all" filter-all true filtered
	sends_to "--laddr=ADDRESS captures a mapped one too" filter-laddr '.raddr != "::1"' filtered
	sends_to "--lport of a remote port captures nothing" filter-lport-none false filtered
	sends_to "--min-size captures the large ones" filter-min '.size >= 4096' filtered
	sends_to "--max-size captures the small ones" filter-max '.size <= 4095' filtered
	sends_to "-c of who receives captures nothing" filter-comm false filtered
}

check() {
	# shellcheck disable=SC2034 # by what judges a report
	crowded=true
	# shellcheck disable=SC2034 # by what judges a refusal
	[ "$(wc -l <tracepoints)" -lt 2 ] || must=raw_tracepoint
	unseen='"udp"' not_seen='[]'
	if [ -s sendpage ]; then
		unseen='"udp", "file"' not_seen='[{kind: "sendfile", count: null}, {kind: "splice", count: null}]'
	fi
	if [ -e mptcp.json ]; then
		evidence mptcp.json mptcp.err
		holds "sockets of MPTCP are said" mptcp.json '[$last.not_seen[] | select(.kind == "MPTCP" and .count >= 2)] | length == 1'
	else
		skip "sockets of MPTCP" "$(cat mptcp.skip)"
	fi
	destinations="def seen: .how | IN($unseen) | not; $destinations"
	for mech in $(mechanisms) raw_tracepoint; do
		check_mechanism "$mech"
		check_served "$mech"
	done
	if unable command; then
		return
	fi
	evidence cost.json cost.err
	holds "by raw_tracepoint the cost is measured, if there were sends to measure it" cost.json '
		$last.mechanism.name != "raw_tracepoint" or $all[0].ledger.recorded < 300 or $last.overhead_ns.traced > 0'
	if [ "$(wc -l <tracepoints)" = 2 ]; then
		check_filters
	fi
	sends_to "--rport takes ports and ranges" filter-rport '.rport | IN(7101, 7104, 7105)' keyed
	sends_to "--raddr takes prefixes and addresses" filter-raddr \
		'.raddr | IN("127.0.0.2", "127.0.0.3", "::1")' keyed
	sends_to "a command's sends are counted" command true command
	holds "sends that begin late tell nothing of the cost" command.json '$last.mechanism.name != "raw_tracepoint"
		or ($last.overhead_ns | .traced > 0 or .how == "fewer than 100 runs in the first 0.1 s")'
	evidence by-size.json by-size.err
	holds "-b size: powers of two from 1 KiB on" by-size.json \
		'($last.rows | map([.key.size, .count]) | sort) == [[0, 69], [4096, 1009], [65536, 23]]'
	evidence by-step.json by-step.err
	holds "-b size:1000: multiples of it" by-step.json \
		'($last.rows | map([.key.size, .count]) | sort) == [[0, 69], [4000, 1009], [70000, 23]]'
	evidence by-ends.json by-ends.err keyed.truth
	holds "-b laddr,lport,raddr,rport,pid,tid,comm,netns" by-ends.json "$destinations"'
		| ($last.rows | map([.key.laddr, .key.lport, .key.raddr, .key.rport, .key.pid, .key.tid, .key.comm,
				(.key.netns | tostring), .count]) | sort)
			== ($to | map([.laddr, .lport, .raddr, .rport, $truth[0].pid, $truth[0].pid, "sends", $netns, .sends])
				| sort)' --slurpfile truth keyed.truth --arg netns "$(cat netns)"
	evidence by-label.json by-label.err labels
	holds "--labels names destinations, the port and the longest prefix first" by-label.json \
		'($last.rows | map([.key.label, .count]) | sort)
			== [["alpha", 23], ["beta", 1009], ["gamma", 23], ["rest", 46]]'
	evidence errors.json errors.err
	holds "--errors captures failed sends only" errors.json \
		'($last.rows | map([.key.raddr, .key.errno, .count, .errors, .asked, .sent]))
			== [["127.0.0.5", "EPIPE", 23, 23, 2300, 0]]'
	for tool in by-size by-step by-ends by-label errors; do
		sound "of $tool" "$tool.json"
	done
}
