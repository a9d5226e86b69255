# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# event-rate: as many events as the kernel accounts to a thread, as perf counts, or as were made.

# What perf counts too, of the same process, if there is a perf that works here.
peer() {
	if ! perf stat -e page-faults true 2>peer.err; then
		echo "perf does not count here: $(head -n 1 peer.err)" >peer.skip
		return
	fi
	perf stat -x, -o peer.csv -e page-faults,cs,migrations,task-clock -p "$1" 2>peer.err &
	peer=$!
	started="$started $peer"
	await 20 peer_counts
}

# shellcheck disable=SC2012 # names of the kernel
peer_counts() {
	[ "$(ls -l "/proc/$peer/fd" 2>/dev/null | grep -c perf_event)" -ge 4 ] || is_over "$peer"
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=event-rate quick=--no-calibrate
	uname -r >kernel
	grep -c '^processor' /proc/cpuinfo >cpus
	all='page-faults minor-faults major-faults cs migrations'

	# shellcheck disable=SC2086 # words
	{
		start work happens 10007 5003 101 10
		attach counter --mechanism=counter -p "$pid" -b tid $all
		attach single --mechanism=perf_event -p "$pid" -b tid $all
		attach by-cpu -p "$pid" -b cpu page-faults context-switches
		attach by-comm -c happens-to -b comm faults faults
		attach modes -p "$pid" -b tid page-faults page-faults:u page-faults:k cs cs:u cs:k
		attach other -c no-such-name $all
	}
	attached
	peer "$pid"
	go work
	detach counter single by-cpu by-comm modes other
	[ -e peer.skip ] || finish peer "$peer"

	start busy happens 0 0 0 500
	attach clocks -p "$pid" -b tid task-clock cpu-clock
	go busy
	detach clocks
	cgroup=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)/plumb-events-$$
	cgroups=$cgroup
	if mkdir "$cgroup" 2>cgroup.err; then
		# shellcheck disable=SC2016 # the inner shell expands it
		start inside sh -c 'echo $$ >"$0/cgroup.procs"; exec happens 0 503 0 0' "$cgroup"
		attach enters --mechanism=counter -p "$pid" -b tid cgroup-switches
		attach enters-single --mechanism=perf_event -p "$pid" -b tid cgroup-switches
		attach in-cgroup -g "$cgroup" -b cgroup cs
		go inside
		detach enters enters-single in-cgroup
	fi

	start spin happens 0 0 0 400
	attach spinning -p "$pid" -b tid task-clock 0.1
	go spin
	detach spinning
	traced command page-faults -b comm -- happens 1009 0 0 0
	traced intervals 0.2 4 task-clock -b cpu

	start names renamer 'name-%d:97'
	attach renames -p "$pid" -b pid page-faults task:task_rename cs
	go names
	detach renames
	traced exits sched:sched_process_exit -b event -- processes 23 clone3
	start target calls 1009 lseek write:100
	attach functions -p "$pid" -b pid probe:null_lseek k:write_null
	attach with-functions -p "$pid" -b pid cs probe:null_lseek
	go target
	detach functions with-functions

	traced calls -b event 'syscalls:sys_enter_*' -- calls 1009 getppid:0
	traced pooled --max-keys=2 -b event,tid page-faults cs -- processes 23 clone3
	traced mixed --max-keys=1 -b event,tid page-faults task-clock -- happens 1009 0 0 50
	traced sorted -b event,cpu --sort=cpus task-clock -- true
	# Never a CPU of the host.
	if grep -q 'QEMU TCG' /proc/cpuinfo && [ -w /sys/devices/system/cpu/cpu1/online ]; then
		start gone happens 1009 0 0 0
		attach hotplug --strict --mechanism=counter -b event page-faults
		attach hotplug-single --strict --mechanism=perf_event -b event page-faults
		attached
		echo 0 >/sys/devices/system/cpu/cpu1/online
		echo 1 >/sys/devices/system/cpu/cpu1/online
		go gone
		detach hotplug hotplug-single
	fi

	traced hardware -d 0.3 cycles instructions -b comm
	program=pmu
	traced counted cycles instructions r1a8 -b comm -- true
	traced divided cycles instructions -b comm -- happens 1013 0 0 100
	program=event-rate
	traced unknown -d 0.1 page-fault
	"$program" --list >list
	"$program" help >help
	launch both -d 0.2 page-faults t:task:task_rename
	finish both "$tool"
}

# What the kernel has accounted to the thread: its last switch comes after it has looked.
accounted() {
	evidence "$2.json" "$2.err" work.truth
	holds "$1" "$2.json" '$truth[0].calls[0] as $t
		| def of($event): [$last.rows[] | select(.key.tid == $t.tid and .key.event == $event) | .count] | add // 0;
		of("page-faults") == $t.faults and of("minor-faults") + of("major-faults") == $t.faults
		and of("cs") > $t.switches and of("cs") <= $t.switches + 4
		and of("migrations") >= $t.moved and of("migrations") <= $t.moved + 1
		and $t.faults >= 10007 and $t.switches > 1000' --slurpfile truth work.truth
	holds "... by $3" "$2.json" '$last.mechanism.name == $name' --arg name "$3"
	sound "of $2" "$2.json"
}

# The peer began later and ended with the process, as the tool did.
agrees() {
	if [ -e peer.skip ]; then
		skip "perf stat counts the same" "$(cat peer.skip)"
		return
	fi
	evidence counter.json peer.csv peer.err
	holds "perf stat counts the same" counter.json '
		($peer | split("\n") | map(split(",") | select(length > 2) | {(.[2]): (.[0] | tonumber)}) | add) as $peer
		| def of($event): [$last.rows[] | select(.key.event == $event) | .count] | add // 0;
		(of("page-faults") - $peer["page-faults"] | . >= 0 and . <= 20)
		and (of("migrations") - $peer.migrations | . >= -3 and . <= 100)
		and (of("cs") / $peer.cs | . > 0.99 and . < 1.2)' --rawfile peer peer.csv
}

# The kernel counts a switch of cgroups after the program has run, still as the thread that leaves.
check_cgroups() {
	if [ ! -e inside.truth ]; then
		skip "switches of cgroups" "$(cat cgroup.err)"
		return
	fi
	evidence in-cgroup.json in-cgroup.err inside.truth
	holds "-g: the switches of a cgroup are those of its threads" in-cgroup.json '($last.rows | length) == 1
		and ($last.rows[0] | (.key.cgroup | test("/plumb-events-[0-9]+$")) and .count > $truth[0].calls[0].switches + 100)' --slurpfile truth inside.truth
	if [ "$(cat enters.status)" = 77 ]; then
		like "switches of cgroups are refused where the kernel has none" "$(cat enters.err)" 'cgroup-switches: ENOENT, not in this kernel'
		return
	fi
	if ! jq -e '.ledger.recorded > 0' enters-single.json >/dev/null; then
		skip "switches of cgroups" "the kernel counts none of the thread"
		return
	fi
	evidence enters.json enters-single.json enters-single.err inside.truth
	# At times the kernel counts up to 70 more than there are switches, of which the program sees each.
	holds "switches of cgroups are those of the thread that leaves, as a program at each sees it" enters.json '
		$truth[0].calls[0] as $t
		| def of($report): [$report.rows[] | select(.key.tid == $t.tid) | .count];
		of($last) as [$n] | of($single[-1]) as [$seen]
		| $n > 100 and $n <= $t.switches + 1 and ($seen - $n | . >= -1 and . <= 150)' \
		--slurpfile single enters-single.json --slurpfile truth inside.truth
}

check_targets() {
	evidence both.json both.err
	claim "of counters beside a tracepoint it is said whose names they have" grep -q '^names: counters are charged to the name' both.json
	evidence renames.json renames.err
	holds "a tracepoint, in perf list's spelling, beside counters" renames.json '
		[$last.rows[] | select(.key.event == "task:task_rename") | .count] == [97]
		and ($last.rows | map(.key.event) | sort | . - ["page-faults"]) == ["cs", "task:task_rename"]' --argjson pid "$(cat names.pid)"
	holds "where nobody compares counters with switches, JSON has null" renames.json '
		($last.counters | map([.event, .surplus]) | sort) == [["cs", null], ["page-faults", null]]'
	sound "of renames" renames.json
	evidence exits.json exits.err exits.truth
	holds "a tracepoint alone: each exit, and the command's own" exits.json \
		'($last.rows | map([.key.event, .count])) == [["sched:sched_process_exit", $truth[0].calls[0].count + 1]]' \
		--slurpfile truth exits.truth
	if ! unable functions fentry kprobe.multi kprobe; then
		evidence functions.json functions.err
		holds "functions, in perf probe's spelling" functions.json '($last.rows | map([.key.event, .count]) | sort)
			== [["k:null_lseek", 1009], ["k:write_null", 1009]]'
		sound "of functions" functions.json
		evidence with-functions.json with-functions.err
		holds "a function beside a counter" with-functions.json '
			[$last.rows[] | select(.key.event == "k:null_lseek") | .count] == [1009]
			and any($last.rows[]; .key.event == "cs" and .count > 0)'
	fi
}

# Where there is no PMU, or none that counts, it is said; where there is one, it counts.
check_reports() {
	evidence calls.json calls.err calls.truth
	holds "a glob of system calls is counted by the calls' numbers" calls.json \
		'[$last.rows[] | select(.key.event == "syscalls:sys_enter_getppid") | .count] == [1009]'
	evidence pooled.json pooled.err
	holds "rows beyond --max-keys are in a row of JSON, too" pooled.json '
		($last.rows | map(select(.key.other)) | length) == 1 and $last.ledger.pooled > 0
		and ([$last.rows[].count] | add) == $last.ledger.recorded'
	holds "... without ns of clocks, which JSON has apart" mixed.json '
		($last.rows | map(select(.key.other).count) | add // 0) < 10000
		and any($last.counters[]; .event == "task-clock" and .pooled >= 20e6)
		and any($last.counters[]; .event == "page-faults" and .pooled == null)
		and ([$last.rows[].count] | add) == $last.ledger.recorded'
	is "--sort takes a column of the tool" "$(cat sorted.status)" 0
	if [[ -e hotplug.json ]]; then
		evidence hotplug.json hotplug.err hotplug-single.err gone.truth
		holds "what a CPU does after it was offline is not counted, and JSON says so" hotplug.json \
			'all($last.rows[]; .count < 1009) and $last.counters[0].unread > 0'
		holds "... also with perf_event" hotplug-single.json '$last.ledger.cpus_changed'
		like "... as does a message, with perf_event" "$(cat hotplug-single.err)" ': CPUs went online or offline'
		is "... and --strict fails" "$(cat hotplug.status hotplug-single.status)" $'3\n3'
	fi
}

check_hardware() {
	local refused
	evidence divided.json divided.err divided.truth
	holds "hardware counters: instructions and cycles are the thread's, and ipc is their quotient" divided.json '
		$truth[0].calls[0] as $t | ($last.rows | map(select(.key.comm == "happens-to")) | map({(.key.event): .}) | add)
		| .instructions.count == $t.faults and .cycles.count > 0.97 * $t.cpu and .cycles.count < 1.25 * $t.cpu
		and .instructions.ipc == .instructions.count / .cycles.count and (.cycles | has("ipc") | not)' \
		--slurpfile truth divided.truth
	holds "... of one kind, counted all the time" divided.json \
		'all($last.counters[]; .kind == "hardware" and .counted_percent == 100 and .unread == 0)'
	evidence hardware.json hardware.err list
	# QEMU's arm64 counts cycles, no instructions, and takes any number as an event.
	if grep -qE '^cpu-cycles .* yes$' list; then
		refused="instructions: ENOENT, this CPU does not count it"
	else
		refused="cycles: ENOENT, no hardware counters here (a virtual machine without a PMU?)"
		is "an event that this CPU does not have is told from a machine that counts none" "$(cat counted.status counted.err)" \
			$'77\nevent-rate: r1a8: ENOENT, this CPU does not count it'
	fi
	case $(cat hardware.status) in
	0) holds "instructions and cycles are counted, and divided" hardware.json \
		'any($last.rows[]; .key.event == "instructions" and .ipc > 0)' ;;
	*) is "hardware events are refused where nothing counts them" "$(cat hardware.status hardware.err)" $'77\nevent-rate: '"$refused" ;;
	esac
}

check() {
	# shellcheck disable=SC2034 # by what judges a report
	crowded=true
	# shellcheck disable=SC2034 # by unable
	case $(cat kernel) in
	*cloud*) must=' counter perf_event' ;;
	esac
	accounted "faults, switches and migrations of a thread are those that the kernel accounts to it" counter counter
	accounted "... also if a program runs at each of them" single perf_event
	agrees
	evidence by-cpu.json by-cpu.err work.truth
	holds "by CPU: the thread's faults were on the CPU that it was on" by-cpu.json '
		def of($event): [$last.rows[] | select(.key.event == $event)];
		(of("page-faults") | (map(.count) | max) >= $truth[0].calls[0].faults and (map(.key.cpu) | unique | length) == length)
		and (of("context-switches") | map(.count) | add) > $truth[0].calls[0].switches' --slurpfile truth work.truth
	evidence by-comm.json by-comm.err work.truth
	holds "-c: only that thread, and an event that is named twice is one" by-comm.json '($last.rows | map([.key.comm, .key.event, .count]))
		== [["happens-to", "faults", $truth[0].calls[0].faults]]' --slurpfile truth work.truth
	evidence modes.json modes.err work.truth
	holds ":u and :k count what happens in user mode and in the kernel" modes.json '$truth[0].calls[0] as $t
		| def of($event): [$last.rows[] | select(.key.tid == $t.tid and .key.event == $event) | .count] | add // 0;
		of("page-faults") == $t.faults and of("page-faults:u") >= 10007 and of("page-faults:u") + of("page-faults:k") == $t.faults
		and of("cs:u") == 0 and (of("cs:k") - of("cs") | . >= -1 and . <= 1)' --slurpfile truth work.truth
	evidence other.json other.err
	holds "-c of another name counts nothing" other.json '$last.rows == [] and $last.ledger.recorded == 0'
	like "events that do not occur are counted on stderr" "$(cat other.err)" ': 5 of 5 events: 0 in [0-9.]+(ms|s)'

	evidence clocks.json clocks.err busy.truth
	holds "the clocks are the thread's time on its CPU" clocks.json '$truth[0].calls[0] as $t
		| [$last.rows[] | select(.key.tid == $t.tid)] | length == 2
		and all(.[]; .count > 0.97 * $t.cpu and .count < 1.25 * $t.cpu and .cpus > 0)' --slurpfile truth busy.truth
	evidence command.json command.err command.truth
	holds "a command and its threads" command.json '[$last.rows[] | select(.key.comm == "happens-to") | .count]
		== [$truth[0].calls[0].faults]' --slurpfile truth command.truth
	evidence intervals.json intervals.err
	holds "each interval has all time of all CPUs, but for the tool's own" intervals.json '
		def at: (.[:19] + "Z" | fromdate) + ("0" + .[19:-1] | tonumber);
		def seconds: (.end | at) - (.start | at);
		($all | length) == 4 and all($all[] | select(seconds > 0.1); seconds as $s
			| (.rows | length) == $cpus and all(.rows[]; .count / 1e9 | . > 0.5 * $s and . < $s * 1.02 + 0.05))
		and ([$all[].rows[].count] | add) / 1e9 / $cpus / ([$all[] | seconds] | add) > 0.8' \
		--argjson cpus "$(cat cpus)"
	sound "of intervals" intervals.json
	evidence spinning.json spinning.err spin.truth
	holds "a thread that does not leave its CPU is charged in each interval" spinning.json '
		[$all[].rows[] | select(.key.tid == $truth[0].calls[0].tid) | .count]
		| (map(select(. > 4e7)) | length >= 2) and max < 3.5e8' --slurpfile truth spin.truth
	check_cgroups
	check_targets
	check_reports
	check_hardware
	is "a name that is no event is status 1, and one is suggested" "$(cat unknown.status unknown.err)" \
		$'1\nevent-rate: no such event: page-fault; did you mean page-faults (-l lists them)'
	like "-l lists what can be counted here" "$(cat list)" 'page-faults OR faults +software +yes'
	is "... as help does" "$(cat help)" "$(cat list)"
}
