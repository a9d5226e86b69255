# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# syscall-slower: each call above the threshold, none below, as it was.

# shellcheck source=lib/waits.sh
. "$truth/lib/waits.sh"

# As fast as can be N times 99 fast calls and a slow one, by each of two threads.
flood() {
	fast=
	while [ ${#fast} -lt $((99 * 8)) ]; do
		fast="$fast getppid"
	done
	# shellcheck disable=SC2086 # words
	start flooding calls -t 2 "$1" $fast read:1048576
	attach flood 5us -s getppid,read -p "$pid"
	attached
	cut -d ' ' -f 1 /proc/uptime | tr -d . >flood.begun
	go flooding
	cut -d ' ' -f 1 /proc/uptime | tr -d . >flood.ended
	detach flood
}

# No room, and nobody who takes what comes.
stopped() {
	start full calls 1009 getppid
	attach stopped 1ns --buffer=4K -s getppid -p "$pid"
	attached
	kill -STOP "$tool"
	go full
	kill -CONT "$tool"
	detach stopped
}

# The tool takes the CPU from the thread when a call ends. That is a wait on its way out, and must not
# wake the tool again.
one_cpu() {
	start lonely slow 101 211
	attach alone 1ms -c slow
	taskset -p 1 "$tool" >/dev/null
	taskset -p 1 "$pid" >/dev/null
	go lonely
	sed -n 's/^voluntary_ctxt_switches:[^0-9]*//p' "/proc/$tool/status" >alone.woken
	kill -INT "$tool"
	finish alone "$tool"
}

short_sleeps() {
	start napping naps 200
	if is_over "$pid"; then
		finish napping "$pid"
	else
		attach naps 1ns -s nanosleep -p "$pid"
		go napping
		detach naps
	fi
}

# shellcheck disable=SC2034 # by what starts a tool
run() {
	program=syscall-slower quick=--no-calibrate mechanisms=${mechanism:-tracepoint raw_tracepoint}
	uname -r >kernel
	[ -e /sys/kernel/tracing/events/raw_syscalls ] && echo tracepoint >tracepoints

	# Calls that go on do not keep it.
	: >steady
	sh -c 'while [ -e steady ]; do sleep 0.002; done' &
	started="$started $!"
	status=0
	timeout 30 "$program" "$quick" -d 0.5 -c sleep -j 1ms >steady.json 2>steady.err </dev/null || status=$?
	echo "$status" >steady.status
	rm steady

	# Several at once.
	start target slow 101 211
	attach_each slow 1ms -p "$pid" --stacks
	also attach failed 1ms --errors -p "$pid"
	attach one 1ms -s rt_sigtimedwait -p "$pid"
	launch text 1ms -p "$pid"
	launch text-stacks 1ms -s nanosleep --stacks -p "$pid"
	await 30 is_tracing text
	await 30 is_tracing text-stacks
	go target
	detach_each slow
	detach failed one text text-stacks

	table=ia32
	[ "$(uname -m)" = x86_64 ] || table=arm
	traced compat 1ns -s "$table:getppid" -- ia32 23 0
	if [ "$(cat compat.status)" = 77 ]; then
		mv compat.err compat.skip
	fi
	traced exec 1ns -s execve -- calls 0 getppid
	traced short 1ns --stacks -s getppid -- calls 1009 getppid
	start parting parts
	if is_over "$pid"; then
		mv parting.err parts.skip
	else
		attach split 1ns --stacks -s getrandom,read -p "$pid"
		go parting
		detach split
	fi
	wait_for_cpus
	start waking wakes 50
	attach woken 1ns -s read --wakers -p "$pid"
	also launch woken-text 1ns -s read --wakers -p "$pid"
	! everything || await 30 is_tracing woken-text
	# While another tracer attaches to sched_switch the kernel may skip programs there.
	while echo r:sched_switch; do :; done 2>/dev/null | attaches >/dev/null &
	another=$! started="$started $!"
	go waking
	kill "$another"
	detach woken woken-text
	also short_sleeps
	one_cpu
	stopped
	case $(uname -r) in
	*cloud*) flood 211 ;;
	*) if everything; then flood 20011; else flood 2011; fi ;;
	esac

	start interrupted slow 2 23
	attach interrupt 1ms -p "$pid"
	go interrupted
	kill -INT "$tool"
	finish interrupt "$tool"
	# Who reads goes away after the first line.
	start unread calls 10007 getppid
	mkfifo one-line.fifo
	head -n 1 <one-line.fifo >one-line.out &
	syscall-slower 1ns -s getppid -p "$pid" </dev/null >one-line.fifo 2>one-line.err &
	tool=$! started="$started $tool"
	await 20 grep -q 'tracing …' one-line.err
	open_gate unread go
	await 20 is_over "$tool" || kill -9 "$tool"
	finish one-line "$tool"
	finish unread "$pid"
	also traced seven 1s -- sh -c 'exit 7'
	formats='-j --stacks'
	everything || formats=-j
	for format in $formats; do
		WORKLOAD_JSON=$PWD/full.truth syscall-slower "$format" 1ns -s getppid -- calls 1009 getppid \
			</dev/null >/dev/full 2>"full$format.err" &
		finish "full$format" $!
	done
}

# The calls, without the report.
calls='[$all[] | .call // empty]'

# was_so TOOL [FILTER] - of the workload's calls those that FILTER selects, if they were slow
was_so() {
	# There whoever is preempted inside of bpf(), as a tool that names stacks, makes tracepoints be missed.
	if jq -s -e '.[-1] | (.kernel | startswith("7.")) and (.ledger.missed // 0) > 0' "$1.json" >/dev/null; then
		skip "each slow call is printed as it was made, no other, $1" "executions were missed, as the ledger says"
		return
	fi
	holds "each slow call is printed as it was made, no other, $1" "$1.json" "$calls"' as $found
		| [$truth[0].calls[] | select('"${2:-true}"')] as $made
		| {"nanosleep": 2, "rt_sigtimedwait": 4} as $have
		| [$made[] | .arguments = .arguments[:$have[.syscall]]] as $made
		| (reduce $made[] as $one ({}; .["\($one.arguments)"] = $one)) as $by
		| [$found[] | select(.syscall | IN("nanosleep", "rt_sigtimedwait"))]
		| if all(.[]; .arguments as $a | $by["\($a)"] as $one
				| $one and .syscall == $one.syscall and .ret == $one.ret and .ns >= $one.least
				and .ns <= $one.outside and .comm == $one.comm and .tid == $one.tid)
			then . else error("not as made") end
		| [.[].arguments] as $there
		| if ($there | unique | length) != ($there | length) then error("printed twice") else . end
		| if $made | all(.[]; .least < 1000000 or (.arguments | IN($there[]))) then . else error("not printed") end
		| length >= ($made | map(select(.least >= 1000000)) | length)' --slurpfile truth target.truth
}

coherent() {
	holds "calls are in the order in which they ended, $1" "$1.json" "$calls"' | map(.end) | . == sort'
	holds "the parts of each call add up to its time, $1" "$1.json" "$calls"'
		| all(.on_cpu + .irq + .preempted + .blocked + .runq + .return == .ns
			and ([.on_cpu, .preempted, .blocked, .runq, .return] | all(. >= 0)))'
	# Programs of raw tracepoints can be preempted on 7.x: half of two calls may be taken for one.
	case $1:$(cat kernel) in
	slow-raw_tracepoint:7.*) ;;
	*) holds "what was off the CPU says when it was so longest, and nothing else does, $1" "$1.json" "$calls"'
		| map(select(has("longest"))) | all(if .longest then .longest.ns > 0 and .longest.ns <= 1.001 * (.ns - .on_cpu - .return)
				and .longest.stack[0].frame == "__schedule" and .longest.why as $why | .[$why] > 0
			else .on_cpu + .irq + .return == .ns end)' ;;
	esac
	holds "as many are printed as the ledger has recorded, $1" "$1.json" "$calls"' | length == $last.ledger.recorded'
	jq -c 'select(.schema)' "$1.json" >"$1.report.json"
	case $1:$(cat kernel) in
	slow-raw_tracepoint:7.*) whole "of slow calls, $1" "$1.report.json" ;;
	*) sound "of slow calls, $1" "$1.report.json" ;;
	esac
}

check_mechanism() {
	forced "slow-$1" "$1" || return
	evidence "slow-$1.json" "slow-$1.err" target.truth
	case $1:$(cat kernel) in
	tracepoint:5.10.*)
		holds "where a tracepoint has no way to a call's arguments, it has none" "slow-$1.json" \
			"$calls"' | length >= 202 and all(.arguments == null)' ;;
	# Programs of raw tracepoints can be preempted on 7.x: calls are missed, or half of two taken for one.
	raw_tracepoint:7.*) skip "each slow call is printed as it was made, raw_tracepoint" "executions are missed on 7.x" ;;
	*) was_so "slow-$1" ;;
	esac
	coherent "slow-$1"
	case $1:$(cat kernel) in
	raw_tracepoint:7.*) return ;;
	esac
	holds "$1: --stacks names the kernel's function that sleeps and the user's that called" "slow-$1.json" "$calls"'
		| map(select((.syscall | IN("nanosleep", "rt_sigtimedwait")) and .blocked > .ns / 2))
		| length > 0 and all(.[]; (.longest.stack | map(select(.kernel).frame)) as $kernel | (.longest.stack | map(select(.kernel | not).frame)) as $user
			| $kernel[0] == "__schedule" and .longest.why == "blocked" and .longest.ns <= .blocked + .runq
			and (.syscall as $call | any($kernel[]; test($call | sub("^rt_"; ""))))
			and $user[0] == "sleep_here")'
}

check_text() {
	evidence text.json text.err
	like "the text has a heading" "$(head -n 1 text.json)" "^ENDED +TOOK +CPU +IRQ +PREE +BLOCK +RUNQ +RET COMM/TID +CALL$"
	is "a line a call, and 80 columns but for its arguments" \
		"$(sed '/^$/,$d; 1d' text.json | grep -cvE '^[0-9:]{8}\.[0-9]{3} +[0-9.]+[mu]?s( +[0-9]+){6} slow/[0-9]+ +[a-z0-9_]+\(')" 0
	is "as many lines as calls" "$(sed '/^$/,$d; 1d' text.json | grep -c .)" \
		"$(sed -n 's/^ledger: \([0-9]*\) recorded.*/\1/p' text.json)"
	is "in order" "$(sed '/^$/,$d; 1d' text.json | cut -c 1-15 | sort -c 2>&1)" ""
	claim "a call's arguments and result are there" \
		grep -qE 'rt_sigtimedwait\(0x[0-9a-f]+, 0x10[0-9a-f]{2}, 3ms, 8\) = -EAGAIN; woken by ' text.json
	evidence text-stacks.json text-stacks.err
	claim "above a stack stands how long, and why, it was off the CPU" awk '
		/^    off the CPU [0-9.]+[mu]?s, (preempted|blocked|runq):$/ { told++ }
		/^    __schedule$/ { stacks++; bad = bad || last !~ /off the CPU/ }
		{ last = $0 }
		END { exit !(told && told == stacks && !bad) }' text-stacks.json
	like "the rest is no wider than 80 columns" "$(sed '1,/^$/d' text.json | awk 'length > 80 { print; exit } END { print "end" }')" "^end$"
}

check() {
	# shellcheck disable=SC2034 # by what judges a report
	crowded=true
	# shellcheck disable=SC2034 # by what judges a refusal
	must="raw_tracepoint $(cat tracepoints 2>/dev/null)"
	evidence steady.err
	is "it ends in time though slow calls go on" "$(cat steady.status)" 0
	holds "... and has them" steady.json '[$all[].call // empty] | length > 10'
	for mech in ${mechanism:-tracepoint raw_tracepoint}; do
		check_mechanism "$mech"
	done
	evidence failed.json failed.err target.truth
	also was_so failed '.ret < 0'
	also coherent failed
	evidence one.json one.err target.truth
	was_so one '.syscall == "rt_sigtimedwait"'
	coherent one
	check_text

	evidence alone.json alone.woken
	holds "on the CPU of what it traces it is woken for calls, and a little more, not by itself" alone.json \
		'$last.ledger.recorded as $n | $n >= 202 and $woken > 0 and $woken <= 4 * $n + 400' --argjson woken "$(cat alone.woken)"

	if [ -e compat.skip ]; then
		skip "32-bit calls have their arguments" "$(cat compat.skip)"
	else
		evidence compat.json compat.err
		holds "23 32-bit calls have theirs, 32 bits of each" compat.json "$calls"'
			| map([.syscall, .arguments[:5]]) == [range(23) | [(if $last.arch == "x86_64" then "ia32" else "arm" end) + ":getppid", [1, 2, 3, 4, 5]]]'
		coherent compat
	fi
	evidence exec.json exec.err
	holds "a call that puts other registers in their place has no arguments" exec.json "$calls"'
		| map([.syscall, .arguments, .ret]) == [["execve", null, 0]]'

	evidence short.json short.err
	holds "calls that never left the CPU have no stack" short.json "$calls"'
		| length == 1009 and (map(select(.longest == null)) | length > 900)'
	coherent short

	if [ -e parts.skip ]; then
		skip "each call is split" "$(cat parts.skip)"
	else
		evidence split.json split.err parting.truth
		coherent split
		holds "each thread's time went where it knows that it did" split.json "$calls"' as $found
			| all($truth[0].calls[] | select(.syscall != "sched_get_priority_max"); . as $true
				| [$found[] | select(.comm == $true.comm)] | length == $true.count
				and (map(.preempted) | add) >= $true.must.preempted
				and (map(.blocked) | add) >= $true.must.blocked
				and (map(.runq) | add) >= $true.must.runq
				and (map(.ns - .on_cpu) | add) <= $true.can.off + 200000 * ($true.switches | .voluntary + .involuntary))' --slurpfile truth parting.truth
		holds "... and its partner woke it, or took its CPU" split.json "$calls"' as $found
			| [$found[] | select(.comm == "blocked" and .blocked > 0).woken_by.comm] as $woken
			| [$found[] | select(.comm == "preempted" and .preempted > 25000000).preempted_by.comm] as $preempted
			| ([$woken[] | select(. == "parts")] | length) > 90
				and ($preempted | length) > 0 and ([$preempted[] | select(. == "parts")] | length) >= ($preempted | length) / 4'
		holds "... the partner had the CPU meanwhile, by its clock, with its policy and priority" split.json "$calls"' as $found
			| all($truth[0].calls[] | select(.must.preempted + .must.runq > 0); . as $true
				| [$found[] | select(.comm == $true.comm)] | ([.[].meanwhile[] | select(.comm == "parts" and .policy == "fifo") | [.what, .policy, .priority, .nice]] | unique)
					== [["thread", "fifo", 2, null]]
				and ([.[].meanwhile[] | select(.comm == "parts" and .policy == "fifo").sum] | add) >= 0.95 * $true.holder
				and ([.[].waited | select(.) | [.policy, .priority]] | unique) == [["fifo", 1]])' --slurpfile truth parting.truth
		holds "... and where one is told, it is of the part that it had" split.json "$calls"' as $found
			| [$found[] | select(.preempted > 0 and .blocked + .runq == 0).longest.why] as $preempted
			| [$found[] | select(.preempted == 0 and .blocked > .runq).longest.why] as $blocked
			| ($preempted | unique) == ["preempted"] and ($blocked | unique) == ["blocked"]'
	fi

	check_waits
	evidence woken.json woken.err waking.truth
	holds "who woke a thread is known: the one that wrote" woken.json "$calls"' as $found
		| all($truth[0].calls[] | select(.comm != "timer"); . as $t
			| [$found[] | select(.tid == $t.tid and .blocked > 0) | .woken_by.comm] | length > 25
				and ([.[] | select(. == "waker")] | length) >= length * 0.95)' --slurpfile truth waking.truth
	holds "... also of one whose switch was not seen" woken.json "$calls"' as $found
		| [$truth[0].calls[] | select(.comm != "timer").tid] as $tids
		| [$found[] | select(.blocked > 0 and (.tid | IN($tids[])) and .woken_by == null)] | length <= 1' --slurpfile truth waking.truth
	holds "... no interrupt, and of this process" woken.json "$calls"' | [.[] | select(.woken_by.comm == "waker")]
		| length > 50 and ([.[] | select(.woken_by | .context != "thread" or .pid != $pid)] | length) <= length / 50' \
		--argjson pid "$(cat waking.pid)"
	holds "... with --wakers there is its stack: the kernel writes the pipe" woken.json "$calls"'
		| [.[] | select(.woken_by.comm == "waker" and .woken_by.context == "thread").woken_by.stack]
		| length > 50 and ([.[] | select(any(.[]; .kernel and (.frame | test("^(anon_)?pipe_write$")))
			and any(.[]; .kernel | not))] | length) >= length * 0.95'
	evidence woken-text.json woken-text.err
	also claim "... below its line in the text" awk '
		/^    woken by waker\/[0-9]+:$/ { told = 1 }
		told && /^    (anon_)?pipe_write$/ { found = 1 }
		/^[0-9]/ { told = 0 }
		END { exit !found }' woken-text.json
	if [ -e naps.json ]; then
		holds "who sleeps for a time is woken by a timer, whatever thread it came upon" naps.json "$calls"'
			| [.[] | select(.blocked > 0).woken_by] | length > 400 and ([.[] | select(.context == "interrupt" and has("device") and .device == null)] | length) >= length * 0.9'
		evidence naps.json naps.err napping.truth
	fi
	if ! everything; then
		: # split has it of the same switches
	elif jq -e '.calls | any(.seen >= .count * 0.9)' napping.truth >/dev/null 2>&1; then
		case $(cat kernel) in
		*cloud*) more=30000 share=200 ;; # emulated
		*) more=1500 share=2000 ;;
		esac
		holds "short sleeps are off the CPU from switch to switch, by perf's time stamps" naps.json "$calls"' as $found
			| [$truth[0].calls[] | select(.seen >= .count * 0.9)] | length > 0 and all(.[]; . as $t
				| [$found[] | select(.comm == $t.comm) | .blocked + .runq] | sort
				# perf and the tool look at a switch one after the other, each for a part of the call on the CPU.
				| ($more + $t.median / $share + ([$found[] | select(.comm == $t.comm).on_cpu] | sort | .[length / 2 | floor]) / 4) as $off | (($t.seen - 1) / 2 | floor) as $rank
				| length == $t.count and .[$rank] <= $t.median + $off and .[$rank + $t.count - $t.seen] >= $t.median - $off)' \
			--slurpfile truth napping.truth --argjson more "$more" --argjson share "$share"
	else
		skip "short sleeps are off the CPU from switch to switch" "perf has missed switches, or there is none"
	fi

	evidence stopped.err notes
	holds "what finds no room is counted: printed and dropped are 1009" stopped.json \
		"$calls | length"' as $printed | $last.ledger
			| .recorded == $printed and .recorded + .dropped == 1009 and .dropped > 0 and .recorded > 0'
	holds "... and is in order" stopped.json "$calls"' | map(.end) | . == sort'

	evidence flood.err
	made=$(jq '[.calls[].count] | add' flooding.truth)
	slow=$(jq '[.calls[] | select(.syscall == "read").count] | add' flooding.truth)
	holds "of $made calls ($((made * 100 / ($(cat flood.ended) - $(cat flood.begun) + 1))) a second), 1 % slow, \
each slow one is printed" flood.json "$calls | map(select(.syscall == \"read\")) | length"' == $n' --argjson n "$slow"
	holds "... none is lost" flood.json "$calls | length"' as $printed | $last.ledger
		| .dropped == 0 and .recorded == $printed and .recorded + .filtered_at_exit == $n' --argjson n "$made"
	holds "... in order" flood.json "$calls"' | map(.end) | . == sort'

	evidence interrupt.json interrupt.err
	is "Ctrl-C is a good end" "$(cat interrupt.status)" 0
	holds "... with all that was slow, and the report" interrupt.json "$calls | length >= 4 and "'$last.final'
	evidence one-line.out one-line.err
	is "a reader that goes away ends it well" "$(cat one-line.status)" 0
	is "... and quietly" "$(grep -v 'tracing …' one-line.err)" ""
	is "... after its line" "$(wc -l <one-line.out)" 1
	for format in -j --stacks; do
		everything || [[ $format == -j ]] || continue
		evidence "full$format.err"
		is "a call that cannot be written is status 1: $format" "$(cat "full$format.status")" 1
		is "... and one line says why: $format" "$(grep -v 'tracing …' "full$format.err")" \
			"syscall-slower: cannot write to standard output: No space left on device"
	done
	evidence seven.json seven.err
	also is "a command's status is passed on" "$(cat seven.status 2>/dev/null)" 7
	also holds "... after the report" seven.json '$last.final and $last.ledger.recorded == 0'
}
