# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# Sends whose thread is held behind their last hook, under a quota and beside busy threads: each is as long as its caller
# saw it. By functions, where they have no tracepoints.

# shellcheck source=lib/callers.sh
. "$truth/lib/callers.sh"
# shellcheck source=lib/limits.sh
. "$truth/lib/limits.sh"

# sending NAME - sends under a quota, or beside busy threads
sending() {
	if [ "$1" = quota ]; then
		start sends-quota held 3000 sendto 65536 "$limited/cgroup.procs"
	else
		start busy held 200000 ppoll 8
		busy=$pid
		open_gate busy go
		start sends-contention held 3000 sendto 65536
	fi
	attach "tcp-$1" "--mechanism=$sender" -b comm -p "$pid"
	attach "tcp-$1-min" "--mechanism=$sender" --min=1ms -b comm -p "$pid"
	attach "tcp-$1-intervals" "--mechanism=$sender" -b comm -p "$pid" 0.05
	attach "tcp-$1-off" "--mechanism=$sender" --no-return -b comm -p "$pid"
	go "sends-$1"
	detach "tcp-$1" "tcp-$1-min" "tcp-$1-intervals" "tcp-$1-off"
	[ "$1" = quota ] || kill -9 "$busy" || note "the busy threads had ended"
}

# shellcheck disable=SC2034 # by what starts a tool
run() {
	mechanism='' program=tcp-sendmsg-lat quick=--no-calibrate
	uname -r >kernel
	# Where these are, and root is allowed to use them, the tool has to work.
	grep ' __traceiter_\(tcp_sendmsg_locked\|sock_send_length\)$' /proc/kallsyms >send-tracepoints
	sender=raw_tracepoint
	[ "$(wc -l <send-tracepoints)" = 2 ] || sender=fentry
	mechanisms=$sender
	echo "$sender" >sender
	if limited quota cpu.max='20000 100000' || limited quota cpu.cfs_quota_us=20000; then
		sending quota
	else
		echo "no cgroup has a CPU quota here" >quota.skip
	fi
	sending contention
}

# sent NAME - the sends of held; what is on the CPU after the message is in no time
sent() {
	forced "tcp-$1" "$(cat sender)" || return 0
	case $(cat kernel) in
	7.*) # may miss calls
		skip "sends, $1" "programs of raw tracepoints can be preempted"
		return
		;;
	esac
	evidence "tcp-$1.json" "tcp-$1.err" "sends-$1.truth"
	holds "sends, $1: each one, none longer than its caller's" "tcp-$1.json" '$truth[0].calls[0] as $true | $last.rows[0]
		| .count == $true.count and .asked == $true.count * 65536 and .sent == .asked
		and .max <= $true.max and .sum <= $true.sum' --slurpfile truth "sends-$1.truth"
	holds "sends, $1: the longest waited on its way out as long as its caller" "tcp-$1.json" "$callers"'$truth[0].calls[0] as $true
		| $last.on_the_way_out as $out | $last.rows[0]
		| is_longest(.max; $true) and same_sum(.sum; $true) and $out.not_seen == null and $out.late == 0
		and $out.sum > 0 and .sum >= $out.sum' --slurpfile truth "sends-$1.truth"
	evidence "tcp-$1-min.json" "tcp-$1-min.err"
	holds "sends, $1: those that became long on the way out pass --min" "tcp-$1-min.json" "$callers"'$truth[0].calls[0] as $true
		| $last.ledger.recorded + $last.ledger.filtered_at_exit == $true.count
		and is_longest($last.rows[0].max; $true) and $last.rows[0].min >= 1000000
		and $last.rows[0].count <= ($true.long | length)' --slurpfile truth "sends-$1.truth"
	evidence "tcp-$1-intervals.json" "tcp-$1-intervals.err"
	holds "sends, $1: the intervals have all, once" "tcp-$1-intervals.json" '$truth[0].calls[0].count as $count
		| ([$all[].rows[].count] | add) == $count and ([$all[].rows[].sent] | add) == $count * 65536
		and $last.ledger.recorded == $count' --slurpfile truth "sends-$1.truth"
	evidence "tcp-$1-off.json" "tcp-$1-off.err"
	holds "sends, $1: --no-return is said" "tcp-$1-off.json" '$last.on_the_way_out.not_seen == "--no-return"'
}

check() {
	# shellcheck disable=SC2034 # by what judges a refusal
	must=$(grep raw_tracepoint sender)
	sent contention
	if [ -e quota.skip ]; then
		skip "sends under a CPU quota" "$(cat quota.skip)"
	else
		sent quota
	fi
}
