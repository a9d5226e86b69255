# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# What has not ended: threads that are inside a call or asleep for a known time, before the trace too.

# shellcheck disable=SC2034,SC2209 # program: by what starts a tool
is_at() {
	[ -e "$1.gates/$2" ] || is_over "$(cat "$1.pid")"
}

# At WORKLOAD's GATE.
reach() {
	open_gate "$1" "$2"
	await 30 is_at "$1" "$3"
}

# shellcheck disable=SC2034,SC2209 # program: by what starts a tool
run_futex() {
	start futex stuck futex 64
	program=syscall-latency
	attach latency -p "$pid" -s futex
	attach odd -p "$pid" -s futex -c 'stuck-o*'
	attach each -p "$pid" -s futex 0.3
	program=offcpu-time attach offcpu -p "$pid"
	program=syscall-slower attach slower 10ms -s futex -p "$pid" --stacks
	attached
	reach futex go stuck

	program=syscall-latency attach late -p "$pid" -s futex
	program=offcpu-time attach late-offcpu -p "$pid"
	program=syscall-slower attach late-slower 10ms -s futex -p "$pid" --stacks
	program=syscall-latency attach thread -t "$(tid_of "$pid" stuck-even | head -n 1)"
	sleep 60 &
	other=$!
	started="$started $other"
	program=syscall-latency attach other -p "$other"
	launch table -p "$pid" -s futex -b syscall
	await 30 is_tracing table
	attached
	reach futex hold holding
	detach latency odd offcpu slower late late-offcpu late-slower thread other table
	kill "$other"
	reach futex some fewer
	sleep 1
	detach each
	open_gate futex end
	finish futex "$(cat futex.pid)"
	launch command -j -d 1 -b syscall -- sleep 60
	finish command "$tool"
	launch command-each -j 0.3 3 -b syscall -- sleep 60
	finish command-each "$tool"
	sleep 60 &
	stopped=$!
	started="$started $stopped"
	await 10 grep -q "^State:.S" "/proc/$stopped/status"
	kill -STOP "$stopped"
	launch stopped -j -d 0.3 -p "$stopped"
	finish stopped "$tool"
	kill -KILL "$stopped"
}

run_cgroup() {
	top=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
	if [ -z "$top" ]; then
		echo "no cgroup2 file system is mounted" >cgroup.skip
		return
	fi
	cgroups="$top/plumb-truth-$$/in $top/plumb-truth-$$"
	mkdir -p "$top/plumb-truth-$$/in" || return
	sh -c 'echo $$ >"$0/cgroup.procs"; exec sleep 60' "$top/plumb-truth-$$/in" &
	inside=$!
	started="$started $inside"
	echo "$inside" >inside.pid
	await 5 grep -q sleep "/proc/$inside/comm"
	attach cgroup -g "$top/plumb-truth-$$"
	attached
	detach cgroup
	kill "$inside"
}

# A reader in each mechanism's eyes, and senders; all but one at the start.
# shellcheck disable=SC2034,SC2209
run_functions() {
	start reads stuck read 4
	reads=$pid
	start sends stuck send 2
	program=func-latency
	attach_each read vfs_read -p "$reads"
	case $(uname -m) in
	aarch64) entry=__arm64_sys_read ;;
	*) entry=__x64_sys_read ;;
	esac
	attach tail "$entry" -p "$reads"
	program=tcp-sendmsg-lat
	attach send -p "$pid"
	attached
	reach reads go stuck
	reach sends go stuck
	program=func-latency
	attach late-read vfs_read -p "$reads"
	program=tcp-sendmsg-lat
	attach late-send -p "$pid"
	attached
	reach reads hold holding
	reach sends hold holding
	detach_each read
	detach tail
	detach late-read send late-send
	reach reads some fewer
	reach sends some fewer
	open_gate reads end
	open_gate sends end
	finish reads "$(cat reads.pid)"
	finish sends "$(cat sends.pid)"
}

# Readers of pipes, senders and threads that wait for a lock of a file: what their descriptors are.
# shellcheck disable=SC2034,SC2209
run_descriptors() {
	program=syscall-latency
	kinds="read send lock"
	everything || kinds=send
	for kind in $kinds; do
		start "on-$kind" stuck $kind 3
		attach "fd-$kind" -p "$pid" -s read,sendto,flock -b syscall
		attached
		reach "on-$kind" go stuck
		attach "late-fd-$kind" -p "$pid" -s read,sendto,flock -b syscall
		launch "table-fd-$kind" -p "$pid" -s read,sendto,flock -b syscall
		await 30 is_tracing "table-fd-$kind"
		attached
		reach "on-$kind" hold holding
		detach "fd-$kind" "late-fd-$kind" "table-fd-$kind"
		reach "on-$kind" some fewer
		open_gate "on-$kind" end
		finish "on-$kind" "$(cat "on-$kind.pid")"
	done
}

# A thread that spins, and four that get the CPU only when nobody else wants it.
# shellcheck disable=SC2034,SC2209
run_waits() {
	start rare stuck cpu 4
	program=runq-latency
	attach waits -p "$pid" -b tid
	attached
	reach rare go stuck
	sleep 0.3
	attach late-waits -p "$pid" -b tid
	attached
	reach rare hold holding
	detach waits late-waits
	reach rare some fewer
	open_gate rare end
	finish rare "$(cat rare.pid)"
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=syscall-latency quick=--no-calibrate
	uname -r >kernel
	grep '^se.exec_start' /proc/self/sched >scheduler || rm scheduler
	run_futex
	run_cgroup
	run_functions
	run_descriptors
	run_waits
}

# rows CLAIM TOOL WORKLOAD FILTER [WRONG] - each thread's row is there once, and FILTER holds of it: $t is what the thread
# says; of at most WRONG threads this may be false
rows() {
	evidence "$2.json" "$2.err" "$3.truth"
	holds "$1" "$2.json" '$truth[0].calls | length > 0 and (map(. as $t
		| [$last.in_flight[] | select(.tid == $t.tid)] | length == 1 and (.[0] | .comm == $t.comm
			and .pid == $truth[0].pid and ('"$4"'))) | map(select(not)) | length <= ('"${5:-0}"'))' \
		--slurpfile truth "$3.truth"
}

# aged CLAIM TOOL WORKLOAD FILTER [WRONG] - they are as old as the threads say
aged() {
	rows "$1" "$2" "$3" '.since_before == false and (.age_is_least | not)
		and .age_ns >= $t.age[0] and .age_ns <= $t.age[1] and ('"$4"')' "${5:-}"
}

# before CLAIM TOOL WORKLOAD FILTER - they are since before the trace, at most as old as the threads say, and most as
# old as that by the scheduler's clock (from 6.12 on it may take a sleeping thread for one that has just run)
before() {
	local least='$t.age[0] * 0.95 - 50000000'
	[[ -e scheduler ]] || least=0
	rows "$1" "$2" "$3" '.since_before == true and .age_ns > 0 and .age_ns <= $t.age[1] * 1.05 + 50000000 and ('"$4"')'
	holds "... and most as old as they are" "$2.json" '[$truth[0].calls[] | . as $t
		| $last.in_flight[] | select(.tid == $t.tid) | .age_ns > '"$least"']
		| length > 0 and (map(select(.)) | length) * 4 >= length * 3' --slurpfile truth "$3.truth"
}

check_futex() {
	local tool
	aged "64 threads that wait in futex() are there, as old as they are" latency futex '.syscall == "futex"'
	holds "... oldest first, all of them, and no others" latency.json '$last | (.in_flight | length) == 64
		and ([.in_flight[].age_ns] | . == (sort | reverse)) and .in_flight_not_listed == 0 and .in_flight_complete
		and ([.in_flight[].syscall] | unique) == ["futex"]'
	holds "... which is what the ledger has" latency.json '$last.ledger.in_flight == 64'
	aged "syscall-slower has them too" slower futex '.syscall == "futex" and any(.stack[]; .frame | test("futex"))'
	aged "offcpu-time: with their stacks" offcpu futex \
		'any(.stack[]; .kernel and (.frame | test("futex"))) and (.wchan | test("futex"))'
	before "threads that were inside before the trace are there" late futex '.syscall == "futex"'
	holds "... and not in its ledger" late.json '$last.ledger.in_flight == 0 and ($last.in_flight | length) == 64'
	before "... in syscall-slower" late-slower futex 'any(.stack[]; .kernel and (.frame | test("futex")))'
	before "threads that were asleep before the trace are there" late-offcpu futex 'any(.stack[]; .frame | test("futex"))'

	evidence odd.json odd.err thread.json thread.err other.json other.err
	holds "-c: only threads of that name" odd.json '[$last.in_flight[].comm] | length == 32 and unique == ["stuck-odd"]'
	holds "-t: only that thread" thread.json '$last.in_flight | length == 1 and .[0].comm == "stuck-even"
		and .[0].since_before'
	holds "-p: only that process, asleep since before" other.json '$last.in_flight | length == 1
		and (.[0].syscall | test("nanosleep")) and .[0].comm == "sleep" and .[0].since_before'
	evidence command.json command.err
	holds "a command's" command.json '[$last.in_flight[] | select(.comm == "sleep" and (.syscall | test("nanosleep")))]
		| length == 1 and (.[0].since_before | not) and .[0].age_ns > 100000000 and .[0].age_ns < 10000000000'
	evidence command-each.json command-each.err
	holds "... in each report once" command-each.json '[$all[] | [.in_flight[] | select(.comm == "sleep")] | length] == [1, 1, 1]'
	evidence stopped.json stopped.err
	holds "a process that is stopped has left its call" stopped.json '$last.in_flight == []'

	evidence each.json each.err
	holds "in reports of intervals ages grow" each.json '[$all[] | .in_flight[] | select(.comm == "stuck-odd") | {tid, age_ns}]
		| group_by(.tid) | length == 32 and all(.[]; length >= 3 and ([.[].age_ns] | . == (unique)))'
	holds "... and who has ended is gone" each.json '[$all[] | [.in_flight[].comm] | unique] | any(.[]; . == ["stuck-even", "stuck-odd"])
		and .[-1] == ["stuck-odd"]'
	evidence table.json table.err
	like "a table has the oldest, below the rows" "$(cat table.json)" \
		'in flight: 64, the oldest 10:'$'\n'' +AGE +PID +TID +COMM +CALL'$'\n''( *>[0-9.]+[mu]?s[*] +[0-9]+ +[0-9]+ +stuck-(odd|even) +futex'$'\n''){10}'
	is "... in 80 columns" "$(awk 'length > 80' table.json)" ""
}

# inside CLAIM TOOL WORKLOAD - by a mechanism that shows only where threads are asleep
inside() {
	rows "$1" "$2" "$3" '.since_before == null and (.age_ns == null or (.age_is_least
		and .age_ns >= $t.age[0] * 0.95 - 50000000 and .age_ns <= $t.age[1] * 1.05 + 50000000))'
}

check_descriptors() {
	local kind tool
	for kind in read send lock; do
		everything || [[ $kind == send ]] || continue
		for tool in "fd-$kind" "late-fd-$kind"; do
			rows "$tool: the descriptor of each call is what it is" "$tool" "on-$kind" \
				'.descriptor | .fd == $t.fd and .text == $t.what and .argument == 0'
		done
	done
	evidence table-fd-read.json table-fd-send.json table-fd-lock.json
	also claim "... in the table" grep -qE ' read\([0-9]+<pipe:\[[0-9]+\] read end>\)$' table-fd-read.json
	claim "... and an address" grep -qE ' sendto\([0-9]+<tcp 127\.0\.0\.1:[0-9]+>\)$' table-fd-send.json
	also claim "... and a path, or its end" grep -qE ' flock\([0-9]+<[./].*/locked-[0-9]>\)$' table-fd-lock.json
	holds "a call without a descriptor has none" latency.json '$last.in_flight | length > 0 and all(.[]; has("descriptor") and .descriptor == null)'
}

check_functions() {
	local name
	for name in $(mechanisms); do
		forced "read-$name" "$name" || continue
		case $name in
		*session*) inside "threads inside a function, by $name" "read-$name" reads ;;
		# Where its programs can be preempted, that of an entry may have been missed.
		fentry) aged "threads inside a function, by $name" "read-$name" reads '.function == "vfs_read"' '$last.ledger.missed // 0' ;;
		*) aged "threads inside a function, by $name" "read-$name" reads '.function == "vfs_read"' ;;
		esac
		# Where the start is in a cookie the ledger does not know of threads that died inside.
		[[ $name == *session* ]] ||
			holds "... which is what the ledger has" "read-$name.json" '$last.ledger.in_flight == ([$last.in_flight[]
			| select(.since_before | not)] | length)'
	done
	evidence tail.json tail.err
	unable tail || holds "what is in flight and cannot be listed is counted" tail.json '($last.ledger.in_flight
		- ([$last.in_flight[] | select(.since_before != true)] | length)) as $missing
		| $last.ledger.in_flight + ($last.ledger.missed // 0) >= 4
		and ($missing <= 0 or ($last.in_flight_not_listed == $missing and ($last.in_flight_complete | not)))'
	unable late-read || before "threads inside a function since before the trace" late-read reads '.function == "vfs_read"'
	if ! unable late-send; then
		# A session keeps its start in a cookie, or in a frame if it keeps arguments.
		if jq -e -s '.[-1] | (.mechanism.name | test("session")) and any(.in_flight[]; .since_before == null)' send.json \
			>/dev/null; then
			inside "senders whose peer does not read" send sends
		else
			aged "senders whose peer does not read" send sends '.function == "tcp_sendmsg"'
		fi
		before "... since before the trace" late-send sends '.function == "tcp_sendmsg"'
	fi
}

check() {
	check_futex
	evidence cgroup.json cgroup.err
	if [ -e cgroup.skip ]; then
		skip "-g: only threads of that cgroup and those below it" "$(cat cgroup.skip)"
	else
		holds "-g: only threads of that cgroup and those below it" cgroup.json '$last.in_flight | length == 1
			and .[0].pid == $pid and .[0].since_before' --argjson pid "$(cat inside.pid)"
	fi
	check_functions
	check_descriptors
	# One that gets the CPU for less than it takes to read the clock does not know that it did.
	rows "threads that wait for a CPU, at most as long as they know" waits rare '(.cpu | type) == "number"
		and .since_before == false and (.age_is_least | not) and .age_ns <= $t.age[1]'
	holds "... and most of them as long" waits.json '[$truth[0].calls[] | . as $t | $last.in_flight[]
		| select(.tid == $t.tid) | .age_ns >= $t.age[0]] | length > 0 and (map(select(.)) | length) * 2 >= length' \
		--slurpfile truth rare.truth
	rows "... since before the trace, if they have not run in it" late-waits rare \
		'.age_ns <= $t.age[1] and (.age_ns >= $t.age[0] or (.since_before and .age_is_least and .age_ns > 0))'
}
