# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# syscall-latency and syscall-count -b fd: rows by what descriptors were, as /proc, getpeername() and getsockname() said.

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	quick=--no-calibrate mechanisms=${mechanism:-tracepoint raw_tracepoint}
	ip link set lo up 2>/dev/null
	[ -e /sys/kernel/tracing/events/raw_syscalls ] && echo tracepoint >tracepoints
	uname -r >kernel
	mkdir here
	start opened descriptors here
	for program in syscall-latency syscall-count; do
		attach_each "$program" -b syscall,fd -p "$pid"
	done
	program=syscall-latency
	attach few --mechanism=raw_tracepoint -b fd --max-keys=4 -p "$pid"
	go opened
	detach_each syscall-latency syscall-count
	detach few
}

# By flock() another open file of the same path is locked and unlocked.
# What was closed meanwhile was a pipe at the entry; texts that are escaped or cut are another matter.
# A poll's are no argument of it, but in memory.
plain='$truth[0].calls | map(select(.kind != "closed" and .syscall != "ppoll" and (.text | test("^[ -~]{1,200}$") and (contains("\\") | not))))'

check_rows() {
	rows=$1-$2
	forced "$rows" "$2" || return
	evidence "$rows.json" "$rows.err" opened.truth
	holds "$1: each call is in the row of what its descriptor was, $2" "$rows.json" '('"$plain"') as $calls | $calls
		| [.[] | . as $t | select([$all[-1].rows[] | select(.key.syscall == $t.syscall and .key.fd == $t.text) | .count]
			!= [[$calls[] | select(.syscall == $t.syscall and .text == $t.text)] | length
				* if $t.syscall == "flock" then 3 else 1 end])]
		| if . == [] and ($calls | length > 8) then true else error("\(.[0])") end' --slurpfile truth opened.truth
	holds "$1: ... the end of a long path, $2" "$rows.json" '[$truth[0].calls[].text | select(length > 300)] as [$long]
		| any($all[-1].rows[].key; .syscall == "flock" and (.fd | startswith("...")) and (.fd[-100:] == $long[-100:]))' \
		--slurpfile truth opened.truth
	holds "$1: ... and both ends of a pipe, $2" "$rows.json" '[$truth[0].calls[] | select(.kind == "pipe" and .syscall != "ppoll").text | sub("read"; "write")] as $ends
		| $ends != [] and ($ends - [$all[-1].rows[].key | select(.syscall == "write").fd]) == []' --slurpfile truth opened.truth
	holds "$1: no descriptor, no row of one, $2" "$rows.json" \
		'[$all[-1].rows[].key | select(.syscall == "clock_nanosleep" or .syscall == "brk").fd] | length > 0 and all(.[]; . == "-")'
	holds "$1: what is closed was open, $2" "$rows.json" \
		'any($all[-1].rows[].key; .syscall == "close" and .fd == "/dev/null")'
	holds "$1: all calls are in rows, $2" "$rows.json" \
		'$all[-1] | ([.rows[].count] | add) == .ledger.recorded and .ledger.recorded > 50 and all(.rows[].key.fd; startswith("unknown") | not)'
}

check() {
	# shellcheck disable=SC2034 # by what judges a refusal
	must="raw_tracepoint $(cat tracepoints 2>/dev/null)"
	for mech in ${mechanism:-tracepoint raw_tracepoint}; do
		for tool in syscall-latency syscall-count; do
			check_rows $tool "$mech"
		done
		evidence "syscall-latency-$mech.json" opened.truth
		holds "a connection is to what it has connected to, $mech" "syscall-latency-$mech.json" '
			[$truth[0].calls[].text | select(startswith("tcp listening on ")) | "tcp " + .[17:]] as $to
			| $to != [] and ($to - [$all[-1].rows[].key | select(.syscall == "connect").fd]) == []' --slurpfile truth opened.truth
	done
	evidence few.json few.err
	holds "rows are bounded" few.json '$all[-1].rows | length <= 5 and any(.[]; .key.other)'
}
