# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# probe-misses: what it says of programs of our tools is what is known of them, and what they say.

# using PROGRAM [OPTION] - which tool attach starts from now on
using() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=$1 quick=${2-}
}

# over NAME TOOL... - looks at all programs until NAME is detached; notes which are TOOL's
over() {
	attached
	watch=$1
	shift
	for tool; do
		bpf-alive of "$(cat "$tool.pid")" >"$watch-$tool.ids"
	done
	using probe-misses
	attach "$watch" -d 90
	attached
}

# runs_of TOOL - of its probes (programs of type 2), while statistics were on
runs_of() {
	cat "/proc/$(cat "$1.pid")/fdinfo"/* 2>/dev/null |
		awk '/^prog_type:/ { probe = $2 == 2 } /^run_cnt:/ && probe { n += $2 } END { print n + 0 }'
}

run_counts() {
	using func-count --no-calibrate
	start each "$calls" 1009 lseek
	attach counter -d 90 --mechanism=uprobe "u:$calls:make_call"
	over first counter
	over runs counter
	# Statistics stay on for the one that is left.
	detach first
	go each
	launch table -a -d 0.1
	finish table "$tool"
	detach runs # before what it looks at
	detach counter
}

run_statistics() {
	using func-count --no-calibrate
	attach witness -d 90 --mechanism=uprobe "u:$calls:make_call"
	attached
	for signal in INT TERM KILL; do
		runs_of witness >"before-$signal.runs"
		over "by-$signal"
		"$calls" 23 lseek >/dev/null
		runs_of witness >"on-$signal.runs"
		kill "-$signal" "$(cat "by-$signal.pid")"
		finish "by-$signal" "$(cat "by-$signal.pid")"
		"$calls" 31 lseek >/dev/null
		runs_of witness >"off-$signal.runs"
	done
	detach witness
}

# -b cgroup makes the programs of a tool call a function that they, or another tool's, are attached to.
# (With -p a tool would end with the workload, and its links before they are looked at.)
run_triggered() {
	for mech in fentry kprobe; do
		using func-latency --no-calibrate
		start "triggering-$mech" calls 1009 lseek
		attach "self-$mech" "--mechanism=$mech" -b func,cgroup -c calls bpf_get_current_cgroup_id null_lseek
		over "triggered-$mech" "self-$mech"
		go "triggering-$mech"
		detach "triggered-$mech"
		detach "self-$mech"
	done
	start between calls 1009 lseek
	using syscall-latency --no-calibrate
	attach holder --mechanism=tracepoint -s lseek -b syscall,cgroup -c calls
	using func-count --no-calibrate
	attach misser -d 90 --mechanism=kprobe bpf_get_current_cgroup_id
	over shared holder misser
	go between
	detach shared
	detach misser holder
}

# More calls at the same time than a kretprobe can remember returns.
run_forgotten() {
	using func-latency --no-calibrate
	start held midcall 40 23
	attach forgetful --mechanism=kprobe.multi -b func -p "$pid" ksys_read
	over forgotten forgetful
	open_gate held go
	await 20 [ -e held.gates/blocked ]
	open_gate held end
	await 20 [ -e held.gates/done ]
	detach forgotten
	detach forgetful
	open_gate held leave
	finish held "$pid"
}

run() {
	uname -r >kernel
	# shellcheck disable=SC2034 # by launch: one that is forced is not for this tool
	mechanism=
	# Of which nobody else makes any.
	calls=$PWD/calls
	cp "$(command -v calls)" "$calls"
	run_counts
	run_statistics
	run_triggered
	run_forgotten
}

# Does the kernel count misses of SORT: fentry's, or those of kprobes and tracepoints?
counts_misses() {
	case $1/$(cat kernel) in
	*/5.10.* | kprobe/6.[0-6].*) false ;;
	*) true ;;
	esac
}

# of CLAIM WATCH TOOL FILTER - what holds of the list of TOOL's programs
of() {
	evidence "$2.json" "$2.err" "$3.json" "$3.err" notes
	holds "$1" "$2.json" '[$last.programs[] | select(.id | IN($ids[]))] | length > 0 and ('"$4"')' \
		--slurpfile ids "$2-$3.ids" --slurpfile tool "$3.json"
}

# agree SORT WATCH TOOL - all that its programs and links missed, against its own ledger
agree() {
	if [ "$(cat "$3.status")" = 77 ]; then
		forced "$3" "$1"
		return
	fi
	if counts_misses "$1"; then
		of "$3: what its programs and links missed is what its ledger says" "$2" "$3" '
			(map(.since_load | .recursion_misses + .link_missed) | add) == $tool[-1].ledger.missed
			and (map(.since_load) == map({recursion_misses, link_missed}))'
		of "$3: it missed what was triggered" "$2" "$3" "(map(.recursion_misses + .link_missed) | add) >= $4"
	else
		of "$3: what is not counted is null, as in its ledger" "$2" "$3" '
			any(.recursion_misses == null) and $tool[-1].ledger.missed == null
			and all(.recursion_misses == null or .guard == "own")'
	fi
}

check_counts() {
	of "a user function's program has run exactly as often as it was called" runs counter \
		'map(select(.type == "kprobe" and .runs > 0)) | length == 1 and all(.runs == 1009 and .run_time_ns > 0 and .cpu_percent > 0)'
	case $(cat kernel) in
	5.10.* | 6.1.*) ;;
	*) of "it is attached to that program, by a perf event" runs counter 'any(.[].attached[]; .by == "uprobe" and (.target | test("/calls\\+0x[0-9a-f]+$")))' ;;
	esac
	holds "an interval is as long as it is" runs.json '$last.final and $last.elapsed_ns > 0 and $last.statistics.on_before == false'
}

check_statistics() {
	for signal in INT TERM KILL; do
		evidence "before-$signal.runs" "on-$signal.runs" "off-$signal.runs" "by-$signal.json" "by-$signal.err"
		is "$signal: runs are counted while it runs, and no longer" \
			"$(($(cat "on-$signal.runs") - $(cat "before-$signal.runs"))) $(($(cat "off-$signal.runs") - $(cat "on-$signal.runs")))" "23 0"
	done
	is "by INT and TERM it ends well, with a report" "$(cat by-INT.status by-TERM.status | tr '\n' ' ')" "0 0 "
	holds "and that is the last one" by-INT.json '($all | length) == 1 and $last.final'
}

check_shared() {
	if [ "$(cat holder.status)" = 77 ]; then
		forced holder tracepoint
		return
	fi
	agree kprobe shared misser 1009
	of "tracepoint programs and kprobe programs share a guard" shared holder \
		'map(select(.type == "tracepoint")) | length > 0 and all(.guard == "kprobe")'
	[ "$(cat misser.status)" = 77 ] && return
	of "and are its members" shared misser '(map(select(.type == "kprobe").id) - [$last.guards[0].members[].id]) == []'
	counts_misses kprobe || return
	of "it missed each call that was made while they held it" shared misser '(map(.recursion_misses) | add) == 1009'
	of "the one whose program held the guard is named" shared holder 'any(.id == $last.guards[0].likeliest_cause)'
	of "what it kept out is missed by recursion, not by the link" shared misser \
		'any(.recursion_misses >= 1009 and .link_missed == 0)'
}

check() {
	check_counts
	check_statistics
	agree fentry triggered-fentry self-fentry 1009
	agree kprobe triggered-kprobe self-kprobe 1009
	check_shared
	# Up to 6.13 it can wait for the returns of as many calls as twice the CPUs.
	case $(cat kernel) in
	6.12.*)
		agree kprobe.multi forgotten forgetful 18
		of "calls whose returns a link forgets are missed by it" forgotten forgetful \
			'any(.link_missed >= 18 and .attached[0].by == "kretprobe.multi" and .attached[0].target == "ksys_read")' ;;
	*) agree kprobe.multi forgotten forgetful 0 ;;
	esac
	evidence table.json table.err
	is "a table fits a terminal" "$(cat table.status) $(awk 'length > 80' table.json)" "0 "
	like "and has all programs" "$(cat table.json)" 'fired_uprobe: '
	evidence triggered-fentry.json
	case $(cat kernel) in
	5.10.*) ;;
	*) [ "$(cat self-fentry.status)" = 77 ] || of "fentry's programs have the names of their functions" triggered-fentry self-fentry \
		'([.[].attached[] | select(.by == "fentry").target] | sort) == ["bpf_get_current_cgroup_id", "null_lseek"]' ;;
	esac
}
