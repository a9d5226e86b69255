# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154,SC2034
# --verify: what the kernel itself counts, for each kind of filter. That misses are told: contention, where the kernel
# misses.

run() {
	quick=--no-calibrate
	traced command --verify -s getppid -- calls 10007 getppid
	traced several --verify -s getppid,lseek -b syscall -- calls 503 getppid lseek
	traced tree --verify -s getppid -- sh -c 'calls 1009 getppid >&2 & calls 503 getppid >&2; wait'
	launch text --verify -s getppid -- calls 10007 getppid
	finish text "$tool"
	traced none-named --verify -c calls -- calls 1 getppid
	traced none-argument --verify --min-size=1 -- calls 1 getppid
	traced without -s getppid -- calls 1009 getppid
	program=syscall-count
	traced count --verify -b syscall -- calls 10007 getppid
	traced count-ends --verify -b errno -s getppid -- calls 10007 getppid

	# 8 threads; others begin and end while all are traced.
	start process contend 8 20011 getppid
	attach process-count --verify -s getppid -p "$pid"
	program=syscall-slower
	traced slower 1000s --verify -s getppid -- calls 10007 getppid
	program=syscall-breakdown
	traced breakdown --verify -s getppid -- calls 10007 getppid
	program=runq-latency
	attach turns --verify -p "$pid"
	attach all-turns --verify
	traced turns-of-ending --verify -- dying 23 exit
	program=syscall-latency
	attach process --verify -s getppid -p "$pid"
	attach intervals 0.1 --verify -s getppid -p "$pid"
	attach thread --verify -t "$pid"
	attach all --verify
	go process
	detach process process-count intervals turns thread all all-turns
	start dying dying 23 exit
	attach begin-and-end --verify -p "$pid"
	attached
	open_gate dying go
	finish dying "$pid"
	detach begin-and-end
}

# agree NAME CONDITION - the witness $w and the programs agree, and more
agree() {
	evidence "$1.json" "$1.err"
	holds "$1: the kernel counts what the programs count" "$1.json" \
		'$last.witness as $w | $w.missed == 0 and $w.more == 0 and ($w.seen - $w.least | fabs) < 100 and ('"$2"')'
}

check() {
	agree command '[$w.least, $w.most, $w.seen] == [10007, 10007, 10007]'
	agree slower '[$w.least, $w.most, $w.seen] == [10007, 10007, 10007]'
	agree breakdown '[$w.least, $w.most, $w.seen] == [10007, 10007, 10007]'
	agree several '[$w.least, $w.most, $w.seen] == [1006, 1006, 1006]'
	agree tree '$w.least >= 1512 and $w.least == $w.most and $w.seen == $w.least'
	agree count '$w.least == $w.most and $w.seen == $last.ledger.recorded'
	agree count-ends '[$w.least, $w.most, $w.seen] == [10007, 10007, 10007]'
	for name in process process-count intervals; do
		agree "$name" '$w.most >= 160088 and $w.least <= 160200 and $w.seen >= 160088 and $w.seen <= 160200'
	done
	agree turns '$w.least > 0'
	agree turns-of-ending '$w.seen >= 23 and $w.seen - $w.least <= 12'
	agree all-turns '$w.least > 0'
	agree thread '$w.seen < 1000'
	agree all '$w.seen > 160088'
	agree begin-and-end '$w.least > 23'
	evidence intervals.json
	holds "of several reports the last one has it" intervals.json \
		'($all | length > 1) and ([$all[] | has("witness")] | index(true)) == ($all | length - 1)'
	evidence text.json text.err
	like "the footer has it" "$(cat text.json)" 'witness: 10007 of 10007 calls, as perf events'
	is "... and nothing is wrong" "$(grep -c verify text.err)" 0
	evidence none-named.json
	holds "by name nothing else counts" none-named.json '$last.witness | keys == ["none"] and (.none | contains("name"))'
	evidence none-argument.json
	holds "... nor by arguments" none-argument.json '$last.witness.none | contains("arguments")'
	like "... which is said at the beginning" "$(cat none-named.err)" 'no witness: nothing else counts by name'
	holds "without --verify there is none" without.json '$last | has("witness") | not'
}
