# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# offcpu-time: known stays off the CPU, below known functions, as often and as long as they were.

# shellcheck source=lib/limits.sh
. "$truth/lib/limits.sh"

use_up_quota() {
	if limited quota cpu.max='20000 100000' || limited quota cpu.cfs_quota_us=20000; then
		start throttled held 2000 ppoll 0 "$limited/cgroup.procs"
		attach throttled -p "$pid" -b state
		go throttled
		detach throttled
		cat "$limited/cpu.stat" >cpu.stat
	fi
}

who_has_it() {
	start hog causes hog 1500
	attach who -p "$pid" -c c-victim --who
	attached
	open_gate hog go
	await 60 [ -e hog.gates/done ]
	detach who
	open_gate hog end
	finish hog "$pid"
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=offcpu-time quick=--no-calibrate

	start pipe stays pipe 3 97
	attach reader -p "$pid" -c stays-reader -b comm,state
	attach whole -p "$pid" -b tid,state
	attach one-stack -p "$pid" -c stays-reader --max-stacks=1
	attach one-key -p "$pid" -c stays-reader --max-keys=1 -b comm
	attach other -p $$
	go pipe
	detach reader whole one-stack one-key other

	start waking stays pipe 3 23
	attach woken -p "$pid" -c stays-reader -b comm --wakers
	launch woken-text -p "$pid" -c stays-reader -b comm --wakers
	await 30 is_tracing woken-text
	launch woken-folded -p "$pid" -c stays-reader -b comm --wakers --folded
	await 30 is_tracing woken-folded
	go waking
	detach woken woken-text woken-folded

	also use_up_quota

	start vfork stays vfork 3 23
	attach parent -p "$pid" -b comm,state
	go vfork
	detach parent

	start sleep stays sleep 1 97 1000 3
	attach all -p "$pid" -b comm
	attach long -p "$pid" -b comm --min=500ms
	attach short -p "$pid" -b comm --max=500ms
	attach none -p "$pid" -b comm --min=1000s
	attach by-timer -p "$pid" -b waker
	attach all-waits -p "$pid" -b comm --all-waits
	launch idle-text -p "$pid" -b comm
	await 30 is_tracing idle-text
	go sleep
	detach all long short none by-timer all-waits idle-text

	start mutex causes mutex 1000
	attach by-thread -p "$pid" -c c-victim -b waker
	attach heads -p "$pid" -b waker
	launch heads-text -p "$pid" -b waker
	await 30 is_tracing heads-text
	attached
	open_gate mutex go
	await 60 [ -e mutex.gates/done ]
	detach by-thread heads heads-text
	open_gate mutex end
	finish mutex "$pid"

	start renamed causes renamed 600
	attach renamed -p "$pid" -c c-victim
	attached
	open_gate renamed go
	await 60 [ -e renamed.gates/done ]
	detach renamed
	open_gate renamed end
	finish renamed "$pid"

	also who_has_it

	start sender sends 127.0.0.1,23,1000000,stall:5
	attach by-receiver -p "$pid" -c sends -b waker
	go sender
	detach by-receiver

	start turns turns spin 500 2
	attach preempted -p "$pid" -b tid,state
	attach preempters -p "$pid" -b state,waker
	attached
	open_gate turns go
	await 30 [ -e turns.gates/done ]
	detach preempted preempters
	open_gate turns end
	finish turns "$pid"

	# One of them has the CPU when the trace ends.
	start crowd turns spin "$(everything && echo 2000 || echo 1000)" 4
	attach crowd -p "$pid"
	attached
	launch crowd-folded -p "$pid" -b tid --folded
	await 30 is_tracing crowd-folded
	open_gate crowd go
	sleep 0.5
	detach crowd crowd-folded
	await 60 [ -e crowd.gates/done ]
	open_gate crowd end
	finish crowd "$pid"

	# 5 threads are inside read when the trace ends.
	start going midcall 5 23
	attach in-flight -p "$pid"
	attached
	open_gate going go
	await 20 [ -e going.gates/blocked ]
	detach in-flight
	open_gate going end
	open_gate going leave
	finish going "$pid"

	# Stopped for a while; and what kernel threads do meanwhile.
	sleep 60 &
	stopped=$!
	started="$started $stopped"
	attach stopped -p "$stopped" -b state
	attach idle -b state -d 2
	attached
	kill -STOP "$stopped"
	sleep 1
	kill -CONT "$stopped"
	sleep 0.2
	kill "$stopped"
	wait "$stopped"
	detach stopped idle

	# Each stack another, of a process that takes long to look at. An emulated machine would take longer.
	case $(uname -r) in
	*cloud*) ;;
	*)
		start wild deep wild 2000
		attach wild-end -p "$pid" -b comm -d 0.3
		await 20 is_over "$(cat wild-end.pid)"
		finish wild-end "$(cat wild-end.pid)"
		attaching='' # it is over
		open_gate wild end
		finish wild "$pid"
		;;
	esac

	traced intervals -b comm -c stays 0.5 3 -- stays sleep 1 23 500 5
	traced command -b comm,state -- stays pipe 1 23
}

# below CLAIM TOOL FUNCTION WORK [KEY] - one row of KEY has all stays below FUNCTION, as many and as long as WORK says
below() {
	evidence "$2.json" "$2.err" "$4.truth"
	holds "$1" "$2.json" '[$last.rows[] | select(any(.stack[]; .frame == $below and (.kernel | not)))
		| select(.key | contains($key))] as $rows
		# The first ones may be by frame pointers, as long as the tool has not looked at the program.
		| $truth[0].calls[0] as $t | ($rows | length | IN(1, 2)) and ({count: ($rows | map(.count) | add),
			sum: ($rows | map(.sum) | add), min: ($rows | map(.min) | min), max: ($rows | map(.max) | max)}
		| .count == $t.count and .sum >= $t.sum[0] and .sum <= $t.sum[1] and .min >= $t.min[0] and .min <= $t.min[1]
		and .max >= $t.max[0] and .max <= $t.max[1])' --arg below "$3" --slurpfile truth "$4.truth" \
		--argjson key "${5:-{\}}"
	sound "of $2" "$2.json"
}

# frames CLAIM TOOL FUNCTION REGEX - the row below FUNCTION has the kernel's function REGEX, and kernel above user
frames() {
	holds "$1" "$2.json" '[$last.rows[] | select(any(.stack[]; .frame == $below))][0].stack
		| any(.[]; .kernel and (.frame | test($regex))) and (map(.kernel) | . == (sort | reverse))' \
		--arg below "$3" --arg regex "$4"
}

# asleep CLAIM TOOL FILTER [MORE] - the row below stay_asleep has as many stays as FILTER makes of $sum and $long, and may
# have MORE: those in which the thread was preempted on its way
asleep() {
	evidence "$2.json" "$2.err" sleep.truth
	holds "$1" "$2.json" '$truth[0].calls[0] as {count: $sum, long: $long, preempted: $more}
		| ([$last.rows[] | select(any(.stack[]; .frame == "stay_asleep") and any(.stack[]; .frame == "do_nanosleep")) | .count] | add // 0)
			as $n | $n >= ('"$3"') and $n <= ('"$3"') + '"${4:-\$more}"'
		and $last.ledger.filtered_at_exit >= $sum - ('"$3"')' --slurpfile truth sleep.truth
	sound "of $2" "$2.json"
}

check() {
	# shellcheck disable=SC2034 # by what judges a report
	crowded=true
	below "stays in a pipe are counted, and as long as their thread says" reader stay_in_pipe pipe \
		'{"comm": "stays-reader", "state": "sleeping"}'
	frames "... where the kernel reads the pipe" reader stay_in_pipe '^(anon_)?pipe_read$'
	below "a thread that is told by its number is the same" whole stay_in_pipe pipe '{"state": "sleeping"}'
	holds "... and waits for no work: a pipe is another's answer" reader.json \
		'all($last.rows[] | select(any(.stack[]; .frame == "stay_in_pipe")); .idle_ns == 0)'
	evidence all.json all-waits.json idle-text.json
	holds "a thread that sleeps until a time for most of the trace is idle" all.json '
		[$last.rows[] | select(any(.stack[]; .frame == "stay_asleep"))]
		| (map(.idle_ns) | add) > 0.8 * 3097 * 1000000 and all(.[]; .idle_ns <= .sum)'
	holds "... but not with --all-waits" all-waits.json 'all($last.rows[]; has("idle_ns") | not)'
	claim "... and is the last line of the table" awk '
		!NF { exit }
		/idle: threads that wait for work/ { found = 1; next }
		/^ *[0-9.]+m?s +[0-9.]+%/ && found { found = 0; exit }
		END { exit !found }' idle-text.json
	evidence one-stack.json one-stack.err pipe.truth
	holds "--max-stacks=1: what is lost has its time all the same" one-stack.json '$truth[0].calls[0] as $t
		| ($last.rows | map(.sum) | add) >= $t.sum[0] and ($last.rows | map(.count) | add) == $last.ledger.recorded
		and $last.ledger.recorded >= $t.count' --slurpfile truth pipe.truth
	holds "... and is counted, for each stay a stack" one-stack.json '$last.ledger.stacks_lost >= 97
		and any($last.rows[].stack[]; .frame == "[stack lost]")'
	evidence one-key.json one-key.err
	holds "--max-keys=1: what has no row is in [other]" one-key.json '($last.rows | length) <= 2
		and ([$last.rows[] | select(.key.other).count] | add // 0) == $last.ledger.pooled'
	evidence other.json other.err
	holds "-p of another process has none of these" other.json \
		'all($last.rows[]; .key.comm != "stays-reader")'

	evidence renamed.json renamed.err renamed.truth
	holds "a thread that is not of the name of -c any more has no more time" renamed.json '$truth[0].calls[0] as $t
		| ([$last.rows[].sum] | add) as $sum | all($last.rows[]; .key.comm == "c-victim")
			and $sum >= 0.9 * $t.cause[0] and $sum <= $t.cause[1] + $last.elapsed_ns - $t.wall and $last.in_flight == []' \
		--slurpfile truth renamed.truth
	below "who woke is a key: process, thread and name" woken stay_in_pipe waking \
		"{\"comm\": \"stays-reader\", \"waker\": {\"event\": \"wakeup\", \"context\": \"thread\", \"pid\": $(cat waking.pid), \"tid\": $(cat waking.pid), \"comm\": \"stays\"}}"
	holds "... with --wakers its stack: the kernel writes the pipe below its own functions" woken.json \
		'[$last.rows[] | select(any(.stack[]; .frame == "stay_in_pipe"))][0].waker_stack
			| any(.[]; .kernel and (.frame | test("^(anon_)?pipe_write$")))
			and any(.[]; (.kernel | not) and .frame == "wake_reader") and (map(.kernel) | . == (sort | reverse))'
	evidence woken-text.json woken-text.err
	claim "... in the table below the sleeper's" awk '
		/^    stay_in_pipe$/ { sleeper = 1 }
		sleeper && /^    woken by stays\/[0-9]+:$/ { waker = 1 }
		waker && /^    (anon_)?pipe_write$/ { found = 1 }
		END { exit !found }' woken-text.json
	evidence woken-folded.json woken-folded.err
	claim "... and behind it in folded lines, innermost first" grep -qE \
		'^stays-reader-woken by stays/[0-9]+;.*;stay_in_pipe;.*;--;.*;(anon_)?pipe_write_\[k\];.*;wake_reader(;.*)? [0-9]+$' woken-folded.json

	below "a parent that waits for its vfork is uninterruptible" parent stay_in_vfork vfork \
		'{"comm": "stays", "state": "uninterruptible"}'

	# shellcheck disable=SC2016 # jq's
	{
		asleep "without limits all sleeps count" all '$sum'
		asleep "--min has the long ones, and the others are filtered at exit" long '$long' 0
		asleep "--max has the short ones" short '$sum - $long'
		asleep "--min of more than all has none" none 0 0
	}

	evidence by-timer.json by-timer.err sleep.truth
	holds "who sleeps for a time is woken by an interrupt, whatever thread it came upon" by-timer.json \
		'[$last.rows[] | select(any(.stack[]; .frame == "stay_asleep"))] | length > 0
			and ([.[] | select(.key.waker.context // "" | test("interrupt")).count] | add) >= (map(.count) | add) * 0.95'

	holds "... namely by a timer, and no thread is named" by-timer.json \
		'[$last.rows[] | select(any(.stack[]; .frame == "stay_asleep"))]
			| ([.[] | select(.key.waker | .context == "interrupt" and .device == null and has("device") and .pid == null).count] | add) >= (map(.count) | add) * 0.95'
	evidence by-thread.json by-thread.err mutex.truth
	holds "who handed a mutex over is named, by its thread" by-thread.json '($truth[0].calls | map(.tid)) as $tids
		| [$last.rows[] | select(any(.stack[]; .frame | test("futex"))).key.waker | select(.context == "thread" and .event == "wakeup")] as $wakers
		| ($wakers | length) > 0 and all($wakers[]; .pid == $pid and (.tid | IN($tids[])))
			and any($wakers[]; .tid == ($truth[0].calls[] | select(.comm == "c-holder").tid) and .comm == "c-holder")' \
		--slurpfile truth mutex.truth --argjson pid "$(cat mutex.pid)"
	evidence heads.json heads.err mutex.truth
	holds "... and who held it, whom the others handed it on from" heads.json '$truth[0].calls[] | select(.comm == "c-holder").tid as $holder
		| $last.heads | length == 1 and (.[0] | .held_by.tid == $holder and .held_by.comm == "c-holder" and .held_by.start == "run"
			and .passed_on >= 1 and .others == 0 and (.function | test("futex")))' --slurpfile truth mutex.truth
	evidence heads-text.json heads-text.err
	like "... in a line of the table" "$(tr '\n' ' ' <heads-text.json)" 'futex[a-z_]*: c-holder/[0-9]+ \(run\) held it, [1-5] others? *passed it on'
	evidence who.json who.err hog.truth
	also holds "--who: the hog had the CPU as long as its own clock says, at nice 5, pinned to that of the victim" who.json \
		'$truth[0].calls[0] as $t | ([$last.who.meanwhile[] | select(.pid == $t.by.pid)] | map(.sum) | add) as $sum
			# Also while the main thread waited, and the victim for its start.
			| ([$last.who.waited[] | select(.tid != $t.tid).sum] | add // 0 | . + $t.delay_of_life - $t.delay) as $more
			| $sum >= $t.by.cpu - 0.03 * $t.wall and $sum <= $t.by.cpu + 0.03 * $t.wall + $more
			and ([$last.who.waited[] | select(.tid == $t.tid).cpus] | unique) as $cpu
			| ($cpu | length) == 1
			and ([$last.who.meanwhile[] | select(.pid == $t.by.pid) | [.nice, .n_cpus, "\(.cpu)"]] | unique) == [[5, 1, $cpu[0]]]' --slurpfile truth hog.truth

	evidence by-receiver.json by-receiver.err sender.truth
	holds "... and who sends more than is read, by a softirq on the thread that reads it" by-receiver.json \
		'[$last.rows[] | select(any(.stack[]; .frame == "sk_stream_wait_memory"))] | (map(.count) | add) >= 23
			and ([.[] | select(.key.waker | .comm == "receiver" and .pid == $pid and (.context | test("^softirq"))).count] | add)
				>= (map(.count) | add) * 0.7' --argjson pid "$(cat sender.pid)"

	evidence preempters.json preempters.err turns.truth
	holds "who shares a CPU is preempted by the others" preempters.json \
		'[$last.rows[] | select(.key.state == "preempted")] as $rows | ($rows | length) > 0
			and all($rows[].key.waker; .event == "preemption")
			and ([$rows[] | select(.key.waker | .comm == "turns" and .pid == $pid).count] | add) >= ($rows | map(.count) | add) / 5' \
		--argjson pid "$(cat turns.pid)"

	evidence preempted.json preempted.err turns.truth
	holds "who shares a CPU is preempted while another has it, by its own clocks and the kernel's account" preempted.json \
		'all($truth[0].calls[]; . as $t
		| ([$last.rows[] | select(.key.tid == $t.tid and .key.state == "preempted").sum] | add) as $sum
		| $sum <= $t.delay * 1.05 + 200000 * $t.count and $sum >= ($t.wall - $t.busy) * 0.95 - 20000000)' \
		--slurpfile truth turns.truth
	sound "of preempted" preempted.json

	if ! everything; then
		: # runq has it
	elif [ -e cpu.stat ]; then
		evidence throttled.json throttled.err
		holds "who has used up its CPU quota is throttled, by the cgroup's own account" throttled.json \
			'([$last.rows[] | select(.key.state == "throttled").sum] | add) >= $ns * 0.8' --argjson ns \
			"$(awk '$1 == "throttled_time" { print $2 } $1 == "throttled_usec" { print $2 * 1000 }' cpu.stat)"
	else
		skip "who has used up its CPU quota is throttled" "no cgroup has a CPU quota here"
	fi

	evidence stopped.json stopped.err idle.json idle.err
	holds "who is stopped is away in a state of its own" stopped.json '[$last.rows[] | select(.key.state == "other")]
		| length == 1 and .[0].count == 1 and .[0].sum >= 900000000 and .[0].sum < 10000000000'
	holds "... and asleep before and after" stopped.json '[$last.rows[] | select(.key.state == "sleeping"
		and any(.stack[]; .frame | test("nanosleep"))).count] | add >= 1'
	holds "who has nothing to do is idle: kernel threads, and no others" idle.json '[$last.rows[] | select(.key.state == "idle").stack]
		| length > 0 and all(.[]; all(.[]; .kernel) and any(.[]; .frame == "kthread"))'

	if [ -e wild-end.json ]; then
		evidence wild-end.json wild-end.err wild.err
		holds "-d is kept where each stack is another" wild-end.json \
			'def seconds: (.[:19] + "Z" | fromdate) + (.[19:] | rtrimstr("Z") | tonumber);
			($last.end | seconds) - ($last.start | seconds) | . >= 0.3 and . < 2'
		holds "... and they have their names" wild-end.json '[$last.rows[] | select([.stack[].frame
			| select(startswith("stray_"))] | length >= 20)] | length > 50'
	fi

	evidence in-flight.json in-flight.err
	holds "who is off the CPU at the end is in flight" in-flight.json '$last.ledger.in_flight >= 5'
	sound "of in-flight" in-flight.json

	evidence crowd.json crowd.err crowd-folded.json crowd.truth
	holds "who waits for a CPU at the end is in flight, too" crowd.json '[$last.in_flight[]
		| select(.tid | IN($truth[0].calls[].tid))] as $all | ($all | length) >= 3
		and ([$all[] | select(.wchan == "[runnable]" and .age_ns > 0 and (.stack | length) > 0)] | length) >= 2
		and ([$all[] | select(.wchan | IN("[runnable]", "[running]") | not)] == [])' --slurpfile truth crowd.truth
	claim "... and in folded lines" [ "$(grep -c ';\[in flight\] [1-9]' crowd-folded.json)" -ge 3 ]
	sound "of crowd" crowd.json

	evidence intervals.json intervals.err
	holds "intervals have what came in them" intervals.json '($all | length) >= 2 and ($all | length) <= 3
		and ([$all[] | .rows[] | .count] | add) == $last.ledger.recorded'
	below "a command's threads are followed" command stay_in_pipe command '{"comm": "stays-reader", "state": "sleeping"}'
}
