# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# The same as endings, of a tool that probes functions: it has probes to take away, and may be unable to trace.

# while the target still runs
ended_by() {
	start "target-$1" calls 1009 lseek
	attach "sig$1" -p "$pid" null_lseek
	go "target-$1"
	kill "-$1" "$tool"
	await 20 is_over "$tool"
	finish "sig$1" "$tool"
}

# What does not end by itself is ended, and noted.
ends_alone() {
	await 20 is_over "$2" || kill -9 "$2"
	finish "$1" "$2"
}

# reader NAME OUTPUT ARG... - a tool whose output is not a file
reader() {
	reader=$1 output=$2
	shift 2
	func-latency --no-calibrate -p "$sleeper" null_lseek "$@" </dev/null >"$output" 2>"$reader.err" &
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
	func-latency --no-calibrate -p "$sleeper" -d 0.2 null_lseek </dev/null >&- 2>closed.err
	echo $? >closed.status
}

# What a dead tool leaves behind: nothing.
killed() {
	attach killed -p "$sleeper" null_lseek write_null
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
	traced status-0 null_lseek -- calls 23 lseek
	traced status-term null_lseek -- sh -c 'kill -TERM $$'
	traced strict-5 --strict null_lseek -- sh -c 'exit 5'
	traced missing null_lseek -- /nonexistent/missing
	# The tool ends first: so does the command.
	attach orphan null_lseek -- sh -c 'echo $$ >orphan.pid2; exec sleep 60'
	attached
	await 20 [ -s orphan.pid2 ]
	started="$started $(cat orphan.pid2)"
	detach orphan
	await 20 is_over "$(cat orphan.pid2)" && echo gone >orphan.gone
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=func-latency quick=--no-calibrate
	uname -r >kernel
	traced status-7 null_lseek -- sh -c ': >command.ran; exit 7'
	if [ "$(cat status-7.status)" = 77 ]; then
		return
	fi
	sleep 60 &
	sleeper=$!
	started="$started $sleeper"
	for signal in TERM INT HUP; do
		ended_by "$signal"
	done
	launch duration -j -d 0.5 -p "$sleeper" null_lseek
	ends_alone duration "$tool"
	launch count -j 0.2 2 -p "$sleeper" null_lseek
	ends_alone count "$tool"
	# Nobody is left whom to trace.
	start target-gone calls 23 lseek
	attach gone -p "$pid" null_lseek
	go target-gone
	ends_alone gone "$tool"
	readers
	killed
	commands
}

status() {
	is "$1" "$(cat "$2.status")" "$3"
}

check() {
	if unable status-7; then
		claim "a command that could not be traced was not started" test ! -e command.ran
		is "... and there is no report" "$(cat status-7.json)" ""
		return
	fi
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
	status "the end of -d is a good end" duration 0
	evidence count.json count.err notes
	holds "INTERVAL COUNT makes COUNT reports, the last of them final" count.json \
		'($all | map([.seq, .final // false])) == [[1, false], [2, true]]'
	status "the end of COUNT is a good end" count 0
	evidence gone.json gone.err notes
	holds "a tool ends with the last process that it traces" gone.json \
		'($all | length) == 1 and $last.final and $last.ledger.recorded == 23'
	status "... well" gone 0

	evidence head.out head.err notes
	is "a reader of one line gets one line" "$(wc -l <head.out)" 1
	holds "... which is JSON" head.out '$last.schema == "plumb/1"'
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

	evidence killed.err killed.programs killed.before killed.after
	like "a tracing tool holds programs" "$(cat killed.before)" "program [0-9]+ is still loaded"
	is "kill -9 leaves none of them" "$(cat killed.alive) $(cat killed.after)" "0 "
	status "kill -9 was it" killed 137

	evidence status-0.json status-0.err
	holds "a command's calls are reported, and its end is passed on" status-0.json '$last.ledger.recorded == 23'
	for pair in 0:0 7:7 term:143; do
		evidence "status-${pair%:*}.json" "status-${pair%:*}.err"
		status "... with its status: ${pair%:*}" "status-${pair%:*}" "${pair#*:}"
		holds "... after the report: ${pair%:*}" "status-${pair%:*}.json" '$last.final'
	done
	claim "... of a command that ran" test -e command.ran
	evidence strict-5.json strict-5.err
	status "--strict passes a command's status on where nothing is lost" strict-5 5
	evidence missing.err missing.json
	status "a command that cannot run is status 1" missing 1
	is "... which one line says" "$(grep -c missing missing.err)/$(wc -l <missing.err)" 1/1
	is "... before anything is traced" "$(cat missing.json)" ""
	evidence orphan.json orphan.err notes
	holds "a tool that is ended before its command reports" orphan.json '$last.final'
	claim "... and ends the command" test -e orphan.gone
	status "... well" orphan 0
}
