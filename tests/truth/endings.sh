# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# However a tool ends: its report is out, its status is right, nothing of it is left behind.

# ended_by SIGNAL - while the target still runs
ended_by() {
	start "target-$1" calls 1009 getppid
	attach "sig$1" -s getppid -p "$pid"
	go "target-$1"
	kill "-$1" "$tool"
	await 20 is_over "$tool"
	finish "sig$1" "$tool"
}

# Wait for the end of what must end by itself; what does not is ended, and noted.
ends_alone() {
	await 20 is_over "$2" || kill -9 "$2"
	finish "$1" "$2"
}

signals_and_times() {
	for signal in TERM INT HUP; do
		ended_by "$signal"
	done
	sleep 60 &
	sleeper=$!
	started="$started $sleeper"
	launch duration -j -d 0.5 -s getppid -p "$sleeper"
	ends_alone duration "$tool"
	launch count -j 0.2 2 -s getppid -p "$sleeper"
	ends_alone count "$tool"
	# Nobody is left whom to trace.
	start target-gone calls 23 getppid
	attach gone -s getppid -p "$pid"
	go target-gone
	ends_alone gone "$tool"
	traced intervals 0.4 -s nanosleep,ppoll,read -- latencies
	traced busy 0.05 -s sendto -- loop udp 1 100
}

# What reads the report goes away.
readers() {
	start target-head calls 100003 getppid
	mkfifo head.fifo quiet.fifo table.fifo
	head -n 1 <head.fifo >head.out &
	syscall-latency -j 0.2 -s getppid -p "$pid" </dev/null >head.fifo 2>head.err &
	tool=$! && started="$started $tool"
	open_gate target-head go
	ends_alone head "$tool"
	# The first line of a table is not even the end of the first report.
	head -n 1 <table.fifo >table.out &
	syscall-latency 0.2 -s getppid -p "$sleeper" </dev/null >table.fifo 2>table.err &
	tool=$! && started="$started $tool"
	ends_alone table "$tool"
	# This one has nothing to write until somebody ends it.
	: <quiet.fifo &
	syscall-latency -j -s getppid -p "$sleeper" </dev/null >quiet.fifo 2>quiet.err &
	tool=$! && started="$started $tool"
	ends_alone quiet "$tool"
	finish target-head "$pid"
	for format in -j -H; do
		WORKLOAD_JSON=$PWD/full.truth syscall-latency "$format" -s getppid -- calls 23 getppid \
			</dev/null >/dev/full 2>"full$format.err" &
		finish "full$format" $!
	done
}

# What a dead tool leaves behind: nothing.
killed() {
	attach killed -s getppid -p "$sleeper"
	attached
	bpf-alive of "$tool" >killed.programs
	# shellcheck disable=SC2046 # words
	bpf-alive wait 0 $(cat killed.programs) >killed.before
	kill -9 "$tool"
	finish killed "$tool"
	# shellcheck disable=SC2046
	bpf-alive wait 10000 $(cat killed.programs) >killed.after
	echo $? >killed.alive
}

commands() {
	traced status-0 -s getppid -- sh -c 'exit 0'
	traced status-7 -s getppid -- sh -c 'exit 7'
	traced status-255 -s getppid -- sh -c 'exit 255'
	traced status-term -s getppid -- sh -c 'kill -TERM $$'
	traced status-kill -s getppid -- sh -c 'kill -KILL $$'
	traced strict-0 --strict -s getppid -- calls 23 getppid
	traced strict-5 --strict -s getppid -- sh -c 'exit 5'
	traced missing -s getppid -- /nonexistent/missing
	: >unreadable
	chmod 644 unreadable
	traced unreadable -s getppid -- ./unreadable
	# The tool ends first: so does the command.
	attach orphan -s getppid -- sh -c 'echo $$ >orphan.pid2; exec sleep 60'
	attached
	await 20 [ -s orphan.pid2 ]
	started="$started $(cat orphan.pid2)"
	detach orphan
	await 20 is_over "$(cat orphan.pid2)" && echo gone >orphan.gone
	# The command's output and the tool's do not mix when the command has its own.
	traced stdin -s getppid -- sh -c 'echo hello >stdin.out; read line; echo "$?" >stdin.read'
}

run() {
	signals_and_times
	readers
	killed
	commands
}

status() {
	is "$1" "$(cat "$2.status")" "$3"
}

check() {
	for signal in TERM INT HUP; do
		evidence "sig$signal.json" "sig$signal.err" notes
		holds "SIG$signal ends a tool with its report" "sig$signal.json" \
			'($all | length) == 1 and $last.final and $last.ledger.recorded == 1009'
		status "SIG$signal is a good end" "sig$signal" 0
		sound "after SIG$signal" "sig$signal.json"
	done
	evidence duration.json duration.err notes
	holds "-d ends a tool with one report, even of no calls" duration.json \
		'($all | length) == 1 and $last.final and $last.rows == [] and $last.ledger.recorded == 0'
	holds "-d 0.5 is half a second" duration.json \
		'def seconds: (.[:19] + "Z" | fromdate) + (.[19:] | rtrimstr("Z") | tonumber);
		($last.end | seconds) - ($last.start | seconds) | . >= 0.5 and . < 3'
	status "the end of -d is a good end" duration 0
	evidence count.json count.err notes
	holds "INTERVAL COUNT makes COUNT reports, the last of them final" count.json \
		'($all | map([.seq, .final // false])) == [[1, false], [2, true]]'
	status "the end of COUNT is a good end" count 0

	evidence gone.json gone.err notes
	holds "a tool ends with the last process that it traces" gone.json \
		'($all | length) == 1 and $last.final and $last.ledger.recorded == 23'
	status "... well" gone 0

	evidence intervals.json intervals.err intervals.truth
	holds "reports come at each interval, numbered, only the last one final" intervals.json \
		'($all | length) >= 3 and ($all | map(.seq)) == [range(1; 1 + ($all | length))]
			and ($all[:-1] | all(.final | not)) and $last.final'
	holds "each report begins where the one before ended" intervals.json \
		'[range(1; $all | length) | $all[.].start == $all[. - 1].end] | all'
	for call in nanosleep ppoll read; do
		holds "the intervals add up to all of $call, in count, sum and buckets" intervals.json \
			'($truth[0].calls[] | select(.syscall == $call)) as $true
				| [$all[].rows[] | select(.key.syscall == $call)]
				| (map(.count) | add) == $true.count and (map(.hist[][2]) | add) == $true.count
				and (map(.sum) | add) <= $true.sum and (map(.sum) | add) >= $true.least.sum' \
			--arg call "$call" --slurpfile truth intervals.truth
	done
	sound "of intervals" intervals.json
	evidence busy.err
	holds "a report that is made while calls go on has as many in its buckets as it counts" busy.json \
		'$all | map(.rows[] | [.count, (.hist | map(.[2]) | add)] | select(.[0] != .[1]))
			| if . == [] then true else error("count, in buckets: \(.)") end'
	holds "... and all together are as many as there were" busy.json \
		'([$all[].rows[].count] | add) == $truth[0].calls[0].count
			and ([$all[].rows[].hist[][2]] | add) == $truth[0].calls[0].count' --slurpfile truth busy.truth

	evidence head.out head.err notes
	is "a reader of one line gets one line" "$(wc -l <head.out)" 1
	holds "... which is JSON" head.out '$last.schema == "plumb/1"'
	for name in head table quiet; do
		evidence "$name.err" notes
		status "a reader that goes away ends a tool well: $name" "$name" 0
		is "... and quietly: $name" "$(grep -v 'tracing …' "$name.err")" ""
	done
	for format in -j -H; do
		evidence "full$format.err"
		status "a report that cannot be written is status 1: $format" "full$format" 1
		like "... and says what is wrong: $format" "$(cat "full$format.err")" "No space left on device"
		is "... in one line: $format" "$(grep -c -v 'tracing …' "full$format.err")" 1
	done

	evidence killed.err killed.programs killed.before killed.after
	like "a tracing tool holds programs" "$(cat killed.before)" "program [0-9]+ is still loaded"
	is "kill -9 leaves none of them" "$(cat killed.alive) $(cat killed.after)" "0 "
	status "kill -9 was it" killed 137

	for pair in 0:0 7:7 255:255 term:143 kill:137; do
		evidence "status-${pair%:*}.json" "status-${pair%:*}.err"
		status "a command's end is passed on: ${pair%:*}" "status-${pair%:*}" "${pair#*:}"
		holds "... after the report: ${pair%:*}" "status-${pair%:*}.json" '$last.final'
	done
	evidence strict-0.json strict-0.err
	status "--strict is satisfied where nothing is lost" strict-0 0
	evidence strict-5.json strict-5.err
	status "--strict passes a command's status on where nothing is lost" strict-5 5
	for name in missing unreadable; do
		evidence "$name.err" "$name.json"
		status "a command that cannot run is status 1: $name" "$name" 1
		is "... which one line says: $name" "$(grep -c "$name" "$name.err")/$(wc -l <"$name.err")" 1/1
		is "... before anything is traced: $name" "$(cat "$name.json")" ""
	done
	evidence orphan.json orphan.err notes
	holds "a tool that is ended before its command reports" orphan.json '$last.final'
	claim "... and ends the command" test -e orphan.gone
	status "... well" orphan 0
	evidence stdin.err stdin.json
	is "a command may use its standard input" "$(cat stdin.read)" 1
}
