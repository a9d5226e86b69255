# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# syscall-count: as many calls and errors as there were.

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=syscall-count quick=--no-calibrate
	everything && counts='23 1009 100003' || counts=100003
	for n in $counts; do
		traced "command-$n" -s getppid -- calls "$n" getppid
	done
	traced threads -s getppid -b tid -- calls -t 4 25013 getppid

	start target calls -t 2 -n plumb-alpha,plumb-beta 1009 getppid close-bad read write nosys:1000
	alpha=$(tid_of "$pid" plumb-alpha)
	echo "$alpha" >alpha.tid
	attach kinds -p "$pid"
	attach by-errno -b syscall,errno -p "$pid"
	also attach by-comm -b comm -s getppid -p "$pid"
	also attach by-tid -b tid -s close -p "$pid"
	attach tid -t "$alpha"
	attach comm -c plumb-beta
	attach syscall -s read,write -p "$pid"
	attach other -c plumb-alph
	go target
	detach kinds by-errno by-comm by-tid tid comm syscall other

	# Requests of io_uring are no system calls: whose process has rings is told so.
	mkdir ring-files
	start ringing files ring-files 2 uring
	attach rings -s read -p "$pid"
	launch rings-table -s read -p "$pid"
	await 30 is_tracing rings-table
	attach no-rings -s read -p $$
	attached
	for file in "/proc/$pid/fd"/*; do
		readlink "$file"
	done | grep -cF '[io_uring]' >rings.fds
	detach rings rings-table no-rings
	launch vdso -s clock_gettime,gettimeofday -p "$pid" -d 0.2
	finish vdso "$tool"
	open_gate ringing go
	open_gate ringing end
	finish ringing "$pid"

	start names renamer 'name-%d:97'
	attach names-16 -s getppid -p "$pid" -b comm --max-keys=16
	go names
	detach names-16

	# Calls that do not just begin and end.
	traced exits -s exit,exit_group -- dying 23 exit
	also traced exits-by-errno -s exit,exit_group -b syscall,errno -- dying 23 exit
	also traced children -s clone3,getppid -- processes 23 clone3
	start under-exec processes 23 exec-thread
	attach exec -s execve -p "$pid"
	go under-exec
	detach exec
	start under-suspend signals 23 suspend
	attach suspend -s rt_sigsuspend,rt_sigreturn -p "$pid"
	go under-suspend
	detach suspend
	start begun midcall 5 23
	open_gate begun go
	await 20 [ -e begun.gates/blocked ]
	attach mid -s read -p "$pid"
	also attach mid-by-errno -s read -b syscall,errno -p "$pid"
	attached
	open_gate begun end
	open_gate begun leave
	finish begun "$pid"
	detach mid mid-by-errno
	start under-refused refused 1009 23
	attach refused -s getppid -p "$pid"
	go under-refused
	detach refused
	start dead dying 7 kill
	open_gate dead go
	await 20 [ -e dead.gates/blocked ]
	attach mid-dead -s read -c dying
	attached
	open_gate dead end
	finish dead "$pid"
	detach mid-dead
	traced intervals 0.2 -s nanosleep,ppoll,read -- latencies 30
}

# tallies CLAIM TOOL [[KEY, COUNT, ERRORS], ...] - these rows and no other
tallies() {
	everything || [[ -e $2.status ]] || return 0
	evidence "$2.json" "$2.err" notes
	holds "$1" "$2.json" '($last.rows | map([.key[], .count, .errors]) | sort) == ($rows | sort)' \
		--argjson rows "$3"
	sound "of $2, counted" "$2.json"
}

check() {
	# shellcheck disable=SC2034 # by what judges a report
	crowded=true
	for n in 23 1009 100003; do
		tallies "tallies $n calls exactly" "command-$n" "[[\"getppid\", $n, 0]]"
	done
	evidence threads.json threads.err threads.truth
	holds "tallies 25013 calls of each of 4 threads exactly" threads.json \
		'($last.rows | map({tid: .key.tid, count}) | sort)
			== ($truth[0].calls | map({tid, count}) | sort)' --slurpfile truth threads.truth
	sound "of 4 threads, counted" threads.json

	evidence kinds.json kinds.err target.truth
	for call in getppid close read write syscall_1000; do
		holds "tallies 2018 calls of $call and their errors when all calls are traced" kinds.json \
			'[$truth[0].calls[] | select(.syscall == $call)] as $true
				| [$last.rows[] | select(.key.syscall == $call)]
				| length == 1 and .[0].count == ($true | map(.count) | add)
				and .[0].errors == ($true | map(.errors) | add)' \
			--arg call "$call" --slurpfile truth target.truth
	done
	sound "of all calls, counted" kinds.json
	evidence by-errno.json by-errno.err
	holds "-b errno tells results apart" by-errno.json \
		'[$last.rows[] | select(.key.syscall == "close" or .key.syscall == "getppid" or .key.syscall == "syscall_1000")
			| [.key.syscall, (if .errors > 0 then .key.errno else null end), .count, .errors]] | sort
			== ([["close", "EBADF", 2018, 2018], ["getppid", null, 2018, 0], ["syscall_1000", "ENOSYS", 2018, 2018]] | sort)'
	evidence rings.json rings.err rings.fds ringing.err
	holds "a process with rings of io_uring has requests that are no system calls, which is said" rings.json \
		'$last.not_seen == (if $rings > 0 then [{kind: "io_uring", count: $rings}] else [] end)' --argjson rings "$(cat rings.fds)"
	evidence rings-table.json rings.fds
	[ "$(cat rings.fds)" = 0 ] || like "... also below the table" "$(cat rings-table.json)" \
		"not seen: requests of io_uring: traced processes have $(cat rings.fds) rings"
	evidence no-rings.json
	holds "... of one without rings, that there are none" no-rings.json '$last.not_seen == []'
	evidence exits.json
	holds "... and of those that have ended, that nobody looked" exits.json '$last.not_seen == null and ($last | has("not_seen"))'
	evidence vdso.json vdso.err
	like "calls that libc takes from the vDSO: a run without any says so" "$(cat vdso.err)" 'read clocks in the vDSO'
	tallies "-b comm" by-comm '[["plumb-alpha", 1009, 0], ["plumb-beta", 1009, 0]]'
	evidence by-tid.json by-tid.err
	also holds "-b tid" by-tid.json \
		'($last.rows | map([.key.tid, .count, .errors]) | sort)
			== ($truth[0].calls | map(select(.syscall == "close") | [.tid, .count, .errors]) | sort)' \
		--slurpfile truth target.truth
	for tool in tid comm; do
		evidence "$tool.json" "$tool.err"
		holds "--$tool captures one thread" "$tool.json" \
			'[$last.rows[] | select(.key.syscall == "getppid" or .key.syscall == "close") | .count] == [1009, 1009]'
	done
	tallies "-s captures what it names" syscall '[["read", 2018, 0], ["write", 2018, 0]]'
	tallies "a filter that does not match captures nothing" other '[]'

	evidence names-16.json names-16.err
	holds "16 of 97 names have a row, the others are in [other], none is lost" names-16.json \
		'($last.rows | map(select(.key.other | not) | .count)) == [range(16) | 1]
			and ($last.rows | map(select(.key.other).count)) == [81] and $last.ledger.pooled == 81'
	sound "of names-16, counted" names-16.json

	tallies "calls that never end are counted" exits '[["exit", 23, 0], ["exit_group", 1, 0]]'
	evidence exits-by-errno.json exits-by-errno.err
	also holds "but for -b errno: they have no result, the ledger has them" exits-by-errno.json \
		'$last.rows == [] and $last.ledger.abandoned == 24'
	tallies "a child's way out of clone3 is no call" children '[["clone3", 23, 0], ["getppid", 23, 0]]'
	tallies "23 execve by other threads than the leader are 23 calls" exec '[["execve", 23, 0]]'
	tallies "an EINTR that rt_sigreturn restores is not its error" suspend \
		'[["rt_sigsuspend", 23, 23], ["rt_sigreturn", 23, 0]]'
	tallies "calls that began before the trace are not counted" mid '[["read", 115, 0]]'
	evidence mid-by-errno.json mid-by-errno.err
	also holds "... but known where the end is looked at" mid-by-errno.json \
		'($last.rows | map(.count)) == [115] and $last.ledger.unmatched == 5'
	tallies "of calls that seccomp refuses, and that never began, only the first is taken for an error" refused \
		'[["getppid", 1009, 1]]'
	tallies "errors of calls that began before the trace are not counted" mid-dead '[]'
	evidence intervals.json intervals.err intervals.truth
	holds "the intervals add up" intervals.json \
		'($all | length) >= 3 and all($truth[0].calls[]; . as $true
			| ([$all[].rows[] | select(.key.syscall == $true.syscall).count] | add) == $true.count)' \
		--slurpfile truth intervals.truth
	sound "of intervals, counted" intervals.json
}
