# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# --keep of each tool of intervals; --start-at and --until.

# shellcheck disable=SC2086 # words
clock_times() {
	# Calibrating takes time before it is attached.
	quick=
	traced aligned --start-at=/2s --until=+3s 0.5 -s getppid -- sh -c 'date +%s.%N >aligned.began; exec sleep 10'
	quick=--no-calibrate
	launch relative -j --start-at=+500ms --until=+1s -s getppid -p "$sleeper"
	finish relative "$tool"
}

# each TOOL ARG... - in short
each() {
	program=$1
	shift
	launch "each-$program" --keep=10s/400ms -d 1.5 -p "$sleeper,$pid" "$@"
	finish "each-$program" "$tool"
}

all_tools() {
	start each-loop loop udp 60 100
	open_gate each-loop go
	each syscall-count
	each syscall-breakdown -s sendto
	each func-latency null_lseek
	each func-count null_lseek t:sched:sched_switch
	each func-stack t:sched:sched_switch
	each tcp-sendmsg-lat
	each skb-alloc
	each user-func-latency libc.so.6:getenv
	each runq-latency
	each offcpu-time
	each cpu-profile
	each event-rate cs
	each page-fault-latency
	each slab-latency
	each file-latency
	each file-io-breakdown
	each block-io-latency
	kill -TERM "$pid"
	finish each-loop "$pid"
	program=syscall-latency
}

# shellcheck disable=SC2034 # by what starts a tool
run() {
	quick=--no-calibrate
	sleep 1000 &
	sleeper=$!
	started="$started $sleeper"
	clock_times
	all_tools
}

check_times() {
	evidence aligned.json aligned.err aligned.began
	holds "--start-at aligns the ends of intervals, of which the first is shorter" aligned.json '
		def seconds: .[17:] | rtrimstr("Z") | tonumber;
		def late: (.end | seconds) * 2 | . - floor;
		($all | length) >= 5 and ($all | map(late) | sort | .[length / 2 | floor]) < 0.5 and $last.final
			and ($all[0] | (.end | seconds) - (.start | seconds) | . > 0 and . < 0.48)'
	holds "... and starts a command then" aligned.json '
		$began % 2 < 1.5 and ($all[0].start[17:] | rtrimstr("Z") | tonumber) % 2 < 1.5' --argjson began "$(cat aligned.began)"
	evidence relative.json relative.err
	holds "--until ends a trace by the time at which it was to start" relative.json '
		def seconds: (.[:19] + "Z" | fromdate) + (.[19:] | rtrimstr("Z") | tonumber);
		($all | length) == 1 and (($last.end | seconds) - ($last.start | seconds) | . > 0 and . < 3)'
	is "... well" "$(cat relative.status)" 0
}

check_tools() {
	for file in each-*.err; do
		name=${file%.err}
		[ "$name" != each-loop ] || continue
		evidence "$name.err" "$name.json"
		if [ "$(cat "$name.status")" = 77 ]; then
			skip "${name#each-} keeps intervals" "it cannot trace here"
			continue
		fi
		is "${name#each-} keeps intervals" "$(cat "$name.status")" 0
		holds "... which are in its dump, whole and in their order: ${name#each-}" "$name.json" '
			([range(1; $all | length) | $all[.].start == $all[. - 1].end and $all[.].seq == $all[. - 1].seq + 1] | all)
			and ($all | length) >= 3 and $last.final and $last.dump.why == "end"
			and $last.dump.intervals == ($all | length) - 1 and $last.dump.forgotten == 0'
	done
}

check() {
	check_times
	check_tools
}
