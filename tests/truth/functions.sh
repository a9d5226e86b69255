# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# func-latency: each mechanism in turn counts the same calls, and times them right.

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=func-latency quick=--no-calibrate
	uname -r >kernel
	case $(uname -m) in
	aarch64) entry=__arm64_sys_ ;;
	*) entry=__x64_sys_ ;;
	esac
	max=${entry}sched_get_priority_max
	# The one read ends in a jump to the other, beside what is of fentry's kind; see nesting.sh.
	slow="${entry}nanosleep ${entry}read ksys_read"

	# Functions that are called by nobody else in these programs, once for each system call: in one
	# at once, in the other for known times.
	start target calls -t 1 -n plumb-alpha 1009 priority priority:4 write:100@40 write:5000@41 lseek close-bad
	target=$pid
	start known latencies 30
	# shellcheck disable=SC2086 # words
	{
		attach_each all -b func,errno -p "$target,$pid" "$max" write_null null_lseek $slow
		attach_each sizes -b 'arg:count>>10' -p "$target" write_null
		attach long -b func -p "$pid" --min=1ms $slow
	}
	go target
	# They end with it: whoever is preempted in bpf(), as when it reads maps, makes kprobes be missed.
	detach_each sizes
	go known
	detach_each all
	detach long
	cat target.truth known.truth >both.truth

	# A module that is unloaded, and loaded again.
	if insmod /modules/configfs.ko 2>/dev/null; then
		program=func-count
		attach module --mechanism=kprobe configfs:configfs_register_subsystem
		attached
		rmmod configfs
		insmod /modules/configfs.ko
		detach module
		program=func-latency
	fi

	# A function that takes and returns a pointer, with which the verifier lets nobody calculate.
	start buffers sends 127.0.0.1,1009,100,udp
	attach_each pointer -b errno,arg:sk -p "$pid" sock_alloc_send_pskb
	go buffers
	detach_each pointer

	# What is the same for all mechanisms. The threads make their calls in turn: one that is preempted
	# inside of a program makes others miss calls, on 7.x.
	start options calls -s -t 2 -n plumb-alpha,plumb-beta 1009 priority priority:4 write:100@40 write:5000@41 \
		lseek close-bad
	awk -F: '$1 == 0 { print $3 }' "/proc/$pid/cgroup" >cgroup
	attach who -b pid,tid,comm,cgroup,cpu -p "$pid" null_lseek
	attach ret -b func,ret -p "$pid" null_lseek write_null
	attach number -b arg:2 -p "$pid" write_null
	attach tid -b comm -t "$(tid_of "$pid" plumb-alpha)" null_lseek
	attach comm -b comm -c plumb-bet null_lseek
	# What several functions are called nothing of fentry's kind takes.
	attach errors -b func,errno --errors -p "$pid" "$max" "${entry}close" null_lseek 'm_star[t]'
	attach silent -p "$pid,$$" vfs_llseek 'null_lsee?' "$max*" m_start
	attached
	read -r _ </proc/$$/maps
	read -r _ </proc/mounts
	# Whether vfs_llseek() is ever called is the kernel's own to say.
	tracing=/sys/kernel/tracing
	echo 'p:truth/llseek vfs_llseek' >>$tracing/kprobe_events
	echo 1 >$tracing/events/truth/llseek/enable
	go options
	awk '$1 == "llseek" { print $2 }' $tracing/kprobe_profile >llseek
	echo 0 >$tracing/events/truth/llseek/enable
	echo '-:truth/llseek' >>$tracing/kprobe_events
	detach who ret number tid comm errors silent

	start asleep latencies 20
	asleep=$pid
	start awake calls 101 read:1000000
	# shellcheck disable=SC2086
	attach cpu -b func --cpu -p "$asleep,$pid" "${entry}nanosleep" read_zero
	go awake
	go asleep
	detach cpu

	# shellcheck disable=SC2034
	quick=
	traced command "$max" do_exit -- calls 1009 priority priority:4
	traced void -b func exit_files "$max" -- calls 23 priority
	traced missing no_such_function -- calls 23 getppid
	traced notrace ktime_get_mono_fast_ns -- calls 23 getppid
}

# Each row of the tool beside the workload's one of the same calls: the system call is in the name.
same='def plain: sub("^__[a-z0-9]+_sys_|^ksys_|^null_"; "") | sub("_null$"; "");
	def fails: .errors > 0;
	[$last.rows[] as $row | $truth[].calls
		| map(select(.syscall == ($row.key.func | plain) and fails == ($row | fails))) | select(length > 0)
		| {syscall: .[0].syscall, count: (map(.count) | add), errors: (map(.errors) | add),
			sum: (map(.sum) | add), min: (map(.min) | min), max: (map(.max) | max),
			percentiles: .[0].percentiles, least: .[0].least, at_least_1ms: .[0].at_least_1ms} as $true
		| {$row, $true}]'

# has CLAIM TOOL [[KEY, COUNT, ERRORS], ...] - these rows and no other
has() {
	evidence "$2.json" "$2.err" notes
	holds "$1" "$2.json" '($last.rows | map([.key, .count, .errors]) | sort) == ($rows | sort)' --argjson rows "$3"
	sound "of $2" "$2.json"
}

check_mechanism() {
	if forced "all-$1" "$1"; then
		evidence "all-$1.json" "all-$1.err" target.truth known.truth
		case $1/$(cat kernel)/$(jq ".ledger | .lost // .lost_at_least" "all-$1.json") in
		f*/7.*/[1-9]*) # its programs can be preempted there, as those of the other tools that run beside
			holds "$1: what is recorded of six functions and what is lost is what was called" "all-$1.json" \
				'$last.ledger | .recorded + (.lost // .lost_at_least) - 6256 | fabs <= 62'
			# Of a sample neither sums nor percentiles are those of all calls; each call is as long as it was.
			holds "$1: no call of the sample takes longer than the workload measured, nor less than it had to" \
				"all-$1.json" "$same"'
				| length == 7 and all(.[]; .row.max <= .true.max and .row.sum <= .true.sum)
				and (map(select(.true.least)) | length == 3 and all(.[]; .true as $true
					| .row.min >= $true.least.min * 0.9 and (.row.percentiles | length > 1)
					and all(.row.percentiles[]; . >= $true.least.min * 0.9 and . <= $true.max)))' \
				--slurpfile truth both.truth ;;
		*)
			holds "$1: counts the calls of six functions exactly, also of one that ends in another, by error" "all-$1.json" \
				'($last.rows | map([(.key.func | sub("^__[a-z0-9]+_"; "")), .count, .errors,
					(if .errors > 0 then .key.errno else null end)]) | sort)
				== ([["sys_sched_get_priority_max", 1009, 0, null], ["sys_sched_get_priority_max", 1009, 1009, "EINVAL"],
				     ["write_null", 2018, 0, null], ["null_lseek", 1009, 0, null],
				     ["sys_nanosleep", 1009, 0, null], ["sys_read", 101, 0, null], ["ksys_read", 101, 0, null]] | sort)'
			holds "$1: all that the ledger has is these calls" "all-$1.json" '$last.ledger
				| .recorded == 6256 and .unmatched == 0 and .in_flight == 0 and .abandoned == 0 and .filtered_at_exit == 0'
			holds "$1: no call takes longer than the workload measured around it" "all-$1.json" "$same"'
				| length == 7 and all(.[]; .row.max <= .true.max and .row.sum <= .true.sum and .row.min <= .true.min)' \
				--slurpfile truth both.truth
			holds "$1: nor less than it had to, in sum, at least and at most" "all-$1.json" "$same"'
				| map(select(.true.least)) | length == 3 and all(.[]; .row.sum >= .true.least.sum * 0.999
					and .row.min >= .true.least.min * 0.9 and .row.max >= .true.least.max * 0.999)' \
				--slurpfile truth known.truth
			holds "$1: so is each percentile, plus the bound" "all-$1.json" "$same"'
				| map(select(.true.least)) | length == 3 and all(.[]; .true as $true | (.row.percentiles | length > 1)
					and all(.row.percentiles | to_entries[]; .value >= $true.least.percentiles[.key] * 0.9
						and .value <= $true.percentiles[.key] * 65 / 64 and .value <= $true.max))' \
				--slurpfile truth known.truth ;;
		esac
		sound "of six functions, $1" "all-$1.json"
	fi
	if forced "sizes-$1" "$1"; then
		has "$1: an argument tells calls apart" "sizes-$1" \
			'[[{"arg:count>>10": 0}, 1009, 0], [{"arg:count>>10": 4}, 1009, 0]]'
	fi
	if forced "pointer-$1" "$1"; then
		evidence "pointer-$1.json" "pointer-$1.err"
		holds "$1: a function of pointers is timed, and no pointer is an error" "pointer-$1.json" \
			'$last.rows | length == 1 and (.[0] | .count == 1009 and .errors == 0 and .key.errno == "0"
				and (.key["arg:sk"] | test("^0x[0-9a-f]{16}$")))'
		sound "of pointers, $1" "pointer-$1.json"
	fi
}

check_options() {
	evidence void.json void.err
	holds "a function without a result has no number of errors, one with a result has" void.json '
		$last.rows | map({(.key.func | sub("^__[a-z0-9]+_sys_"; "")): [.count > 0, .errors]}) | add
		| . == {exit_files: [true, null], sched_get_priority_max: [true, 0]} or error("\(.)")'
	evidence who.json who.err options.truth
	holds "-b pid,tid,comm,cgroup,cpu" who.json \
		'($last.rows | group_by(.key.tid) | map([.[0].key.pid, .[0].key.tid, .[0].key.comm, .[0].key.cgroup,
				(map(.count) | add)]) | sort)
			== ($truth[0] | .pid as $pid | .calls | map(select(.syscall == "lseek")
				| [$pid, .tid, .comm, $cgroup, .count]) | sort)
		and all($last.rows[]; .key.cpu | type == "number" and . >= 0 and . < 4096)' \
		--slurpfile truth options.truth --arg cgroup "$(cat cgroup)"
	sound "by who" who.json
	has "-b ret" ret '[[{"func": "null_lseek", "ret": 0}, 2018, 0], [{"func": "write_null", "ret": 100}, 2018, 0],
		[{"func": "write_null", "ret": 5000}, 2018, 0]]'
	has "-b arg:NUMBER" number '[[{"arg:2": 100}, 2018, 0], [{"arg:2": 5000}, 2018, 0]]'
	has "-t captures one thread" tid '[[{"comm": "plumb-alpha"}, 1009, 0]]'
	has "-c of a prefix captures nothing" comm '[]'
	evidence errors.json errors.err
	holds "--errors captures failed calls only" errors.json \
		'($last.rows | map([(.key.func | sub("^__[a-z0-9]+_"; "")), .key.errno, .count, .errors]) | sort)
			== [["sys_close", "EBADF", 2018, 2018], ["sys_sched_get_priority_max", "EINVAL", 2018, 2018]]
		and $last.ledger.filtered_at_exit == 4036'
	sound "of failed calls" errors.json
	holds "a glob's functions that cannot be attached to are counted, and no hooks" errors.json \
		'$last.mechanism | (.hooks | length) == $functions - $refused
			and (.name | test("^fentry|^fsession")) == ($refused > 0)' \
		--argjson refused "$(sed -n 's/^[a-z-]*: \([0-9]*\) of [0-9]* functions could not.*/\1/p' errors.err | grep . || echo 0)" \
		--argjson functions "$((3 + $(grep -o '^[a-z-]*: [0-9]* functions are named m_start' silent.err | grep -o '[0-9]*')))"
}

# Where the compiler put vfs_llseek() into its caller, a probe on it is never hit.
check_silent() {
	evidence silent.json silent.err
	holds "globs, and a function beside one that is never called, are counted" silent.json \
		'($last.rows | map(select(.key.func | test("null_lseek|max$")) | [(.key.func | sub("^__[a-z0-9]+_"; "")), .count])
			| sort) == [["null_lseek", 2018], ["sys_sched_get_priority_max", 4036]]'
	sound "of a silent function" silent.json
	holds "functions of one name are told apart, and what fentry cannot take another mechanism does" silent.json \
		'$last.rows | map(.key.func | select(test("^m_start,[1-9]$"))) | unique | length == 2'
	if (($(cat llseek) < 2018)); then
		like "a probe that was never hit is said" "$(grep 'vfs_llseek: 0 calls' silent.err)" \
			'^[a-z-]+: vfs_llseek: 0 calls ended in [0-9.]+ s .*inlined'
	else
		is "none is said when none is silent" "$(grep ': 0 calls' silent.err | grep -v m_start,)" ""
		holds "... which is counted" silent.json '$last.rows | any(.key.func == "vfs_llseek" and .count >= 2018)'
	fi
}

check_cpu() {
	evidence cpu.json cpu.err asleep.truth awake.truth
	holds "--cpu: who sleeps is not on a CPU" cpu.json "$same"'
		| map(select(.true.least)) | length == 1 and all(.[]; .true as $true | .row
			| .cpu.sum < .sum - $true.least.sum * 0.9 and .cpu.sum > 0
			and .cpu.min <= .min and .cpu.max < .max and ([.cpu.hist[][2]] | add) == .count
			and (.cpu.percentiles | keys) == (.percentiles | keys))' --slurpfile truth asleep.truth
	holds "--cpu: who computes is" cpu.json '$last.rows | map(select(.key.func == "read_zero"))
		| length == 1 and (.[0] | .count == 101 and .cpu.sum > .sum * 0.8 and .cpu.sum <= .sum)'
	sound "of time on CPU" cpu.json
}

check() {
	# shellcheck disable=SC2034 # by what judges a report
	crowded=true
	for mech in $(mechanisms); do
		check_mechanism "$mech"
	done
	if unable command; then
		return
	fi
	has "the calls of a command are counted, by function without -b" command \
		"[[{\"func\": \"$(jq -r '.rows[0].key.func' command.json)\"}, 2018, 1009]]"
	if [[ -e module.json ]]; then
		evidence module.json module.err
		holds "a module that was unloaded is named, also if it is there again" module.json '$last.modules_gone == ["configfs"]'
		holds "... and no other" command.json '$last | has("modules_gone") | not'
	fi
	like "a function that began and did not end is not taken for inlined" "$(grep do_exit: command.err)" \
		'^[a-z-]+: do_exit: 0 calls ended in [0-9.]+ s$'
	holds "... and where it has no end for a session, that is why" command.json '$last.kernel[:2] != "7."
		or ($last.mechanism.refused | any(.name == "fsession" and (.why | test("never return$|preempted"))))'
	evidence missing.err
	is "a function that does not exist is no report" "$(cat missing.status)" 1
	like "... and is named" "$(cat missing.err)" 'no_such_function'
	evidence notrace.err
	if [[ $(cat kernel) != 5.10.* ]]; then # there fentry holds on it all the same
		is "a function that is marked notrace cannot be traced" "$(cat notrace.status)" 77
		like "... and that is why" "$(cat notrace.err)" \
			'fentry refused: ktime_get_mono_fast_ns: [A-Z]+, it is marked notrace'
	fi
	check_options
	check_silent
	evidence long.json long.err known.truth
	holds "--min=1ms keeps what took longer, and leaves out what did not" long.json "$same"'
		| length == 3 and all(.[]; .row.min >= 1000000 and .row.count <= .true.at_least_1ms.outside
			and .row.count >= .true.at_least_1ms.least - 1)' --slurpfile truth known.truth
	sound "under --min" long.json
	check_cpu
}
