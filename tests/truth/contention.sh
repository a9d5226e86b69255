# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154,SC2034
# Eight busy threads, however many CPUs: no call is lost unless the report says so, no latency is
# longer than the threads themselves measured, and none is in flight when all have ended.
# Intervals, because a tool that is preempted while it reads a map makes others' calls be missed.

threads=8

# The tools (+ a name of the case), the call that their threads make, how often each makes it, and
# the tool's options. Each line ends in the mechanisms to force, beside the tool's own choice.
cases() {
	cat <<-END
	syscall-latency   lseek    1009 --verify -s lseek :: fentry tracepoint raw_tracepoint
	syscall-latency+intervals getppid 60013 0.05 --verify -s getppid -b tid,syscall ::
	syscall-count     getppid  1009 --verify -s getppid :: tracepoint raw_tracepoint
	syscall-slower    getppid  1009 1ns --verify -s getppid :: tracepoint raw_tracepoint
	syscall-breakdown getppid  1009 --verify -s getppid :: tracepoint raw_tracepoint
	file-latency      pread    1009 --op=read :: fsession fentry kprobe.session kprobe.multi kprobe raw_tracepoint
	func-latency      lseek    1009 --verify null_lseek :: fsession.multi kprobe.session kprobe.multi fsession fentry kprobe
	func-count        lseek    1009 null_lseek :: fentry.multi kprobe.multi fentry kprobe
	func-stack        lseek    509 null_lseek :: fentry.multi kprobe.multi fentry kprobe
	tcp-sendmsg-lat   send     1009 :: fsession fentry kprobe.session kprobe.multi kprobe raw_tracepoint
	skb-alloc         datagram 1009 :: fentry kprobe.multi kprobe
	skb-alloc+latency datagram 1009 --verify --latency :: fsession fentry kprobe.session kprobe.multi kprobe
	runq-latency      sleep    1009 --verify :: raw_tracepoint
	offcpu-time       sleep    1009 -c contender :: raw_tracepoint
	END
}

# one NAME MECHANISM CALL N OPTION... - one tool, and one process of threads
one() {
	name=$1 mechanism=$2 call=$3 n=$4
	shift 4
	start "$name-truth" contend "$threads" "$n" "$call"
	attach "$name" -p "$pid" "$@"
	go "$name-truth"
	detach "$name"
	mv "$name-truth.truth" "$name.truth"
}

run() {
	quick=--no-calibrate
	uname -r >kernel
	uname -v >version
	cat /sys/kernel/debug/sched/preempt >preempt 2>/dev/null
	tr ' ' '\n' </proc/cmdline >cmdline
	wanted=$mechanism
	# In the short form one tool of each kind, by its own choice.
	if everything; then
		cases
	else
		cases | sed -n -e 's/::.*/::/' -e '/^\(syscall-breakdown\|func-latency\|func-stack\|skb-alloc\|offcpu-time\)/!p'
	fi >cases
	while read -r label call n options; do
		program=${label%+*}
		mechanisms=${options#*::}
		options=${options%%::*}
		# shellcheck disable=SC2086 # words
		one "$label" '' "$call" "$n" $options
		chosen=$(sed -n 's/.*: tracing … by \([a-z_.]*\).*/\1/p' "$label.err")
		for mech in ${wanted:-$mechanisms}; do
			# shellcheck disable=SC2086
			[ "$mech" = "$chosen" ] || one "$label-$mech" "$mech" "$call" "$n" $options
		done
	done <cases
}

# What was made, in calls or in times that a thread left its CPU; and what the report says of it.
figures='
	def made: [$truth[0].calls[] | if $switches then .switches | .voluntary + .involuntary else .count end] | add;
	def longest: [$truth[0].calls[].max] | max;
	def recorded: $last.ledger.recorded;
	def lost: $last.ledger | .lost // .lost_at_least;'

# says CLAIM NAME FILTER
says() {
	holds "$1" "$2.json" "$figures $3" --slurpfile truth "$2.truth" --argjson switches "$switches" || :
}

# What holds of every mechanism, be it exact or not.
check_one() {
	evidence "$1.json" "$1.err" "$1.truth" preempt version notes
	grep '"ledger"' "$1.json" >"$1.report.json" # without the records of single calls
	whole "of $1" "$1.report.json"
	case $1 in
	tcp-sendmsg-lat-raw_tracepoint) # one of its programs runs in all system calls of the machine
		says "$1: what was made is between the bounds of what is recorded and lost" "$1" \
			'recorded + $last.ledger.lost_at_least <= made * 1.01 and recorded + lost >= made * 0.99' ;;
	*)
		says "$1: what is recorded and what is lost is what was made, within 1 %" "$1" \
			'(recorded + lost - made | fabs) <= made / 100' ;;
	esac
	says "$1: nothing is in flight when all threads have ended" "$1" '($last.ledger.in_flight // 0) == 0'
	[ "$switches" = true ] || says "$1: no latency is longer than the longest that a thread measured" "$1" \
		'[$all[] | .call.ns // 0, ((.rows // [])[] | (.latency // .).max // 0)] | max <= longest'
}

# What the kernel itself counts is what was made, or, of switches, a little more; what is missed is told, and nothing else.
# Some calls may be under way between both when they are read.
check_witness() {
	says "$1: the witness counts what was made" "$1" \
		'$last.witness | .least <= (.most // .seen) and if $switches then (.most // .seen) >= made * 0.99 else .least <= made and made <= .most end'
	says "$1: it tells what is missed" "$1" '$last.witness | (.least - .seen < 60) or .missed > 0'
	says "$1: and only that" "$1" '$last.witness | .more == 0 and (.missed == 0 or .seen < .least)'
}

# A tool's own choice loses nothing.
check_default() {
	# Of the executions that the kernel missed some may be those of other processes' calls.
	says "$1: nothing is known to be lost by default" "$1" '$last.ledger.lost_at_least == 0'
	says "$1: all are recorded by default" "$1" \
		'if $switches then (recorded - made | fabs) <= made / 100 else recorded == made end'
}

# Is this the preemption model that the kernel is here for?
check_model() {
	evidence kernel version preempt cmdline
	case $(cat kernel version) in
	*PREEMPT_RT*) like "a real-time kernel" "$(cat kernel)" '-rt-' ;;
	*)
		if grep -qx preempt=full cmdline; then
			like "a fully preemptible kernel" "$(cat preempt)" '\(full\)'
		else
			case $(cat kernel) in 7.*) like "a lazily preemptible kernel" "$(cat preempt)" '\(lazy\)' ;; esac
		fi
		;;
	esac
}

check() {
	check_model
	while read -r label call _ options; do
		switches=false
		[ "$call" != sleep ] || switches=true
		for mech in '' ${mechanism:-${options#*::}}; do
			name=$label${mech:+-$mech}
			if [ -n "$mech" ]; then
				[ -e "$name.status" ] || continue # it is the one that the tool chose
				forced "$name" "$mech" || continue
				# Its programs can be preempted, and pairs that were missed in part are seldom all told.
				case $mech in
				fentry | raw_tracepoint) known_to_fail "by $mech, where it is not the default" ;;
				esac
			elif [ "$(cat "$name.status")" = 77 ]; then
				continue # here nothing holds; other groups judge why
			fi
			check_one "$name"
			case $options in *--verify*) check_witness "$name" ;; esac
			known_to_fail ''
			[ -n "$mech" ] || check_default "$name"
		done
	done <cases
}
