# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# A tool that wakes up late: its intervals are long and short, and each is judged; and none is printed without a time.

# late NAME ARG... - the tool, of a workload that sleeps 5 ms at a time, and is itself stopped over ends of intervals
late() {
	late=$1
	shift
	start "steady-$late" stays sleep 5 1200 5 1
	launch "$late" -s nanosleep,clock_nanosleep -p "$pid" "$@"
	await 30 is_tracing "$late"
	open_gate "steady-$late" go
	for _ in 1 2 3 4; do
		sleep 0.7
		kill -STOP "$tool"
		sleep 0.7
		kill -CONT "$tool"
	done
	finish "steady-$late" "$(cat "steady-$late.pid")"
	finish "$late" "$tool"
}

# Two tools of one file.
writers() {
	start written stays sleep 5 200 5 1
	for writer in first second; do
		launch "$writer" -s nanosleep,clock_nanosleep -p "$pid" --openmetrics=one.prom
		await 30 is_tracing "$writer"
	done
	await 20 is_over "$(cat second.pid)" || kill "$tool"
	finish second "$tool"
	kill "$(cat first.pid)"
	finish first "$(cat first.pid)"
	# Its end is that of the claim.
	launch third -d 0.1 -s nanosleep,clock_nanosleep -p "$pid" --openmetrics=one.prom
	finish third "$tool"
	for writer in keeps keeps-too; do
		launch "$writer" -s nanosleep,clock_nanosleep -p "$pid" --keep=60s/500ms --out=one.dump
		await 30 is_tracing "$writer"
	done
	await 20 is_over "$(cat keeps-too.pid)" || kill "$tool"
	finish keeps-too "$tool"
	kill "$(cat keeps.pid)"
	finish keeps "$(cat keeps.pid)"
	go written
}

# shellcheck disable=SC2034 # by what starts a tool
run() {
	quick=--no-calibrate
	late kept --keep=60s/500ms --max-dumps=100 --cool-down=1ms --out=kept.dump --trigger='count>=1'
	cat kept.dump.* >kept-dumps.json
	cp kept.dump kept-end.json
	late printed -j 0.1
	writers
	late counted -j 0.2 9
}

check() {
	evidence kept.err kept-dumps.json kept-end.json
	holds "a tool that is stopped over the end of an interval ends it late, and the next one is short" kept-end.json '
		[$all[:-1][].elapsed_ns] | any(.[]; . > 600000000) and any(.[]; . < 495000000)'
	holds "each interval is judged: it fires where the workload called" kept-end.json '
		# Not within the cool-down, which is 1 ms after a dump.
		[$all[:-1][] | select(.rows != [] and .elapsed_ns > 20000000).seq] as $called
		| [$dumps[].dump | select(.why? == "trigger").seq] as $fired
		| ($called | length) >= 6 and $called - $fired == [] or error("\($called - $fired) of \($called)")' --slurpfile dumps kept-dumps.json
	holds "... and none is said not to be" kept-end.json '$last.dump.not_judged == 0'
	evidence first.err second.err third.err
	is "a tool is refused the file that another one writes, and says which" "$(cat second.status) $(cat second.err)" \
		"1 syscall-latency: --openmetrics: one.prom is written by process $(cat first.pid): name another file"
	evidence keeps.err keeps-too.err
	is "... nor the dumps" "$(cat keeps.status keeps-too.status | paste -s -d ' ') $(grep one.dump keeps-too.err)" \
		"0 1 syscall-latency: --out: one.dump is written by process $(cat keeps.pid): name another file"
	is "... until that has ended, which is not disturbed" "$(cat first.status third.status | paste -s -d ' ')" "0 0"
	evidence printed.err printed.json
	holds "after a stop one report has all of its time, and none is empty" printed.json '
		[$all[:-1][].elapsed_ns] as $ns | ($ns | any(. > 500000000))
		and all(range(1; $ns | length); $ns[.] + $ns[. - 1] >= 99000000)'
	holds "... nor is a call lost or counted twice" printed.json '([$all[].rows[].count] | add) == $last.ledger.recorded'
	evidence counted.err counted.json
	holds "COUNT is the number of reports" counted.json '[$all[].seq] == [range(1; 10)] and ([$all[].final] | index(true)) == 8'
}
