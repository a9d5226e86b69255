# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# What each tool keeps once it traces, and what is refused to it then, even if it were taken over.

# In the short form: each set of capabilities, and each kind of output, once.
stands_for_others() {
	case $1 in
	syscall-count | syscall-count-metrics | syscall-latency-outputs | syscall-latency-command | cpu-profile-flame | wall-time | \
		slab-latency | tcp-sendmsg-lat | file-latency | user-func-latency | usdt-latency | probe-misses | probe-cost) ;;
	*) return 1 ;;
	esac
}

# provoked NAME TOOL ARG... - in the background
provoked() {
	name=$1
	shift
	everything || stands_for_others "$name" || return 0
	tools="$tools $name"
	WORKLOAD_JSON=$PWD/$name.truth provokes "$@" </dev/null >"$name.out" 2>"$name.err" &
	echo $! >"$name.pid"
	started="$started $!"
}

# The last ones, all at once.
ended() {
	for name in $tools; do
		finish "$name" "$(cat "$name.pid")"
	done
	tools=
}

run() {
	tools='' n='-v --no-calibrate -d 1'
	uname -r >kernel
	cat /proc/sys/kernel/perf_event_paranoid >paranoid
	grep -c '^processor' /proc/cpuinfo >cpus
	reach=$(command -v callpaths)
	usdt=$(command -v usdt)
	# shellcheck disable=SC2086 # words
	{
		provoked syscall-count syscall-count $n
		provoked syscall-count-metrics syscall-count $n --openmetrics "$PWD/count.prom" --otlp "$PWD/count.otlp" 0.2
		provoked syscall-latency syscall-latency $n
		provoked syscall-latency-command syscall-latency $n -- sleep 3
		provoked syscall-latency-outputs syscall-latency $n --keep 1s --exit-on-dump --out "$PWD/outputs.json" --heatmap "$PWD/outputs.svg"
		provoked syscall-latency-cgroup syscall-latency $n -b cgroup
		provoked syscall-slower syscall-slower $n 100ms
		ended
		provoked syscall-breakdown syscall-breakdown $n -s read
		provoked cpu-profile cpu-profile $n -p $$
		provoked cpu-profile-flame cpu-profile $n -p $$ --flame "$PWD/flame.svg"
		provoked offcpu-time offcpu-time $n -p $$
		provoked runq-latency runq-latency $n
		provoked futex-latency futex-latency $n -p $$
		provoked wall-time wall-time $n -p $$
		ended
		provoked event-rate event-rate -v -d 1 page-faults
		provoked page-fault-latency page-fault-latency $n
		provoked file-latency file-latency $n
		provoked file-io-breakdown file-io-breakdown $n
		provoked block-io-latency block-io-latency $n
		ended
		provoked slab-latency slab-latency $n
		provoked skb-alloc skb-alloc $n
		provoked tcp-sendmsg-lat tcp-sendmsg-lat $n
		provoked func-count func-count $n t:sched:sched_switch
		provoked func-stack func-stack $n -p $$ t:sched:sched_switch
		ended
		provoked func-latency func-latency $n vfs_read
		provoked user-func-latency user-func-latency $n "u:$reach:reach"
		provoked usdt-latency usdt-latency $n "usdt:$usdt:app:slow_begin" "usdt:$usdt:app:slow_end"
		provoked probe-misses probe-misses -v -d 1
		provoked probe-cost env PLUMB_CACHE="$PWD/cache" probe-cost -v --rounds 5
		provoked trace-bias trace-bias -v --pairs 5 --limit 100 --tool "sh -c 'echo tracing; exec sleep 9'" -- sleep 0.1
		ended
	}
	# The verdict does not matter here.
	case $(cat trace-bias.status 2>/dev/null) in
	3 | 4) echo 0 >trace-bias.status ;;
	esac
	while_it_measures
	others_take
	writers
}

# What another process of the same user can take of a tool that got its capabilities from its parent, and so
# is not protected by execve(2); and of a process that is none.
others_take() {
	capable none sleep 60 </dev/null &
	pid=$!
	started="$started $pid"
	await 20 grep -q sleep "/proc/$pid/comm"
	capable none takes "$pid" >plain.taken 2>&1
	kill "$pid"
	# Before 5.11 maps are charged to this limit, which root may raise there.
	(
		# shellcheck disable=SC3045 # dash and busybox have it
		ulimit -l unlimited 2>/dev/null
		exec capable bpf,perfmon syscall-count -v --no-calibrate -d 60
	) </dev/null >taken.out 2>taken.err &
	pid=$!
	started="$started $pid"
	await 20 grep -q ' confined: ' taken.err
	capable none takes "$pid" >tool.taken 2>&1
	kill "$pid"
	finish taken "$pid"
}

# What probe-cost has then.
while_it_measures() {
	PLUMB_CACHE='' probe-cost -v --rounds 1000 </dev/null >measures.out 2>measures.err &
	pid=$!
	started="$started $pid"
	await 20 grep -q 'while it measures' measures.err
	for one in NoNewPrivs CapPrm CapEff CapBnd; do
		sed -n "s/^\($one:\)[[:space:]]*/\1 /p" "/proc/$pid/status"
	done | tr '\n' ' ' | sed 's/ $//' >measures.status
	kill "$pid"
	wait "$pid" || :
}

# The process that writes the files of tool PID.
writer_of() {
	for one in /proc/[0-9]*; do
		if grep -q plumb-writer "$one/comm" && grep -q "^PPid:[[:space:]]*$1\$" "$one/status"; then
			echo "${one#/proc/}"
		fi
	done 2>/dev/null
}

# writing NAME - a tool with outputs in two folders; its writer's number is in NAME.writer
writing() {
	mkdir -p "$1.a" "$1.b"
	syscall-latency --no-calibrate -d 100 -p $$ --openmetrics "$PWD/$1.a/w.prom" --heatmap "$PWD/$1.b/w.svg" 0.1 \
		</dev/null >"$1.out" 2>"$1.err" &
	pid=$!
	started="$started $pid"
	await 30 test -e "$1.a/w.prom"
	writer_of "$pid" >"$1.writer"
}

# The writer is killed; the tool is.
writers() {
	writing orphan
	for one in NoNewPrivs Seccomp CapPrm CapEff CapBnd; do
		sed -n "s/^\($one:\)[[:space:]]*/\1 /p" "/proc/$(cat orphan.writer)/status"
	done | tr '\n' ' ' | sed 's/ $//' >writer.status
	find "/proc/$(cat orphan.writer)/fd" -lname '*bpf*' >writer.bpf
	kill -9 "$(cat orphan.writer)"
	await 30 grep -q 'was killed' orphan.err
	kill "$pid"
	finish orphan "$pid"
	writing widow
	kill -9 "$pid"
	wait "$pid" || :
	await 30 is_over "$(cat widow.writer)" && echo ended >widow.end
	# It is stopped; the tool ends. It is stopped and goes on; so do its files. Both at the same time.
	writing stopped
	stopped=$pid
	kill -STOP "$(cat stopped.writer)"
	writing late
	kill -STOP "$(cat late.writer)"
	await 60 grep -q 'has not answered' stopped.err
	kill "$stopped"
	finish stopped "$stopped"
	await 30 is_over "$(cat stopped.writer)" && echo ended >stopped.end
	await 60 grep -q 'has not answered' late.err
	kill -CONT "$(cat late.writer)"
	await 60 grep -q 'is written again' late.err && echo written >late.again
	kill "$pid"
	finish late "$pid"
	full
}

# The disk of an output is full.
full() {
	mkdir full
	mount -t tmpfs -o size=16k none full
	head -c 12k /dev/zero >full/rest
	syscall-latency --no-calibrate -d 1 -p $$ --openmetrics full/w.prom --heatmap full/w.svg </dev/null >full.out 2>full.err &
	finish full "$!"
	ls full | grep -v "^w.prom$" >full.names # one that had room
	umount full
}

# The number of a capability.
bit_of() {
	case $1 in
	dac_override) echo 1 ;;
	dac_read_search) echo 2 ;;
	fowner) echo 3 ;;
	kill) echo 5 ;;
	sys_ptrace) echo 19 ;;
	sys_admin) echo 21 ;;
	sys_nice) echo 23 ;;
	syslog) echo 34 ;;
	perfmon) echo 38 ;;
	bpf) echo 39 ;;
	checkpoint_restore) echo 40 ;;
	esac
}

# hex NAME... - as /proc/PID/status has them
hex() {
	local name bits=0
	for name; do
		bits=$((bits | 1 << $(bit_of "$name")))
	done
	printf '%016x' "$bits"
}

# keeps NAME CAPABILITIES [CALL...] - those capabilities at most, and those calls besides reading
keeps() {
	local name=$1 wanted=$2 allowed found preempts=false
	allowed=" ${*:3} "
	everything || [[ -e $1.status ]] || return 0
	evidence "$name.truth" "$name.err" notes
	# A tool that cannot trace here is for other tests.
	[[ $(cat "$name.status") != 77 ]] || return
	is "$name: ends well, though it was provoked" "$(cat "$name.status")" 0 || return
	! grep -q 'this kernel preempts' "$name.err" || preempts=true
	# An iterator is attached anew for each look at the states of threads.
	! grep -q 'confined: .* to iterate' "$name.err" || allowed+="bpf-link "
	# Before 5.19 all of bpf(2) may take CAP_BPF: tools that read maps until their end.
	if [[ $(cat kernel) == 5.1[0-8].* && $name != probe-* && $name != trace-bias && " $wanted " != *" bpf "* ]]; then
		wanted="$wanted bpf"
	fi
	# shellcheck disable=SC2086 # words
	wanted=$(hex $wanted $(! $preempts || [[ $name == probe-* || $name == trace-bias ]] || echo sys_nice))
	is "$name: has the capabilities that it needs, and no other" \
		"$(jq -r '.status | "\(.CapPrm) \(.CapEff) \(.CapInh) \(.CapAmb) \(.CapBnd)"' "$name.truth")" \
		"$wanted $wanted 0000000000000000 0000000000000000 0000000000000000" || :
	is "... cannot get more, and has a filter" "$(jq -r '.status | "\(.NoNewPrivs) \(.Seccomp)"' "$name.truth")" "1 2" || :
	found=$(jq -r --arg allowed "$allowed" '.calls[]
		| select(.call | IN("openat-read", "bpf-lookup") | not)
		| . as $c | select(if $allowed | contains(" \($c.call) ") then .result == "EPERM"
			else .result != if .call | IN("openat2", "clone3") then "ENOSYS" else "EPERM" end end)
		| "\(.call): \(.result)"' "$name.truth")
	is "... is refused what it does not need${3:+, but for ${*:3}}" "$found" "" || :
	holds "... can read files" "$name.truth" '$last.calls[] | select(.call == "openat-read").result == "ENOENT"' || :
	holds "... and maps" "$name.truth" '$last.calls[] | select(.call == "bpf-lookup").result | . != "EPERM" or $none' \
		--argjson none "$([[ $name == probe-misses || $name == probe-cost || $name == trace-bias ]] && echo true || echo false)" || :
	like "... and says with -v what it keeps" "$(grep ' confined: ' "$name.err")" 'confined: keeps ' || :
}

# Before 5.15, each event has a program of its own.
load_too() {
	! grep -q 'to load programs' "$1.err" || echo bpf-load
}

bpf_too() {
	! grep -q 'to load programs' "$1.err" || echo " bpf"
}

# What opening events on CPUs that come online takes, where there is more than one.
events_take() {
	if [[ $(cat cpus) -gt 1 && $(cat paranoid) -gt 0 ]]; then
		[[ $(cat paranoid) -gt 2 ]] && echo " sys_admin" || echo " perfmon"
	fi
}

check() {
	local processes="dac_read_search sys_ptrace checkpoint_restore" most events='' opens=''
	events=$(events_take)
	[[ $(cat cpus) -le 1 ]] || opens=perf_event_open
	most=$(hex dac_override dac_read_search fowner sys_admin perfmon bpf)
	evidence syscall-count.err
	is "syscall-count traces on every kernel" "$(cat syscall-count.status)" 0 || :
	keeps syscall-count ""
	keeps syscall-count-metrics "" ftruncate
	keeps syscall-latency "dac_read_search sys_ptrace"
	keeps syscall-latency-command kill
	keeps syscall-latency-cgroup "dac_read_search sys_ptrace"
	keeps syscall-slower "dac_read_search sys_ptrace"
	# shellcheck disable=SC2086 # no word
	keeps syscall-breakdown "$processes$events" $opens
	# shellcheck disable=SC2086
	keeps cpu-profile "$processes$events" $opens
	# shellcheck disable=SC2086
	keeps cpu-profile-flame "$processes$events" $opens
	keeps syscall-latency-outputs "dac_read_search sys_ptrace"
	evidence outputs.svg outputs.json
	like "what --heatmap and --out name has been written" "$(head -q -c 10 outputs.svg outputs.json)" '^<.*\{' || :
	keeps offcpu-time "$processes sys_admin"
	keeps runq-latency ""
	keeps futex-latency "$processes"
	# shellcheck disable=SC2086
	keeps wall-time "$processes$events sys_admin" $opens
	keeps event-rate ""
	# shellcheck disable=SC2086
	keeps page-fault-latency "$events" $opens
	keeps file-latency ""
	keeps file-io-breakdown "dac_read_search sys_ptrace"
	keeps block-io-latency ""
	keeps slab-latency syslog
	keeps skb-alloc ""
	keeps tcp-sendmsg-lat "dac_read_search sys_ptrace sys_admin"
	keeps func-count ""
	keeps func-stack "$processes"
	keeps func-latency "dac_read_search sys_ptrace sys_admin"
	# Attaching to files that are replaced takes capabilities, and events, only without uprobe.multi.
	if grep -q 'perf_event_open(2) for files' user-func-latency.err; then
		like "uprobes are attached by events where the kernel has no uprobe.multi" "$(cat kernel)" '^(5\.|6\.[0-5]\.)' || :
		keeps user-func-latency "$processes perfmon sys_admin$(bpf_too user-func-latency)" perf_event_open bpf-link $(load_too user-func-latency)
		keeps usdt-latency "$processes perfmon sys_admin$(bpf_too usdt-latency)" perf_event_open bpf-link bpf-update $(load_too usdt-latency)
	else
		keeps user-func-latency "$processes" bpf-link
		keeps usdt-latency "$processes" bpf-link bpf-update
	fi
	keeps probe-misses "dac_read_search sys_admin syslog"
	keeps probe-cost "" linkat renameat unlinkat fchmod fchown
	is "... and has no more than it attaches with while it measures" "$(cat measures.status)" \
		"NoNewPrivs: 1 CapPrm: $most CapEff: $most CapBnd: 0000000000000000"
	like "what probe-cost opened before has its name" "$(head -c 100 cache/probe-cost.json)" '^\{'
	keeps trace-bias ""
	evidence taken.err plain.taken tool.taken
	is "another process of the same user takes nothing of a tool" "$(cat tool.taken)" none
	is "... as it can of others" "$(cat plain.taken)" "fd pidfd_getfd mem ptrace"
	is "... and the tool ends well" "$(cat taken.status)" 0
	holds "a line of --otlp is written to a file that plumb-writer opens" count.otlp '$last.resourceMetrics | length == 1'
	like "what --openmetrics names has been written" "$(tail -n 1 count.prom)" '^plumb_.*syscall-count'
	evidence writer.status writer.bpf orphan.err widow.err
	is "plumb-writer is confined, and has no capability" "$(cat writer.status)" \
		"NoNewPrivs: 1 Seccomp: 2 CapPrm: 0000000000000000 CapEff: 0000000000000000 CapBnd: 0000000000000000"
	is "... nor programs or links" "$(cat writer.bpf)" ""
	like "if it is killed, its tool says so" "$(cat orphan.err)" \
		'cannot write .*/w.prom: plumb-writer, which writes it, was killed; tracing goes on'
	is "... with status 1" "$(cat orphan.status)" 1
	is "if the tool is killed, it ends" "$(cat widow.end)" ended
	evidence stopped.err late.err full.err
	like "if it is stopped, its tool says so" "$(cat stopped.err)" 'cannot write .*: plumb-writer, which writes it, has not answered for 10 s'
	is "... and ends with status 1, with what was stopped" "$(cat stopped.status) $(cat stopped.end)" "1 ended"
	is "if it goes on, so does what it writes" "$(cat late.again)" written
	like "... the picture, too" "$(head -c 200 late.b/w.svg)" '<svg|<\?xml'
	like "if the disk is full, the tool says so" "$(cat full.err)" 'cannot write full/w\.[a-z]*: No space left on device'
	is "... with status 1, and leaves no part of a file" "$(cat full.status) $(cat full.names)" "1 rest"
	like "what --flame names has been written" "$(head -c 200 flame.svg)" '<svg|<\?xml'
}
