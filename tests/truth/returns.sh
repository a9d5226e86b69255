# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# func-latency by kprobe: its kretprobes have names in tracefs, of which none stays behind.

# How many there are now.
names() {
	grep -c ':plumb/return_' /sys/kernel/tracing/kprobe_events >"$1.names" 2>/dev/null
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=func-latency quick=--no-calibrate
	uname -r >kernel
	start target calls 1009 lseek write
	# Two at once, on two functions each, one of them the same.
	attach one --mechanism=kprobe -b func -p "$pid" null_lseek write_null
	attach two --mechanism=kprobe -b func -p "$pid" null_lseek
	attached
	names during
	go target
	detach one two
	names after

	start victim calls 23 lseek
	attach killed --mechanism=kprobe -p "$pid" null_lseek write_null
	attached
	kill -KILL "$(cat killed.pid)"
	finish killed "$(cat killed.pid)" 2>/dev/null
	names killed
	attach next --mechanism=kprobe -v -p "$pid" null_lseek
	attached
	names next
	go victim
	detach next
	names end

	# As many calls inside at once as no kretprobe of a perf event has room for.
	start held midcall 40 23
	attach held --mechanism=kprobe -b func -p "$pid" ksys_read
	attached
	open_gate held go
	await 20 [ -e held.gates/blocked ]
	open_gate held end
	await 20 [ -e held.gates/done ]
	open_gate held leave
	finish held "$pid"
	detach held
}

check() {
	if unable one kprobe; then
		return
	fi
	evidence one.json one.err two.err killed.err next.err
	is "two tools at once have a kretprobe for each function, by names of their own" "$(cat during.names)" 3
	is "... and remove them" "$(cat after.names)" 0
	holds "one counts the calls of both functions" one.json \
		'($last.rows | map([.key.func, .count]) | sort) == [["null_lseek", 1009], ["write_null", 1009]]'
	holds "the other those of one" two.json '($last.rows | map([.key.func, .count])) == [["null_lseek", 1009]]'
	is "what a killed tool leaves behind" "$(cat killed.names)" 2
	is "... the next one removes, and has its own" "$(cat next.names)" 1
	like "... and says so, if asked" "$(cat next.err)" \
		"removed a kretprobe that process $(cat killed.pid) left behind"
	is "no name is left" "$(cat end.names)" 0
	holds "... and the next one counts" next.json '$last.ledger | .recorded == 23 and (.lost // .lost_at_least) == 0'
	evidence held.json held.err held.truth
	# Of what is missed while the tool reads its maps nobody knows whose it was, on 7.x.
	# shellcheck disable=SC2034 # by what judges a report
	crowded=true
	holds "40 threads inside at once: each of 960 calls is recorded, or missed and lost" held.json '$last.ledger
		| .recorded <= 960 and .recorded >= 950 and .recorded + (.lost // .lost_at_least) >= 960 and ((.lost // .lost_at_least) == 0 or .missed > 0)
			and .unmatched == 0'
	sound "of held calls" held.json
}
