# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# However a tool ends: its report is out, its status is right, nothing of it is left behind. Each of a tool
# of system calls, in calls/, and of one of functions, in functions/, which has probes to take away.

# ended_by SIGNAL - while the target still runs
ended_by() {
	start "target-$1" calls 1009 "$call"
	# shellcheck disable=SC2086 # words
	attach "sig$1" -p "$pid" $what
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

# shellcheck disable=SC2086 # words
signals_and_times() {
	for signal in TERM INT HUP; do
		ended_by "$signal"
	done
	launch duration -j -d 0.5 -p "$sleeper" $what
	launch count -j 0.2 2 -p "$sleeper" $what
	# As of who takes it for one with --keep.
	launch asked -j -d 2 -p "$sleeper" $what
	# As under nohup.
	trap '' HUP
	launch ignored -j -d 1.5 -p "$sleeper" $what
	trap - HUP
	await 30 is_tracing asked
	kill -USR1 "$(cat asked.pid)"
	await 30 is_tracing ignored
	kill -HUP "$(cat ignored.pid)"
	for name in duration count asked ignored; do
		ends_alone "$name" "$(cat "$name.pid")"
	done
	# Nobody is left whom to trace.
	start target-gone calls 23 "$call"
	attach gone -p "$pid" $what
	go target-gone
	ends_alone gone "$tool"
}

# reader NAME OUTPUT ARG... - what reads the report is not there, or goes away
reader() {
	reader=$1 output=$2
	shift 2
	# shellcheck disable=SC2086 # words
	"$program" --no-calibrate -p "$sleeper" $what "$@" </dev/null >"$output" 2>"$reader.err" &
	tool=$! && started="$started $tool"
	ends_alone "$reader" "$tool"
}

readers() {
	mkfifo head.fifo table.fifo quiet.fifo
	head -n 1 <head.fifo >head.out &
	reader head head.fifo -j 0.2
	# The first line of a table is not even the end of the first report.
	head -n 1 <table.fifo >table.out &
	reader table table.fifo 0.2
	# This one has nothing to write until somebody ends it.
	: <quiet.fifo &
	reader quiet quiet.fifo -j
	reader full-j /dev/full -j -d 0.2
	reader full-H /dev/full -H -d 0.2
	# shellcheck disable=SC2086 # words
	"$program" --no-calibrate -p "$sleeper" -d 0.2 $what </dev/null >&- 2>closed.err
	echo $? >closed.status
}

# What a dead tool leaves behind: nothing.
killed() {
	# shellcheck disable=SC2086 # words
	attach killed -p "$sleeper" $what
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

# shellcheck disable=SC2086 # words
commands() {
	traced status-0 $what -- calls 23 "$call"
	traced status-term $what -- sh -c 'kill -TERM $$'
	traced strict-5 --strict $what -- sh -c 'exit 5'
	traced missing $what -- /nonexistent/missing
	# The tool ends first: so does the command.
	launch slain $what -- sh -c 'echo $$ >slain.pid2; exec sleep 60'
	await 20 [ -s slain.pid2 ]
	started="$started $(cat slain.pid2)"
	kill -9 "$tool"
	finish slain "$tool"
	await 20 is_over "$(cat slain.pid2)" && echo gone >slain.gone
	attach orphan $what -- sh -c 'trap "sleep 0.5; echo yes >orphan.cleaned; exit" TERM; echo $$ >orphan.pid2
		while :; do sleep 0.1; done'
	attached
	await 20 [ -s orphan.pid2 ]
	started="$started $(cat orphan.pid2)"
	detach orphan
	await 20 is_over "$(cat orphan.pid2)" && echo gone >orphan.gone
}

# each_kind KIND CALL WHAT - in a folder of its own, if that kind of tool can trace here
each_kind() {
	call=$2 what=$3
	mkdir "$1"
	cd "$1" || return
	uname -r >kernel
	# shellcheck disable=SC2086 # words
	traced status-7 $what -- sh -c ': >command.ran; exit 7'
	if [ "$(cat status-7.status)" != 77 ]; then
		signals_and_times
		readers
		killed
		commands
	fi
	cd ..
}

# Once it waits for signals, one that comes is taken when the trace has begun.
holds_signals() {
	grep -q '^SigBlk:.*[1-9a-f]' "/proc/$1/status" 2>/dev/null || is_over "$1"
}

# at_once PROGRAM WHAT... - ended while it starts, a number of times
at_once() {
	program=$1
	shift
	waits='1 2 3 4 5 6' moments='00 01 02 04 07 10'
	everything || waits='1 2 3' moments='01 04'
	for run in $waits; do
		launch "$program-$run" -j -p "$pid" "$@"
		await 20 holds_signals "$tool"
		kill -TERM "$tool"
		finish "$program-$run" "$tool"
	done
	for run in $moments; do
		launch "$program-$run" -j -p "$pid" "$@"
		await 20 grep -qx "$program" "/proc/$tool/comm" # the shell's child loses it
		sleep "0.$run"
		kill -TERM "$tool"
		finish "$program-$run" "$tool"
	done
}

starts() {
	start busy-start loop udp 1000 100
	open_gate busy-start go
	at_once func-count -d 30 t:syscalls:sys_enter_sendto
	at_once syscall-latency -d 30 -s sendto
	kill -TERM "$pid"
	finish busy-start "$pid"
}

# What is the same for all kinds.
once() {
	traced intervals 0.4 -s nanosleep,ppoll,read -- latencies
	traced busy 0.05 -s sendto -- loop udp 1 100
	traced status-255 -s getppid -- sh -c 'exit 255'
	traced status-kill -s getppid -- sh -c 'kill -KILL $$'
	traced strict-0 --strict -s getppid -- calls 23 getppid
	: >unreadable
	chmod 644 unreadable
	traced unreadable -s getppid -- ./unreadable
	# The command's output and the tool's do not mix when the command has its own.
	traced stdin -s getppid -- sh -c 'echo hello >stdin.out; read line; echo "$?" >stdin.read'
}

# shellcheck disable=SC2034 # by what starts a tool
run() {
	sleep 1000 &
	sleeper=$!
	started="$started $sleeper"
	quick=--no-calibrate
	each_kind calls getppid '-s getppid'
	program=func-latency
	each_kind functions lseek null_lseek
	program=syscall-latency
	once
	starts
}

status() {
	is "$1" "$(cat "$2.status")" "$3"
}

# passed_on NAME:STATUS...
passed_on() {
	for pair; do
		evidence "status-${pair%:*}.json" "status-${pair%:*}.err"
		status "a command's end is passed on: ${pair%:*}" "status-${pair%:*}" "${pair#*:}"
		holds "... after the report: ${pair%:*}" "status-${pair%:*}.json" '$last.final'
	done
}

# cannot_run NAME
cannot_run() {
	evidence "$1.err" "$1.json"
	status "a command that cannot run is status 1: $1" "$1" 1
	is "... which one line says: $1" "$(grep -c "$1" "$1.err")/$(wc -l <"$1.err")" 1/1
	is "... before anything is traced: $1" "$(cat "$1.json")" ""
}

check_signals_and_times() {
	for signal in TERM INT HUP; do
		evidence "sig$signal.json" "sig$signal.err" notes
		holds "SIG$signal ends a tool with its report" "sig$signal.json" \
			'($all | length) == 1 and $last.final and $last.ledger.recorded == 1009'
		status "SIG$signal is a good end" "sig$signal" 0
		sound "after SIG$signal" "sig$signal.json"
	done
	evidence ignored.json ignored.err notes
	holds "SIGHUP that was ignored when the tool was started does not end it" ignored.json '$last.final and $last.elapsed_ns > 1.4e9'
	evidence duration.json duration.err notes
	holds "-d ends a tool with one report, even of no calls" duration.json \
		'($all | length) == 1 and $last.final and $last.rows == [] and $last.ledger.recorded == 0'
	holds "-d 0.5 is half a second" duration.json \
		'def seconds: (.[:19] + "Z" | fromdate) + (.[19:] | rtrimstr("Z") | tonumber);
		($last.end | seconds) - ($last.start | seconds) | . >= 0.5 and . < 3'
	status "the end of -d is a good end" duration 0
	evidence asked.json asked.err
	status "SIGUSR1 does not end it" asked 0
	holds "... nor its report" asked.json '($all | length) == 1 and $last.final'
	evidence count.json count.err notes
	holds "INTERVAL COUNT makes COUNT reports, the last of them final" count.json \
		'($all | map([.seq, .final // false])) == [[1, false], [2, true]]'
	status "the end of COUNT is a good end" count 0
	evidence gone.json gone.err notes
	holds "a tool ends with the last process that it traces" gone.json \
		'($all | length) == 1 and $last.final and $last.ledger.recorded == 23'
	status "... well" gone 0
}

check_readers() {
	evidence head.out head.err notes
	is "a reader of one line gets one line" "$(wc -l <head.out)" 1
	holds "... which is JSON" head.out '$last.schema == "plumb/2"'
	for name in head table quiet; do
		evidence "$name.err" notes
		status "a reader that goes away ends a tool well: $name" "$name" 0
		is "... and quietly: $name" "$(grep -v 'tracing …' "$name.err")" ""
	done
	for name in full-j full-H closed; do
		evidence "$name.err"
		status "a report that cannot be written is status 1: $name" "$name" 1
		like "... and says what is wrong: $name" "$(cat "$name.err")" "No space left on device|output"
		is "... in one line: $name" "$(grep -c -v 'tracing …' "$name.err")" 1
	done
}

check_kind() {
	cd "$1" || return
	is "nothing was waited for in vain, $1" "$(cat notes 2>/dev/null)" ""
	if [ "$1" = functions ] && unable status-7; then
		claim "a command that could not be traced was not started" test ! -e command.ran
		is "... and there is no report" "$(cat status-7.json)" ""
		cd ..
		return
	fi
	check_signals_and_times
	check_readers
	evidence killed.err killed.programs killed.before killed.after
	like "a tracing tool holds programs" "$(cat killed.before)" "program [0-9]+ is still loaded"
	is "kill -9 leaves none of them" "$(cat killed.alive) $(cat killed.after)" "0 "
	status "kill -9 was it" killed 137
	evidence status-0.json status-0.err
	holds "a command's calls are reported" status-0.json '$last.ledger.recorded == 23'
	passed_on 0:0 7:7 term:143
	claim "... of a command that ran" test -e command.ran
	evidence strict-5.json strict-5.err
	status "--strict passes a command's status on where nothing is lost" strict-5 5
	cannot_run missing
	evidence slain.err notes
	status "kill -9 of a tool that has a command is no good end" slain 137
	claim "... and ends the command too" test -e slain.gone
	evidence orphan.json orphan.err notes
	holds "a tool that is ended before its command reports" orphan.json '$last.final'
	claim "... and ends the command" test -e orphan.gone
	claim "... which may take its time to clean up" test -e orphan.cleaned
	status "... well" orphan 0
	cd ..
}

# However short a report is, its time has all that it counts.
check_starts() {
	for tool in func-count syscall-latency; do
		for run in 1 2 3 4 5 6 00 01 02 04 07 10; do
			everything || [[ -e $tool-$run.status ]] || continue
			evidence "$tool-$run.err" busy-start.err
			# Before that, a signal ends a process as it does any other.
			if [ ! -s "$tool-$run.json" ] && [ "${#run}" = 2 ]; then
				status "a signal ends a tool before the trace, $tool-$run" "$tool-$run" 143
				continue
			fi
			status "a signal ends a tool while it starts, $tool-$run" "$tool-$run" 0
			holds "... with no more calls than there are in its time" "$tool-$run.json" '
				def seconds: (.[:19] + "Z" | fromdate) + (.[19:] | rtrimstr("Z") | tonumber);
				(($last.end | seconds) - ($last.start | seconds)) as $time
				| (1e9 / $truth[0].calls[0].percentiles["50"] * ($time + 0.003)) as $most # they are detached after its end
				| ([$last.rows[].count] | add // 0) as $calls
				| $calls <= 3 * $most + 3 or error("\($calls) calls in \($time) s, \($most) expected")' \
				--slurpfile truth busy-start.truth
		done
	done
}

check() {
	check_starts
	check_kind calls
	check_kind functions

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

	passed_on 255:255 kill:137
	evidence strict-0.json strict-0.err
	status "--strict is satisfied where nothing is lost" strict-0 0
	cannot_run unreadable
	evidence stdin.err stdin.json
	is "a command may use its standard input" "$(cat stdin.read)" 1
}
