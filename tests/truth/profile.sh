# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# cpu-profile: who is busy in a known function is found there, as often as its time allows; whatever file it is of.

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=cpu-profile
	busy=$(command -v busy)

	ms=1000 works='user kernel jit moved'
	everything || ms=500 works='user kernel jit'
	echo "$ms" >ms
	for work in $works; do
		start "$work-work" busy "$work" "$ms"
		attach "$work" -F 499 -p "$pid" -b comm
		go "$work-work"
		detach "$work"
	done
	rm -f /tmp/perf-"$pid".map

	# No stack is new after its code has another name.
	start rejit-work busy rejit 900
	attach rejit -F 499 -p "$pid" -b comm
	attached
	open_gate rejit-work go
	await 60 [ -e rejit-work.gates/done ]
	detach rejit
	open_gate rejit-work named
	finish rejit-work "$pid"
	rm -f /tmp/perf-"$pid".map
	start usual-work busy user "$ms"
	attach usual -p "$pid"
	go usual-work
	detach usual
	traced command -F 499 -b comm -- busy user 300

	start who busy user 500
	attach by-who -F 499 -p "$pid" -b pid,tid,comm,cgroup,cpu
	attach nobody -F 499 -c no-such-name
	go who
	detach by-who nobody

	# It has ended, and its file is gone, when its stacks are named.
	cp "$busy" short-lived
	attach ended -F 199 -c short-lived -b comm
	attached
	./short-lived user "$ms" >/dev/null
	rm short-lived
	detach ended

	! everything || other_files

	# In a file system that nobody else sees.
	mkdir elsewhere
	# shellcheck disable=SC2016 # the inner shell expands it
	start namespace unshare -m sh -c \
		'mount -t tmpfs none elsewhere && cp "$0" elsewhere/hidden-file && exec elsewhere/hidden-file user 500' "$busy"
	attach namespace-name -F 199 -p "$pid" -b comm
	go namespace
	detach namespace-name

	cp "$busy" foreign-file
	chown 65534 foreign-file
	start foreign ./foreign-file user 300
	attach foreign-name -F 199 -p "$pid" -b comm
	go foreign
	detach foreign-name

	# One of the CPUs; of an emulated machine, where nobody else has work.
	uname -r >kernel
	case $(cat kernel) in
	*cloud*)
		start one busy user 2000
		attach share -F 199 -p "$pid" -b comm
		go one
		detach share
		;;
	esac

	grep -c '^processor' /proc/cpuinfo >cpus
	traced whole -b pid -d 2

	# A setting of the whole machine, which is ours if it is emulated.
	case $(cat kernel) in
	*cloud*)
		limit_was=$(cat /proc/sys/kernel/perf_event_max_sample_rate)
		echo 98 >/proc/sys/kernel/perf_event_max_sample_rate
		launch limited -d 1
		finish limited "$tool"
		echo "$limit_was" >/proc/sys/kernel/perf_event_max_sample_rate
		;;
	esac
}

other_files() {
	cp "$busy" deleted-file
	start deleted ./deleted-file user 500
	rm deleted-file
	attach deleted-name -F 199 -p "$pid" -b comm
	go deleted
	detach deleted-name

	# Two programs, one after the other in one process, at the same addresses.
	start first busy user 500 calls 1000000 getppid
	attach replaced -F 199 -p "$pid" -b comm
	go first
	detach replaced
}

# found CLAIM TOOL FUNCTION KERNEL - nine of ten samples are below the user's FUNCTION, and in the kernel's (a regex)
found() {
	evidence "$2.json" "$2.err"
	holds "$1" "$2.json" '($last.rows | map(.count) | add) as $sum
		| ([$last.rows[] | select(any(.stack[]; .frame == $below and (.kernel | not))
			and any(.stack[]; (.frame | test($kernel)) and (.kernel or $kernel == "")))
			| .count] | add // 0) as $there
		| $sum > 20 and $there >= 0.9 * $sum' --arg below "$3" --arg kernel "${4-}"
	sound "of $2" "$2.json"
}

# As many as the time that it was on the CPU allows; an emulated machine misses many a tick.
often() {
	holds "... as often as $2 times a second" "$1.json" '($last.rows | map(.count) | add) as $sum
		| ($truth[0].calls[0].cpu / 1e9 * $hz) as $most | $sum <= $most * 1.1 + 10 and $sum >= $most * 0.3
		and $last.frequency == $hz' --argjson hz "$2" --slurpfile truth "$1-work.truth"
}

check_other_files() {
	found "who runs a deleted file is named" deleted-name be_busy
	evidence replaced.json replaced.err
	holds "who has executed another program meanwhile has the first one's names" replaced.json '
		([$last.rows[] | select(.key.comm == "busy") | .count] | add // 0) as $sum
		| ([$last.rows[] | select(.key.comm == "busy" and any(.stack[]; .frame == "be_busy")) | .count] | add // 0) as $there
		| ([$last.rows[] | select(.key.comm == "calls") | .count] | add // 0) as $after
		| $sum > 20 and $there >= 0.9 * $sum and $after > 5
		and all($last.rows[] | select(.key.comm == "calls") | .stack[]; .frame | startswith("be_busy") | not)'
}

check() {
	# shellcheck disable=SC2034 # by what judges a report
	crowded=true
	found "who is busy in a function of its own is found there" user be_busy
	often user 499
	found "who is busy in the kernel is found there, and where it came from" kernel be_busy_for getrandom
	often kernel 499
	found "code that a perf map names is named" jit busy_jit
	holds "... below what called it" jit.json '[$last.rows[] | select(any(.stack[]; .frame == "busy_jit"))
		| select(any(.stack[]; .frame == "be_busy_in_jit")) | .count] | add > $ms / 10' --argjson ms "$(cat ms)"
	if everything; then
		found "code that a program has copied to memory of no file is named by the file" moved be_busy
		holds "... and none of it is in memory of no file" moved.json \
			'all($last.rows[].stack[].frame; startswith("[anon]") | not)'
	fi
	found "code in place of other code has its last name, marked" rejit "busy_jit_last [address reused]"
	holds "... and no name that is not marked" rejit.json \
		'all($last.rows[].stack[].frame; (startswith("busy_jit") | not) or . == "busy_jit_last [address reused]")'
	found "99 times a second, unless told otherwise" usual be_busy
	often usual 99

	evidence command.json command.err
	holds "a command is looked at" command.json 'any($last.rows[]; .key.comm == "busy" and .count > 20
		and any(.stack[]; .frame == "be_busy"))'

	evidence by-who.json by-who.err
	holds "-b pid,tid,comm,cgroup,cpu has them all" by-who.json 'all($last.rows[].key;
		.pid == $pid and .tid == $pid and .comm == "busy" and (.cgroup | startswith("/")) and .cpu >= 0)
		and ($last.rows | length) > 0' --argjson pid "$(cat who.pid)"
	holds "... and all others are counted apart" by-who.json '$last.others > 0'
	evidence nobody.json
	holds "what a sample costs is measured, whoever is asked for" nobody.json \
		'$last.others + $last.idle < 120 or $last.overhead_ns.traced > 0'
	holds "-c of another name has no row" nobody.json '$last.rows == [] and $last.others > 0'

	found "who has ended is named" ended be_busy
	! everything || check_other_files
	if grep -q -e 'unshare' -e 'mount' namespace.err; then
		skip "who runs a file of another mount namespace is named" "$(head -n 1 namespace.err)"
	else
		found "who runs a file of another mount namespace is named" namespace-name be_busy
	fi

	evidence foreign-name.json foreign-name.err
	like "a file of a user who has nothing to do with the process is not read" "$(grep foreign-file foreign-name.err)" \
		'/foreign-file: it belongs to uid 65534, which is neither the user of process [0-9]* nor root$'
	holds "... but its addresses are reported" foreign-name.json '[$last.rows[]
		| select(any(.stack[]; .frame | startswith("foreign-file+0x"))) | .count] | add > 10'

	case $(cat kernel) in
	*cloud*)
		evidence share.json share.err
		holds "of two CPUs of which one is busy the other is idle" share.json '([$last.rows[].count] | add) as $busy
			| $busy > 50 and $last.idle > 0.4 * $busy and $last.others < 0.4 * $last.idle'
		;;
	esac

	evidence whole.json whole.err
	holds "each CPU is looked at 99 times a second, be it idle or not" whole.json '($last.rows | map(.count) | add // 0) as $sum
		| ($sum + $last.idle + $last.others) as $all | (2 * 99 * $cpus) as $most
		| $all <= $most * 1.15 + 10 and $all >= $most * 0.3' --argjson cpus "$(cat cpus)"
	holds "idle CPUs are in no row" whole.json 'all($last.rows[]; .key.pid > 0)'
	sound "of whole" whole.json

	[[ $(cat kernel) == *cloud* ]] || return 0
	is "more samples than the kernel takes are refused, and the limit is said" "$(cat limited.status limited.err)" \
		"77
cpu-profile: perf_event refused: -F 99: kernel.perf_event_max_sample_rate is 98: ERANGE"
}
